"""What a customer comes with: the first complaint and the first wish, as he says them."""

import re
from collections.abc import Iterator

from dialogist.template.extract.serving import served_in
from dialogist.template.extract.turns import Found, Sentence, Turns
from dialogist.template.extract.wording import quoted

_COMPLAINT = re.compile(
    r"n ?['’] ?t\b|\b(?:cannot|not|never|no longer|nobody|keeps? \w+ing|still \w+ing|broken?|"
    r"broke|stopped|leak\w*|"
    r"error|problem|issues?|trouble|wrong|too (?:late|small|big|slow|expensive)|late|missing|"
    r"lost|damaged|"
    r"charged|billed|twice|hurts?|pains?|painful|cough\w*|fever|headaches?|sick|ill|sore|black|"
    r"blank|"
    r"crash\w*|slow|stuck|fail\w*|stolen|supposed to|complain\w*|dead|faulty|defective|cracked|"
    r"unable|"
    r"disappeared|overcharged|delayed|cancelled|forgot(?:ten)?|locked out|went|freezes)\b",
    re.I,
)
_WISH = re.compile(
    r"\b(?:i(?: would|['’ ]?d) (?:like|love|want)|i (?:want|wanna|need|wish|have to)|"
    r"i ?['’]?m (?:looking|"
    r"calling|trying|searching|interested|thinking)|i am (?:looking|calling|trying|searching|"
    r"interested)|i was "
    r"(?:wondering|hoping)|could you (?:help|find|please)|can you (?:help|find|please|get|book|"
    r"look)|"
    r"help me|i have a question|please (?:find|book|help|get|search))",
    re.I,
)
_NOTHING = re.compile(
    r"^\W*(?:\w+\W+)?(?:what ?['’]?s (?:wrong|up|the matter)|can you help(?: me)?\W*$|"
    r"how are you|good (?:morning|afternoon|evening)[\w ,.]*$)|^\W*(?:no|not really|never mind|"
    r"thanks|no worries|i don ?['’]?t (?:think|know|mind))\b", re.I)  # fmt: skip
_OPENS = re.compile(
    r"^\W*(?:(?:hi|hello|hey|yes|good \w+)\W+)?(?:this is|it ?['’]?s|my name|i ?['’]?m|i am)\b"
    r"[^.!?]{0,30}\W*$|.*\?$",
    re.I,
)
_HEAD = 6  # utterances: a problem is told at the beginning
_FEWEST = 4  # words of a sentence that tells something


def issues_in(turns: Turns) -> Iterator[Found]:
    """At most a complaint and a wish, where there is somebody who serves and somebody who asks.

    They are taken from the first turn in which those who are served say more than a greeting.
    """
    served = served_in(turns)
    first: list[Sentence] = []
    for number, said in enumerate(turns.sentences[:_HEAD]):
        if turns.dialogue.utterances[number].speaker not in served:
            continue
        telling = [one for one in said if _tells(one)]
        first = first or telling
        if telling and not all(one.text.endswith("?") for one in telling):
            first = telling
            break
    if first:
        yield from _issues(first)


def _issues(telling: list[Sentence]) -> Iterator[Found]:
    complaint = next((s for s in telling if _COMPLAINT.search(s.text)), None)
    wish = next((s for s in telling if _WISH.search(s.text)), None)
    chosen = {s.start: s for s in (complaint, wish) if s is not None}
    if not chosen:
        stated = [one for one in telling if not _OPENS.match(one.text)] or telling
        chosen = {stated[0].start: stated[0]}
    for start in sorted(chosen):
        text = quoted(chosen[start])
        if text is not None:
            one = chosen[start]
            yield Found(text, (one.span(),), one.speaker, words=one.text)


def _tells(sentence: Sentence) -> bool:
    enough = len(sentence.text.split()) >= _FEWEST
    return enough and not _NOTHING.match(sentence.text)
