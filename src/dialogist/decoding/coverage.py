"""The coverage penalty: beams are ranked anew by what of the dialogue they looked at.

``missed``: cp = sum over positions i of log(min(sum over tokens j of p_ij, 1)) is added, beta
times, to the score (Wu et al. 2016, equation 14): who never looked at a part of the source pays.
``repeated``: cp = -sum over i of max(sum over j of p_ij - 1, 0) (Gehrmann et al. 2018, equation
11): who looks at a part again and again pays, which suits summaries, for they leave things out.

The finished beams are said once more with teacher forcing, so search itself carries no attention.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from dialogist.batch import Batch
from dialogist.decoding.forced import targets_of
from dialogist.decoding.options import CoverageKind, DecodingOptions
from dialogist.decoding.search import Hypothesis
from dialogist.models.base import Generator, Outputs
from dialogist.nn.kv_cache import State
from dialogist.tokenizers import Symbols

_LEAST = 1e-4
"""The smallest sum of weights that counts: half precision knows a zero where there is none."""


def ranked_by_coverage(
    model: Generator,
    batch: Batch,
    state: State,
    found: Sequence[Sequence[Hypothesis]],
    options: DecodingOptions,
    symbols: Symbols,
) -> list[list[Hypothesis]]:
    """The hypotheses of each dialogue of a batch in their new order, ``n_best`` of them.

    ``state`` is what the model's ``start`` gave for the batch. The hypotheses of a model without
    attention keep their order.
    """
    said = [hypothesis for hypotheses in found for hypothesis in hypotheses]
    if not said or not any(hypothesis.tokens for hypothesis in said):
        return [list(hypotheses[: options.n_best]) for hypotheses in found]
    counts = torch.tensor([len(hypotheses) for hypotheses in found])
    owner = torch.arange(len(found)).repeat_interleave(counts).to(batch.source.device)
    targets = (t.to(batch.source.device) for t in targets_of(said, symbols))
    forced = batch.select(owner).with_targets(*targets)
    weights = attention_of(model.force(forced, state.select(owner), need_weights=True))
    if weights is None:
        return [list(hypotheses[: options.n_best]) for hypotheses in found]
    spoken = weights * forced.target_mask[:, :, None]  # (N, T, S)
    fines = coverage_penalty(spoken, _real(forced, weights.shape[2]), options.coverage_kind)
    scored = iter(
        replace(hypothesis, score=hypothesis.score + options.coverage_penalty * fine)
        for hypothesis, fine in zip(said, fines.tolist(), strict=True)
    )
    again = [[next(scored) for _ in hypotheses] for hypotheses in found]
    return [sorted(one, key=lambda h: -h.score)[: options.n_best] for one in again]


def coverage_penalty(weights: Tensor, real: Tensor, kind: CoverageKind) -> Tensor:
    """Weights (N, T, S) of attention, and which positions (N, S) are real -> cp (N,), at most 0."""
    sums = weights.float().sum(dim=1)  # (N, S)
    missed, repeated = sums.clamp(min=_LEAST, max=1).log(), -(sums - 1).clamp(min=0)
    return ((missed if kind == "missed" else repeated) * real).sum(dim=1)


def attention_of(outputs: Outputs) -> Tensor | None:
    """(N, T, S) of the attention to the source: the last layer's, the mean of its heads."""
    found = [maps for name, maps in outputs.attention.items() if _is_cross(name)]
    if not found:
        return None
    last = found[-1]
    return last.mean(dim=1) if last.ndim == 4 else last  # (N, H, T, S) -> (N, T, S)


def _is_cross(name: str) -> bool:
    return name == "decoder_attention" or name.endswith("decenc_att")


def _real(batch: Batch, width: int) -> Tensor:
    """(N, width) which positions are real: tokens, or utterances where these are looked at."""
    if width == batch.source_mask.shape[1]:
        return batch.source_mask
    assert batch.utterance is not None
    utterances = batch.utterance.amax(dim=1, keepdim=True) + 1  # (N, 1)
    return torch.arange(width, device=utterances.device) < utterances
