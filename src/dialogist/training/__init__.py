"""The trainer: precision, processes, schedules, checkpoints."""
