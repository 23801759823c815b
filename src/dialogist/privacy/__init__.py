"""Masks for personal data: packs of rules."""
