"""Personal data out of what a program says about its work: notes, errors, logs."""

from dataclasses import replace
from functools import lru_cache

from dialogist.privacy.masks import mask_text
from dialogist.privacy.options import CODE, Privacy, privacy_of


def masked_line(text: str) -> str:
    """The line with masks, numbered within it.

    All usual kinds but bare codes: counts of tokens, check sums and names of runs are long numbers,
    too. Names of people stay.
    """
    # Every kind holds a digit or an @: most lines need no look.
    if not any(c == "@" or c.isdecimal() for c in text):
        return text
    return mask_text(text, _usual())[0].text


@lru_cache(maxsize=1)
def _usual() -> Privacy:
    usual = privacy_of()
    return replace(usual, kinds=usual.kinds - {CODE})
