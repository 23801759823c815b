"""Masking whole dialogues, finished summaries and a program's own messages.

`_walk` alone decides what of a dialogue is looked at: speakers, texts, roles, references, and all
names of fields and values of the profile and the metadata, numbers among them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias, cast

from dialogist.language.tokens import replaced
from dialogist.privacy.masks import MaskTable, mask_more, mask_text, mask_texts
from dialogist.privacy.numbers import is_digits
from dialogist.privacy.packs import CODE, Privacy, bare, listed_values, privacy_of
from dialogist.privacy.persons import is_person
from dialogist.records import JSON, Dialogue, Draft, Statement, Summary, Utterance

_Leaf: TypeAlias = "str | int | float"
_Change: TypeAlias = Callable[[_Leaf, str], JSON]
_FIELD_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_PERSON_FIELD = re.compile(
    r"(?:.*[ _])?(?:name|customer|agent|caller|patient|contact|author|doctor)", re.IGNORECASE
)
_SERVER = re.compile(r"://([0-9.]+)")
_LISTENS = 6  # words in which somebody says "yes, go on"
_BACK = 4  # turns in which a question may stand
_ASKED = 80  # characters of a question that the next one goes on with
_SAME_AGAIN = re.compile(
    r"(?:\A|[.!,;] )(?:and|what about|how about)(?: for)? (?:(?:the )?(?:other|second|next|last)"
    r"(?: one)?|yours|hers|his|theirs|him|her|them"
    r"|(?:your|his|her|their|the)(?: [\w-]+){0,2} [\w-]+['’]s?)\s*\?\s*\Z",
    re.IGNORECASE,
)
_MORE_DIGITS = " and the rest of it?"


def mask_dialogue(dialogue: Dialogue, privacy: Privacy) -> tuple[Dialogue, MaskTable]:
    """The dialogue with masks for personal data, and what stands behind them.

    Roles (``agent``, ``客服``) and names that are masks already (``#Person1#``) are no such data.
    """
    leaves, questions = _leaves(dialogue)
    people = filter(is_person, (*dialogue.speakers, *_named(dialogue)))
    speakers = tuple(people) if privacy.names != "none" else ()
    masked, table = mask_texts([*map(_text, leaves)], privacy, speakers, questions)
    pairs = zip(leaves, masked, strict=True)
    values = iter([done.text if done.spans else leaf for leaf, done in pairs])
    result = _walk(dialogue, lambda *_: next(values))
    # Numbers, and fields whose names became equal, do not come back of themselves.
    back = table.restore_texts([*map(_text, _leaves(result)[0])])
    both = enumerate(zip(leaves, back, strict=True))
    originals = {n: leaf for n, (leaf, text) in both if masked[n].spans and leaf != text}
    table = replace(table, originals=originals, identity=dialogue.id)
    identity, table = _masked_id(dialogue.id, privacy, table)
    return replace(result, id=identity), table


def restore_dialogue(dialogue: Dialogue, table: MaskTable) -> Dialogue:
    """The dialogue that was masked, exactly.

    Raises:
        ValueError: it is another, or was changed since.
    """
    leaves, _ = _leaves(dialogue)
    texts = table.restore_texts([*map(_text, leaves)])
    pairs = enumerate(zip(leaves, texts, strict=True))
    values = iter(
        [
            table.originals.get(n, text if isinstance(leaf, str) else leaf)
            for n, (leaf, text) in pairs
        ]
    )
    return replace(_walk(dialogue, lambda *_: next(values)), id=table.identity)


def _leaves(dialogue: Dialogue) -> tuple[list[_Leaf], list[str]]:
    """All values of a dialogue in order, and what asks for each."""
    leaves: list[_Leaf] = []
    questions: list[str] = []

    def collect(leaf: _Leaf, question: str) -> JSON:
        leaves.append(leaf)
        questions.append(question)
        return leaf

    _walk(dialogue, collect)
    return leaves, questions


def _text(leaf: _Leaf) -> str:
    return str(int(leaf)) if isinstance(leaf, float) and leaf.is_integer() else str(leaf)


def _walk(dialogue: Dialogue, change: _Change) -> Dialogue:
    """The dialogue with every value changed; ``change`` sees what asks for it, too."""

    def changed(value: JSON, question: str) -> JSON:
        if isinstance(value, list):
            return [changed(item, question) for item in value]
        if isinstance(value, dict):
            return fields(value)
        is_leaf = isinstance(value, str | int | float) and not isinstance(value, bool)
        return change(cast(_Leaf, value), question) if is_leaf else value

    def fields(values: Mapping[str, JSON]) -> dict[str, JSON]:
        result: dict[str, JSON] = {}
        for key, value in values.items():
            name = str(change(key, ""))
            while name in result:  # two names of fields have one mask
                name += "~"
            result[name] = changed(value, _asked_by_field(key))
        return result

    said = dialogue.utterances
    asked = turns_that_ask(said)
    utterances = tuple(
        replace(u, speaker=str(change(u.speaker, "")), text=str(change(u.text, asked[n])))
        for n, u in enumerate(said)
    )
    utterances = tuple(replace(u, role=str(change(u.role, ""))) for u in utterances)
    is_same = [u.text for u in utterances] == [u.text for u in said]
    return replace(
        dialogue,
        utterances=utterances,
        is_verbatim=dialogue.is_verbatim and is_same,
        references=tuple(str(change(reference, "")) for reference in dialogue.references),
        profile={name: str(text) for name, text in fields({**dialogue.profile}).items()},
        metadata=fields(dialogue.metadata),
    )


def turns_that_ask(said: tuple[Utterance, ...]) -> list[str]:
    """For each turn the one before that may ask for it, with those before "yes" and "go on".

    "And your son's?" goes on with what its speaker asked before, digits go on with digits.
    """
    questions: list[str] = []
    texts: list[str] = []
    last: dict[str, str] = {}
    for n, turn in enumerate(said):
        asking = ""
        for i in reversed(range(max(0, n - _BACK), n)):
            if said[i].speaker != turn.speaker or not turn.speaker:
                asking = f"{texts[i]} {asking}" if asking else texts[i]
                if len(said[i].text[:80].split()) > (2 if "?" in said[i].text else _LISTENS):
                    break
        goes_on = is_digits(turn.text) and any(
            _goes_on(said[max(0, i) : n + 1]) or _goes_on(said[n : j + 1])
            for i, j in zip(range(n - 1, n - _BACK, -1), range(n + 1, n + _BACK), strict=True)
        )
        questions.append(asking + _MORE_DIGITS * goes_on)
        text = turn.text
        if _SAME_AGAIN.search(text):
            text = f"{last.get(turn.speaker, '')} {text}"
        elif "?" in text or "please" in text.lower():
            last[turn.speaker] = text[-_ASKED:]
        texts.append(text)
    return questions


def _goes_on(said: tuple[Utterance, ...]) -> bool:
    """Whether the last of some turns adds digits to those of the first; others say "uh huh"."""
    between = [turn.text for turn in said[1:-1]]
    return (
        len(said) > 2
        and said[0].speaker == said[-1].speaker
        and is_digits(said[0].text)
        and is_digits(said[-1].text)
        and all("?" not in text and len(text.split()) <= 2 for text in between)
    )


def _asked_by_field(name: str) -> str:
    """The name of a field as a question: ``dateOfBirth`` is "date of birth? ..."."""
    words = " ".join(_FIELD_WORD.findall(name)).lower()
    return f"your {words}? your {words} number?" if words else ""


def _named(dialogue: Dialogue) -> Iterator[str]:
    """What stands in fields for names."""
    for field, value in (*dialogue.profile.items(), *dialogue.metadata.items()):
        if isinstance(value, str) and _PERSON_FIELD.fullmatch(field):
            yield value


class DialogueMasking:
    """Masks one dialogue after the other, and counts.

    ``counts`` are mentions by kind; ``with_masks`` of ``dialogues`` have one; ``ids`` held personal
    data, too (a chat that is called by its phone number); ``equal`` ids were another's.
    """

    def __init__(self, privacy: Privacy) -> None:
        self.privacy = privacy
        self.counts: Counter[str] = Counter()
        self.dialogues = self.with_masks = self.ids = self.equal = 0
        self._seen: set[str] = set()

    def mask(self, dialogue: Dialogue) -> tuple[Dialogue, MaskTable]:
        """`mask_dialogue`; an id that is masked, or another's, is numbered so as to stay alone."""
        masked, table = mask_dialogue(dialogue, self.privacy)
        self.dialogues += 1
        self.with_masks += bool(table.values)
        self.counts += table.counts()
        identity = masked.id
        self.ids += identity != dialogue.id
        self.equal += (is_equal := identity in self._seen)
        if identity != dialogue.id or is_equal:
            identity = f"{identity}#{self.dialogues}"
        self._seen.add(identity)
        return replace(masked, id=identity), table


def _masked_id(identity: str, privacy: Privacy, table: MaskTable) -> tuple[str, MaskTable]:
    """An id without what is personal beyond doubt: ids are numbers and codes by nature."""
    kept = replace(
        privacy,
        kinds=privacy.kinds - {CODE, "ORDER", "ID", "PLATE_NUM", "POSTCODE", "NATIONAL_ID"},
        names="none" if privacy.names == "none" else "speakers",
    )
    masked, grown = mask_text(identity, kept, table)
    spaced, grown = mask_text(identity.replace("_", " "), kept, grown)  # it may be a file's name
    spans: list[tuple[int, int, str]] = []
    for span in sorted({*masked.spans, *spaced.spans}, key=lambda span: span[0] - span[1]):
        if all(span[1] <= start or end <= span[0] for start, end, _ in spans):
            spans.append(span)
    return replaced(identity, sorted(spans)).text, grown


def mask_summary(
    summary: Summary, privacy: Privacy, table: MaskTable | None = None
) -> tuple[Summary, MaskTable]:
    """The summary with masks for personal data, and the table with what it added.

    ``table`` is that of the dialogue (`mask_dialogue`): the same value has the same mask. Texts,
    reasons and warnings are masked; the places of statements are those in the masked text. Places
    in the dialogue (evidence) stay those of the dialogue that was read.
    """
    texts = [summary.text, summary.reason, *(w.message for w in summary.warnings)]
    for part in summary.statements:
        texts += [part.text, part.section, *part.reasons, *part.profile]
    done, grown = mask_more(texts, privacy, table)
    whole, reason, *others = done
    rest = (one.text for one in others)
    warnings = tuple(replace(warning, message=next(rest)) for warning in summary.warnings)

    def statement(part: Statement) -> Statement:
        text, section = next(rest), next(rest)
        start, end = part.start, part.end
        if summary.text[start:end] == part.text:
            start, end = whole.place(start), whole.place(end)
            text = whole.text[start:end]
        return replace(
            part,
            text=text,
            start=start,
            end=end,
            section=section,
            reasons=tuple(next(rest) for _ in part.reasons),
            profile=tuple(next(rest) for _ in part.profile),
        )

    statements = tuple(map(statement, summary.statements))
    result = replace(
        summary, text=whole.text, reason=reason.text, statements=statements, warnings=warnings
    )
    return result, grown


def masked_line(text: str) -> str:
    """The line with masks, numbered within it.

    All usual kinds but bare codes: counts of tokens, check sums and names of runs are long numbers,
    too. Names of people stay, and the server of a web address.
    """
    denied = listed_values("DENY")
    # Every kind holds a digit or an @: most lines need no look.
    if not denied and not any(c == "@" or c.isdecimal() for c in text):
        return text
    privacy = _usual(denied)
    servers = frozenset(map(bare, _SERVER.findall(text)))
    return mask_text(text, replace(privacy, allowed=privacy.allowed | servers))[0].text


@lru_cache(maxsize=1)
def _usual(denied: tuple[str, ...]) -> Privacy:
    usual = privacy_of(deny=denied)
    return replace(usual, kinds=usual.kinds - {CODE, "NATIONAL_ID"})


# What leaves the machine.


@dataclass
class Outbound:
    """A dialogue as it is sent; without a ``privacy`` it is sent as it is."""

    dialogue: Dialogue
    table: MaskTable
    privacy: Privacy | None

    def restored(self, draft: Draft) -> Draft:
        """A draft of the dialogue with what its masks stand for in the lines that it cites."""
        told = (draft.text, draft.owner, draft.deadline)
        text, owner, deadline = (self.table.restore(text, draft.lines) for text in told)
        return replace(draft, text=text, owner=owner, deadline=deadline)

    def doubted(self, statement: Statement) -> Statement:
        """A statement on the dialogue; no line proves one in which a mask stands for nothing."""
        left = self.table.unknown(" ".join((statement.text, statement.owner, statement.deadline)))
        if not left or statement.verdict in ("quoted", "contradicted"):
            return statement
        return replace(statement, verdict="doubtful", reasons=(f"{left[0]} is a mask of nothing",))

    def masked(self, text: str) -> str:
        """A text about the dialogue with the same masks."""
        if self.privacy is None:
            return text
        result, self.table = mask_text(text, self.privacy, self.table)
        return result.text


def outbound(dialogue: Dialogue, masks: bool) -> Outbound:
    """The dialogue as it may leave the machine; worked out once a dialogue."""
    if not masks:
        return Outbound(dialogue, MaskTable(), None)
    known = dialogue.cache.get("outbound")
    if not isinstance(known, Outbound):
        privacy = privacy_of(names="people")
        known = dialogue.cache["outbound"] = Outbound(*mask_dialogue(dialogue, privacy), privacy)
    return known
