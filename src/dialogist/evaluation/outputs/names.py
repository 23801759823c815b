"""What files of outputs are called; light, for the command line asks before anything is read."""

JSON_ENDS = (".jsonl", ".json", ".ndjson")
TABLE_ENDS = (".csv", ".tsv")
_ENDS = (".gz", *JSON_ENDS, *TABLE_ENDS, ".txt", ".predictions")


def plain_name(file_name: str) -> str:
    """A file's name without the ends that say what it is."""
    name = file_name
    for end in _ENDS:
        if name.lower().endswith(end):
            name = name[: -len(end)]
    return name or file_name
