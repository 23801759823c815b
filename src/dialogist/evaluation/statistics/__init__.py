"""Intervals of figures, and whether two systems differ by more than chance."""
