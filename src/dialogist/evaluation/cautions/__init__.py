"""What to know before believing a figure."""
