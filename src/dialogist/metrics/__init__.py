"""ROUGE and the other metrics."""
