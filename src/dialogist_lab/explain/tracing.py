"""Make an `Explanation`: a summary's tokens decoded again with all attention maps kept."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dialogist.checks.checking import with_checks
from dialogist.data.collate import collate
from dialogist.data.entities import MASK
from dialogist.data.normalise import normalise
from dialogist.data.speakers import RoleTable
from dialogist.decoding import DecodingOptions
from dialogist.errors import DataError
from dialogist.model_folder.bundle import Bundle
from dialogist.models.base import Outputs
from dialogist.nn.output_layer import Copies, PointerLogProbs
from dialogist.pipeline.compose import compose
from dialogist.pipeline.drafts import BROKEN, Draft, Window, pieces
from dialogist.pipeline.summarizer import Summarizer
from dialogist.pipeline.window_generator import forced_pair
from dialogist.records import Dialogue, Summary, Utterance
from dialogist.tensors import FIRST_KEY_POINT, PLAN_EOS
from dialogist.tokenizers import Tokenizer
from dialogist.tokenizers.special_tokens import readable_entity
from dialogist_lab.explain.explanation import (
    BEGIN,
    END,
    AttentionMap,
    AttentionWeights,
    Axis,
    AxisKind,
    CopyOrigin,
    Explanation,
    KeyPoint,
    Role,
    SourceToken,
    TargetToken,
    TokenCandidate,
    TokenKind,
)


class Speller:
    """Spells the tokens of one dialogue and of what was said about it."""

    def __init__(self, bundle: Bundle, dialogue: Dialogue, written: Window) -> None:
        self._bundle, self._written = bundle, written
        self._tokenizer = bundle.tokenizer
        self._roles = _roles(bundle, dialogue)
        self._speakers = frozenset(self._tokenizer.placeholder_ids())
        self._entities = frozenset(self._tokenizer.entity_ids().values())
        self._plan = _plan_names(bundle)

    def source(self) -> tuple[SourceToken, ...]:
        """All that the model read, begin and end in."""
        encoded, tokenizer = self._written.encoded, self._tokenizer
        ended = encoded.source[-1] == tokenizer.eos_id  # a cut may have taken the end symbol
        ends = (*encoded.starts[1:], len(encoded.source) - int(ended))
        unknown: dict[str, int] = {}  # words that the vocabulary lacks, by ids of their own
        tokens = [SourceToken(BEGIN, "begin")]
        spans = zip(self._written.example.utterances, encoded.starts, ends, strict=False)
        for number, (utterance, start, end) in enumerate(spans):
            text = f"{utterance.speaker} {utterance.text}"
            ids = tokenizer.encode_extended(text, unknown, grow=True)[: end - start]
            texts = in_case_of(utterance.text, pieces(ids, self._reader(tuple(unknown))))
            tokens += [
                SourceToken(t, self.kind(i), number) for t, i in zip(texts, ids, strict=True)
            ]
        return (*tokens, SourceToken(END, "end")) if ended else tuple(tokens)

    def speakers(self, utterances: int) -> tuple[str, ...]:
        """Who says each of the first ``utterances``."""
        read = self._reader(())
        spoken = self._written.example.utterances[:utterances]
        return tuple(read(self._tokenizer.encode(u.speaker)).strip() for u in spoken)

    def said(self, ids: Sequence[int]) -> list[str]:
        """What each token of a (sub-)summary adds to it; those of a plan prefix by their names."""
        read = self._reader(self._written.encoded.unknown)
        found: list[str] = []
        for planned, group in groupby(ids, self._plan.__contains__):
            run = list(group)
            found += (
                [self._plan[index] for index in run]
                if planned
                else in_case_of(read(run), pieces(run, read))
            )
        return found

    def kind(self, index: int) -> TokenKind:
        """What kind of token an id is."""
        if index in self._speakers:
            return "speaker"
        if index in self._entities:
            return "entity"
        if index in self._plan:
            return "plan"
        beyond = index >= len(self._tokenizer) or index == self._tokenizer.unk_id
        return "unknown" if beyond else "text"

    def candidate(self, index: int) -> str:
        """A token by itself, never empty (but it may be a space)."""
        tokenizer = self._tokenizer
        controls = {tokenizer.bos_id: BEGIN, tokenizer.eos_id: END, tokenizer.pad_id: "‹padding›"}
        if index in controls:
            return controls[index]
        if index in self._plan:
            return self._plan[index]
        unknown = self._written.encoded.unknown
        if index >= len(tokenizer) + len(unknown):
            return "‹no word of this dialogue›"
        text = self._reader(unknown)([index])
        if text and BROKEN not in text:
            return text
        return _described(tokenizer, index)

    def _reader(self, unknown: Sequence[str]) -> Callable[[Sequence[int]], str]:
        """From ids to text with names and entities back in place."""
        preparation, example = self._bundle.preparation, self._written.example

        def read(ids: Sequence[int]) -> str:
            text = self._tokenizer.decode(ids, unknown)
            return preparation.restore(text.translate(self._roles), example)

        return read


_LONGEST_NAME = 80  # characters of a speaker, before what he says


def in_case_of(text: str, texts: list[str]) -> list[str]:
    """The pieces of a speaker and a text (or its beginning) with the text's own capitals.

    A vocabulary without capitals cannot tell ``don't`` from ``don'T``. Where the pieces spell
    another text, as of masks, they stay as they are.
    """
    whole = "".join(texts)
    low = text.lower()
    if len(low) != len(text) or len(whole.lower()) != len(whole):
        return texts
    for start in range(min(len(whole), _LONGEST_NAME)):
        if low.startswith(whole[start:].lower()):
            whole = whole[:start] + text[: len(whole) - start]
            break
    ends = list(accumulate(map(len, texts), initial=0))
    return [whole[begin:end] for begin, end in pairwise(ends)]


def _plan_names(bundle: Bundle) -> dict[int, str]:
    """How people are shown the tokens of a plan prefix."""
    pack, ids = bundle.preparation.pack, bundle.tokenizer.plan_ids()
    if pack is None or not ids:
        return {}
    return {i: f"‹{name}›" for i, name in zip(ids, ("border", *pack.labels), strict=True)}


def _roles(bundle: Bundle, dialogue: Dialogue) -> dict[int, str]:
    """Names for the placeholders of roles: the role, or of those who have none the speaker."""
    config = bundle.preparation.config
    if config.speakers != "role":
        return {}

    def normal(text: str) -> str:
        return normalise(text, config.profile)

    spoken = [
        Utterance(normal(u.speaker), u.text, u.role) for u in dialogue.utterances if normal(u.text)
    ]
    table = RoleTable(spoken)
    named = {table.token(u): u.role or u.speaker for u in reversed(spoken)}
    return {ord(placeholder): name for placeholder, name in named.items() if placeholder}


def _described(tokenizer: Tokenizer, index: int) -> str:
    """A token that stands for nothing in this dialogue, or is no character by itself."""
    if index in tokenizer.placeholder_ids():
        return f"‹speaker {tokenizer.placeholder_ids().index(index) + 1}: not here›"
    raw = tokenizer.decode([index])
    if MASK.search(raw):
        return f"‹{readable_entity(raw.strip())[1:-1]}: not here›"
    if BROKEN in raw:
        return "‹part of a character›"
    return tokenizer.token(index)


@dataclass(frozen=True, slots=True)
class _Said:
    """Where the tokens that were said lie among the positions of teacher forcing.

    ``lengths``: how many positions each (sub-)summary has, its end in. ``kept``: how many of these
    were said: not the end of one that search cut.
    """

    lengths: tuple[int, ...]
    kept: tuple[int, ...]

    @classmethod
    def of(cls, draft: Draft) -> "_Said":
        """Of the (sub-)summaries of a draft."""
        sizes = [len(text.tokens) for text in draft.texts]
        ends = [size + text.finished for size, text in zip(sizes, draft.texts, strict=True)]
        return cls(tuple(size + 1 for size in sizes), tuple(ends))

    @property
    def rows(self) -> list[int]:
        """Of all M positions those that were said."""
        starts = [0, *accumulate(self.lengths)]
        pairs = zip(starts, self.kept, strict=False)
        return [row for start, kept in pairs for row in range(start, start + kept)]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Where each (sub-)summary begins and ends among the tokens said."""
        return list(pairwise([0, *accumulate(self.kept)]))


class Places:
    """The source's tokens and utterances, as axes."""

    def __init__(self, utterance: Tensor) -> None:
        """``utterance``: (S,) the utterance of each position, -1 outside."""
        self.numbers = utterance.cpu().numpy()
        self.source = whole("source", len(self.numbers))
        self.utterances = whole("utterances", int(self.numbers.max()) + 1)

    def within(self, utterance: int) -> Axis:
        """The tokens of one utterance."""
        return Axis("source", tuple(np.flatnonzero(self.numbers == utterance).tolist()))

    def by_utterance(self, weights: AttentionWeights) -> AttentionWeights:
        """(H, rows, S) -> (H, rows, U): the sums over the tokens of each utterance."""
        inside = self.numbers[:, None] == np.arange(len(self.utterances))  # (S, U)
        return np.asarray(weights @ inside.astype(np.float32))


def whole(kind: AxisKind, length: int) -> Axis:
    """An axis over all things of a kind."""
    return Axis(kind, tuple(range(length)))


def encoder_maps(attention: Mapping[str, Tensor], places: Places) -> Iterator[AttentionMap]:
    """Of a batch of one dialogue: flat (1, H, S, S), or of tokens, pooling and utterances."""
    for name, weights in attention.items():
        layer = _layer(name)
        if name.startswith("encoder_"):
            axis = places.source
            yield AttentionMap(name, "encoder", _array(weights[0]), axis, axis, layer)
        elif name.startswith("utterance_encoder_"):
            axis = places.utterances
            yield AttentionMap(name, "utterances", _array(weights[0]), axis, axis, layer)
        elif name.startswith("token_encoder_"):
            yield from _within(name, _array(weights), places)
        elif name == "pooling":
            yield _pooling(_array(weights[:, :, 0]), places)


def _within(name: str, weights: AttentionWeights, places: Places) -> Iterator[AttentionMap]:
    """(U, H, S, S), S being the longest utterance's length: a map for each utterance."""
    for number, own in enumerate(weights):
        axis = places.within(number)
        size = len(axis)
        if size:
            part = own[:, :size, :size]
            yield AttentionMap(name, "within", part, axis, axis, _layer(name), number)


def _pooling(weights: AttentionWeights, places: Places) -> AttentionMap:
    """(U, 1, longest) -> one row per utterance over all of the source."""
    grid = np.zeros((1, len(places.utterances), len(places.source)), dtype=np.float32)
    for number, own in enumerate(weights[:, 0]):
        columns = places.within(number).places
        grid[0, number, columns] = own[: len(columns)]
    return AttentionMap("pooling", "pooling", grid, places.utterances, places.source)


def leader_maps(
    attention: Mapping[str, Tensor], key_points: int, places: Places
) -> Iterator[AttentionMap]:
    """The Leader's, of a batch of one dialogue, cut to the key points that were said."""
    rows, fed = whole("key points", key_points), whole("fed key points", key_points)
    for name, weights in attention.items():
        role: Role = "leader self" if "self_att" in name else "leader cross"
        columns = fed if role == "leader self" else places.utterances
        part = _array(weights[0])[:, :key_points, : len(columns)]
        yield AttentionMap(f"leader_{name}", role, part, rows, columns, _layer(name))


def decoder_maps(
    attention: Mapping[str, Tensor], said: _Said, over: Axis
) -> Iterator[AttentionMap]:
    """The decoder's: self-attention for each (sub-)summary, cross-attention ``over`` as one map.

    ``attention`` is (R, H, T, ...) or, where there are no heads (additive), (1, T, S).
    """
    for name, weights in attention.items():
        found = _array(weights if weights.dim() == 4 else weights[:, None])
        if "self_att" in name:
            yield from _selves(name, found, said)
        else:
            parts = [own[:, :kept] for own, kept in zip(found, said.kept, strict=True)]
            joined = np.concatenate(parts, axis=1)[..., : len(over)]
            rows = whole("target", sum(said.kept))
            yield AttentionMap(name, "cross", joined, rows, over, max(1, _layer(name)))


def _selves(name: str, weights: AttentionWeights, said: _Said) -> Iterator[AttentionMap]:
    """(R, H, T, T) -> a map for each (sub-)summary in which anything was said."""
    for part, (start, stop) in enumerate(said.spans):
        size, places = stop - start, tuple(range(start, stop))
        if size:
            own, group = weights[part, :, :size, :size], part if len(said.spans) > 1 else None
            axes = Axis("target", places), Axis("fed", places)
            yield AttentionMap(name, "self", own, axes[0], axes[1], _layer(name), group)


def coverage_map(cross: AttentionMap) -> AttentionMap:
    """What a model with coverage is told: the sum of its weights before each token."""
    before = np.cumsum(cross.weights, axis=1) - cross.weights
    return AttentionMap("coverage", "coverage", before, cross.rows, cross.columns, cross.layer)


def copies_of(outputs: Outputs, said: _Said) -> Copies | None:
    """What the pointer says at each token that was said; None without a pointer."""
    if not isinstance(outputs.log_probs, PointerLogProbs):
        return None
    gate, weights, ids, extra = outputs.log_probs.copies
    rows = torch.tensor(said.rows, dtype=torch.int64, device=gate.device)
    return Copies(gate[rows].cpu(), weights[rows].cpu(), ids[rows].cpu(), extra)


def copy_maps(copies: Copies, places: Places, hierarchical: bool) -> Iterator[AttentionMap]:
    """Where the pointer looks: by token, and in hierarchical models by utterance as well."""
    weights = _array(copies.weights[None, :, : len(places.source)])
    rows = whole("target", weights.shape[1])
    yield AttentionMap("pointer", "copy", weights, rows, places.source)
    if hierarchical:
        sums = places.by_utterance(weights)
        yield AttentionMap("pointer_utterances", "copied utterances", sums, rows, places.utterances)


def _layer(name: str) -> int:
    """The number in ``..._layer3_...``; 0 where there is none."""
    digits = name.partition("layer")[2].partition("_")[0]
    return int(digits) if digits.isdigit() else 0


def _array(weights: Tensor) -> AttentionWeights:
    return np.asarray(weights.float().cpu().numpy(), dtype=np.float32)


ALTERNATIVES = ORIGINS = 5
"""How many candidates, and places of a copied token, are told for each token at most."""

ASKED = {"style": "free", "long": "cut", "length": "medium", "evidence": False}
"""As far as the model reads at once: there is one map for one pass; no evidence is shown."""


@torch.inference_mode()
def explain_dialogue(
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
    reading = replace(reading, windows=(written,))
    summary, _ = compose(summarizer.bundle, reading, chosen)
    summary = with_checks(summary, dialogue, chosen.min_confidence, chosen.evidence)
    return _Telling(summarizer, dialogue, written, summary).explanation()


class _Telling:
    """Puts together what is told of one dialogue."""

    def __init__(
        self, summarizer: Summarizer, dialogue: Dialogue, written: Window, summary: Summary
    ) -> None:
        self.bundle, self.written, self.summary = summarizer.bundle, written, summary
        self.draft = written.drafts[0]
        self.spell = Speller(self.bundle, dialogue, written)
        device = next(self.bundle.model.parameters()).device
        pair = forced_pair(written.encoded, self.draft, self.bundle.tokenizer.symbols)
        self.batch = collate([pair], self.bundle.tokenizer.symbols).to(device)
        self.said = _Said.of(self.draft)
        assert self.batch.utterance is not None  # `collate` always tells
        self.places = Places(self.batch.utterance[0])

    def explanation(self) -> Explanation:
        """Run the model on what was found, and name everything."""
        model = self.bundle.model
        outputs = model.forward(self.batch, need_weights=True)
        key_points: tuple[KeyPoint, ...] = ()
        maps = list(encoder_maps(outputs.attention, self.places))
        if outputs.plan is not None:
            key_points = self._key_points(outputs.plan)
            maps += leader_maps(outputs.plan.attention, len(key_points), self.places)
        hierarchical = model.attends_to == "utterances"
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
            piece
            for text in self.draft.texts
            for piece in (*self.spell.said(text.tokens), *([END] if text.finished else []))
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
                repeated=repeated[i],
                **copied[i],
            )
            for i, index in enumerate(ids.tolist())
        )

    def _parts(self) -> list[int]:
        """The part that each token said is of; a border is of the next, a plan of the first."""
        if self.draft.whole is None:
            return [n for n, kept in enumerate(self.said.kept) for _ in range(kept)]
        starts, [count] = self.draft.starts, self.said.kept
        return [max(0, bisect_right(starts, place + 1) - 1) for place in range(count)]

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


def _likeliest(table: Tensor, name: Callable[[int], str]) -> list[tuple[TokenCandidate, ...]]:
    """The best of each row of (M, X) log-probabilities."""
    best, ids = table.topk(min(ALTERNATIVES, table.shape[1]), dim=1)
    return [
        tuple(TokenCandidate(name(i), p) for i, p in zip(row, values, strict=True))
        for row, values in zip(ids.tolist(), best.exp().tolist(), strict=True)
    ]


def _copying(copies: Copies | None, ids: Tensor, probabilities: Tensor) -> Sequence[dict[str, Any]]:
    """What a `TargetToken` has of the pointer, for tokens (M,) of these probabilities (M,)."""
    if copies is None:
        return [{}] * len(ids)
    own = copies.weights * (copies.ids == ids[:, None])  # (M, S) where that very token stands
    p_gen = torch.sigmoid(copies.gate)
    shares = ((1 - p_gen) * own.sum(dim=1) / probabilities.clamp(min=1e-30)).clamp(max=1)
    best, places = own.topk(min(ORIGINS, own.shape[1]), dim=1)
    rows = zip(p_gen.tolist(), shares.tolist(), places.tolist(), best.tolist(), strict=True)
    return [
        {
            "p_gen": gate,
            "copied": share,
            "origins": tuple(CopyOrigin(p, w) for p, w in zip(at, weights, strict=True) if w > 0),
        }
        for gate, share, at, weights in rows
    ]
