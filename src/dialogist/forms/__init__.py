"""Forms for summaries, and what they ask of a dialogue."""
