"""What systems said: anyone's files, joined with the dialogues."""
