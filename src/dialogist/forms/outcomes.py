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
    clause_from,
    is_telling,
    is_whole,
    quote,
    values_of,
)
from dialogist.language.cues import cue_bits, cues_in, words_and_marks
from dialogist.language.porter import stem_of
from dialogist.language.replies import content_stems
from dialogist.language.tokens import ENGLISH, IRREGULAR, word_set

# What a customer comes with: the first complaint and the first wish, as he says them.

_COMPLAINS = cue_bits(("issue", "negation", "fail"))
_WISHES = cue_bits(("want", "please", "help"))
_COMPLAINT = re.compile(
    r"(?i)\b(?:ca|wo|do|does|did|is|are|was|have|has)nt\b|\b(?:been (?:trying|waiting)|no longer|"
    r"keeps? \w+ing|still \w+ing|declined|expired|freez\w+|frozen|too \w+|damaged|charged|billed|"
    r"painful|cough\w*|fever|headaches?|sore|blank|slow|stolen|supposed to|dead|locked out|down|"
    r"out of \w+|disappoint\w*|unacceptable|terrible|worst|rude|useless)\b|n ?['’] ?t\b"
)
_WISH = re.compile(r"\bi ?['’]?(?:m| am| was) (?:looking|calling|trying|wondering|hoping)\b", re.I)
_PRAISES = re.compile(
    r"(?i)\b(?:great|amazing|awesome|excellent|brilliant|wonderful|fantastic|lovely|helpful|"
    r"sunshine|thanks?|thank ?you|love|luckily)\b"
)
# A greeting, a name, a call for help as such: the matter comes later.
_OPENS = re.compile(
    r"(?i)^\W*(?:\w+\W+)?(?:what ?['’]?s (?:wrong|up)|how are you|good (?:morning|afternoon|"
    r"evening)[\w ,.]*$)|^\W*(?:no|not really|never mind|thanks)\b|\b(?:is (?:this|that) (?:the|"
    r"your)|are you|am i|(?:can|could) you help(?: me)?(?: please)?\W*$|(?:can|may|could) i (?:ask|"
    r"speak|talk))\b|^\W*(?:(?:hi|hello|hey|yes|good \w+)\W+)?(?:this is|it ?['’]?s|my name|i "
    r"?['’]?m|i am)\b[^.!?]{0,30}\W*$|^\W*my (?:\w+ )?(?:number|name|e-?mail|address|id) is\b"
)
# What only the sentence before makes clear.
_LEANS = re.compile(
    r"(?i)^\W*(?:its?|they|thats?|this|those|these|he|she|not|then|but|so|because|and|now|which|"
    r"please|also|still|same)\b"
)
_HEAD = 6  # utterances: a problem is told at the beginning
_FEWEST = 4  # words of a sentence that tells something
_LEANT_ON = 2  # sentences before


def issues_in(talk: Talk) -> Iterator[Finding]:
    """At most a complaint and a wish, where there is somebody who serves and somebody who asks.

    They are taken from the first turn in which those who are served say what they want. A turn
    that only states something counts if nothing better comes; an answer to a question does not.
    """
    for number, turn in enumerate(talk.sentences[:_HEAD]):
        if talk.dialogue.utterances[number].speaker not in talk.served:
            continue
        telling = [s for s in turn if len(s.text.split()) >= _FEWEST]
        chosen = _matter([s for s in telling if not _OPENS.search(s.text)])
        asked = talk.sentences[number - 1] if number else ()
        is_answer = any(s.text.endswith("?") for s in asked)
        if not chosen and (not is_answer or any(SERVES.search(s.text) for s in asked)):
            if any(_PRAISES.search(s.text) for s in telling):  # who only praises has no problem
                return
            chosen = [s for s in telling if not _OPENS.search(s.text)][:1]
        yield from (_issue(s, talk) for s in chosen)
        if chosen:
            return


def _issue(sentence: Sentence, talk: Talk) -> Finding:
    """What he says, with the sentences before it that it leans on."""
    first = sentence
    for _ in range(_LEANT_ON):
        if _LEANS.match(first.text):
            first = talk.beside(first, -1) or first
    return quote(talk.joined(first, sentence), owner=sentence.speaker)


def _matter(telling: Sequence[Sentence]) -> list[Sentence]:
    """The first complaint and the first wish of a turn, else a question."""
    found: dict[str, Sentence] = {}
    for sentence in telling:
        cues = cues_in(words_and_marks(sentence.text))
        is_praise = _PRAISES.match(sentence.text.lstrip(" .,!"))  # "Luckily they were not late"
        if (cues & _COMPLAINS or _COMPLAINT.search(sentence.text)) and not is_praise:
            found.setdefault("complaint", sentence)
        if cues & _WISHES or _WISH.search(sentence.text):
            found.setdefault("wish", sentence)
    asked = [s for s in telling if "?" in s.text][:1]
    return sorted(set(found.values()), key=lambda s: s.start) or asked


# What was done: "I've refunded the fee", "your order has been cancelled", "Done.".

_BEEN = word_set(ENGLISH["settled"])
"""What settles a matter, said of it."""
_DONE = word_set(ENGLISH["done"])
_STEMS = frozenset(map(stem_of, WORK | _BEEN | _DONE))
_SETTLING = frozenset(
    map(stem_of, _BEEN - word_set("sent delivered set added removed moved paid played"))
)
# Who serves tells what he did without "have", too; others with a time.
_DEED = re.compile(
    r"(?:(?<=^)|(?<=[\s,.;:]))(?:(?:[Ii]|[Ww]e)(?P<have> ?['’] ?ve| have)?|[IiWw]e?(?P<ve>ve)) "
    r"(?:(?:just|already|now|also|successfully|all|gone ahead and|finally) )*"
    r"(?P<verb>[a-z][a-z-]+)(?=[ .,!]|$)(?P<when>[^.!?]*\b(?:yesterday|this morning|last (?:night|"
    r"week|month)|earlier|already|today)\b)?"
)
_NOUNS = (
    r"(?:reservation|booking|order|payment|appointment|purchase|ticket|table|seat|transfer|car)s?"
)
_PASSIVE = re.compile(
    r"(?i)\b(?:your|the|my|our|an?|it|everything|all of it|you)(?: (?!(?:and|but|or|if|that|which|"
    r"who|is|are|has|have|was|were|will)\b)[\w'’-]+){0,5}?(?P<place>(?P<now> ?['’] ?(?:s|re)| is| "
    r"are)| ?['’] ?ve been| ha(?:s|ve)(?: now| just| already)? been|(?<=tion) was|(?<=ment) was|"
    r"(?<=ing) was|(?<=car) was|(?<=ticket) was)(?: (?:now|just|already|all|successfully|been))* "
    rf"(?P<verb>[a-z-]+)(?=[ .,!]|$)|^\W*(?:(?:your|the) )?{_NOUNS}(?: (?:is|was|has been|went))? "
    r"(?:confirmed|scheduled|made|complete|completed|successful|booked|through|done)\b"
)
_UNSURE = re.compile(
    r"(?i)\b(?:if|unless|once|after|when|until|before|whether|what|which|who|why|how|that|think|"
    r"hope|say|says|said|heard|told|maybe|perhaps|not|never|please confirm)\b|n['’]t\b|\?"
)
# "Bills are paid monthly" tells what is usual, "it is booked" what was done.
_BEING = word_set(ENGLISH["settled now"])
_NOT_DONE = re.compile(
    r"(?i)[\w-]+ (?:nobody|none|no|not)\b|confirmed (?:that|if|how|why)\b|(?:looked|searched)\b|"
    r"found (?!(?:it|him|her|them|your|the|his)\b)|changed (?:my|his|her|our|your) mind"
)
_BARE = re.compile(
    r"(?i)^\W*(?:(?:ok(?:ay)?|sure|there|yes|right)[ ,.]+){0,2}(?:all )?(?:done|sorted|changed|"
    r"booked|cancell?ed|updated|fixed|(?:it|that) ?['’]?s done)\W*$"
)
_REQUEST = re.compile(
    r"\b(?:can|could|will) (?:you|u)\b|\bplease\b|\bi(?: would|['’]d) like\b", re.I
)
_CHOICE = 5  # words of a request or a choice without more: "Skip next week", "the blue one"
_NEW = re.compile(r".*(?:[,;] (?:so |and |but )?|\b(?:so|and|but) |[;:.] )", re.S)


def done_in(talk: Talk) -> Iterator[Finding]:
    """Things said to be done, in the order they are said; of a passive nobody is the owner."""
    utterances = talk.dialogue.utterances
    story = next((n for n, u in enumerate(utterances) if u.speaker in talk.served), -1)
    for sentence in talk.all():
        if not sentence.text.endswith("?"):
            # What a customer did before he called is his story; what he has tried counts.
            findings = [] if sentence.utterance == story else list(_deeds(sentence, talk))
            if not findings and sentence.speaker not in talk.served:
                findings = list(_passive(sentence))
            yield from findings or _bare(sentence, talk)


def _deeds(sentence: Sentence, talk: Talk) -> Iterator[Finding]:
    """What the speaker did."""
    text = sentence.text
    serves = sentence.speaker not in talk.served
    for deed in _DEED.finditer(text):
        verb, start = deed["verb"], deed.start("verb")
        has = bool(deed["have"] or deed["ve"])
        if not has and not (serves and (talk.served or deed["when"])):
            continue
        head = breath_before(text, deed.start())
        if not re.search(r"\b(?:if|unless|once|when|until)\b", head, re.I):
            head = _NEW.sub("", head)  # "We can't promise it, so I've ..." promises.
        is_past = verb.endswith("ed") or (verb in IRREGULAR and (has or IRREGULAR[verb] != verb))
        is_past = is_past or (has and verb in ("put", "set", "reset", "cut", "run"))
        if not is_past or stem_of(verb) not in _STEMS or _UNSURE.search(head):
            continue
        clause, end = clause_from(text, start)
        if not begins_clause(text, deed.start()) or not is_whole(clause) or _NOT_DONE.match(clause):
            continue
        parts = [sentence]
        if not is_telling(clause) and len(text[: deed.start()].split()) < _FEWEST:
            # "I bought them": with what was spoken of.
            before, named = talk.beside(sentence, -1), talk.before(sentence)
            if before is not None and len(before.text.split()) >= _FEWEST:
                parts = [talk.joined(before, sentence)]
            elif named is not None:
                parts = [named, sentence]
        place = (deed.start(), end)
        yield quote(*parts, owner=sentence.speaker, words=clause, clause=place)


def _passive(sentence: Sentence) -> Iterator[Finding]:
    """ "Your order has been cancelled." """
    for deed in _PASSIVE.finditer(sentence.text):
        verb = (deed["verb"] or "confirmed").lower()
        place = deed.start("place") if deed["place"] else deed.start()
        is_known = verb in (_BEING if deed["now"] else _BEEN)
        if is_known and not _UNSURE.search(breath_before(sentence.text, place)):
            clause, end = clause_from(sentence.text, deed.start())
            yield quote(sentence, words=clause, clause=(deed.start(), end))
            return


def _bare(sentence: Sentence, talk: Talk) -> Iterator[Finding]:
    """ "Done.": what was asked for before."""
    if not _BARE.match(sentence.text) or sentence.utterance == 0:
        return
    for asked in talk.between(sentence.utterance - 1, sentence.utterance):
        request = _REQUEST.search(asked.text)
        is_choice = "?" not in asked.text and 1 < len(asked.text.split()) <= _CHOICE
        if (request or is_choice) and asked.speaker != sentence.speaker:
            words = asked.text[request.end() if request else 0 :].strip()
            yield quote(asked, sentence, owner=sentence.speaker, words=words)
            return


# How a conversation about a problem ended: settled, refused, passed on, or still open.
#
# The last word counts: what works now was broken before, and what is refused may be granted later.

_WORKS = re.compile(
    r"(?i)\b(?:it|its|everything|all|the \w+(?: \w+)?)(?: ?['’] ?s| is| are| seems to be)? (?:all "
    r")?(?:now )?(?:(?:works|worked|working|fixed|solved|sorted|resolved|back online|(?:okay|ok|"
    r"fine)(?= (?:now|again)))(?: (?:now|again|fine|perfectly))*|(?<=s )back(?: (?:now|again|on|"
    r"up))?(?=\W*$))|\b(?:that|it|this) (?:did it(?= ?[,.!]|\W*$)|(?:did|has done) the trick|fixed "
    r"it|helped)|^\W*(?:\w+ )?(?:working|works|fixed|sorted|solved) (?:now|again)\b|\b(?:order|"
    r"parcel|package|replacement|refund|money) (?:has )?(?:just |now )?arrived\b"
)
_NOT_YET = re.compile(
    r"(?i)\b(?:if|when|how|should|would|will|hope|until|make sure|never|not|try|lets?|to get|want|"
    r"need|was|were|used to|everyone|other)\b|['’]ll\b|n['’]?t\b"
)
_FAILS = re.compile(
    r"(?i)\b(?:down|broken|gone|stopped|frozen|dead|crash\w+|failing|offline|blocked|locked out) "
    r"again\b|\b(?:spoke too soon|(?:problem|issue|error) is back|not (?:any ?more|fixed|solved|"
    r"resolved))\b|\bstill (?:\w+n ?['’]?t|not|the same|nothing|broken|no|frozen|down)\b|\b(?:it|"
    r"that) (?:doesn|didn) ?['’]?t (?:work|help|change)\b|\bsame (?:problem|error|issue)\b|\bno "
    r"luck\b"
)
_CANNOT = r"(?:can ?['’]?t|cannot|can not|(?:are|am) unable to|could ?n['’]?t|could not)"
_REFUSED = re.compile(
    rf"(?i)\b(?:unfortunately|afraid|sorry|apologi[sz]e)\b[^.!?]*\b(?:(?:we|i) {_CANNOT}|(?:un|not "
    rf"|n ?['’]?t )able to|(?:not|n ?['’]?t) (?:possible|eligible|covered|available)|no (?:other "
    rf")?\w+ available|not go through|failed)\b|\b(?:that|this|it|they|the \w+(?: ones?)?) "
    rf"{_CANNOT} be \w+ed\b|\b(?:we|i) {_CANNOT} (?:do (?:that|this|it)|get (?:it|them|that) back|"
    rf"refund|replace|cancel|change|book|reserve|offer|give|extend|fix|repair|process|complete|"
    rf"make)\b|\b(?:we|i) (?:(?:was|were) (?:not |un)|wasn ?['’]?t )able to|\b(?:reservation|"
    rf"booking|purchase|transaction|payment|appointment|request|transfer)\b[^.!?]*\b(?:failed|was "
    rf"not|could ?n['’]?t|could not|has been declined)\b"
)
_PASSED_ON = re.compile(
    r"(?i)\b(?:I|we) ?(?:['’] ?(?:m|ll|ve)|am|will|have) (?:(?:escalat|forward|refer)\w*\b|(?:pass|"
    r"hand)\w* (?:it|this|your \w+) (?:on|over)|(?:open|rais|creat|fil)\w* (?:an?|your) (?:ticket|"
    r"case|complaint|claim)|(?:send|arrang|book)\w* (?:you )?(?:an?|our) (?:engineer|technician|"
    r"plumber|repair\w*|colleague|mechanic)\b|transfer\w* (?:you|this))"
)
_INSTEAD = re.compile(
    r"^\W*(?:you(?: ?['’]?ll)? (?:have to|need to|must|can|could)|please)\b", re.I
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
        is_known = sentence.span in known
        if sentence.text.endswith("?"):
            continue
        if not is_known and _is_verdict(sentence, talk):
            # "Power reset it. Working now.": a few words with the sentence before them.
            is_brief = len(sentence.text.split()) < _FEWEST
            first = talk.beside(sentence, -1) if is_brief else None
            verdict = quote(talk.joined(first or sentence, sentence), owner=sentence.speaker)
        elif sentence.speaker not in talk.served and not is_known:
            found += _answered(sentence, talk, done)
    # Done as soon as it was asked for: "Change it." "Done.".
    found = found or [deed for deed in by_staff if len(deed.evidence) > 1][-1:]
    if verdict is not None:
        later = [s for s in talk.all() if (s.utterance, s.start) > verdict.place]
        if _FAILS.search(verdict.words):  # if nothing more is done behind it
            is_last = all(f.place <= verdict.place for f in found) and all(
                s.speaker in talk.served or s.utterance == verdict.main.utterance for s in later
            )
        else:  # "It works now.", unless those who are served complain again
            again = (s for s in later if s.speaker in talk.served)
            is_last = not any(cues_in(words_and_marks(s.text)) & _COMPLAINS for s in again)
        found += [verdict] * is_last
    yield from sorted(found, key=lambda finding: finding.place)[-_MOST:]


def _is_verdict(sentence: Sentence, talk: Talk) -> bool:
    """Whether it says that all works, or that nothing does."""
    if sentence.utterance == 0:
        return False
    if _FAILS.search(sentence.text):
        return sentence.speaker in talk.served
    works = _WORKS.search(sentence.text)
    if works is None or _NOT_YET.search(sentence.text):
        return False
    return not re.match(r" ?(?:for|with|out|on|at|best|in)\b", sentence.text[works.end() :])


def _answered(sentence: Sentence, talk: Talk, done: Sequence[Finding]) -> Iterator[Finding]:
    """A refusal, or work that is passed on, if nothing later grants or replaces it."""
    parts = [sentence]
    if _REFUSED.search(sentence.text):
        # With what it is of, and with what is to be done instead.
        wish, behind = talk.before(sentence), talk.beside(sentence, 1)
        is_first = talk.beside(sentence, -1) is None
        if wish and is_first and re.search(r"\b(?:that|this|it)\b", sentence.text):
            parts = [wish, *parts]
        parts += [behind] if behind is not None and _INSTEAD.match(behind.text) else []
    elif not _PASSED_ON.search(sentence.text):
        return
    said = quote(*parts, main=sentence, owner=sentence.speaker)
    words = content_stems(sentence.text) - values_of(said)
    if not any(deed.place > said.place and content_stems(deed.words) & words for deed in done):
        yield said


def _settles(deed: Finding) -> bool:
    words = re.findall(r"[a-z]+", deed.words.lower())
    past = (w for w in words if w.endswith("ed") or w in ("made", "bought", "reset"))
    return any(stem_of(word) in _SETTLING for word in past)
