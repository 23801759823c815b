"""Layers and attention: tensors only."""
