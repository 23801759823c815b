"""What the default model attends to while it says the statements of cases."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from evidence_cases import Case
from numpy.typing import NDArray

from dialogist.decoding.search import Hypothesis
from dialogist.engine.bundle import Bundle
from dialogist.engine.drafts import Draft, Retold, SearchedWindow, Window
from dialogist.engine.forced_decoding import retold
from dialogist.engine.options import SummaryOptions
from dialogist.engine.token_offsets import ends_of, reader, token_ranges
from dialogist.engine.writing import Writer
from dialogist.records import Dialogue
from dialogist.text.tokens import sentence_spans

Shares = NDArray[np.floating]

AT_ONCE = 16
"""Dialogues that are said once more together."""


@dataclass(frozen=True)
class Spoken:
    """Sentences of a model about a dialogue, and (U,) the attention of each."""

    statements: tuple[str, ...]
    attended: tuple[Shares, ...]


def forced(bundle: Bundle, cases: Sequence[Case]) -> list[tuple[Case, Spoken]]:
    """The cases whose statements the model can be made to say, as it would say them."""
    kept, written = [], []
    for case in cases:
        dialogue = replace(case.dialogue, references=(" ".join(case.statements),))
        example = bundle.preparation.prepare(dialogue)
        encoded = bundle.preparation.encode(example, bundle.tokenizer)
        if encoded.coverage.complete and not encoded.coverage.target_cut:
            tokens = encoded.targets[0][1:-1]
            kept.append(case)
            written.append(SearchedWindow(example, encoded, (_draft(tokens),)))
    found = []
    for case, spoken in zip(
        kept, _spoken(bundle, written, [c.dialogue for c in kept]), strict=True
    ):
        if len(spoken.statements) == len(case.statements):
            found.append((case, spoken))
    return found


def drafts_of(
    bundle: Bundle, dialogues: Sequence[Dialogue], evidence: bool = False
) -> list[SearchedWindow]:
    """What search finds, as it is, without the checks that summaries go through."""
    windows = []
    for dialogue in dialogues:
        example = bundle.preparation.prepare(dialogue)
        encoded = bundle.preparation.encode(example, bundle.tokenizer)
        windows.append(Window(example, encoded, dialogue))
    options = SummaryOptions(
        **{**bundle.decoding.model_dump(), "safe": False, "evidence": evidence}
    )
    return Writer(bundle).write(windows, options)


def searched(bundle: Bundle, dialogues: Sequence[Dialogue]) -> list[Spoken]:
    """What the model says by itself."""
    return _spoken(bundle, drafts_of(bundle, dialogues), dialogues)


def _draft(tokens: Sequence[int]) -> Draft:
    return Draft((Hypothesis(tuple(tokens), 0.0, 0.0, True),))


def _retold(
    bundle: Bundle, written: Sequence[SearchedWindow], dialogues: Sequence[Dialogue]
) -> list[list[Retold]]:
    """`retold`, in batches of neighbours."""
    found: list[list[Retold]] = []
    for start in range(0, len(written), AT_ONCE):
        here = slice(start, start + AT_ONCE)
        found += retold(bundle, written[here], dialogues[here])
    return found


def _spoken(
    bundle: Bundle, written: Sequence[SearchedWindow], dialogues: Sequence[Dialogue]
) -> list[Spoken]:
    found = []
    for one, parts in zip(written, _retold(bundle, written, dialogues), strict=True):
        if not parts:
            found.append(Spoken((), ()))
            continue
        [hypothesis] = one.drafts[0].parts
        read = reader(bundle, one.example, one.encoded)
        text, ends = read(hypothesis.tokens).strip(), ends_of(hypothesis.tokens, read)
        spans = list(sentence_spans(text))
        rows = [parts[0].shares[a:b].mean(axis=0) for a, b in token_ranges(ends, spans)]
        found.append(Spoken(tuple(text[a:b] for a, b in spans), tuple(rows)))
    return found
