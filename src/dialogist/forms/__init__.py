"""Forms: what a team wants of a dialogue, section by section, in a YAML file of its own."""
