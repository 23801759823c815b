"""Whom a summary is about, and what people are called in it: `focus`, `rename`, `names_for`."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from dialogist.errors import UsageError, nearest
from dialogist.metrics.speaker_mentions import Speakers
from dialogist.records import Dialogue, Perspective, Statement, Summary, Warning
from dialogist.forms.filled import Cited, Entry, Filled
from dialogist.language.clauses import clauses_of
from dialogist.language.patterns import language_of
from dialogist.language.people import name_mentions
from dialogist.language.roles import written_name
from dialogist.language.tokens import Replaced, replaced, sentence_spans, tokens_of

_MOST = 0.5  # of the evidence's weight on the speaker's utterances: more is "rests on them"


def focus(summary: Summary, dialogue: Dialogue, speaker: str) -> tuple[Summary, tuple[str, ...]]:
    """Keep the sentences that are about a speaker; and notes, in words, on what is left out.

    These are those with a clause whose subject is the speaker (alone or beside others); and those
    with no other speaker as subject that rest, by more than half of their evidence's weight, on
    what the speaker said. All places in the summary move with its text. Give it before any
    renaming.

    Raises:
        UsageError: nobody of that name says anything in the dialogue.
    """
    check_speaker(speaker, dialogue)
    judge = _Judge(dialogue, speaker)
    sentences = list(summary.sentences) or list(_sentences(summary.text))
    kept = [s for s in sentences if judge.is_about(s)]
    left_out = len(sentences) - sum(s in kept for s in sentences)
    notes = [f"{left_out} of {len(sentences)} sentences are not about {speaker}: left out"]
    if not kept and sentences:
        notes = [f"no sentence of the summary is about {speaker}"]
    if summary.alternatives:
        notes.append("alternatives are left out: a focus chooses among sentences with evidence")
    return _only(summary, kept), tuple(notes) if left_out else ()


def check_speaker(speaker: str, dialogue: Dialogue) -> None:
    """See that somebody of that name says something.

    Raises:
        UsageError: nobody does.
    """
    if speaker not in dialogue.speakers:
        there = ", ".join(dialogue.speakers) or "nobody by name"
        hint = nearest(speaker, dialogue.speakers)
        raise UsageError(f"'{speaker}' says nothing in this dialogue{hint} (there are: {there})")


class _Judge:
    def __init__(self, dialogue: Dialogue, speaker: str) -> None:
        self.dialogue = dialogue
        self.speakers = Speakers(dialogue)
        self.number = self.speakers.number[speaker]
        self.name = speaker

    def is_about(self, sentence: Statement) -> bool:
        subjects = self._subjects(sentence.text)
        if subjects:
            return self.number in subjects
        return self._rests_on_speaker(sentence)

    def _subjects(self, text: str) -> set[int]:
        """Speakers that are subjects; joint subjects all of them."""
        if language_of(text) == "zh":
            place = {n: text.find(name) for n, name in enumerate(self.speakers.names)}
            first = [n for n, at in place.items() if at == 0]
            return set(first)
        clauses = [clause for found in clauses_of(text, self.speakers.who) for clause in found]
        return {clause.subject for clause in clauses} | self._first(text)

    def _first(self, text: str) -> set[int]:
        """Whom a sentence begins with; `clauses_of` gives ``A and B`` no clause, nor ``A is``."""
        found: set[int] = set()
        for token in tokens_of(text):
            number = self.speakers.who(token.base)
            if number is not None and not token.ending:
                found.add(number)
            elif token.base not in ("and", ",", "the", "both", "then"):
                break
        return found

    def _rests_on_speaker(self, sentence: Statement) -> bool:
        total = sum(span.score for span in sentence.evidence)
        own = sum(
            span.score
            for span in sentence.evidence
            if self.dialogue.utterances[span.utterance].speaker == self.name
        )
        return own > _MOST * total


def _sentences(text: str) -> Iterator[Statement]:
    for start, end in sentence_spans(text):
        yield Statement(text[start:end], start, end)


def _only(summary: Summary, kept: list[Statement]) -> Summary:
    """The summary with the kept sentences alone, each as it stands, one space between."""
    space = "" if language_of(summary.text) == "zh" else " "
    text, sentences = "", []
    for sentence in kept:
        start = len(text) + (len(space) if text else 0)
        text = text + (space if text else "") + sentence.text
        sentences.append(replace(sentence, start=start, end=len(text)))
    pairs = list(zip(kept, sentences, strict=True))
    return replace(
        summary,
        text=text,
        sentences=tuple(sentences),
        key_points=tuple(_parts(summary, pairs, text)),
        warnings=tuple(_warnings(summary, pairs)),
        entities=tuple(
            replace(e, in_summary=e.in_summary and e.text in text) for e in summary.entities
        ),
        alternatives=(),
    )


def _parts(
    summary: Summary, pairs: list[tuple[Statement, Statement]], text: str
) -> Iterator[Statement]:
    """Key points of the kept sentences; joined, their texts are the new text."""
    place = 0
    for point in summary.key_points:
        held = [new for old, new in pairs if point.start <= old.start < point.end]
        if held:
            end = held[-1].end
            yield replace(point, text=text[place:end], start=place, end=end)
            place = end


def _warnings(summary: Summary, pairs: list[tuple[Statement, Statement]]) -> Iterator[Warning]:
    """Those about no place, and those within a kept sentence, moved."""
    for warning in summary.warnings:
        if warning.start < 0:
            yield warning
        for old, new in pairs:
            if old.start <= warning.start < old.end and warning.start >= 0:
                shift = new.start - old.start
                end = min(warning.end + shift, new.end)
                yield replace(warning, start=warning.start + shift, end=end)


# Other names for people: the same everywhere in a summary, and never inside another word.


_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LETTER = rf"[^\W{_HAN}]"  # of words with spaces around them; Chinese has none
# Names in addresses are no mentions: anna@example.com, example.com/anna, @anna.
_ADDRESS = r"\S+@\S+|(?:https?://|www\.)\S+|(?<!\w)@\w+"

_QUOTATION = "“[^”]*”"  # was said so


class Renamer:
    """Replaces names by others, all at once: two may change places.

    A name is found as a whole word, the longest first, with the capitals that it is given with;
    ``'s`` behind it stays. A part of a word, of a double name (``Anna-Maria``, ``O'Neil``) or of an
    address is not touched, nor what stands in quotation marks (“ ”). A role is found as reports
    write it, too: "Agent" for ``AGENT``. Chinese has no spaces: there a name of one character
    is only found where no other character of Chinese is beside it.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        """Take old and new names.

        Raises:
            UsageError: a name is empty or has control characters, or two old ones get one new one.
        """
        for name in (*names, *names.values()):
            if not name.strip() or not name.isprintable():
                raise UsageError(f"renaming: {name!r} is no name: write one line, not empty")
        for new in names.values():
            owners = [old for old, given in names.items() if given == new]
            if len(owners) > 1:
                raise UsageError(f"renaming: {' and '.join(owners)} would both be called '{new}'")
        # As they are, and as reports write those that are roles: "Agent" for ``AGENT``.
        self._names = {**{written_name(old): new for old, new in names.items()}, **names}
        patterns = (_pattern(name) for name in sorted(self._names, key=lambda n: (-len(n), n)))
        found = f"(?P<name>{'|'.join(patterns)})" if names else "(?!)(?P<name>)"
        self._pattern = re.compile(rf"(?:{_ADDRESS}|{_QUOTATION})|{found}")

    def text(self, text: str) -> str:
        """The text with the new names."""
        return self.renamed(text).text

    def renamed(self, text: str) -> Replaced:
        """The text with the new names, and where everything has moved."""
        found = (one for one in self._pattern.finditer(text) if one["name"] is not None)
        return replaced(text, ((*one.span(), self._names[one["name"]]) for one in found))


def rename(summary: Summary, names: Mapping[str, str]) -> Summary:
    """The summary with people called otherwise: ``{"#Person1#": "Anna"}``; two may change places.

    Text, sentences, key points, warnings, alternatives and the texts of entities change alike, and
    places in the summary move with them; places in the dialogue stay.

    Raises:
        UsageError: see `Renamer`.
    """
    renamer = Renamer(names)
    moved = renamer.renamed(summary.text)

    def statement(one: Statement) -> Statement:
        return _statement(one, summary.text, moved, renamer)

    return replace(
        summary.map_text(renamer.text),
        text=moved.text,
        key_points=tuple(map(statement, summary.key_points)),
        sentences=tuple(map(statement, summary.sentences)),
        warnings=tuple(_warning(w, moved, renamer) for w in summary.warnings),
        entities=tuple(replace(e, text=renamer.text(e.text)) for e in summary.entities),
    )


def rename_filled(filled: Filled, names: Mapping[str, str]) -> Filled:
    """The filled template with people called otherwise; what utterances say stays verbatim.

    Raises:
        UsageError: see `Renamer`.
    """
    renamer = Renamer(names)
    return replace(
        filled,
        sections=tuple(
            replace(one, entries=tuple(_entry(entry, renamer.text) for entry in one.entries))
            for one in filled.sections
        ),
        left_out=tuple(_entry(entry, renamer.text) for entry in filled.left_out),
        cited=tuple(Cited(c.number, names.get(c.speaker, c.speaker), c.text) for c in filled.cited),
        notes=tuple(map(renamer.text, filled.notes)),
    )


def check_names(names: Mapping[str, str], dialogue: Dialogue) -> None:
    """Refuse a renaming that the dialogue gives no reason for, or that makes two people one.

    Raises:
        UsageError: nobody in the dialogue has an old name, or somebody else has a new one.
    """
    for old, new in names.items():
        check_speaker(old, dialogue)
        if new != old and new in dialogue.speakers and new not in names:
            raise UsageError(f"'{old}' cannot be called '{new}': somebody else is; rename both")


def _pattern(name: str) -> str:
    before = after = ""
    if re.match(_LETTER, name[0]):
        before = rf"(?<!{_LETTER})(?<!{_LETTER}['’])(?<![A-Z]-)(?<![a-z]-)"
    if re.match(_LETTER, name[-1]):
        after = rf"(?!{_LETTER}|-[A-Z]|['’](?!(?:s|ll|d|ve|re|m)\b){_LETTER})"
    if re.fullmatch(rf"[{_HAN}]", name):
        before, after = rf"(?<![{_HAN}])", rf"(?![{_HAN}])"
    return f"{before}{re.escape(name)}{after}"


def _statement(one: Statement, text: str, moved: Replaced, renamer: Renamer) -> Statement:
    if text[one.start : one.end] != one.text:  # its place is not known
        return replace(one, text=renamer.text(one.text))
    start, end = moved.around(one.start, one.end)
    return replace(one, text=moved.text[start:end], start=start, end=end)


def _warning(one: Warning, moved: Replaced, renamer: Renamer) -> Warning:
    message = renamer.text(one.message)
    if one.start < 0:
        return replace(one, message=message)
    start, end = moved.around(one.start, one.end)
    return replace(one, message=message, start=start, end=end, text=moved.text[start:end])


def _entry(entry: Entry, change: Callable[[str], str]) -> Entry:
    return replace(
        entry,
        text=entry.text if entry.type else _outside_quotes(entry.text, change),
        owner=change(entry.owner),
    )


def _outside_quotes(text: str, change: Callable[[str], str]) -> str:
    """The text changed, but for what stands between quotation marks: that was said so."""
    parts = text.split('"')
    return '"'.join(part if place % 2 else change(part) for place, part in enumerate(parts))


# What people are called in a summary: as the dialogue does, by their names, or by their roles.


_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Doctor)\b\.? ?$")
_TAG = re.compile(r"#\s?[Pp]erson\s?\d+\s?#|(?:speaker|person|spk)[ _]?\d+", re.I)


def names_for(
    own: Mapping[str, str], perspective: str | None, dialogue: Dialogue
) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """What to rename, and whom there is no name for: names that are asked for go first.

    Raises:
        UsageError: an old name is nobody's in this dialogue.
    """
    check_names(own, dialogue)
    if perspective is None:
        return own, ()
    found, notes = names_by("role" if perspective == "role" else "name", dialogue)
    kept = {old: new for old, new in found.items() if new not in own.values()}
    return {**kept, **own}, notes


def names_by(
    perspective: Perspective, dialogue: Dialogue
) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """What to rename for a perspective, for `rename`, and whom it has no name for, in words.

    ``role``: ``Customer``, ``Agent`` as `Utterance.role` says; several of one role are numbered in
    order of appearance. ``name``: where speakers are tags (``#Person1#``) or go by their role, the
    name by which two speakers call each other or themselves.
    """
    found = _roles(dialogue) if perspective == "role" else _called(dialogue)
    names = {old: new for old, new in found.items() if new and new != old}
    # A new name that somebody else has keeps its owner's: two people must not become one.
    taken = {s for s in dialogue.speakers if s not in names}
    names = {old: new for old, new in names.items() if new not in taken}
    unknown = [s for s in dialogue.speakers if s not in names and _lacks(s, perspective, dialogue)]
    told = f"no {perspective} is known for {', '.join(unknown)}: kept as written"
    return names, (told,) if unknown else ()


def _roles(dialogue: Dialogue) -> dict[str, str]:
    roles = {u.speaker: u.role.strip() for u in reversed(dialogue.utterances) if u.role.strip()}
    known = {s: roles[s][:1].upper() + roles[s][1:] for s in dialogue.speakers if s in roles}
    several = {role for role, count in Counter(known.values()).items() if count > 1}
    numbers: Counter[str] = Counter()
    for speaker, role in known.items():
        if role in several:
            numbers[role] += 1
            known[speaker] = f"{role} {numbers[role]}"
    return known


def _called(dialogue: Dialogue) -> dict[str, str]:
    """Names for speakers that have none of their own; the most frequent one of each."""
    speakers = Speakers(dialogue)
    nameless = {s for s in dialogue.speakers if _is_nameless(s, dialogue)}
    votes: dict[str, Counter[str]] = {s: Counter() for s in nameless}
    for utterance in dialogue.utterances:
        for mention in name_mentions(utterance.text):
            name = utterance.text[mention.start : mention.end]
            number = speakers.who(name.split()[-1].lower())
            if number is not None and speakers.names[number] in nameless:
                title = _TITLE.search(utterance.text[: mention.start])
                full = f"{title[0].strip()} {name}" if title else name
                votes[speakers.names[number]][full] += 1
    found = {s: counts.most_common(1)[0][0] for s, counts in votes.items() if counts}
    several = {name for name, count in Counter(found.values()).items() if count > 1}
    return {speaker: name for speaker, name in found.items() if name not in several}


def _is_nameless(speaker: str, dialogue: Dialogue) -> bool:
    if _TAG.fullmatch(speaker):
        return True
    return any(
        u.speaker == speaker and u.role.lower() == speaker.lower() for u in dialogue.utterances
    )


def _lacks(speaker: str, perspective: Perspective, dialogue: Dialogue) -> bool:
    if perspective == "name":
        return _is_nameless(speaker, dialogue)
    return not any(u.speaker == speaker and u.role.strip() for u in dialogue.utterances)
