"""Grounding: drafts become statements with exact evidence, a verdict, and reasons for it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from dialogist.errors import DataError
from dialogist.language.roles import PROFILED_ROLES, role_of
from dialogist.language.tokens import words_in
from dialogist.plain_text import quotation
from dialogist.records import (
    PROFILE_PREFIX,
    Dialogue,
    Draft,
    EvidenceSpan,
    Statement,
    Unsupported,
    Utterance,
    Verdict,
    title_of_field,
)

if TYPE_CHECKING:
    from dialogist.grounding.verification import Judgement, Verifier

# What quotes do not need is imported where it is needed: most summaries are made of quotes.

NO_ANSWER = "no usable answer"
"""In the reason where a verifier could judge nothing."""
_NO_TEXT = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that steer a terminal, and halves of characters, which no file can hold."""
_ROLES = ("agent", "customer", "clinician", "patient")  # behind names that say nothing
_QUOTED_LINES = 2
"""Utterances that take the place of a statement."""


def ground(
    dialogue: Dialogue, drafts: Sequence[Draft], verifier: "Verifier | None" = None
) -> list[Statement]:
    """The drafts as statements of a text in which one space stands between two.

    Drafts that quote keep their places and need no verdict. Of all others the evidence is looked
    for, first in the lines that they cite. ``verifier`` judges them by it, all of a dialogue at
    once; before that a number or name that nobody said contradicts them, and nothing else here.

    Raises:
        DataError: a quote is of no place of the dialogue, or ``verifier`` says what is no verdict.
    """
    statements = []
    for draft in drafts:
        text = " ".join(_NO_TEXT.sub(" ", draft.text).split())
        if not text:
            continue
        evidence = draft.quotes
        is_quote = bool(evidence) and _has_words_of(dialogue, text, evidence)
        if not is_quote:
            from dialogist.grounding.evidence import find_evidence

            evidence = find_evidence(dialogue, text, draft.lines)
        statements.append(
            Statement(
                text,
                section=draft.section,
                evidence=evidence,
                verdict="quoted" if is_quote else "doubtful",
                importance=draft.importance,
                owner=draft.owner,
                deadline=draft.deadline,
            )
        )
    if any(statement.verdict != "quoted" for statement in statements):
        statements = _judged(dialogue, statements, verifier)
    return list(_placed(dialogue, statements))


def _has_words_of(dialogue: Dialogue, text: str, spans: Sequence[EvidenceSpan]) -> bool:
    """Whether a text says nothing but the words of some places, and who speaks there."""
    said = [*_ROLES]
    for span in spans:
        in_dialogue = 0 <= span.utterance < len(dialogue.utterances)
        utterance = dialogue.utterances[span.utterance] if in_dialogue else Utterance("", "")
        if not 0 <= span.start < span.end <= len(utterance.text):
            place = f"characters {span.start} to {span.end} of utterance {span.utterance + 1}"
            raise DataError(f"the writer quotes {place}, which the dialogue does not have")
        said += [utterance.speaker, utterance.text[span.start : span.end]]
    return set(words_in(text)) <= set(words_in(_NO_TEXT.sub(" ", " ".join(said))))


def _judged(
    dialogue: Dialogue, statements: list[Statement], verifier: "Verifier | None"
) -> list[Statement]:
    """The statements with their verdicts."""
    from dialogist.grounding.verification import SureRules

    known = dialogue.utterances + tuple(Utterance("", v) for v in dialogue.profile.values())
    rules = SureRules(known)
    open_ = [n for n, s in enumerate(statements) if s.verdict != "quoted" and s.evidence]
    judgements: dict[int, Judgement] = {}
    if verifier is not None and open_:
        asked = verifier.verify(dialogue, [statements[n] for n in open_])
        judgements = dict(zip(open_, asked, strict=True))
        if wrong := {str(one.verdict) for one in asked} - {"None", *get_args(Verdict)}:
            raise DataError(f"verifier '{verifier.name}' says '{min(wrong)}', which is no verdict")
    judged = []
    for n, statement in enumerate(statements):
        if statement.verdict != "quoted":
            complaints, judgement = rules.complaints(claim_of(statement)), judgements.get(n)
            verdict, reasons = _verdict(statement, complaints, judgement)
            chance = judgement.probability if judgement is not None else None
            statement = replace(statement, verdict=verdict, reasons=reasons, probability=chance)
        judged.append(statement)
    return judged


def _verdict(
    statement: Statement, complaints: tuple[str, ...], judgement: "Judgement | None"
) -> tuple[Verdict, tuple[str, ...]]:
    if complaints:
        if judgement is None or judgement.verdict != "supported":
            return "contradicted", complaints
        if any(map(str.isdecimal, "".join(complaints))):  # a name a verifier may know better
            return "doubtful", complaints
    if not statement.evidence:
        return "doubtful", ("no line of the dialogue supports it",)
    if judgement is None:
        return "unverified", ("nothing verifies it: compare it with the lines below",)
    return judgement.verdict or "unverified", judgement.reasons


def claim_of(statement: Statement) -> str:
    """All that a statement says, its owner and deadline included."""
    action = (("who", statement.owner), ("by when", statement.deadline))
    behind = [f"{name}: {value}" for name, value in action if value]
    return f"{statement.text} ({'; '.join(behind)})" if behind else statement.text


def settle(
    dialogue: Dialogue, statements: Sequence[Statement], unsupported: Unsupported
) -> list[Statement]:
    """What becomes of statements that nothing supports.

    ``quote``: the words of the lines that come nearest take their place, each once; a statement
    that no line comes near is dropped. One that nothing has judged yet stays as it is.
    """
    if unsupported == "mark":
        return list(statements)
    kept: list[Statement] = []
    quoted = {s.text for s in statements if s.verdict == "quoted"}
    for statement in statements:
        if statement.verdict in ("quoted", "supported", "unverified"):
            kept.append(statement)
            continue
        spans = sorted(statement.evidence[:_QUOTED_LINES], key=lambda span: span.utterance)
        utterances = [dialogue.utterances[span.utterance] for span in spans]
        quotes = zip(utterances, spans, strict=True)
        text = " ".join(quotation(u.speaker, [u.text[s.start : s.end]]) for u, s in quotes)
        if unsupported == "quote" and text and text not in quoted:
            quoted.add(text)
            kept.append(
                replace(
                    statement,
                    text=text,
                    evidence=tuple(replace(span, score=1.0) for span in spans),
                    verdict="quoted",
                    owner="",
                    deadline="",
                    replaced=statement.text,
                )
            )
    return list(_placed(dialogue, kept))


def _placed(dialogue: Dialogue, statements: Iterable[Statement]) -> Iterator[Statement]:
    """The statements with their places in the text, and what they rest on of the profile."""
    fields = ProfileFields(dialogue) if dialogue.profile else None
    place = 0
    for statement in statements:
        end = place + len(statement.text)
        profile = fields.of(statement) if fields is not None else ()
        yield replace(statement, start=place, end=end, profile=profile)
        place = end + 1


class ProfileFields:
    """Which fields of the user profile statements rest on: "my plan", where nobody says which."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._utterances = dialogue.utterances
        self._owner = _owner_of(dialogue)
        self._left = {
            name: title_of_field(name)
            for name, value in dialogue.profile.items()
            if self._owner and not self._is_told(title_of_field(name), value)
        }

    def of(self, statement: Statement) -> tuple[str, ...]:
        """The fields that a statement is the first to mention: as "my" by the customer, else as
        "your", in the words that it rests on."""
        fields = []
        for name, title in list(self._left.items()):
            if title.lower() not in statement.text.lower():
                continue
            for span in statement.evidence:
                utterance = self._utterances[span.utterance]
                whose = "my" if utterance.speaker == self._owner else "your"
                words = utterance.text[span.start : span.end]
                if re.search(_of(whose, title), words, re.IGNORECASE):
                    fields.append(f"{PROFILE_PREFIX}{name}")
                    del self._left[name]
                    break
        return tuple(fields)

    def _is_told(self, title: str, value: str) -> bool:
        """Whether somebody says what the field is: its value, or "my plan is ..."."""
        pattern = (
            rf"{_of('(?:my|your|the)', title)}(?:['’]s| is| was|:)|(?<!\w){re.escape(value)}(?!\w)"
        )
        return any(re.search(pattern, u.text, re.IGNORECASE) for u in self._utterances)


def _of(whose: str, title: str) -> str:
    return rf"\b{whose}\s+(?:\w+\s+)?{re.escape(title)}\b"


def _owner_of(dialogue: Dialogue) -> str:
    """The speaker that the profile is of; empty where there is not exactly one, or of many."""
    if len(dialogue.speakers) != 2:
        return ""
    name = dialogue.profile.get("name", "").casefold()
    roles = {u.speaker: (u.role or role_of(u.speaker)).lower() for u in dialogue.utterances}
    owners = [s for s in dialogue.speakers if name and s.casefold() == name]
    owners = owners or [s for s in dialogue.speakers if roles[s] in PROFILED_ROLES]
    return owners[0] if len(owners) == 1 else ""
