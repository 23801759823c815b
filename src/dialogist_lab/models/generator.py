"""The model contract: what the trainer, objectives and search see of any kind of model.

A family of models is one file with an `XConfig(ModelConfig)` and an `X(Generator)`, and one line in
`MODELS`. Nobody outside that file asks for the concrete class.

Shapes, for the whole laboratory:

    B dialogues            U utterances per dialogue     S tokens of a (flat) source
    T target tokens        K key points                  N rows in search (B x beams)
    M real target positions of a batch                   R sub-summaries of a batch
    H heads                D width of the model          V vocabulary
    X = V + E: the vocabulary and the batch's largest number E of unknown words that can be copied
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pkgutil import resolve_name
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from dialogist.config import Config
from dialogist.errors import nearest
from dialogist_lab.decoding import DecodingOptions, Hypothesis, State, Symbols, search

PLAN_SYMBOLS = Symbols(pad=0, unk=0, bos=1, eos=2, size=sys.maxsize)
"""Of sequences of key points; none of these is unknown."""

FIRST_KEY_POINT = 3
"""The id of the first label of a rule pack; the others follow in its order."""


def padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[Tensor, Tensor]:
    """Rows of ids -> (N, longest) int64, padded at the right, and True where real."""
    lengths = np.array([len(row) for row in rows])[:, None]
    ids = np.full((len(rows), lengths.max()), pad, dtype=np.int64)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
    return torch.from_numpy(ids), torch.from_numpy(np.arange(ids.shape[1]) < lengths)


@dataclass(frozen=True, slots=True)
class _Tensors:
    """Tensors that move together."""

    def to(self, device: torch.device) -> Self:
        parts = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(
            self, **{k: v.to(device) for k, v in parts.items() if isinstance(v, Tensor | _Tensors)}
        )


@dataclass(frozen=True, slots=True)
class Targets(_Tensors):
    """N sequences of ids as teacher forcing takes them."""

    inputs: Tensor  # (N, T) what the decoder is fed: begin symbol, then the sequence
    labels: Tensor  # (N, T) what it shall predict: the sequence, then the end symbol
    mask: Tensor  # (N, T) True where ``labels`` are real

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], symbols: Symbols) -> "Targets":
        """Of sequences with begin and end symbols."""
        ids, real = padded(rows, symbols.pad)
        return cls(symbols.known(ids[:, :-1]), ids[:, 1:], real[:, 1:])


@dataclass(frozen=True, slots=True)
class Plan(_Tensors):
    """The key-point sequences of B dialogues and their R sub-summaries, dialogue by dialogue."""

    key_points: Targets  # (B, K + 1) ids of key points
    texts: Targets  # (R, T) of the sub-summaries
    owner: Tensor  # (R,) the dialogue of each sub-summary
    place: Tensor  # (R,) its place in the sequence

    @classmethod
    def of(
        cls, plans: Sequence[Sequence[int]], texts: Sequence[Sequence[int]], symbols: Symbols
    ) -> "Plan":
        """Of each dialogue's key points (ids), and all their texts, begin symbols in."""
        sequences = [(PLAN_SYMBOLS.bos, *ids, PLAN_SYMBOLS.eos) for ids in plans]
        counts = [len(ids) for ids in plans]
        return cls(
            Targets.of(sequences, PLAN_SYMBOLS),
            Targets.of(texts, symbols),
            torch.arange(len(plans)).repeat_interleave(torch.tensor(counts)),
            torch.cat([torch.arange(count) for count in counts]),
        )


@dataclass(frozen=True, slots=True)
class Batch(_Tensors):
    """Padded token ids of several dialogues; for use without references T is 0.

    ``copied`` is ``source`` with the unknown words told apart: V + i is the i-th one of its
    dialogue; None where there are none. They stand in the targets' labels, too, never where a
    model looks ids up in its table.
    """

    source: Tensor  # (B, S) token ids, begin and end symbols in, padded at the right
    source_mask: Tensor  # (B, S) True where ``source`` is real
    target: Targets  # (B, T) of the summaries
    utterance: Tensor  # (B, S) the utterance of a position, from 0; -1 at begin, end, padding
    copied: Tensor | None = None  # (B, S)
    extra: int = 0  # E, how many different unknown words the richest dialogue has
    plan: Plan | None = None  # where the data have key points

    def __len__(self) -> int:
        return self.source.shape[0]

    @property
    def copy_ids(self) -> Tensor:
        """(B, S) what copying each position would say."""
        return self.source if self.copied is None else self.copied


class TokenLogProbs(NamedTuple):
    """Per target position: the log-probability of the target, and the mean over the vocabulary."""

    target: Tensor  # (M,) fp32
    mean: Tensor | None  # (M,) fp32, where it was asked for


class TokenDistribution(Protocol):
    """The next-token distributions at M positions, over X tokens; computed as far as asked for."""

    def of(self, targets: Tensor, with_mean: bool = False) -> TokenLogProbs:
        """Log-probabilities of given tokens (M,), and their mean over V for label smoothing."""

    def all(self) -> Tensor:
        """(M, X) natural-log probabilities, fp32."""


AttentionMaps = dict[str, Tensor]
"""Every layer's attention weights under the names of the reports."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """What teacher forcing gives, at the M real target positions, dialogue by dialogue.

    ``attention``: if it was asked for. ``plan``: the same at every key point (end in), of models
    that plan.
    """

    log_probs: TokenDistribution
    targets: Tensor  # (M,) the token each position shall predict: the real ones of the labels
    attention: AttentionMaps = field(default_factory=dict)
    plan: "Outputs | None" = None


class RecipeLimits(NamedTuple):
    """What of a recipe a model is checked against: tokens at most (None: any number)."""

    longest_source: int | None
    longest_utterance: int | None
    longest_target: int | None  # what a decoder is fed, begin symbol in
    labels: int  # key points of the rule pack, 0 without one


class ModelConfig(Config):
    """The configuration of a model of some ``kind``; `build` makes the model.

    Families call what they share by the same names. ``kind``: the family. ``width``: of the
    layers. ``heads``: of attention. ``feed_forward``: inner width of a feed-forward block.
    ``encoder_layers``, ``decoder_layers``: how many. ``dropout``: on embeddings and behind each
    block. ``norm``: behind each block (``post``) or before it (``pre``). ``norm_eps``: added to the
    variance. ``activation``: between the two layers of a block. ``pointer``: words of the source
    can be copied.
    """

    kind: str

    @property
    def copies(self) -> bool:
        """Whether it can say words of the source that its vocabulary does not have."""
        return bool(getattr(self, "pointer", False))

    def build(self, vocabulary: int) -> "Generator":
        """A new model with fresh weights (drawn from torch's generator)."""
        raise NotImplementedError

    def check(self, limits: RecipeLimits) -> Iterator[str]:
        """What keeps a recipe from training a model of this configuration, one line each."""
        yield from ()

    def too_long(self, *limits: tuple[str, int | None, str]) -> Iterator[str]:
        """Limits of the preparation, with their values, that exceed an option of the model."""
        for limit, longest, name in limits:
            most = getattr(self, name)
            if longest is None or longest > most:
                yield f"preparation.limits.{limit} must be at most model.{name} ({most})"


@dataclass(frozen=True, slots=True)
class Decoded:
    """What follows tokens (N, T) that were fed to a decoder, of which M are real."""

    log_probs: TokenDistribution  # of the token after each of the M positions, row by row
    state: State  # with which decoding goes on
    attention: AttentionMaps = field(default_factory=dict)
    hidden: Tensor | None = None  # (N, T, D) what it was predicted from, of decoders that tell


class Decoder(nn.Module):
    """What tells the next token from those before; search asks it step by step."""

    def decode(
        self, tokens: Tensor, state: Any, real: Tensor, need_weights: bool = False
    ) -> Decoded:
        """Feed tokens (N, T) behind those that ``state`` has seen; ``real`` (N, T): which count."""
        raise NotImplementedError

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, State]:
        """Feed one token per row (N,); return log-probabilities (N, X) of the next, and state."""
        real = torch.ones_like(tokens[:, None], dtype=torch.bool)
        decoded = self.decode(tokens[:, None], state, real)
        return decoded.log_probs.all(), decoded.state


class Generator(Decoder):
    """A sequence-to-sequence model: `encode` reads a dialogue, `decode` goes on from there.

    Under `torch.autocast` it computes in bf16 with fp32 weights; losses and sums are fp32.
    (Models that plan override `forward` and `generate`.)
    """

    config: ModelConfig

    def encode(self, batch: Batch, need_weights: bool = False) -> tuple[State, AttentionMaps]:
        """What decoding starts from, one row per dialogue; with attention weights if asked for."""
        raise NotImplementedError

    def forward(self, batch: Batch, need_weights: bool = False) -> Outputs:
        """Teacher forcing over a batch with targets; with all attention weights if asked for."""
        state, maps = self.encode(batch, need_weights)
        target = batch.target
        decoded = self.decode(target.inputs, state, target.mask, need_weights)
        labels = target.labels[target.mask]
        return Outputs(decoded.log_probs, labels, maps | decoded.attention)

    def start(self, batch: Batch) -> State:
        """The state that search starts from."""
        return self.encode(batch)[0]

    @torch.no_grad()
    def generate(
        self, batch: Batch, options: DecodingOptions, symbols: Symbols
    ) -> list[Hypothesis]:
        """The best hypothesis of each dialogue."""
        return search(self, self.start(batch), batch.source, options, symbols)


MODELS: dict[str, str] = {
    "transformer": "dialogist_lab.models.transformer:TransformerConfig",
    "pretrained": "dialogist_lab.models.pretrained:PretrainedConfig",
    "recurrent": "dialogist_lab.papers.recurrent:RecurrentConfig",
    "hierarchical": "dialogist_lab.papers.hierarchical:HierarchicalConfig",
    "leader-writer": "dialogist_lab.papers.leader_writer:LeaderWriterConfig",
}
"""Kinds of models, and the class of their configuration."""

_C = TypeVar("_C", bound=Config)


def config_of_kind(base: type[_C], kinds: Mapping[str, str], default: str) -> Callable[[Any], _C]:
    """A pydantic validator that makes the configuration that ``kind`` names.

    Modules are imported when a recipe names them: so the engine does not import the papers.
    """

    def make(values: Any) -> _C:
        if isinstance(values, base):
            return values
        if not isinstance(values, Mapping):
            raise ValueError("must hold 'key: value' lines")
        kind = values.get("kind", default)
        if kind not in kinds:
            hint = nearest(str(kind), kinds)
            raise ValueError(f"unknown kind '{kind}'{hint} (there are: {', '.join(kinds)})")
        config: type[_C] = resolve_name(kinds[kind])
        return config.model_validate(values)

    return make
