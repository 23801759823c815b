"""Grounding: drafts become statements with exact evidence, a verdict, and reasons for it."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dialogist.records import Dialogue, Draft, EvidenceSpan, Statement, Utterance, Verdict

if TYPE_CHECKING:
    from dialogist.grounding.verification import Verifier

# What quotes do not need is imported where it is needed: most summaries are made of quotes.

_NO_TEXT = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that steer a terminal, and halves of characters, which no file can hold."""

_SUPPORTED = 0.5
"""A verifier's probability from which on a statement counts as supported."""


def ground(
    dialogue: Dialogue, drafts: Sequence[Draft], verifier: "Verifier | None" = None
) -> list[Statement]:
    """The drafts as statements of a text in which one space stands between two.

    Drafts that quote keep their places and need no verdict. Of all others the evidence is looked
    for, in the lines that they cite if they cite any. ``verifier`` judges them by it; before that a
    number or name that nobody said contradicts them, and so does nothing else here.
    """
    known = dialogue.utterances + tuple(Utterance("", v) for v in dialogue.profile.values())
    statements: list[Statement] = []
    place = 0
    for draft in drafts:
        text = " ".join(_NO_TEXT.sub(" ", draft.text).split())
        if not text:
            continue
        evidence = draft.quotes
        verdict: Verdict = "quoted"
        reasons: tuple[str, ...] = ()
        if not draft.quotes:
            from dialogist.grounding.evidence import find_evidence

            evidence = find_evidence(dialogue, text, draft.lines)
            verdict, reasons = _judged(dialogue, text, evidence, verifier, known)
        end = place + len(text)
        statements.append(
            Statement(text, place, end, draft.section, evidence, verdict, reasons, draft.importance)
        )
        place = end + 1
    if not dialogue.profile:
        return statements
    from dialogist.grounding.profile import ProfileFields

    fields = ProfileFields(dialogue)
    return [replace(statement, profile=fields.of(statement)) for statement in statements]


def _judged(
    dialogue: Dialogue,
    text: str,
    evidence: Sequence[EvidenceSpan],
    verifier: "Verifier | None",
    known: Sequence[Utterance],
) -> tuple[Verdict, tuple[str, ...]]:
    from dialogist.grounding.verification import SureRules

    if reasons := SureRules().verify(known, text).reasons:
        return "contradicted", reasons
    if not evidence:
        return "doubtful", ("no line of the dialogue supports it",)
    cited = [dialogue.utterances[n] for n in sorted({span.utterance for span in evidence})]
    if verifier is None:
        return "doubtful", ("nothing verifies it: compare it with the lines below",)
    judgement = verifier.verify(cited, text)
    is_supported = judgement.probability is not None and judgement.probability >= _SUPPORTED
    return ("supported" if is_supported else "doubtful"), judgement.reasons
