"""Metrics, report cards, comparisons, and pages on which people judge summaries."""
