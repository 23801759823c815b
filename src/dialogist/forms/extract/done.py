"""What was done: "I've refunded the fee", "your order has been cancelled", "Done."."""

import re
from collections.abc import Iterator, Sequence

from dialogist.forms.extract.turns import (
    Found,
    Sentence,
    Turns,
    before,
    begins_clause,
    clause_end,
    is_broken,
    is_telling,
    quote,
    quoted,
    resolved,
    served_in,
    tidy,
)
from dialogist.forms.extract.verbs import WORK
from dialogist.language.porter import stem_of
from dialogist.language.reported_speech.orders import is_order
from dialogist.language.reported_speech.trimming import trimmed
from dialogist.language.tokens import IRREGULAR, word_set

_ADVERB = r"(?:(?:just|already|now|also|successfully|all|gone ahead and|finally|both) )*"
_PERFECT = re.compile(
    rf"(?:(?<=^)|(?<=[\s,.;:]))(?:(?:I|[Ww]e) ?['’] ?ve|(?:I|[Ww]e) have|[IiWw]e?ve) {_ADVERB}"
    r"(?P<verb>[a-z][a-z-]+)(?=[ .,!]|$)"
)
_PAST = re.compile(
    r"(?:(?<=^)|(?<=[\s,.;:]))(?:I|We|[Mm]y \w+) (?:just|already|have just|"
    r"now) (?P<verb>[a-z-]+)(?=[ .,!]|$)"
    r"|(?:(?<=^)|(?<=[\s,.;:]))(?:[Ii]|We) (?P<past>[a-z-]+)(?= [^.!?]*\b(?:yesterday|this morning|"
    r"last (?:night|week|month)|earlier|already|an hour ago|today)\b)"
)
# "I cancelled your old card and ordered a new one": who serves tells what he did.
_SIMPLE = re.compile(rf"(?:(?<=^)|(?<=[\s,.;:]))(?:I|[Ww]e) {_ADVERB}(?P<past>[a-z-]+)(?=[ .,!]|$)")
_PASSIVE = re.compile(
    r"\b(?P<what>(?:your|the|my|our|a|an|it|everything|all of it|you)(?: (?!(?:and|but|or|if|that|"
    r"which|who|is|are|has|have|was|were|will)\b)[\w'’-]+){0,5}?)(?: ?['’] ?(?:s|re)|"
    r" ?['’] ?ve been| ha(?:s|ve) (?:now |just |already )?been| is| "
    r"are|(?<=tion) was|(?<=ing) was|(?<=ent) was|(?<=er) was|(?<=table) was|(?<=car) was|"
    r"(?<=cab) was|(?<=tickets) were|(?<=ticket) was)"
    r"(?: (?:now|just|already|all|successfully|been))* (?P<verb>[a-z-]+)(?=[ .,!]|$)"
    r"|^\W*(?:(?:your|the) )?(?P<bare>reservation|booking|order|payment|appointment|purchase|"
    r"transfer|transaction)s?"
    r"(?: (?:is|was|has been|went))? (?P<so>confirmed|made|complete|completed|successful|booked|"
    r"through|done)\b",
    re.I,
)
_UNSURE = re.compile(
    r"\b(?:if|unless|once|after|when|until|before|as soon as|whether|what|which|who|whom|why|how|"
    r"that|"
    r"think|hope|say|says|said|heard|told|maybe|perhaps|not|never|please confirm)\b|n['’]t\b|\?",
    re.I,
)
_DONE_TOO = word_set(
    "found checked tried tested cleaned restarted corrected credited unlocked locked blocked "
    "raised opened logged noted spoken talked merged deployed paid issued prescribed waived "
    "rented reserved purchased transferred upgraded downgraded removed added closed escalated "
    "set sorted given lifted reversed unblocked applied posted switched cleared"
)
_BEEN = word_set(
    "refunded cancelled canceled booked reserved confirmed changed updated shipped sent "
    "dispatched delivered replaced repaired fixed resolved activated deactivated unlocked "
    "credited waived processed approved placed made submitted scheduled rescheduled transferred "
    "escalated closed renewed purchased bought added removed corrected reset upgraded "
    "downgraded registered paid played rented issued created successful complete signed set "
    "restored extended moved postponed sorted completed lifted reversed unblocked"
)
_CONFIRMS = re.compile(
    r"\bconfirm(?:ing)?\b(?!ed)|\bis (?:that|this) (?:right|correct|ok|okay)\b", re.I
)
_NOT_DONE = re.compile(
    r"[\w-]+ (?:(?:out|up|off|on|to|for|with|at) )?(?:nobody|no ?one|none|nothing|no|not|neither|"
    r"never|hardly|nowhere)\b|(?:confirmed|noted|found out|checked|advised|informed) (?:\w+ )?"
    r"(?:that|if|whether|how|why)\b|asked for (?:your|the)\b|(?:looked|searched)\b|given you\b|"
    r"found (?!(?:it|him|her|them|your|the|his|their)\b)|changed (?:my|his|her|our|your) mind|"
    r"made (?:up|.*\b(?:decision|mistake|choice|notes?|effort|sense|friends?|progress|mind)\b)|"
    r"(?:given|taken|put) (?:up|on)\b|set (?:out|off|aside)\b|heard|thought",
    re.I,
)
_BEING = word_set(
    "booked reserved confirmed cancelled canceled activated registered scheduled sorted "
    "resolved fixed set refunded complete successful"
)
_SO = r"^\W*(?:(?:ok(?:ay)?|sure|alright|all right|there|yes|right|great)[ ,.]+){0,2}"
_BARE = re.compile(
    rf"{_SO}(?:all )?(?:done|sorted|changed|booked|cancell?ed|updated|fixed|stopped|"
    r"it ?['’]?s done|that ?['’]?s done)\W*$",
    re.I,
)
# "Next week skipped."
_ELLIPTIC = re.compile(
    rf"{_SO}(?P<what>(?:(?!(?:I|you|we|he|she|it|they|is|was|are|were|be|been|get|got|not|never|no|if|who|that"
    r"|has|have|had|thanks?|thx|for|to|us|me|when|\w+ing)\b)[\w'’-]+ ){1,5})(?P<verb>[a-z]+ed)\W*$",
    re.I,
)
_SKIPPED = word_set("skipped stopped waived removed")  # what only those who serve do for others
_YES = re.compile(r"^\W*(?:yes|yeah|yep|correct|right|that ?['’]?s (?:it|right))\W*$", re.I)
_REQUEST = re.compile(
    r"\b(?:can|could|would|will) (?:you|u)\b|\bplease\b|\bi(?: would|"
    r"['’]d) like\b", re.I)  # fmt: skip
_NEW = re.compile(r"[,;] (?:so |and |but )?$|\b(?:so|and|but) $|[;:.] ")
_SUPPOSED = re.compile(r"\b(?:if|unless|once|when|after|until|before|as soon as)\b", re.I)
_FIRST = re.compile(r"(?:I|we)\b|ive\b|weve\b", re.I)
_CHOICE = 4  # words
_NAMING = 4  # words of what may name a thing
_STEMS = frozenset(map(stem_of, WORK)) | frozenset(map(stem_of, _DONE_TOO))


def done_in(turns: Turns) -> Iterator[Found]:
    """Things said to be done, in the order they are said; of a passive nobody is the owner."""
    served = served_in(turns)
    told = next((n for n, u in enumerate(turns.dialogue.utterances) if u.speaker in served), -1)
    for sentence in turns.all():
        if sentence.text.endswith("?"):
            continue
        # What a customer did before he called is his story; what he has tried counts.
        serves = sentence.speaker not in served
        patterns = [_PERFECT] * (sentence.utterance != told)
        patterns += [_PAST] * serves + [_SIMPLE] * (serves and bool(served))
        found = list(_own(sentence, turns, patterns))
        if not found:
            one = _passive(sentence, turns) if serves else None
            one = one or _bare(sentence, turns) or (_elliptic(sentence) if serves else None)
            found = [one] if one else []
        yield from found


def _own(sentence: Sentence, turns: Turns, patterns: Sequence[re.Pattern[str]]) -> Iterator[Found]:
    known: set[int] = set()
    serves = _PAST in patterns
    for pattern in patterns:
        for said in pattern.finditer(sentence.text):
            group = next(name for name, verb in said.groupdict().items() if verb)
            unsure = _UNSURE.search(_clause_before(sentence.text, said.start()))
            is_known = stem_of(said[group]) in _STEMS or (serves and said[group] in _SKIPPED)
            if unsure or not is_known or not _is_past(said[group], pattern):
                continue
            if not begins_clause(sentence.text, said.start()) or said.start(group) in known:
                continue
            found = _clause(sentence, said, group, turns)
            if found is not None:
                known.add(said.start(group))
                yield found


def _clause_before(text: str, place: int) -> str:
    """What is said before in the same clause: "We can't promise it, so I've ..." promises."""
    words = before(text, place)
    ends = [end.end() for end in _NEW.finditer(words)]
    return words[ends[-1] :] if ends and not _SUPPOSED.search(words) else words


def _is_past(verb: str, pattern: re.Pattern[str]) -> bool:
    """A past form; "run" and "put" are ones behind "have" only."""
    if verb in ("put", "set", "reset", "cut", "run"):
        return pattern is not _SIMPLE
    if verb.endswith("ed"):
        return True
    return verb in IRREGULAR and (pattern is _PERFECT or IRREGULAR[verb] != verb)


def _clause(sentence: Sentence, said: re.Match[str], group: str, turns: Turns) -> Found | None:
    start = said.start(group)
    clause = tidy(sentence.text[start : clause_end(sentence.text, start)])
    if len(clause.split()) < 2 or is_broken(clause) or _NOT_DONE.match(clause):
        return None
    owner = sentence.speaker if _FIRST.match(said[0]) else ""  # "My supervisor just ..."
    if not is_telling(clause):  # "I bought them": what was spoken of
        text = _with_named(sentence, said.start(), turns)
    else:
        addressee = turns.addressee(sentence)
        text = resolved(clause, sentence.speaker, addressee, owner) if owner else None
        text = text or quoted(sentence)
    return None if text is None else Found(text, (sentence.span(),), owner, words=clause)


def _with_named(sentence: Sentence, start: int, turns: Turns) -> str | None:
    """A quote with what "it" stands for: the same sentence, the one before, or the turn before."""
    if len(sentence.text[:start].split()) >= _NAMING:
        return quoted(sentence)
    head = turns.beside(sentence, -1)
    if head and len(head.text.split()) >= _NAMING:
        return quoted(turns.joined(head, sentence))
    named = turns.before(sentence)
    return quoted(sentence) if named is None else quoted(named, sentence)


def _passive(sentence: Sentence, turns: Turns) -> Found | None:
    if any(_CONFIRMS.search(one.text) for one in turns.sentences[sentence.utterance]):
        return None
    for said in _PASSIVE.finditer(sentence.text):
        verb = said["verb"] or "confirmed"
        head = before(sentence.text, said.end("what") if said["what"] else said.start())
        # "Bills are paid monthly" tells what is usual, "it is booked" what was done.
        usual = re.search(r"(?:['’] ?(?:s|re)|\b(?:is|are)) \w+$", said[0], re.I)
        if usual and verb.lower() not in _BEING:
            continue
        if verb.lower() not in _BEEN or _UNSURE.search(head):
            continue
        clause = tidy(sentence.text[said.start() : clause_end(sentence.text, said.end())])
        if (found := quote(sentence, words=clause)) is not None:
            return found
    return None


def _asks(text: str) -> bool:
    """Whether a sentence asks for something, or chooses it in few words: "Ok, the blue one"."""
    is_choice = "?" not in text and 1 < len(text.split()) <= _CHOICE
    return bool(_REQUEST.search(text)) or is_choice or is_order(trimmed(text, ()).text)


def _elliptic(sentence: Sentence) -> Found | None:
    """ "Next week skipped."."""
    said = _ELLIPTIC.match(sentence.text)
    is_done = said is not None and said["verb"].lower() in _BEEN | _SKIPPED
    return quote(sentence) if is_done else None


def _bare(sentence: Sentence, turns: Turns) -> Found | None:
    """ "Done.": what was asked for before."""
    if not _BARE.match(sentence.text) or sentence.utterance == 0:
        return None
    turn = sentence.utterance - 1
    said = turns.sentences[turn]
    if turn > 1 and len(said) == 1 and _YES.match(said[0].text):  # to a question back
        turn -= 2
    asked = [one for one in turns.sentences[turn] if _asks(one.text)]
    if not asked or asked[-1].speaker == sentence.speaker:
        return None
    request = _REQUEST.search(asked[-1].text)
    words = asked[-1].text[request.end() if request else 0 :].strip()
    return quote(asked[-1], sentence, owner=sentence.speaker, words=words)
