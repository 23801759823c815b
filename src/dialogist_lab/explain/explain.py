"""`explain`: a summary is searched for as always, then said once more and watched.

Teacher forcing on what was found gives every weight and probability of the search's own path. So
search itself keeps nothing, and what is told is what the model did.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from dialogist.batch import FIRST_KEY_POINT, PLAN_EOS, Batch
from dialogist.data.collate import collate
from dialogist.decoding import DecodingOptions
from dialogist.engine.checking import with_checks
from dialogist.engine.compose import compose
from dialogist.engine.forcing import forced_pair
from dialogist.engine.summarizer import Summarizer
from dialogist.engine.written import Written
from dialogist.errors import DataError
from dialogist.models.base import Outputs
from dialogist.models.hierarchical import Hierarchical
from dialogist.models.leader_writer import LeaderWriter, PlanOutputs
from dialogist.nn.output_layer import Copies
from dialogist.records import Dialogue, Summary
from dialogist_lab.explain.explanation import (
    END,
    AttentionMap,
    Candidate,
    Copying,
    Explanation,
    KeyPoint,
    TargetToken,
)
from dialogist_lab.explain.maps import (
    Places,
    copies_of,
    copy_maps,
    coverage_map,
    decoder_maps,
    encoder_maps,
    leader_maps,
    lengths_of,
)
from dialogist_lab.explain.text import Speller

ALTERNATIVES = 5
"""How many candidates are told for each token."""

ORIGINS = 5
"""How many places of a copied token are told at most."""

ASKED = {"style": "free", "long": "cut", "length": "medium", "evidence": False}
"""As far as the model reads at once: there is one map for one pass; no evidence is shown."""


@torch.inference_mode()
def explain(
    summarizer: Summarizer, dialogue: Dialogue, options: DecodingOptions | None = None
) -> Explanation:
    """Summarise one dialogue and tell how; ``options`` default to the model's own.

    Raises:
        DataError: the dialogue holds no text.
        UsageError: the options ask for more than the model can write.
    """
    chosen = summarizer.chosen(options, **ASKED)
    reading = summarizer.read(dialogue, chosen)
    if reading.refused:
        name = f"dialogue '{dialogue.id}': " if dialogue.id else ""
        raise DataError(f"{name}{reading.refused[1]}: there is nothing to explain")
    [written] = summarizer.write(reading, chosen)
    composed = compose(summarizer.bundle, reading, [written], chosen)
    summary = with_checks(composed.summary, dialogue, chosen)
    return _Telling(summarizer, dialogue, written, summary).explanation()


class _Telling:
    """Puts together what is told of one dialogue."""

    def __init__(
        self, summarizer: Summarizer, dialogue: Dialogue, written: Written, summary: Summary
    ) -> None:
        self.bundle, self.written, self.summary = summarizer.bundle, written, summary
        self.draft = written.drafts[0]
        self.spell = Speller(self.bundle, dialogue, written)
        device = next(self.bundle.model.parameters()).device
        pair = forced_pair(written.encoded, self.draft, self.bundle.tokenizer.symbols)
        self.batch = collate([pair], self.bundle.tokenizer.symbols).to(device)
        self.said = lengths_of([(len(t.tokens), t.finished) for t in self.draft.texts])
        self.places = _places(self.batch)

    def explanation(self) -> Explanation:
        """Run the model on what was found, and name everything."""
        model = self.bundle.model
        if isinstance(model, LeaderWriter):
            planned = model.forward(self.batch, need_weights=True)
            outputs, key_points = planned.writer, self._key_points(planned.leader)
            maps = self._planned_maps(planned, len(key_points))
        else:
            outputs, key_points = model.forward(self.batch, need_weights=True), ()
            maps = list(encoder_maps(outputs.attention, self.places))
        hierarchical = isinstance(model, Hierarchical | LeaderWriter)
        decoded = {k: w for k, w in outputs.attention.items() if k.startswith("decoder")}
        over = self.places.utterances if hierarchical else self.places.source
        maps += decoder_maps(decoded, self.said, over)
        if outputs.coverage is not None:
            maps.append(coverage_map(maps[-1]))
        copies = copies_of(outputs, self.said)
        maps += [] if copies is None else copy_maps(copies, self.places, hierarchical)
        return Explanation(
            summary=self.summary,
            kind=model.config.kind,
            source=self.spell.source(),
            speakers=self.spell.speakers(len(self.places.utterances)),
            target=self._target(outputs, copies),
            key_points=key_points,
            maps=tuple(maps),
        )

    def _planned_maps(self, planned: PlanOutputs, key_points: int) -> list[AttentionMap]:
        maps = list(encoder_maps(planned.attention, self.places))
        return [*maps, *leader_maps(planned.leader.attention, key_points, self.places)]

    def _target(self, outputs: Outputs, copies: Copies | None) -> tuple[TargetToken, ...]:
        rows = torch.tensor(self.said.rows, dtype=torch.int64)
        ids = outputs.targets.cpu()[rows]
        table = outputs.log_probs.all().cpu()[rows]  # (M, X)
        log_probs = table.gather(1, ids[:, None])[:, 0]
        copied = _copying(copies, ids, log_probs.exp())
        likeliest = _likeliest(table, self.spell.candidate)
        repeated: Sequence[float | None] = [None] * len(rows)
        if outputs.coverage is not None:
            repeated = outputs.coverage.cpu()[rows].tolist()
        texts = [
            piece for text in self.draft.texts for piece in self._texts(text.tokens, text.finished)
        ]
        parts = self._parts()
        eos = self.bundle.tokenizer.eos_id
        return tuple(
            TargetToken(
                text=texts[i],
                kind="end" if index == eos else self.spell.kind(index),
                part=parts[i],
                log_prob=float(log_probs[i]),
                alternatives=likeliest[i],
                copying=copied[i],
                repeated=repeated[i],
            )
            for i, index in enumerate(ids.tolist())
        )

    def _parts(self) -> list[int]:
        """The part that each token said is of; a border is of the next, a plan of the first."""
        if self.draft.whole is None:
            return [n for n, kept in enumerate(self.said.kept) for _ in range(kept)]
        starts, [count] = self.draft.starts, self.said.kept
        return [max(0, bisect_right(starts, place + 1) - 1) for place in range(count)]

    def _texts(self, tokens: Sequence[int], finished: bool) -> list[str]:
        return [*self.spell.said(tokens), *([END] if finished else [])]

    def _key_points(self, leader: Outputs) -> tuple[KeyPoint, ...]:
        """The plan, its end in unless search cut it."""
        kept = len(self.draft.labels) + int(self.draft.planned)
        table, ids = leader.log_probs.all().cpu()[:kept], leader.targets.tolist()[:kept]
        likeliest = _likeliest(table, self._label)
        return tuple(
            KeyPoint(self._label(index), float(table[i, index]), likeliest[i])
            for i, index in enumerate(ids)
        )

    def _label(self, index: int) -> str:
        pack, number = self.bundle.preparation.pack, index - FIRST_KEY_POINT
        if number < 0:
            return END if index == PLAN_EOS else f"‹symbol {index}›"
        known = pack is not None and number < len(pack.labels)
        return pack.labels[number] if pack is not None and known else f"key point {number + 1}"


def _places(batch: Batch) -> Places:
    assert batch.utterance is not None  # `collate` always tells
    return Places(batch.utterance[0])


def _likeliest(table: Tensor, name: Callable[[int], str]) -> list[tuple[Candidate, ...]]:
    """The best of each row of (M, X) log-probabilities."""
    best, ids = table.topk(min(ALTERNATIVES, table.shape[1]), dim=1)
    return [
        tuple(Candidate(name(i), p) for i, p in zip(row, values, strict=True))
        for row, values in zip(ids.tolist(), best.exp().tolist(), strict=True)
    ]


def _copying(copies: Copies | None, ids: Tensor, probabilities: Tensor) -> Sequence[Copying | None]:
    """How the pointer came to each of the tokens (M,), which have these probabilities (M,)."""
    if copies is None:
        return [None] * len(ids)
    own = copies.weights * (copies.ids == ids[:, None])  # (M, S) where that very token stands
    p_gen = torch.sigmoid(copies.gate)
    shares = ((1 - p_gen) * own.sum(dim=1) / probabilities.clamp(min=1e-30)).clamp(max=1)
    best, places = own.topk(min(ORIGINS, own.shape[1]), dim=1)
    return [
        Copying(
            p_gen=float(p_gen[row]),
            share=float(shares[row]),
            origins=tuple((p, w) for p, w in zip(at, weights, strict=True) if w > 0),
        )
        for row, (at, weights) in enumerate(zip(places.tolist(), best.tolist(), strict=True))
    ]
