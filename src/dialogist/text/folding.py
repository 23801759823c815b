"""Folding: what two spellings of one word have in common."""

import unicodedata


def folded(text: str) -> str:
    """Small letters without accents: ``Łódź`` and ``lodz`` are one."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text)
    bare = "".join(c for c in parts if not unicodedata.combining(c))
    return bare.lower().translate(_STROKES)


_STROKES = str.maketrans("łøđħ", "lodh")
