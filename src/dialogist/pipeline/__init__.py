"""The one summarization pipeline: dialogues in, summaries out."""
