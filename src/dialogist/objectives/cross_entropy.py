"""Masked cross-entropy and what can be added to it: corrupted summaries, denoising."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field
from torch import Tensor

from dialogist.config import Config
from dialogist.data.changes import UNNAMED, CorruptionConfig
from dialogist.data.noise import NoiseConfig
from dialogist.models.base import GeneratorModule, ModelConfig, Outputs, TokenDistribution
from dialogist.nn.kv_cache import State
from dialogist.objectives import Loss, ObjectiveConfig, Per, per_sequence
from dialogist.tensors import Batch, Corrupted
from dialogist.tokenizers import Symbols, Tokenizer

# Learning from corrupted summaries what not to say: unlikelihood, or a margin.
#
# The corrupted summaries are data (`dialogist.data.changes`). They are teacher-forced in a
# second pass of the decoder over those dialogues of a batch that have one.

_FLOOR = 1e-4
"""Added to 1 - p, so that the gradient stays finite where a wrong token is held for certain."""


class ContrastConfig(Config):
    """``unlikelihood``: -log (1 - p) of every wrong token, added to the loss ``weight`` times
    (Welleck et al. 2020; Li et al. 2020, "Don't say that!").

    ``margin``: the right summary shall have a higher mean log-probability of its tokens than the
    corrupted one, by ``margin``; what lacks counts once for each token of the right one.

    ``kind``: which of the two. ``weight``: of what is added. ``corruption``: how wrong summaries
    are made.
    """

    kind: Literal["unlikelihood", "margin"] = "unlikelihood"
    weight: float = Field(1.0, gt=0, le=1000)
    margin: float = Field(0.5, gt=0)
    corruption: CorruptionConfig = CorruptionConfig()


def contrastive_loss(
    config: ContrastConfig, model: GeneratorModule, batch: Batch, state: State, right: Tensor
) -> tuple[Tensor, dict[str, float]]:
    """The loss (scalar, summed), before its weight, and terms for the log.

    ``state``: the batch as `start` gave it. ``right``: (M,) the log-probabilities of the right
    targets' tokens.
    """
    wrong = batch.corrupted
    assert wrong is not None
    targets = (wrong.target_in, wrong.target_out, wrong.target_mask)
    forced = batch.select(wrong.rows).with_targets(*targets)
    outputs = model.force(forced, state.select(wrong.rows))
    said = outputs.log_probs.of(outputs.targets).target  # (M',)
    if config.kind == "unlikelihood":
        loss = unlikelihood_loss(said, wrong)
    else:
        loss = margin_loss(said, right, batch, config.margin)
    return loss, {config.kind: float(loss.detach())}


def unlikelihood_loss(said: Tensor, wrong: Corrupted) -> Tensor:
    """Log-probabilities (M',) of corrupted targets' tokens -> sum of -log (1 - p) where wrong."""
    places = wrong.wrong[wrong.target_mask]  # (M',)
    return -(1 - said[places].exp() + _FLOOR).log().sum()


def margin_loss(said: Tensor, right: Tensor, batch: Batch, margin: float) -> Tensor:
    """How far the right targets (M,) are from being ``margin`` above the corrupted ones (M',)."""
    wrong = batch.corrupted
    assert wrong is not None
    means = per_sequence(right, batch.target_mask)[wrong.rows]  # (R,)
    lack = (margin - means + per_sequence(said, wrong.target_mask)).clamp(min=0)
    return (lack * batch.target_mask.sum(dim=1)[wrong.rows]).sum()


# Masked cross-entropy (report 1, Listing 7), and what can be added to it while training.
#
# Label smoothing, coverage loss, R-Drop, and corrupted summaries
# (`dialogist.objectives.cross_entropy`).


class CrossEntropyConfig(ObjectiveConfig):
    """Cross-entropy of the reference, and what may be added to it.

    ``label_smoothing``: e mixes the target with the uniform distribution (Szegedy et al. 2016):
    loss = (1 - e) * -log p(target) + e * mean over X of -log p. ``coverage_weight``: lambda of See
    et al. 2017, equation 13; repeated attention of a model with coverage costs so much. They take
    1, in a second stage of training. ``r_drop``: alpha of R-Drop (Liang et al. 2021, equation 4; 1
    to 5 there); each batch passes twice, and disagreement between two draws of dropout is
    penalized. The loss is half of the paper's, so that learning rates keep their meaning.
    ``contrast``: corrupted summaries, and how the model learns from them.
    """

    kind: Literal["cross-entropy"] = "cross-entropy"
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    coverage_weight: float = Field(0.0, ge=0, le=1000)
    r_drop: float = Field(0.0, ge=0, le=1000)
    contrast: ContrastConfig | None = None

    def check(self, model: ModelConfig) -> Iterator[str]:
        """What the coverage loss is taken of."""
        if self.coverage_weight and not model.keeps_coverage:
            yield (
                "objective.coverage_weight needs model.coverage: true, of a recurrent model or a "
                "Transformer with a pointer"
            )

    def text_keys(self) -> Iterator[tuple[str, bool]]:
        """Errors are planted into text."""
        if self.contrast is not None:
            named = not set(self.contrast.corruption.errors).issubset(UNNAMED)
            yield "objective.contrast", named

    def build(self, symbols: Symbols, tokenizer: Tokenizer | None = None) -> "CrossEntropy":
        """The objective."""
        return CrossEntropy(self.label_smoothing, self.coverage_weight, self.r_drop, self.contrast)


class CrossEntropy:
    """-log p of the next token over real positions only; padding never counts."""

    per: Per = "token"

    def __init__(
        self,
        label_smoothing: float = 0.0,
        coverage_weight: float = 0.0,
        r_drop: float = 0.0,
        contrast: ContrastConfig | None = None,
    ) -> None:
        self.label_smoothing = label_smoothing
        self.coverage_weight = coverage_weight
        self.r_drop = r_drop
        self.contrast = contrast

    def __call__(self, model: GeneratorModule, batch: Batch) -> Loss:
        """``terms``: ``nll`` without anything added, and what was weighed (``divergence`` ...).

        R-Drop and corrupted summaries are for training: in evaluation mode there are none.
        """
        contrasts = self.contrast is not None and batch.corrupted is not None and model.training
        state = model.start(batch) if contrasts else None  # encoded once for right and wrong
        outputs = model.forward(batch) if state is None else model.force(batch, state)
        value, said, terms = self._measure(outputs)
        if self.r_drop and model.training:
            again = model.forward(batch)
            other, _, more = self._measure(again)
            apart = symmetric_divergence(outputs.log_probs, again.log_probs)
            value = (value + other + self.r_drop * apart) / 2
            terms = {name: (terms[name] + more[name]) / 2 for name in terms}
            terms["divergence"] = float(apart.detach())
        if self.contrast is not None and state is not None:
            wrong, more = contrastive_loss(self.contrast, model, batch, state, said)
            value, terms = value + self.contrast.weight * wrong, terms | more
        elif self.contrast is not None and model.training:
            terms[self.contrast.kind] = 0.0  # every batch has the same names: processes add them up
        return Loss(value, outputs.targets.shape[0], terms)

    def _measure(self, outputs: Outputs) -> tuple[Tensor, Tensor, dict[str, float]]:
        """One pass: the loss (scalar), the targets' log-probabilities (M,), the terms."""
        found = outputs.log_probs.of(outputs.targets, with_mean=self.label_smoothing > 0)
        value = nll = -found.target.sum()
        if found.mean is not None:
            uniform = -found.mean.sum()
            value = (1 - self.label_smoothing) * nll + self.label_smoothing * uniform
        terms = {"nll": float(nll.detach())}
        if self.coverage_weight:
            assert outputs.coverage is not None, "the model was built without coverage"
            repeated = outputs.coverage.sum()
            value = value + self.coverage_weight * repeated
            terms["coverage"] = float(repeated.detach())
        return value, found.target, terms


def symmetric_divergence(one: TokenDistribution, other: TokenDistribution) -> Tensor:
    """(KL(p || q) + KL(q || p)) / 2, summed over the positions (Liang et al., equation 2)."""
    p, q = one.all(), other.all()  # (M, X) log-probabilities each
    return ((p.exp() - q.exp()) * (p - q)).sum() / 2


# Denoising: to write what noise took out of a dialogue, for dialogues without summaries.
#
# The noise is data (`dialogist.data.noise`), made anew in each epoch; what is minimised is the
# cross-entropy of the whole encoder-decoder, its cross-attention and its pointer included.


class DenoisingConfig(ObjectiveConfig):
    """Options of training on damaged dialogues.

    ``noise``: what is taken out, and what is written. ``label_smoothing``: as for cross-entropy.
    """

    kind: Literal["denoising"] = "denoising"
    noise: NoiseConfig = NoiseConfig()
    label_smoothing: float = Field(0.0, ge=0, lt=1)

    def build(self, symbols: Symbols, tokenizer: Tokenizer | None = None) -> CrossEntropy:
        """The objective."""
        return CrossEntropy(self.label_smoothing)
