"""What the checks say of each sentence that a network wrote, and of the summary as a whole."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from dialogist.checks.evidence_index import Index, Term, index_of, with_aliases
from dialogist.records import (
    Dialogue,
    Statement,
    Status,
    Summary,
    Warning,
    WarningKind,
)
from dialogist.language.clauses import Clause, clauses_of, is_content
from dialogist.language.porter import stem_of
from dialogist.language.tokens import (
    ANSWERING,
    ASKING,
    FUNCTION_WORDS,
    HELPING,
    NEGATION,
    RELUCTANCE,
    TELLING,
    bases_of,
    split_sentences,
    word_set,
)

# Compare what a sentence claims with the lines that it cites: words, values, subject and denial.
#
# A rough reading by word order. It complains too often rather than too seldom.


Complaint = tuple[WarningKind, str]
"""The kind of a warning and its message."""

# Words with which a summary reports: nobody in the dialogue need say them.
_REPORTS = frozenset(
    stem_of(word)
    for word in (ASKING | TELLING | ANSWERING | HELPING | word_set("talk discuss speak"))
    - word_set("want prefer teach hope interview blame")
)
_BETWEEN = 12  # characters between two values of one phrase
_DENIED = 2  # content words behind a denial that it is about
_STOPS = frozenset(".,;:!?…") | word_set("but and because so if")
_WILL = re.compile(
    r"\b(?:will|going to|plans? to|agrees? to|promises? to|decides? to|offers? to)\b(.*)", re.I
)
_FIRM = re.compile(r"\b(?:i|we)(?:['’]ll|['’]m| will| am|['’]re| are| promise| decided)\b", re.I)
_OPEN = re.compile(
    r"\?|\b(?:if|unless|could|would|might|may|maybe|perhaps|should)\b|\b(?:i|we|he|she|they)['’]d\b",
    re.I,
)
_REFUSED = re.compile(
    r"^\W*(?:(?:oh|well|hm+|um|actually|thanks|thank you|but)\W+)*"
    r"(?:no\b|nope|nah|not\b|sorry|i (?:can['’]?t|cannot|won['’]?t|don['’]?t|do not)|"
    r"i['’]m afraid|i['’]d rather|rather not|unfortunately)",
    re.I,
)
_ASKED = re.compile(
    r"\?|\b(?:please|can you|could you|will you|would you|need you|want you|tell|let|wonder\w*|"
    r"ask\w*|make sure|don['’]t)\b",
    re.I,
)
_OWNED = re.compile(r"[\w#]+['’]s\s")
_FIRST = word_set("i im ill ive id we")
_THIRD = word_set("he she they it")


@dataclass(frozen=True, slots=True)
class _Line:
    """A sentence of a cited span: its utterance, its speaker's number, what is said."""

    utterance: int
    speaker: int
    text: str


def claims(sentence: Statement, index: Index) -> Iterator[Warning]:
    """What the cited lines of an English sentence do not bear out."""
    if index.language != "en" or not sentence.evidence:
        return
    lines = list(_lines(sentence, index))
    clauses = [c for own in clauses_of(sentence.text, index.voices.who) for c in own]
    terms = [with_aliases(term) for term in index.terms_of(sentence.text)]
    place = (sentence.start, sentence.end, sentence.text)
    for kind, told in (
        *_uncited(sentence, terms, index),
        *_mixed(sentence, terms, index),
        *_repeated(sentence.text, terms),
        *_denials(sentence.text, lines),
        *_intentions(sentence.text, lines, index),
        *_requests(clauses, lines),
        *_subjects(clauses, lines, index),
        *_stale(sentence, terms, index),
    ):
        yield Warning(kind, told, *place)


def _lines(sentence: Statement, index: Index) -> Iterator[_Line]:
    for span in sentence.evidence:
        text = index.dialogue.utterances[span.utterance].text[span.start : span.end]
        for part in split_sentences(text):
            yield _Line(span.utterance, index.voices.spoken[span.utterance], part)


def _uncited(sentence: Statement, terms: Sequence[Term], index: Index) -> Iterator[Complaint]:
    """The words that none of the cited utterances holds, in one message."""
    cited = {span.utterance for span in sentence.evidence}
    missing = [
        sentence.text[term.start : term.end]
        for term in terms
        if cited.isdisjoint(index.found(term)) and not _reports(term)
    ]
    if missing:
        words = ", ".join(f"'{word}'" for word in dict.fromkeys(missing))
        yield "uncited", f"the cited lines do not say {words}"


def _mixed(sentence: Statement, terms: Sequence[Term], index: Index) -> Iterator[Complaint]:
    """A sentence put together from several utterances, none of which holds all of its words."""
    cited = {span.utterance for span in sentence.evidence}
    places = [cited.intersection(index.found(term)) for term in terms if not _reports(term)]
    if places and all(places) and not cited.intersection(*places):
        yield "mixed", "no single line says all of this: check what belongs together"
    if _OWNED.match(sentence.text):
        yield "mixed", "the checks cannot tell who does this: its subject is not a speaker"


def _reports(term: Term) -> bool:
    return term.kind == "word" and any(key[2:] in _REPORTS for key in term.keys)


def _repeated(text: str, terms: Sequence[Term]) -> Iterator[Complaint]:
    """The same value twice in one phrase: "from the 3rd to the 3rd"."""
    values = [term for term in terms if term.kind in ("number", "entity")]
    for one, other in pairwise(values):
        between = text[one.end : other.start]
        near = len(between) <= _BETWEEN and not re.search(r"[.;,]", between)
        if near and one.keys & other.keys:
            yield "repeated", f"'{text[one.start : other.end]}' gives the same value twice"


def _denied(text: str) -> frozenset[str]:
    """The stems that the text denies: the first content words behind each denial."""
    found: set[str] = set()
    for match in NEGATION.finditer(text):
        behind: list[str] = []
        for base in bases_of(text[match.end() :]):
            if base in _STOPS or len(behind) == _DENIED:
                break
            if base not in FUNCTION_WORDS and is_content(base):
                behind.append(stem_of(base))
        found.update(behind)
    return frozenset(found)


def _stems(text: str) -> frozenset[str]:
    words = (base for base in bases_of(text) if base not in FUNCTION_WORDS and is_content(base))
    return frozenset(map(stem_of, words))


def _denials(text: str, lines: Sequence[_Line]) -> Iterator[Complaint]:
    """A word that the sentence affirms and the cited lines deny, or the reverse."""
    stated = [line.text for line in lines if "?" not in line.text]
    if not stated:
        return
    held = frozenset().union(*map(_stems, stated))
    denied = frozenset().union(*map(_denied, stated))
    affirmed = frozenset().union(*(_stems(line) - _denied(line) for line in stated))
    own, refused = _stems(text), _denied(text)
    if not NEGATION.search(text) and not RELUCTANCE.search(text):
        if (own & denied) - affirmed:
            yield "contradiction", "the cited lines deny what this sentence says"
    elif refused & held and not denied and not any(map(RELUCTANCE.search, stated)):
        yield "contradiction", "this sentence denies what the cited lines say"


def _intentions(text: str, lines: Sequence[_Line], index: Index) -> Iterator[Complaint]:
    """What somebody "will" do, where the cited line only asks for it, or the answer refuses it."""
    will = _WILL.search(text)
    if will is None or NEGATION.search(text):
        return
    wanted = _stems(will[1])
    about = [line for line in lines if wanted & _stems(line.text)] or list(lines)
    if any(_FIRM.search(line.text) and not _OPEN.search(line.text) for line in about):
        return
    if any(_is_refused(line, index) for line in about):
        yield "declined", "the next answer turns down what the cited line asks or offers"
    else:
        yield "tentative", "the cited lines do not say for certain that this will happen"


def _is_refused(line: _Line, index: Index) -> bool:
    behind = line.utterance + 1
    if behind >= len(index) or index.voices.spoken[behind] == line.speaker:
        return False
    return _REFUSED.search(index.dialogue.utterances[behind].text) is not None


def _requests(clauses: Sequence[Clause], lines: Sequence[_Line]) -> Iterator[Complaint]:
    """ "X asks", where no cited line of X asks for anything."""
    if not clauses or clauses[0].kind != "ask":
        return
    asker = clauses[0].subject
    if not any(line.speaker == asker and _ASKED.search(line.text) for line in lines):
        yield "tentative", "no cited line of this speaker asks for it"


def _subjects(
    clauses: Sequence[Clause], lines: Sequence[_Line], index: Index
) -> Iterator[Complaint]:
    """The cited lines say the sentence's verb of somebody else: "Dad wants to sell"."""
    if not clauses or clauses[0].kind not in ("do", "tell"):
        return
    verb, subject = clauses[0].words[0], clauses[0].subject
    doers = [doer for line in lines if line.speaker == subject for doer in _doers(line.text, verb)]
    if doers and not any(doer in _FIRST or not doer for doer in doers):
        other = next(doer for doer in doers if doer)
        name = index.dialogue.speakers[subject]
        yield "contradiction", f"the cited line says this of '{other}', not of {name}"


def _doers(text: str, verb: str) -> Iterator[str]:
    """The word before each place of a verb that is its subject; empty where none is seen."""
    bases = bases_of(text)
    for place, base in enumerate(bases):
        if base in FUNCTION_WORDS or stem_of(base) != verb:
            continue
        before = [b for b in bases[max(0, place - 4) : place] if not b.endswith("ly")]
        doer = ""
        for word in reversed(before):
            if word in _STOPS:
                break
            is_noun = (
                word not in FUNCTION_WORDS and word.isalpha() and len(word) > 1
            )  # no "e-" mail
            if is_noun or word in _FIRST | _THIRD | {"you"}:
                doer = word
                break
        yield doer


def _sort(key: str) -> str:
    """Tell what kind of value a key is: a number, time, day or month; empty: it never changes."""
    if key.startswith("e:"):
        return key[:3] if key[2:3] in "dm" and key[3:].isdigit() else ""
    return key[:2] if key[:2] in ("n:", "t:") else ""


def _stale(sentence: Statement, terms: Sequence[Term], index: Index) -> Iterator[Complaint]:
    """A value of the sentence behind whose last place another value of its sort is said."""
    own = frozenset(key for term in terms for key in term.keys)
    for term in terms:
        sorts = set(map(_sort, term.keys)) - {""}
        places = index.found(term)
        if term.kind not in ("number", "entity") or not places:
            continue
        later = next(
            (
                index.dialogue.utterances[number].text[other.start : other.end]
                for number in range(max(places) + 1, len(index))
                for other in index.terms[number]
                if other.kind == term.kind
                and sorts & set(map(_sort, other.keys))
                and own.isdisjoint(other.keys)
            ),
            "",
        )
        if later:
            said = sentence.text[term.start : term.end]
            yield "stale", f"'{later}' is said later: check whether '{said}' still holds"
            return


# A sentence has ``failed`` where a check complains about words of it. All others are ``unchecked``:
# the checks find errors, and most errors they do not find (bench/reading).


_COMPLAINTS: frozenset[WarningKind] = frozenset(
    (
        "name",
        "speaker",
        "number",
        "entity",
        "swap",
        "negation",
        "speaker_mismatch",
        "uncited",
        "repeated",
        "contradiction",
        "declined",
    )
)
_TO_KNOW: frozenset[WarningKind] = frozenset(("removed", "cut", "plan_cut"))
"""Kinds that are about no sentence but that a reader must know: something is missing."""

NOT_VERIFIED = "the network wrote this and nothing verifies it: compare it with the quotes"

# What somebody answers to or is helped with, somebody else said.
_OF_OTHERS = frozenset(("answer", "help"))


def with_checks(
    summary: Summary, dialogue: Dialogue, min_confidence: float | None, has_evidence: bool = True
) -> Summary:
    """The summary with the result of every check: warnings, its statements' and its status.

    ``min_confidence``: sentences of which the model was less sure get a warning; None: none does.
    Without evidence only earlier warnings count.
    """
    if not summary.text:
        return summary
    found = tuple(_of_evidence(summary, dialogue, min_confidence)) if has_evidence else ()
    warnings = (*summary.warnings, *found)
    sentences = tuple(_checked(one, warnings) for one in summary.sentences)
    points = tuple(_checked(one, warnings) for one in summary.key_points)
    checked = replace(summary, warnings=warnings, sentences=sentences, key_points=points)
    if summary.status != "ok":
        return checked
    status, reason = _status(checked)
    return replace(checked, status=status, reason=reason)


def _of_evidence(summary: Summary, dialogue: Dialogue, least: float | None) -> Iterator[Warning]:
    """What the model's confidence and the utterances behind each sentence tell."""
    index = index_of(dialogue)
    for sentence in summary.sentences:
        place = (sentence.start, sentence.end, sentence.text)
        other = _other_speaker(sentence, index)
        if other:
            told = f"{other} says the line behind this sentence: check who does what"
            yield Warning("speaker_mismatch", told, *place)
        sure = sentence.confidence
        if sure is not None and least is not None and sure < least:
            told = f"the model was unsure of this sentence (confidence {_below(sure, least)})"
            yield Warning("unsure", told, *place)
        yield from claims(sentence, index)
        if not sentence.evidence:
            told = "no line of the dialogue was found that supports this sentence"
            yield Warning("no_evidence", told, *place)


def _below(sure: float, least: float) -> str:
    """A confidence and the bar, with as many digits as it takes to tell them apart."""
    for digits in (2, 3):
        if f"{sure:.{digits}f}" != f"{least:.{digits}f}":
            return f"{sure:.{digits}f}, below {least:g}"
    return f"just below {least:g}"


def _other_speaker(sentence: Statement, index: Index) -> str:
    """Who says a sentence's best evidence, where it is not its first subject; else empty.

    Who tells, answers or helps may speak another cited line, or the one behind it.
    """
    if index.language != "en" or not sentence.evidence:
        return ""
    voices = index.voices
    clauses = [clause for own in clauses_of(sentence.text, voices.who) for clause in own]
    if not clauses:
        return ""
    subject, kind = clauses[0].subject, clauses[0].kind
    best = sentence.evidence[0].utterance
    speaker = voices.spoken[best]
    if speaker < 0 or speaker == subject:
        return ""
    if kind == "tell" and any(voices.spoken[e.utterance] == subject for e in sentence.evidence):
        return "" if index.questions[best] else index.dialogue.speakers[speaker]
    if kind in _OF_OTHERS and subject in voices.spoken[best + 1 : best + 2]:
        return ""
    return index.dialogue.speakers[speaker]


def _checked(statement: Statement, warnings: Sequence[Warning]) -> Statement:
    """The statement with the result of its checks. They find errors; they verify nothing."""
    complaints = (one for one in warnings if one.kind in _COMPLAINTS)
    failed = any(one.start < statement.end and statement.start < one.end for one in complaints)
    return replace(statement, check="failed" if failed else "unchecked")


def _status(summary: Summary) -> tuple[Status, str]:
    """``warning`` or ``unchecked``, and why."""
    told = [w for w in summary.warnings if w.kind in _COMPLAINTS | _TO_KNOW]
    if told:
        more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
        return "warning", told[0].message + more
    return "unchecked", NOT_VERIFIED
