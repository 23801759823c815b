"""The models and objectives of the papers, and the recipes of every system."""
