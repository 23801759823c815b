"""What summary and dialogue both say is one entry: the summary's words, the evidence of both."""

from collections.abc import Sequence
from dataclasses import replace

from dialogist.template.extract.extraction import same
from dialogist.template.filled import Entry


def joined(stated: Sequence[Entry], said: Sequence[Entry]) -> list[Entry]:
    """The entries of the summary, then those of the dialogue that none of them says.

    Two are one if most of their words are the same and they have no different owners.
    """
    entries = list(stated)
    for one in said:
        for place, other in enumerate(entries):
            if other.origin == "summary" and _are_one(other, one):
                entries[place] = _both(other, one)
                break
        else:
            entries.append(one)
    return entries


def _are_one(stated: Entry, said: Entry) -> bool:
    owners = {stated.owner, said.owner} - {""}
    return len(owners) <= 1 and same(stated.text, said.text)


def _both(stated: Entry, said: Entry) -> Entry:
    known = {(span.utterance, span.start) for span in said.evidence}
    more = (s for s in stated.evidence if (s.utterance, s.start) not in known)
    return replace(
        stated,
        evidence=(*said.evidence, *more),
        owner=stated.owner or said.owner,
        deadline=stated.deadline or said.deadline,
    )
