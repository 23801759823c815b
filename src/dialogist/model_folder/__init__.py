"""A model as one folder: its files, weights and options; import and export of other formats."""
