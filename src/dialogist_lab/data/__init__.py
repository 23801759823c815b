"""From dialogues to batches: corpora, preparation, tokenizers, encoding."""
