"""Words, sentences, names and numbers of a text; reported speech."""
