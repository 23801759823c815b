"""Verification by asking: a language model judges each statement by the lines that it rests on."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from dialogist.errors import DataError
from dialogist.grounding import NO_ANSWER, claim_of
from dialogist.grounding.evidence import find_evidence
from dialogist.grounding.verification import Judgement
from dialogist.plain_text import printable
from dialogist.privacy.masking import outbound
from dialogist.records import Dialogue, Statement, Verdict
from dialogist.writers.answers import numbers_in, objects_in, without_thoughts
from dialogist.writers.chat import CHARACTERS_A_TOKEN, KEEP, NotAsked, prompt_text
from dialogist.writers.language_model import list_schema, numbered_lines

if TYPE_CHECKING:
    from dialogist.writers.language_model import Chat

_AROUND = 2  # lines shown before and after a line of evidence
_WHOLE = 60  # a dialogue of so many lines is shown whole: a later line may withdraw an earlier one
_AT_A_TIME = 12  # statements of a request
_LONGEST = 200  # characters of a reason
_NO_FAULT = re.compile(r"(?i)\W*(?:no(?:ne|thing)?|n/?a|null)?(?: errors?)?\W*")
_VERDICTS: Mapping[str, Verdict] = {
    "supported": "supported",
    "contradicted": "contradicted",
    "not said": "doubtful",
}
_SCHEMA = list_schema(
    "verdicts",
    {
        "statement": {"type": "integer"},
        "wrong": {"type": "string"},
        "verdict": {"type": "string", "enum": list(_VERDICTS)},
    },
)


class AskingVerifier:
    """Asks a language model about all statements of a dialogue, a few requests at most."""

    def __init__(self, chat: "Chat") -> None:
        self.chat, self.name = chat, f"model {chat.name}"
        self._prompt = prompt_text(None, "verify.txt")

    def verify(self, dialogue: Dialogue, statements: Sequence[Statement]) -> list[Judgement]:
        """The model's verdicts; of a statement that it says nothing usable about none is known.

        Raises:
            NotAsked: the budget does not allow it, or nobody waits for it any more.
            ModelError: the model cannot be reached or used at all.
        """
        sent = outbound(dialogue, self.chat.masks)
        lines = [_lines_of(dialogue, statement) for statement in statements]
        judgements: dict[int, Judgement] = {}
        for numbers in self._parts(dialogue, lines):
            claims = []
            for place, number in enumerate(numbers, 1):
                cited = sorted({span.utterance + 1 for span in statements[number].evidence})
                claim = sent.masked(claim_of(statements[number]))
                claims.append(f"({place}) {claim} [lines {' '.join(map(str, cited))}]")
            shown = sorted(set().union(*(lines[number] for number in numbers)))
            text = "\n".join(
                ("Lines:", *_with_gaps(sent.dialogue, shown), "", "Statements:", *claims)
            )
            try:
                content, _ = self.chat.complete(self._prompt, text, _SCHEMA)
                judgements |= _judged(content, numbers)
                KEEP.get()()
            except NotAsked:
                raise
            except DataError as error:
                unknown = Judgement(None, (f"the verifier gave {NO_ANSWER}: {error}",))
                judgements |= dict.fromkeys(numbers, unknown)
        silent = Judgement(None, ("the verifier says nothing about it",))
        return [judgements.get(number, silent) for number in range(len(statements))]

    def _parts(self, dialogue: Dialogue, lines: Sequence[set[int]]) -> Iterator[list[int]]:
        """Numbers of statements that fit into a request with their ``lines``."""
        room = self.chat.context * CHARACTERS_A_TOKEN // 2
        part: list[int] = []
        shown: set[int] = set()
        for number, more in enumerate(lines):
            size = sum(len(dialogue.utterances[n].text) for n in shown | more)
            if part and (len(part) >= _AT_A_TIME or size > room):
                yield part
                part, shown = [], set()
            part.append(number)
            shown |= more
        if part:
            yield part


def _judged(content: str, numbers: Sequence[int]) -> dict[int, Judgement]:
    """The verdicts on statements of these numbers, which an answer counts from 1; a DataError if
    it has none, or counts otherwise: nobody knows which it means."""
    found: dict[int, Judgement] = {}
    for values in objects_in(without_thoughts(content), "verdict"):
        place, wrong = next(numbers_in(values.get("statement")), 0), values.get("wrong")
        if not 0 < place <= len(numbers):
            raise DataError(f"it judges statement {place} of {len(numbers)}")
        verdict = _VERDICTS.get(str(values["verdict"]).strip(" .").lower().replace("_", " "))
        reason = printable(wrong)[:_LONGEST] if isinstance(wrong, str) else ""
        if verdict == "supported" and not _NO_FAULT.fullmatch(reason):
            verdict = "doubtful"
        reasons = () if verdict == "supported" else (reason or "not said in these words",)
        judgement = Judgement(verdict or "doubtful", reasons)
        if found.setdefault(numbers[place - 1], judgement).verdict != judgement.verdict:
            found[numbers[place - 1]] = Judgement("doubtful", ("two verdicts of the verifier",))
    if not found:
        raise DataError("it holds no verdict")
    return found


def _lines_of(dialogue: Dialogue, statement: Statement) -> set[int]:
    """The numbers of the lines to judge a statement by: all of a short dialogue, of a long one
    those around its evidence and around what else comes near it."""
    count = len(dialogue.utterances)
    if count <= _WHOLE:
        return set(range(count))
    near = {
        span.utterance for span in (*statement.evidence, *find_evidence(dialogue, statement.text))
    }
    return {n for m in near for n in range(m - _AROUND, m + _AROUND + 1) if 0 <= n < count}


def _with_gaps(dialogue: Dialogue, numbers: Sequence[int]) -> Iterator[str]:
    last = None
    for number in numbers:
        if last is not None and number > last + 1:
            yield "..."
        yield from numbered_lines(dialogue, [number])
        last = number
