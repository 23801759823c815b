"""The trainer, and what it minimizes."""
