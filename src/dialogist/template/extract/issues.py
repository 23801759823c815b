"""What a customer comes with: the first complaint and the first wish, as he says them."""

import re
from collections.abc import Iterator

from dialogist.template.extract.serving import served_in
from dialogist.template.extract.turns import Found, Sentence, Turns
from dialogist.template.extract.wording import quoted

_COMPLAINT = re.compile(
    r"n ?['’] ?t\b|\b(?:cannot|not|never|no longer|nobody|keeps? \w+ing|still \w+ing|broken?|broke|stopped|leak\w*|"
    r"error|problem|issues?|trouble|wrong|too (?:late|small|big|slow|expensive)|late|missing|lost|damaged|"
    r"charged|billed|twice|hurts?|pains?|painful|cough\w*|fever|headaches?|sick|ill|sore|black|blank|"
    r"crash\w*|slow|stuck|fail\w*|stolen|supposed to|complain\w*|dead|faulty|defective|cracked|unable|"
    r"disappeared|overcharged|delayed|cancelled|forgot(?:ten)?|locked out|went|freezes)\b",
    re.I,
)
_WISH = re.compile(
    r"\b(?:i(?: would|['’ ]?d) (?:like|love|want)|i (?:want|wanna|need|wish|have to)|i ?['’]?m (?:looking|"
    r"calling|trying|searching|interested|thinking)|i am (?:looking|calling|trying|searching|interested)|i was "
    r"(?:wondering|hoping)|could you (?:help|find|please)|can you (?:help|find|please|get|book|look)|"
    r"help me|i have a question|please (?:find|book|help|get|search))",
    re.I,
)
_NOTHING = re.compile(r"^\W*(?:no|not really|never mind|thanks|no worries|i don ?['’]?t (?:think|know|mind))\b", re.I)  # fmt: skip
_HEAD = 6  # utterances: a problem is told at the beginning
_FEWEST = 3  # words


def issues_in(turns: Turns) -> Iterator[Found]:
    """At most a complaint and a wish, where there is somebody who serves and somebody who asks."""
    served = served_in(turns)
    if not served:
        return
    told: list[Sentence] = []
    for pattern in (_COMPLAINT, _WISH):
        first = next((s for s in _head(turns, served) if _says(pattern, s)), None)
        if first is not None and first not in told:
            told.append(first)
    # A wish in a later turn than the complaint is how the talk went on, not what it is about.
    told.sort(key=lambda s: (s.utterance, s.start))
    for one in [s for s in told if s.utterance == told[0].utterance]:
        text = quoted(one)
        if text is not None:
            yield Found(text, (one.span(),), one.speaker, words=one.text)


def _head(turns: Turns, served: frozenset[str]) -> Iterator[Sentence]:
    return (s for s in turns.all() if s.utterance < _HEAD and s.speaker in served)


def _says(pattern: re.Pattern[str], sentence: Sentence) -> bool:
    words = sentence.text.split()
    return (
        len(words) >= _FEWEST
        and pattern.search(sentence.text) is not None
        and not _NOTHING.match(sentence.text)
        and (pattern is _WISH or not sentence.text.endswith("?"))
    )
