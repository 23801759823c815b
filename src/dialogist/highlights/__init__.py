"""What of a dialogue a summary must hold: a learned choice, without torch."""
