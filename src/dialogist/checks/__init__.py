"""What a summary says that its dialogue does not, and what it rests on."""
