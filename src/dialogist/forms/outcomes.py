"""What a customer comes with, what was done, and how the conversation ended."""

import re
from collections.abc import Iterator, Sequence

from dialogist.forms.actions import WORK
from dialogist.forms.sentences import (
    SERVES,
    Finding,
    Sentence,
    Talk,
    begins_clause,
    breath_before,
    clause_end,
    is_telling,
    is_whole,
    quote,
    standing,
    tidy,
    values_of,
)
from dialogist.language.porter import stem_of
from dialogist.language.replies import content_stems, declines
from dialogist.language.tokens import IRREGULAR, word_set

# What a customer comes with: the first complaint and the first wish, as he says them.

_COMPLAINT = re.compile(
    r"n ?['’] ?t\b|\b(?:ca|wo|do|does|did|is|are|was|have|has)nt\b|\b(?:is|are|been|was|went|"
    r"goes|s) (?:\w+ )?(?:down|out of \w+|unavailable|frozen|loud)\b|\b(?:been (?:trying|"
    r"waiting)|no (?:luck|video|sound|signal|internet|power|reason|reply|response|longer)|"
    r"cancell?ed|declined|expired|disconnect\w*|freez\w+|cannot|not|never|nobody|keeps? \w+ing|"
    r"still \w+ing|broken?|broke|stopped|leak\w*|error|problem|issues?|trouble|wrong|too (?:late|"
    r"small|big|slow|expensive)|late|missing|lost|damaged|charged|billed|twice|hurts?|pains?|"
    r"painful|cough\w*|fever|headaches?|sick|ill|sore|black|blank|crash\w*|slow|stuck|fail\w*|"
    r"stolen|supposed to|complain\w*|dead|faulty|defective|cracked|unable|disappeared|delayed|"
    r"forgot(?:ten)?|locked out|went)\b",
    re.I,
)
_WISH = re.compile(
    r"\b(?:i(?: would|['’ ]?d)? (?:like|love|want)|i (?:wanna|need|wish|have to)|i(?: ?['’]?m|"
    r" am) (?:looking|calling|trying|searching|interested|thinking)|i was (?:wondering|hoping)|"
    r"(?:could|can) you (?:help|find|please|get|book|look)|help me|i have a question|"
    r"please (?:find|book|help|get|search))",
    re.I,
)
_NOTHING = re.compile(
    r"^\W*(?:\w+\W+)?(?:what ?['’]?s (?:wrong|up)|can you help(?: me)?\W*$|how are you|"
    r"good (?:morning|afternoon|evening)[\w ,.]*$)|^\W*(?:no|not really|never mind|thanks)\b",
    re.I,
)
_OPENS = re.compile(
    r"^\W*(?:(?:hi|hello|hey|yes|good \w+)\W+)?(?:this is|it ?['’]?s|my name|i ?['’]?m|"
    r"i am)\b[^.!?]{0,30}\W*$|^\W*my (?:\w+ )?(?:number|name|e-?mail|address|id) is\b",
    re.I,
)
# Asked of whom one talks to, or for help as such: the matter comes later.
_ASKS_NOTHING = re.compile(
    r"\b(?:is (?:this|that) (?:the|your)|are you|am i (?:through|speaking)|who am i|how are|"
    r"(?:can|could) you help(?: me)?(?: please)?\W*$|(?:can|may|could) i (?:ask|speak|talk))\b",
    re.I,
)
_DISLIKES = re.compile(
    r"\b(?:disappoint\w*|unacceptable|awful|terrible|worst|worse|disgust\w*|ridiculous|rude|"
    r"useless|horrible)\b",
    re.I,
)
_PRAISES = re.compile(
    r"\b(?:great|amazing|awesome|excellent|brilliant|wonderful|fantastic|lovely|helpful|sunshine|"
    r"thanks?|thank ?you|love|luckily)\b",
    re.I,
)
# What only the sentence before makes clear.
_LEANS = re.compile(
    r"^\W*(?:its?|they|thats?|this|those|these|he|she|not|then|however|but|so|because|and|anyway|"
    r"now|which|please|also|still|same|no idea|when will)\b|.*\b(?:do|doing|fix|about|"
    r"with) (?:this|that|it)\b",
    re.I,
)
_HEAD = 6  # utterances: a problem is told at the beginning
_FEWEST = 4  # words of a sentence that tells something
_LEANT_ON = 2  # sentences before
_QUOTED = 200  # characters of a longer sentence


def issues_in(talk: Talk) -> Iterator[Finding]:
    """At most a complaint and a wish, where there is somebody who serves and somebody who asks.

    They are taken from the first turn in which those who are served say what they want. A turn
    that only states something counts if nothing better comes; an answer to a question does not.
    """
    for number, turn in enumerate(talk.sentences[:_HEAD]):
        if talk.dialogue.utterances[number].speaker not in talk.served:
            continue
        enough = (s for s in turn if len(s.text.split()) >= _FEWEST)
        telling = [s for s in enough if not _NOTHING.match(s.text)]
        chosen = _matter(telling)
        asked = talk.sentences[number - 1] if number else ()
        is_answer = any(s.text.endswith("?") for s in asked)
        if not chosen and (not is_answer or any(SERVES.search(s.text) for s in asked)):
            is_praise = any(_PRAISES.search(s.text) for s in telling)
            chosen = [
                s
                for s in telling
                if "?" not in s.text and not (_OPENS.search(s.text) or _PRAISES.search(s.text))
            ][:1]
            if not chosen and is_praise:  # who only praises has no problem
                return
        yield from (finding for s in chosen if (finding := _issue(s, talk)) is not None)
        if chosen:
            return


def _issue(sentence: Sentence, talk: Talk) -> Finding | None:
    """What he says, with the sentences before it that it leans on."""
    first = sentence
    for _ in range(_LEANT_ON):
        if _LEANS.match(first.text):
            first = talk.beside(first, -1) or first
    whole, owner = talk.joined(first, sentence), sentence.speaker
    head = (0, sentence.text.rfind(" ", 0, _QUOTED))
    return quote(whole, owner=owner) or quote(sentence, owner=owner, clause=head)


def _matter(telling: Sequence[Sentence]) -> list[Sentence]:
    """The first complaint and the first wish of a turn, else a question, else what is disliked."""
    # "Luckily they were not late" praises.
    complaints = (s for s in telling if _COMPLAINT.search(s.text))
    complaint = next((s for s in complaints if not _PRAISES.match(s.text.lstrip(" .,!"))), None)
    wish = next((s for s in telling if _WISH.search(s.text)), None)
    if complaint is not None or wish is not None:
        return sorted({s for s in (complaint, wish) if s is not None}, key=lambda s: s.start)
    asked = (s for s in telling if "?" in s.text and not _ASKS_NOTHING.search(s.text))
    disliked = (s for s in telling if _DISLIKES.search(s.text))
    return [s for s in (next(asked, None) or next(disliked, None),) if s is not None]


# What was done: "I've refunded the fee", "your order has been cancelled", "Done.".

_ADVERB = r"(?:(?:just|already|now|also|successfully|all|gone ahead and|finally|both) )*"
_START = r"(?:(?<=^)|(?<=[\s,.;:]))"
_PERFECT = re.compile(
    rf"{_START}(?:(?:I|[Ww]e) ?['’] ?ve|(?:I|[Ww]e) have|[IiWw]e?ve) {_ADVERB}(?P<verb>[a-z][a-z-]"
    r"+)(?=[ .,!]|$)"
)
_PAST = re.compile(
    rf"{_START}(?:I|We|[Mm]y \w+) (?:just|already|have just|now) (?P<verb>[a-z-]+)(?=[ .,!]|$)|"
    rf"{_START}(?:[Ii]|We) (?P<past>[a-z-]+)(?= [^.!?]*\b(?:yesterday|this morning|last (?:night|"
    r"week|month)|earlier|already|an hour ago|today)\b)"
)
# "I cancelled your old card and ordered a new one": who serves tells what he did.
_SIMPLE = re.compile(rf"{_START}(?:I|[Ww]e) {_ADVERB}(?P<past>[a-z-]+)(?=[ .,!]|$)")
_PASSIVE = re.compile(
    r"\b(?P<what>(?:your|the|my|our|a|an|it|everything|all of it|you)(?: (?!(?:and|but|or|if|"
    r"that|which|who|is|are|has|have|was|were|will)\b)[\w'’-]+){0,5}?)(?: ?['’] ?(?:s|re)|"
    r" ?['’] ?ve been| ha(?:s|ve) (?:now |just |already )?been| is| are|(?<=tion) was|"
    r"(?<=ing) was|(?<=ent) was|(?<=er) was|(?<=table) was|(?<=car) was|(?<=cab) was|"
    r"(?<=tickets) were|(?<=ticket) was)(?: (?:now|just|already|all|successfully|"
    r"been))* (?P<verb>[a-z-]+)(?=[ .,!]|$)|^\W*(?:(?:your|the) )?(?:reservation|booking|order|"
    r"payment|appointment|purchase|ticket|table|seat|transfer|transaction)s?(?: (?:is|was|"
    r"has been|went))? (?:confirmed|scheduled|made|complete|completed|successful|booked|through|"
    r"done)\b",
    re.I,
)
_UNSURE = re.compile(
    r"\b(?:if|unless|once|after|when|until|before|as soon as|whether|what|which|who|why|how|that|"
    r"think|hope|say|says|said|heard|told|maybe|perhaps|not|never|please confirm)\b|n['’]t\b|\?",
    re.I,
)
_DONE = word_set(
    "found checked confirmed tried tested restarted corrected credited unlocked locked blocked "
    "opened logged noted placed spoken talked deployed merged paid issued prescribed waived rented "
    "reserved purchased transferred downgraded upgraded removed added closed escalated set sorted "
    "given lifted reversed applied posted cleared"
)
_BEEN = word_set(
    "refunded cancelled canceled booked reserved confirmed changed updated shipped sent dispatched "
    "delivered replaced repaired fixed resolved activated unlocked credited waived processed "
    "approved placed made submitted scheduled rescheduled transferred escalated closed renewed "
    "purchased bought added removed corrected reset upgraded registered paid played rented issued "
    "created successful complete signed set restored extended moved sorted completed lifted "
    "reversed"
)
_USUAL = re.compile(r"(?:['’] ?(?:s|re)|\b(?:is|are)) \w+$", re.I)
_BEING = word_set(
    "booked reserved confirmed cancelled canceled activated registered scheduled sorted resolved "
    "fixed set refunded complete successful"
)
_CONFIRMS = re.compile(
    r"\bconfirm(?:ing)?\b(?!ed)|\bis (?:that|this) (?:right|correct|ok|okay)\b", re.I
)
_NOT_DONE = re.compile(
    r"[\w-]+ (?:nobody|none|no|not)\b|confirmed (?:that|if|how|why)\b|(?:looked|searched)\b|"
    r"found (?!(?:it|him|her|them|your|the|his)\b)|changed (?:my|his|her|our|your) mind",
    re.I,
)
_SO = r"^\W*(?:(?:ok(?:ay)?|sure|alright|all right|there|yes|right|great)[ ,.]+){0,2}"
_BARE = re.compile(
    rf"{_SO}(?:all )?(?:done|sorted|changed|booked|cancell?ed|updated|fixed|stopped|(?:it|"
    r"that) ?['’]?s done)\W*$",
    re.I,
)
_SKIPPED = word_set("skipped stopped waived removed")  # what only those who serve do for others
_YES = re.compile(r"^\W*(?:yes|yeah|yep|correct|right|that ?['’]?s (?:it|right))\W*$", re.I)
_REQUEST = re.compile(
    r"\b(?:can|could|would|will) (?:you|u)\b|\bplease\b|\bi(?: would|['’]d) like\b", re.I
)
_CHOICE = 5  # words of a request or a choice without more: "Skip next week", "the blue one"
_NEW = re.compile(r"[,;] (?:so |and |but )?$|\b(?:so|and|but) $|[;:.] ")
_SUPPOSED = re.compile(r"\b(?:if|unless|once|when|after|until|before|as soon as)\b", re.I)
_FIRST_PERSON = re.compile(r"(?:I|we)\b|ive\b|weve\b", re.I)
_STEMS = frozenset(map(stem_of, WORK | _DONE))


def done_in(talk: Talk) -> Iterator[Finding]:
    """Things said to be done, in the order they are said; of a passive nobody is the owner."""
    utterances = talk.dialogue.utterances
    story = next((n for n, u in enumerate(utterances) if u.speaker in talk.served), -1)
    for sentence in talk.all():
        if sentence.text.endswith("?"):
            continue
        # What a customer did before he called is his story; what he has tried counts.
        serves = sentence.speaker not in talk.served
        patterns = [_PERFECT] * (sentence.utterance != story)
        patterns += [_PAST] * serves + [_SIMPLE] * (serves and bool(talk.served))
        findings = list(_deeds(sentence, talk, patterns))
        if not findings:
            finding = (_passive(sentence, talk) if serves else None) or _bare(sentence, talk)
            findings = [finding] if finding is not None else []
        yield from findings


def _deeds(
    sentence: Sentence, talk: Talk, patterns: Sequence[re.Pattern[str]]
) -> Iterator[Finding]:
    """What the speaker, or "my supervisor", did."""
    known: set[int] = set()
    for pattern in patterns:
        for deed in pattern.finditer(sentence.text):
            group = next(name for name, verb in deed.groupdict().items() if verb)
            verb, start = deed[group], deed.start(group)
            head = breath_before(sentence.text, deed.start())
            ends = [end.end() for end in _NEW.finditer(head)]
            # "We can't promise it, so I've ..." promises.
            head = head[ends[-1] :] if ends and not _SUPPOSED.search(head) else head
            is_known = stem_of(verb) in _STEMS or (_PAST in patterns and verb in _SKIPPED)
            if verb in ("put", "set", "reset", "cut", "run"):
                is_past = pattern is not _SIMPLE
            else:
                is_past = verb.endswith("ed") or (
                    verb in IRREGULAR and (pattern is _PERFECT or IRREGULAR[verb] != verb)
                )
            if _UNSURE.search(head) or not is_known or not is_past or start in known:
                continue
            end = clause_end(sentence.text, start)
            clause = tidy(sentence.text[start:end])
            begins = begins_clause(sentence.text, deed.start())
            if not begins or not is_whole(clause) or _NOT_DONE.match(clause):
                continue
            parts = [sentence]
            if not is_telling(clause) and len(sentence.text[: deed.start()].split()) < _FEWEST:
                # "I bought them": with what was spoken of.
                before = talk.beside(sentence, -1)
                if before is not None and len(before.text.split()) >= _FEWEST:
                    parts = [talk.joined(before, sentence)]
                elif (named := talk.before(sentence)) is not None:
                    parts = [named, sentence]
            owner = sentence.speaker if _FIRST_PERSON.match(deed[0]) else ""
            finding = quote(*parts, owner=owner, words=clause, clause=(deed.start(), end))
            if finding is not None:
                known.add(start)
                yield finding


def _passive(sentence: Sentence, talk: Talk) -> Finding | None:
    """ "Your order has been cancelled." """
    if any(_CONFIRMS.search(s.text) for s in talk.sentences[sentence.utterance]):
        return None
    for deed in _PASSIVE.finditer(sentence.text):
        verb = (deed["verb"] or "confirmed").lower()
        place = deed.end("what") if deed["what"] else deed.start()
        # "Bills are paid monthly" tells what is usual, "it is booked" what was done.
        if _USUAL.search(deed[0]) and verb not in _BEING:
            continue
        if verb in _BEEN and not _UNSURE.search(breath_before(sentence.text, place)):
            end = clause_end(sentence.text, deed.end())
            clause = tidy(sentence.text[deed.start() : end])
            return quote(sentence, words=clause, clause=(deed.start(), end))
    return None


def _bare(sentence: Sentence, talk: Talk) -> Finding | None:
    """ "Done.": what was asked for before."""
    if not _BARE.match(sentence.text) or sentence.utterance == 0:
        return None
    turn = sentence.utterance - 1
    answer = talk.sentences[turn]
    if turn > 1 and len(answer) == 1 and _YES.match(answer[0].text):  # to a question back
        turn -= 2
    asked = [
        s
        for s in talk.sentences[turn]
        if _REQUEST.search(s.text) or ("?" not in s.text and 1 < len(s.text.split()) <= _CHOICE)
    ]
    if not asked or asked[-1].speaker == sentence.speaker:
        return None
    request = _REQUEST.search(asked[-1].text)
    words = asked[-1].text[request.end() if request else 0 :].strip()
    return quote(asked[-1], sentence, owner=sentence.speaker, words=words)


# How a conversation about a problem ended: settled, refused, passed on, or still open.
#
# The last word counts: what works now was broken before, and what is refused may be granted later.

_SETTLING = frozenset(
    map(
        stem_of,
        word_set(
            "refunded cancelled booked reserved confirmed changed updated shipped replaced "
            "repaired fixed resolved activated credited waived processed approved placed made "
            "scheduled rescheduled escalated closed renewed purchased bought corrected reset "
            "upgraded downgraded transferred raised arranged ordered blocked unlocked stopped "
            "skipped"
        ),
    )
)
_BOOKING = frozenset(
    map(
        stem_of,
        word_set("book reserve reservation booking buy purchase table appointment ticket seat"),
    )
)
_THING = (
    r"(?:it|its|it ?['’]?s|everything|all|the \w+(?: \w+)?|(?:this|that)(?= ?(?:['’]s|is) |"
    r".{1,12}(?:now|again)\b))"
)
_WORKS = re.compile(
    rf"\b(?:{_THING} ?(?:['’] ?s| is| are| seems to be)? ?(?:all )?(?:now )?(?:works|worked|"
    r"working|fixed|solved|sorted|resolved|back online|(?:okay|ok|fine|good)(?= (?:now|"
    r"again)))(?: (?:now|again|fine|perfectly))*|(?:it|everything|(?:the )?\w+)(?: ?['’] ?s|"
    r"(?<=it)s| is) back(?: (?:now|again|on|up))?(?=\W*$)|(?:that|it|this) (?:did it(?= ?[,.!]|"
    r"\W*$)|(?:did|has done) the trick|fixed it|solved it|helped)|now it works|(?:i can|"
    r"i ?['’]?m able to) (?:\w+ ){1,5}?(?:now|again))\b|^\W*(?:\w+ )?(?:(?:it|"
    r"all) )?(?:working|works|fixed|sorted|solved|resolved) (?:now|again)\b|\b(?:order|parcel|"
    r"package|replacement|refund|money) (?:has )?(?:just |now )?arrived\b",
    re.I,
)
# "No wait, it is down again."
_AGAIN = re.compile(
    r"\b(?:down|broken|gone|stopped|frozen|dead|happening|crash\w+|failing|offline|blocked|"
    r"locked out) again\b|\bspoke too soon\b|\b(?:problem|issue|error) (?:is |s )?back\b|"
    r"\bnot (?:any ?more|fixed|solved|resolved|sorted)\b",
    re.I,
)
_FAILS = re.compile(
    r"\b(?:still (?:doesn ?['’]?t|does not|not|isn ?['’]?t|won ?['’]?t|can ?['’]?t|the same|"
    r"nothing|broken|no|frozen|down)|(?:it|that) (?:doesn ?['’]?t|didn ?['’]?t|does not|"
    r"did not) (?:work|help|change)|(?:the )?same (?:problem|error|issue)|no luck)\b",
    re.I,
)
# "I can't do that before you verify it" says what it takes.
_PROVIDED = re.compile(
    r"\b(?:before|until|unless) (?:you|we|i|it)\b|^\W*(?:please|kindly|pls|can|could)\b|"
    r"\blet (?:us|me) know\b",
    re.I,
)
_CANNOT = r"(?:can ?['’]?t|cannot|can not|are unable to|am unable to|could ?n['’]?t|could not)"
_REFUSED = re.compile(
    rf"\b(?:unfortunately|afraid|sorry|apologi[sz]e)\b[^.!?]*\b(?:(?:we|i) (?:{_CANNOT}|"
    r"don ?['’]?t (?:offer|give|do))|(?:un|not |n ?['’]?t )able to|(?:not|n ?['’]?t) (?:possible|"
    r"eligible|covered|available)|no (?:other )?\w+ available|not go through|could ?n['’]?t be|"
    rf"failed)\b|\b(?:that|this|it|they|those|these|the \w+)(?: ones?)? {_CANNOT} be \w+ed\b|"
    rf"\b(?:we|i) {_CANNOT} (?:do (?:that|this|it)|get (?:it|them|that) back|refund|replace|"
    r"cancel|change|book|reserve|offer|give|exchange|extend|fix|repair|process|complete|make)\b|"
    r"\b(?:we|i) (?:(?:was|were) (?:not |un)|wasn ?['’]?t )able to|\b(?:reservation|booking|"
    r"purchase|transaction|payment|appointment|request|transfer)\b[^.!?]*\b(?:failed|was not|"
    r"could ?n['’]?t|could not|has been (?:declined|rejected))\b",
    re.I,
)
_PASSED_ON = re.compile(
    r"\b(?:I ?['’] ?m|I am|I ?['’] ?ll|I will|I ?['’] ?ve|I have|we ?['’] ?ll|"
    r"let me) (?:(?:escalat|forward|refer)\w*\b|(?:pass|hand)\w* (?:it|this|your \w+) (?:on|"
    r"over)|(?:open|rais|creat|fil)\w* (?:a|an|your) (?:ticket|case|complaint|claim)|(?:send|"
    r"sending|arrange|arranging|book|booking) (?:you )?(?:an?|our) (?:engineer|technician|"
    r"plumber|repair\w*|colleague|mechanic)\b|transfer\w* (?:you|this))",
    re.I,
)
_NOT_YET = re.compile(
    r"\b(?:if|when|how|should|would|will|hope|until|make sure|never|not|try|lets?|to get|want|"
    r"need|was|were|used to|everyone|other)\b|['’]ll\b|n['’]?t\b",
    re.I,
)
# What those who serve grant.
_GRANTS = re.compile(
    r"\b(?:I|we)(?: ?['’] ?ll| will) (?:(?:just|also|then) )?(?:refund|credit|waive|take off|"
    r"reverse|honou?r|replace|swap|cancel|extend|ship|change (?:the|your)|(?:leave|take|"
    r"knock) (?:it|that|the \w+(?: \w+)?) off|put [^.!?,]{1,40} back|give you [^.!?,]{1,30} "
    r"(?:back|off)|send (?:you )?(?:a|another) new)\b|\b(?:\d[\d.,]*|pounds|dollars|euros|"
    r"the full \w+) back(?: (?:to|on|onto|into) your\b|[,.!]|$)",
    re.I,
)
_CONDITION = re.compile(
    r"\b(?:if|unless|(?<!this )once|when|whether|would|could|might|maybe|perhaps|not|never)\b|"
    r"n['’]t\b|\?",
    re.I,
)
_OF_THAT = re.compile(r"\b(?:that|this|it)\b", re.I)
_INSTEAD = re.compile(
    r"^\W*(?:you(?: ?['’]?ll)? (?:(?:have|need) to|must|can|could)|please)\b", re.I
)
_GOES_ON = re.compile(
    r"\b(?:try|please (?:bring|return|send|try)|let me|i ?['’] ?ll|i will|i can|we ?['’] ?ll|"
    r"we will|then it|must be)\b",
    re.I,
)
_MOST = 3  # entries of an end state


def outcomes_in(talk: Talk, done: Sequence[Finding]) -> Iterator[Finding]:
    """The end state in its order: what settled the matter, what is refused, the last verdict.

    What is replaced later is no part of it, nor what a customer tried in the middle. What was done
    earlier than the last `_MOST` of these is told under "done" alone.
    """
    if not talk.served:
        return
    by_staff = [deed for deed in done if deed.owner not in talk.served]
    found = [deed for deed in by_staff if _settles(deed)]
    known = {deed.evidence[0] for deed in found}
    verdict: Finding | None = None
    for sentence in talk.all():
        if sentence.text.endswith("?"):
            continue
        if _is_verdict(sentence, talk):
            # "Power reset it. Working now.": a few words with the sentence before them.
            is_brief = len(sentence.text.split()) < _FEWEST
            first = talk.beside(sentence, -1) if is_brief else None
            whole = talk.joined(first or sentence, sentence)
            verdict = quote(whole, owner=sentence.speaker) or verdict
        elif sentence.speaker not in talk.served and sentence.span not in known:
            found += _answered(sentence, talk, done)
    # Done as soon as it was asked for: "Change it." "Done.".
    asked = [deed for deed in by_staff if len(deed.evidence) > 1]
    found = found or list(_granted(talk)) or asked[-1:]
    if verdict is not None and verdict.evidence[0] not in known:
        is_bad = _FAILS.search(verdict.words) or _AGAIN.search(verdict.words)
        later = [s for s in talk.all() if (s.utterance, s.start) > verdict.place]
        if is_bad:  # only the answer to a question, if more is done behind it
            goes_on = any(
                s.utterance > verdict.place[0]
                and s.speaker not in talk.served
                and _GOES_ON.search(s.text)
                for s in later
            )
            is_last = not goes_on and all(f.place <= verdict.place for f in found)
        else:  # "It works now.", unless those who are served complain again
            is_last = not any(s.speaker in talk.served and _COMPLAINT.search(s.text) for s in later)
        found += [verdict] * is_last
    yield from sorted(found, key=lambda finding: finding.place)[-_MOST:]


def _is_verdict(sentence: Sentence, talk: Talk) -> bool:
    """Whether it says that all works, or that nothing does."""
    if sentence.utterance == 0:
        return False
    if _AGAIN.search(sentence.text) or _FAILS.search(sentence.text):
        return sentence.speaker in talk.served
    works = _WORKS.search(sentence.text)
    if works is None or _NOT_YET.search(sentence.text):
        return False
    return not re.match(r" ?(?:for|with|out|on|at|best|in)\b", sentence.text[works.end() :])


def _answered(sentence: Sentence, talk: Talk, done: Sequence[Finding]) -> Iterator[Finding]:
    """A refusal, or work that is passed on, if nothing later grants or replaces it."""
    if _PROVIDED.search(sentence.text):
        return
    if _REFUSED.search(sentence.text):
        # With what it is of, and with what is to be done instead.
        is_first = talk.beside(sentence, -1) is None
        wish = talk.before(sentence) if _OF_THAT.search(sentence.text) and is_first else None
        behind = talk.beside(sentence, 1)
        instead = behind if behind is not None and _INSTEAD.match(behind.text) else None
        parts = [s for s in (wish, sentence, instead) if s is not None]
        owner = sentence.speaker
        refusal = quote(*parts, main=sentence, owner=owner) or quote(sentence, owner=owner)
        if refusal is not None and not any(
            _settles(deed)
            and deed.place[0] > refusal.place[0]
            and not _matters(deed.words).isdisjoint(_matters(refusal.words))
            for deed in done
        ):
            yield refusal
    elif _PASSED_ON.search(sentence.text):
        promise = quote(sentence, owner=sentence.speaker)
        if promise is not None and not any(
            deed.place > promise.place
            and content_stems(deed.words) & content_stems(promise.words)
            - values_of(deed) - values_of(promise)
            for deed in done
        ):  # fmt: skip
            yield promise


def _granted(talk: Talk) -> Iterator[Finding]:
    """The last thing that is granted, unless it is declined or taken back."""
    for sentence in reversed(list(talk.all())):
        if sentence.speaker in talk.served or _CONDITION.search(sentence.text):
            continue
        if _GRANTS.search(sentence.text):
            reply = talk.reply(sentence)
            is_declined = bool(reply) and declines(reply[0].text)
            grant = None if is_declined else quote(sentence, owner=sentence.speaker)
            yield from standing([grant], talk) if grant is not None else []
            return


def _settles(deed: Finding) -> bool:
    words = re.findall(r"[a-z]+", deed.words.lower())
    past = (w for w in words if w.endswith("ed") or w in ("made", "bought", "reset"))
    return any(stem_of(word) in _SETTLING for word in past)


def _matters(text: str) -> set[str]:
    """What is settled in a text; a booking by any name is one thing."""
    stems = {stem_of(word) for word in re.findall(r"[a-z]+", text.lower())}
    return {"book" if stem in _BOOKING else stem for stem in stems & (_SETTLING | _BOOKING)}
