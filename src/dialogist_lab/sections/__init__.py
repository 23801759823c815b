"""Training of the network that knows which piece of a dialogue belongs in which section."""
