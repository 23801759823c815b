"""Shares of summaries with something that their dialogue does not bear out: see `findings`.

A share is of the outputs that can be read: where a language or a way of writing cannot, the output
has no value, and a corpus without any has none.
"""

from collections.abc import Sequence

from dialogist.metrics.base import Case, Column, percentage
from dialogist.metrics.evidence import Evidence, evidence_of
from dialogist.metrics.findings import KINDS, Checked, Kind, checked
from dialogist.text.clauses import is_content
from dialogist.text.function_words import FUNCTION_WORDS
from dialogist.text.names import name_mentions
from dialogist.text.stems import stem_of
from dialogist.text.tokens import tokens_of, without_tags

_TITLES: dict[Kind, str] = {
    "name": "Names",
    "speaker": "Speakers",
    "number": "Numbers",
    "entity": "Entities",
    "swap": "Swaps",
    "negation": "Negation",
}
_COUNTED: tuple[Kind, ...] = ("name", "speaker", "number", "entity")


class Faithfulness:
    """Unsupported names, speakers, numbers, entities; swapped roles; denials; unsupported words.

    ``faithfulness.name``: the share of outputs with at least one, ``faithfulness.name_each``: of
    names, and so on. ``faithfulness.any``: of outputs with any unsupported name, speaker, number or
    entity, as far as these can be read. ``faithfulness.word_each``: the share of content words
    whose stem the dialogue does not hold; people choose words of their own, too, so this is no
    error rate.
    """

    name = "faithfulness"
    signature = (
        "faithfulness 1 | rules: names by capitals, numbers and times by value, entities by form, "
        "roles by words and persons | English, of Chinese numbers and entities"
    )
    columns = (
        *(Column(f"faithfulness.{k}", _TITLES[k], "lower", 2, percentage) for k in KINDS),
        *(
            Column(f"faithfulness.{k}_each", f"{_TITLES[k]} each", "lower", 2, percentage)
            for k in _COUNTED
        ),
        Column("faithfulness.any", "Unsupported", "lower", 2, percentage),
        Column("faithfulness.word_each", "Words", "neither", 2, percentage),
    )

    def reads(self, script: str) -> bool:
        """English is read, and of Chinese numbers and entities."""
        return script in ("latin", "cjk")

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of one output; none where there is no dialogue."""
        if case.dialogue is None:
            return (0.0,) * sum(column.width for column in self.columns)
        found = checked(case.prediction, case.dialogue)
        numbers = [number for kind in KINDS for number in _share(found.get(kind))]
        for kind in _COUNTED:
            one = found.get(kind)
            numbers += [len(one.findings), one.count] if one else [0.0, 0.0]
        held = [found[kind] for kind in _COUNTED if kind in found]
        whole = "number" in found  # nothing at all is read of other languages
        numbers += [float(any(one.findings for one in held)), 1.0] if whole else [0.0, 0.0]
        return (
            *map(float, numbers),
            *unsupported_words(case.prediction, evidence_of(case.dialogue)),
        )


def _share(one: Checked | None) -> tuple[float, float]:
    return (float(bool(one.findings)), 1.0) if one else (0.0, 0.0)


def unsupported_words(summary: str, evidence: Evidence) -> tuple[float, float]:
    """How many content words of an English summary have no stem in the dialogue, of how many.

    Names and numbers are left out: they are looked at more closely by `findings`.
    """
    if evidence.language_with(summary) != "en":
        return 0.0, 0.0
    names = [(mention.start, mention.end) for mention in name_mentions(summary)]
    words = [
        stem_of(token.base)
        for token in tokens_of(without_tags(summary))
        if token.base not in FUNCTION_WORDS
        and is_content(token.base)
        and not token.base[0].isdecimal()
        and not any(start <= token.start < end for start, end in names)
    ]
    return float(sum(word not in evidence.stems for word in words)), float(len(words))
