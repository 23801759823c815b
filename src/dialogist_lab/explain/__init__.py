"""How a network wrote a summary: attention, copying, probabilities, as a page."""
