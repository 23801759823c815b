"""Experiments: from a YAML file to a trained model, and systems over data sets."""
