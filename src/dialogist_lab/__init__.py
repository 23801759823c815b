"""The laboratory: systems compared, explained, reported and rated. The tool never imports it."""
