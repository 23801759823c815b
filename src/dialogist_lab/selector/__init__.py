"""Training of the selector that the built-in writer ships with."""
