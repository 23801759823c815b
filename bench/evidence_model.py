"""What the default model attends to while it says the statements of cases."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from evidence_cases import Case
from numpy.typing import NDArray

from dialogist.decoding.search import Hypothesis
from dialogist.model_folder.bundle import Bundle
from dialogist.model_folder.options import SummaryOptions
from dialogist.pipeline.drafts import (
    Draft,
    ForcedScores,
    Window,
    ends_of,
    reader,
    token_ranges,
)
from dialogist.pipeline.window_generator import WindowGenerator, forced_decode
from dialogist.records import Dialogue
from dialogist.language.tokens import sentence_spans

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
            written.append(Window(example, encoded, dialogue, (_draft(tokens),)))
    found = []
    for case, spoken in zip(kept, _spoken(bundle, written), strict=True):
        if len(spoken.statements) == len(case.statements):
            found.append((case, spoken))
    return found


def drafts_of(
    bundle: Bundle, dialogues: Sequence[Dialogue], evidence: bool = False
) -> list[Window]:
    """What search finds, as it is, without the checks that summaries go through."""
    windows = []
    for dialogue in dialogues:
        example = bundle.preparation.prepare(dialogue)
        encoded = bundle.preparation.encode(example, bundle.tokenizer)
        windows.append(Window(example, encoded, dialogue))
    options = SummaryOptions(
        **{**bundle.decoding.model_dump(), "safe": False, "evidence": evidence}
    )
    return WindowGenerator(bundle).write(windows, options)


def searched(bundle: Bundle, dialogues: Sequence[Dialogue]) -> list[Spoken]:
    """What the model says by itself."""
    return _spoken(bundle, drafts_of(bundle, dialogues))


def _draft(tokens: Sequence[int]) -> Draft:
    return Draft((Hypothesis(tuple(tokens), 0.0, 0.0, True),))


def _forced(bundle: Bundle, written: Sequence[Window]) -> list[list[ForcedScores]]:
    """`forced_decode`, in batches of neighbours."""
    found: list[list[ForcedScores]] = []
    for start in range(0, len(written), AT_ONCE):
        found += forced_decode(bundle, written[start : start + AT_ONCE])
    return found


def _spoken(bundle: Bundle, written: Sequence[Window]) -> list[Spoken]:
    found = []
    for one, parts in zip(written, _forced(bundle, written), strict=True):
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
