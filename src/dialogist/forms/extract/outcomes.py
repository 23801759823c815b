"""What a customer comes with, and how a conversation about a problem ended."""

import re
from collections.abc import Iterator
from dataclasses import replace

from dialogist.forms.extract.superseded import content_of, standing, values_of
from dialogist.forms.extract.turns import (
    SERVES,
    Found,
    Sentence,
    Turns,
    quote,
    quoted,
    served_in,
)
from dialogist.language.porter import stem_of
from dialogist.language.replies import declines
from dialogist.language.tokens import listed

# What a customer comes with: the first complaint and the first wish, as he says them.


_COMPLAINT = re.compile(
    r"n ?['’] ?t\b|\b(?:ca|wo|do|does|did|is|are|was|were|have|has|had)nt\b|"
    r"\b(?:is|are|been|was|went|goes|s) (?:\w+ )?(?:down|out of \w+|unavailable|frozen|louder?)\b|"
    r"\b(?:out of (?:action|order)|been (?:trying|waiting)|no (?:luck|video|sound|signal|internet|"
    r"power|reason|reply|response)|canceled|declined|expired|disconnect\w*|freezing|cannot|not|"
    r"never|no longer|nobody|keeps? \w+ing|still \w+ing|broken?|"
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
    r"help me|i have a question|please (?:find|book|help (?:me|us|with|to)|get|search))",
    re.I,
)
_NOTHING = re.compile(
    r"^\W*(?:\w+\W+)?(?:what ?['’]?s (?:wrong|up|the matter)|can you help(?: me)?\W*$|"
    r"how are you|good (?:morning|afternoon|evening)[\w ,.]*$)|^\W*(?:no|not really|never mind|"
    r"thanks|no worries|i don ?['’]?t (?:think|know|mind))\b", re.I)  # fmt: skip
_OPENS = re.compile(
    r"^\W*(?:(?:hi|hello|hey|yes|good \w+)\W+)?(?:this is|it ?['’]?s|my name|i ?['’]?m|i am)\b"
    r"[^.!?]{0,30}\W*$|^\W*my (?:\w+ )?(?:number|name|e-?mail|address|id) is\b",
    re.I,
)
# Asked of whom one talks to, or for help as such: the matter comes later.
_ASKS_NOTHING = re.compile(
    r"\b(?:is (?:this|that) (?:the|your)|are you|am i (?:through|speaking)|who am i|how are|(?:can|"
    r"could) you help(?: me)?"
    r"(?: please)?\W*$|do you have (?:a )?(?:minute|moment|time)|(?:can|may|could) i (?:ask|speak|"
    r"talk))\b",
    re.I,
)
_DISLIKES = re.compile(
    r"\b(?:disappoint\w*|unacceptable|awful|terrible|worst|worse|disgust\w*|ridiculous|poor|rude|"
    r"useless|horrible|joke|trash|crap)\b",
    re.I,
)
_ADVISES = re.compile(r"^\W*(?:do not|don ?['’]?t|never)\b", re.I)
_PRAISES = re.compile(
    r"\b(?:great|amazing|awesome|excellent|brilliant|wonderful|fantastic|lovely|helpful|sunshine|"
    r"thanks?|thank ?you|love|shout ?out|kudos|luckily|congratulations)\b",
    re.I,
)
# What only the sentence before makes clear.
_LEANS = re.compile(
    r"^\W*(?:it|its|they|that|thats|this|those|these|he|she|not|then|however|but|so|because|and|"
    r"anyway|now|which|please|also|all other|still|same|no idea|when will|shouldnt i)\b"
    r"|.*\b(?:do|doing|fix|about|with) (?:this|that|it)\b",
    re.I,
)
_HEAD = 6  # utterances: a problem is told at the beginning
_FEWEST = 4  # words of a sentence that tells something
_QUOTED = 200  # characters of a longer sentence
_LEANT_ON = 2  # sentences before


def issues_in(turns: Turns) -> Iterator[Found]:
    """At most a complaint and a wish, where there is somebody who serves and somebody who asks.

    They are taken from the first turn in which those who are served say what they want. A turn
    that only states something counts if nothing better comes; an answer to a question does not.
    """
    served = served_in(turns)
    stated: Sentence | None = None
    for number, said in enumerate(turns.sentences[:_HEAD]):
        if turns.dialogue.utterances[number].speaker not in served:
            continue
        telling = [one for one in said if _tells(one)]
        chosen = _matter(telling)
        if not chosen and stated is None and not _answers(number, turns):
            stated = next((one for one in telling if _states(one)), None)
            if stated is None and any(_PRAISES.search(one.text) for one in telling):
                return  # who only praises has no problem
        if not chosen and stated is not None:
            chosen = [stated]
        if chosen:
            yield from (one for s in chosen if (one := _issue(s, said, turns)) is not None)
            return


def _matter(telling: list[Sentence]) -> list[Sentence]:
    """The first complaint and the first wish of a turn, else a question, else what is disliked."""
    telling = [one for one in telling if not _ADVISES.match(one.text)]
    complaints = (one for one in telling if _COMPLAINT.search(one.text))
    # "Luckily they were not late" praises.
    complaint = next((s for s in complaints if not _PRAISES.match(s.text.lstrip(" .,!"))), None)
    wish = next((s for s in telling if _WISH.search(s.text)), None)
    chosen = {s.start: s for s in (complaint, wish) if s is not None}
    if not chosen:
        asked = (s for s in telling if "?" in s.text and not _ASKS_NOTHING.search(s.text))
        disliked = (s for s in telling if _DISLIKES.search(s.text))
        first = next(asked, None) or next(disliked, None)
        chosen = {} if first is None else {first.start: first}
    return [chosen[start] for start in sorted(chosen)]


def _states(sentence: Sentence) -> bool:
    text = sentence.text
    return not (_OPENS.match(text) or _PRAISES.search(text) or _ADVISES.match(text) or "?" in text)


def _answers(number: int, turns: Turns) -> bool:
    """Whether a turn only answers a question other than "How can I help?"."""
    asked = turns.sentences[number - 1] if number else ()
    return any(one.text.endswith("?") for one in asked) and not any(
        SERVES.search(one.text) for one in asked
    )


def _issue(sentence: Sentence, said: tuple[Sentence, ...], turns: Turns) -> Found | None:
    """A quote, with the sentences before it that it leans on."""
    place = said.index(sentence)
    first = place
    while first and place - first < _LEANT_ON and _LEANS.match(said[first].text):
        first -= 1
    whole = turns.joined(said[first], sentence)
    if quoted(whole) is None:
        whole = sentence
    text = quoted(whole) or quoted(_shortened(whole))
    return None if text is None else Found(text, (whole.span(),), whole.speaker, words=whole.text)


def _shortened(sentence: Sentence) -> Sentence:
    """The beginning of a sentence that is too long to be quoted whole."""
    cut = sentence.text.rfind(" ", 0, _QUOTED)
    return replace(sentence, text=f"{sentence.text[:cut]} ...")


def _tells(sentence: Sentence) -> bool:
    enough = len(sentence.text.split()) >= _FEWEST
    return enough and not _NOTHING.match(sentence.text)


# How a conversation about a problem ended: settled, refused, passed on, or still open.
#
# The last word counts: what works now was broken before, and what is refused may be granted later.


_SETTLED = """
refunded cancelled booked reserved confirmed changed updated shipped replaced repaired fixed
resolved activated credited waived processed approved placed made scheduled rescheduled escalated
closed renewed purchased bought corrected reset upgraded downgraded transferred raised arranged
ordered blocked unlocked stopped skipped
"""
_SETTLING = frozenset(map(stem_of, listed(_SETTLED)))
_BOOKED = "book reserve reservation booking buy purchase table appointment ticket seat"
_BOOKING = frozenset(map(stem_of, listed(_BOOKED)))
_THING = (
    r"(?:it|its|it ?['’]?s|everything|all|the \w+(?: \w+)?|"
    r"(?:this|that)(?= ?(?:['’]s|is) |.{1,12}(?:now|again)\b))"
)
_WORKS = re.compile(
    rf"\b(?:{_THING} ?(?:['’] ?s| is| are| seems to be)? ?(?:all )?(?:now )?(?:works|working)"
    r"(?: (?:now|again|fine|perfectly))*"
    r"|(?:that|it|this|everything|the \w+) (?:now )?worked"
    rf"|(?:{_THING} ?(?:['’] ?s| is| are|(?<=its)|(?<=s))|got (?:it|this|that)) (?:all )?(?:now )?"
    r"(?:fixed|solved|sorted|resolved|back online|(?:okay|ok|fine|good)(?= (?:now|again)))"
    r"(?: (?:now|again))?"
    r"|(?:it|everything|(?:the )?\w+)(?: ?['’] ?s|(?<=it)s| is) back(?: (?:now|again|on|"
    r"up))?(?=\W*$)"
    r"|(?:that|it|this) (?:did it(?= ?[,.!]|\W*$)|(?:did|seems to have done|has done) the trick|"
    r"fixed it|solved it|helped)"
    r"|(?:problem|issue) (?:is )?(?:now )?(?:solved|resolved|fixed)"
    r"|(?:i can|i ?['’]?m able to|i am able to) (?:\w+ ){1,5}?(?:now|again)\b"
    r"|arrived and works|now it works)\b"
    r"|^\W*(?:\w+ )?(?:(?:it|all) )?(?:working|works|fixed|sorted|solved|resolved) (?:now|again)\b"
    r"|\b(?:order|parcel|package|replacement|refund|money) (?:has )?(?:just |now )?arrived\b",
    re.I,
)
# "No wait, it is down again."
_AGAIN = re.compile(
    r"\b(?:down|broken|gone|stopped|frozen|dead|happening|crashing|failing|crashed|died|offline|"
    r"back to (?:the same|square one)|blocked|locked out) again\b|\bspoke too soon\b|"
    r"\b(?:problem|issue|error) (?:is |s )?back\b|\bnot (?:any ?more|fixed|solved|resolved|"
    r"sorted)\b",
    re.I,
)
_FAILS = re.compile(
    r"\b(?:still (?:doesn ?['’]?t|does not|not|isn ?['’]?t|won ?['’]?t|can ?['’]?t|the same|"
    r"nothing|broken|no|frozen|down)|"
    r"(?:it|that) (?:doesn ?['’]?t|didn ?['’]?t|does not|did not) (?:work|help|change)|"
    r"(?:the )?same (?:problem|error|issue)|no luck)\b",
    re.I,
)
# "I can't do that before you verify it" says what it takes.
_PROVIDED = re.compile(r"\b(?:before|until|unless) (?:you|we|i|it)\b", re.I)
_ASKS_BACK = re.compile(r"^\W*(?:please|kindly|pls|can|could)\b|\blet (?:us|me) know\b", re.I)
_REFUSED = re.compile(
    r"\b(?:unfortunately|i ?['’]?m afraid|regrettably|i am afraid|sorry|"
    r"apologi[sz]e)\b[^.!?]*\b(?:(?:we|i) "
    r"(?:can ?['’]?t|cannot|can not|won ?['’]?t be able|couldn ?['’]?t|could not|"
    r"don ?['’]?t (?:offer|give|do))|"
    r"unable to|not able to|n ?['’]?t able to|not possible|isn ?['’]?t possible|not (?:eligible|"
    r"covered)|"
    r"no (?:other )?\w+ available|not available|n['’]?t available|(?:did ?n['’]?t|"
    r"did not) go through|could ?n['’]?t be|could not be|failed)\b"
    r"|\b(?:we|i) (?:can ?['’]?t|cannot|can not) do (?:that|this|it)\b"
    r"|\b(?:that|this|it|they|those|these|the \w+)(?: ones?)? (?:can ?['’]?t|cannot|can not) be "
    r"(?:refunded|changed|cancell?ed|exchanged|repaired|returned|replaced|moved|extended|fixed|"
    r"saved)\b"
    r"|\b(?:we|i) (?:can ?['’]?t|cannot|can not) get (?:it|them|that) back\b"
    r"|\b(?:we|i) (?:was|were) (?:not |un)able to|\b(?:we|i) wasn ?['’]?t able to"
    r"|\b(?:we|i) (?:can ?['’]?t|cannot|are unable to|am unable to|was unable to|were unable to|"
    r"could ?n['’]?t|could not) (?:refund|replace|"
    r"cancel|change|book|reserve|offer|give|exchange|extend|fix|repair|process|complete|make)\b"
    r"|\b(?:reservation|booking|purchase|transaction|payment|appointment|request|"
    r"transfer)\b[^.!?]*\b"
    r"(?:failed|was not|could ?n['’]?t|could not|has been (?:declined|rejected))\b",
    re.I,
)
_PASSED_ON = re.compile(
    r"\b(?:I ?['’] ?m|I am|I ?['’] ?ll|I will|I ?['’] ?ve|I have|we ?['’] ?ll|let me) "
    r"(?:(?:escalat|forward|refer)\w*\b|(?:pass|hand)\w* (?:it|this|your \w+) (?:on|over)|"
    r"(?:open|rais|creat|fil)\w* (?:a|an|your) (?:ticket|case|complaint|claim)|"
    r"(?:send|sending|arrange|arranging|book|booking) (?:you )?(?:an?|our) (?:engineer|"
    r"technician|plumber|"
    r"repair\w*|colleague|mechanic)\b|transfer\w* (?:you|this))",
    re.I,
)


_NOT_YET = re.compile(
    r"\b(?:if|when|how|should|would|will|hope|until|make sure|never|not|try|lets?|to get|"
    r"want|need|was|were|used to|everyone|other)\b|['’]ll\b|n['’]?t\b",
    re.I,
)
_CLOSES = re.compile(r"\bno (?:problem|worries|more|further|thanks?)\b|\bthat ?['’]?s all\b", re.I)
# What those who serve grant.
_GRANTS = re.compile(
    r"\b(?:I|we)(?: ?['’] ?ll| will) (?:(?:just|also|then) )?(?:refund|credit|waive|take off|"
    r"knock off|reverse|honou?r|replace|swap|cancel|extend|ship|change (?:the|your)|"
    r"drop the (?:fee|charge)|"
    r"(?:leave|take|knock) (?:it|that|the \w+(?: \w+)?) off|put [^.!?,]{1,40} back|"
    r"give you [^.!?,]{1,30} (?:back|off)|send (?:you )?(?:a|another) new)\b"
    r"|\b(?:\d[\d.,]*|pounds|dollars|euros|the full \w+) back"
    r"(?: (?:to|on|onto|into) your\b|[,.!]|$)",
    re.I,
)
_CONDITION = re.compile(
    r"\b(?:if|unless|(?<!this )once|when|whether|would|could|might|maybe|perhaps|not|never)\b"
    r"|n['’]t\b|\?",
    re.I,
)
_DECLINES = re.compile(r"^\W*(?:no|nope|nah|never|but)\b", re.I)
_OF_THAT = re.compile(r"\b(?:that|this|it)\b", re.I)
_INSTEAD = re.compile(
    r"^\W*(?:you(?: ?['’]?ll)? (?:(?:have|need) to|must|can|could)|please)\b", re.I
)
_GOES_ON = re.compile(
    r"\b(?:try|please (?:bring|return|send|try)|let me|"
    r"i ?['’] ?ll|i will|i can|we ?['’] ?ll|we will|then it|must be)\b",
    re.I,
)
_MOST = 3  # entries of an end state


def outcomes_in(turns: Turns, done: tuple[Found, ...]) -> Iterator[Found]:
    """The end state in its order: what settled the matter, what is refused, the last verdict.

    What is replaced later is no part of it, nor what a customer tried in the middle. What was done
    earlier than the last `_MOST` of these is told under "done" alone.
    """
    served = served_in(turns)
    if not served:
        return
    found = [one for one in done if _settles(one) and one.owner not in served]
    known = {one.evidence[0] for one in found}
    verdict: Found | None = None
    for sentence in turns.all():
        if sentence.text.endswith("?"):
            continue
        if _is_verdict(sentence, turns, served):
            verdict = _own(_with_named(sentence, turns)) or verdict
        elif sentence.speaker not in served and sentence.span() not in known:
            found += _answered(sentence, turns, done)
    # Done as soon as it was asked for: "Change it." "Done.".
    asked = [one for one in done if len(one.evidence) > 1 and one.owner not in served]
    found = found or list(_granted(turns, served)) or asked[-1:]
    if verdict is not None and not (
        _is_on_the_way(verdict, found, served, turns) or _is_overturned(verdict, served, turns)
    ):
        found += [verdict] if verdict.evidence[0] not in known else []
    yield from sorted(found, key=_place)[-_MOST:]


def _is_overturned(verdict: Found, served: frozenset[str], turns: Turns) -> bool:
    """Whether those who are served complain again after all works: then it is not the end."""
    if _FAILS.search(verdict.words) or _AGAIN.search(verdict.words):
        return False
    later = (s for s in turns.all() if (s.utterance, s.start) > _place(verdict))
    return any(
        s.speaker in served and _COMPLAINT.search(s.text) and not _CLOSES.search(s.text)
        for s in later
    )


def _granted(turns: Turns, served: frozenset[str]) -> Iterator[Found]:
    """The last thing that is granted, unless it is declined or taken back."""
    for sentence in reversed(list(turns.all())):
        if sentence.speaker in served or _CONDITION.search(sentence.text):
            continue
        if _GRANTS.search(sentence.text):
            reply = turns.reply(sentence.utterance)
            is_declined = bool(reply) and (
                declines(reply[0].text) or _DECLINES.match(reply[0].text)
            )
            one = None if is_declined else _own(sentence)
            yield from standing([one], turns) if one is not None else []
            return


def _answered(sentence: Sentence, turns: Turns, done: tuple[Found, ...]) -> Iterator[Found]:
    """A refusal, or work that is passed on, if nothing later grants or replaces it."""
    if _PROVIDED.search(sentence.text) or _ASKS_BACK.search(sentence.text):
        return
    if _REFUSED.search(sentence.text):
        one = _refusal(sentence, turns)
        if one is not None and not any(_grants(new, one) for new in done if _settles(new)):
            yield one
    elif _PASSED_ON.search(sentence.text):
        one = _own(sentence)
        if one is not None and not any(_replaces(new, one) for new in done):
            yield one


def _refusal(sentence: Sentence, turns: Turns) -> Found | None:
    """A refusal with what it is of, and with what is to be done instead."""
    is_first = turns.beside(sentence, -1) is None
    wish = turns.before(sentence) if _OF_THAT.search(sentence.text) and is_first else None
    behind = turns.beside(sentence, 1)
    instead = behind if behind is not None and _INSTEAD.match(behind.text) else None
    parts = [one for one in (wish, sentence, instead) if one is not None]
    return quote(*parts, of=sentence, owner=sentence.speaker) or _own(sentence)


def _replaces(new: Found, promised: Found) -> bool:
    """Whether what was done later is what was promised, at whatever time."""
    if _place(new) <= _place(promised):
        return False
    shared = content_of(new) & content_of(promised)
    return bool(shared - values_of(new) - values_of(promised))


def _is_on_the_way(
    verdict: Found, found: list[Found], served: frozenset[str], turns: Turns
) -> bool:
    """Whether "It didn't help" is only the answer to a question, and more is done behind it."""
    if not (_FAILS.search(verdict.words) or _AGAIN.search(verdict.words)):
        return False
    number = verdict.evidence[0].utterance
    after = (s for n in range(number + 1, len(turns.sentences)) for s in turns.sentences[n])
    goes_on = any(s.speaker not in served and _GOES_ON.search(s.text) for s in after)
    return goes_on or any(_place(one) > _place(verdict) for one in found)


def _place(one: Found) -> tuple[int, int]:
    return one.evidence[0].utterance, one.evidence[0].start


def _grants(new: Found, refused: Found) -> bool:
    """Whether what was not possible is done later: another table, another day."""
    later = new.evidence[0].utterance > refused.evidence[0].utterance
    return later and not _matters(new.words).isdisjoint(_matters(refused.words))


def _matters(text: str) -> set[str]:
    stems = {stem_of(word) for word in re.findall(r"[a-z]+", text.lower())}
    return {"book" if stem in _BOOKING else stem for stem in stems & (_SETTLING | _BOOKING)}


def _settles(one: Found) -> bool:
    words = re.findall(r"[a-z]+", one.words.lower())
    past = (w for w in words if w.endswith("ed") or w in ("made", "bought", "reset"))
    return any(stem_of(word) in _SETTLING for word in past)


def _is_verdict(sentence: Sentence, turns: Turns, served: frozenset[str]) -> bool:
    if sentence.utterance == 0:
        return False
    if _AGAIN.search(sentence.text) or _FAILS.search(sentence.text):
        return sentence.speaker in served
    works = _WORKS.search(sentence.text)
    if works is None or _NOT_YET.search(sentence.text):
        return False
    return not re.match(r" ?(?:for|with|out|on|at|best|in)\b", sentence.text[works.end() :])


def _with_named(sentence: Sentence, turns: Turns) -> Sentence:
    """ "Power reset it. Working now.": a few words with the sentence before them."""
    head = turns.beside(sentence, -1) if len(sentence.text.split()) < _FEWEST else None
    return turns.joined(head, sentence) if head else sentence


def _own(sentence: Sentence) -> Found | None:
    return quote(sentence, owner=sentence.speaker)
