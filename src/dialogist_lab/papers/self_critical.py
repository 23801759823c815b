"""Self-critical policy gradient: ROUGE-L of sampled summaries as the reward."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from dialogist.decoding import DecodingOptions
from dialogist.decoding.beam_search import forced_targets
from dialogist.decoding.generation import roll_out
from dialogist.decoding.search import Hypothesis
from dialogist.metrics.faithfulness import FindingKind, findings
from dialogist.metrics.ngram_overlap import lcs_length, positions
from dialogist.models.base import GeneratorModule
from dialogist.objectives import Loss, ObjectiveConfig, Per, per_sequence
from dialogist.records import Dialogue, Utterance
from dialogist.tensors import Batch
from dialogist.tokenizers import PLACEHOLDERS, Symbols, Tokenizer, placeholder


def rouge_l(candidates: Sequence[list[int]], references: Sequence[list[int]]) -> Tensor:
    """ROUGE-L F1 of each candidate against its reference: (N,) in 0 .. 1.

    The harmonic mean of precision and recall; 0 where either is empty (Lin 2004, section 3).
    """
    pairs = zip(candidates, references, strict=True)
    return torch.tensor(
        [
            2 * lcs_length(positions(wanted), len(wanted), said) / max(1, len(said) + len(wanted))
            for said, wanted in pairs
        ]
    )


# `UnsupportedCounter`: how many things a sampled summary says that its dialogue does not bear out.
#
# The findings are those of `dialogist.metrics.faithfulness`, in prepared text; a speaker's token is
# read as a tag of its own, ``#Person1#``, so a speaker that nobody is counts as well.

_KINDS: tuple[FindingKind, ...] = ("name", "speaker", "number", "entity")
_TAGS = {ord(placeholder(i)): f" #Person{i + 1}# " for i in range(PLACEHOLDERS)}


class UnsupportedCounter:
    """Counts findings in what was said about the dialogues of a batch."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """``tokenizer``: of subwords, which spell every text."""
        self.tokenizer = tokenizer
        self.speakers = frozenset(tokenizer.placeholder_ids())

    def __call__(self, batch: Batch, said: Sequence[Hypothesis]) -> Tensor:
        """(B,) findings in one summary of each dialogue."""
        counts = [
            len(findings(self._text(hypothesis.tokens), dialogue, _KINDS))
            for hypothesis, dialogue in zip(said, self.dialogues(batch), strict=True)
        ]
        return torch.tensor(counts, dtype=torch.float32)

    def dialogues(self, batch: Batch) -> list[Dialogue]:
        """What the sources of a batch spell."""
        assert batch.utterance is not None
        return list(map(self._dialogue, batch.copy_ids.tolist(), batch.utterance.tolist()))

    def _dialogue(self, ids: Sequence[int], utterances: Sequence[int]) -> Dialogue:
        spoken: list[list[int]] = [[] for _ in range(max(utterances) + 1)]
        for token, number in zip(ids, utterances, strict=True):
            if number >= 0:
                spoken[number].append(token)
        return Dialogue(tuple(self._utterance(tokens) for tokens in spoken))

    def _utterance(self, ids: Sequence[int]) -> Utterance:
        named = bool(ids) and ids[0] in self.speakers
        speaker = self._text(ids[:1]) if named else ""
        return Utterance(speaker, self._text(ids[1:] if named else ids))

    def _text(self, ids: Sequence[int]) -> str:
        return " ".join(self.tokenizer.decode(ids).translate(_TAGS).split())


# Self-critical policy gradient with ROUGE-L as the reward.
#
# Liu et al., KDD 2019, equations 21 and 22; Rennie et al. 2017; Paulus et al. 2018, equation 15.
# What the model says greedily is the baseline of what it says at random: a sample that scores
# higher becomes more probable, one that scores lower less.

_LARGEST_SEED = 1 << 62


class SelfCriticalConfig(ObjectiveConfig):
    """Options of the self-critical objective.

    The loss is (1 - ``weight``) * cross-entropy + ``weight`` * reinforcement (Paulus et al. 2018,
    equation 16), both as means over a dialogue's tokens.

    ``weight``: the share of reinforcement in the loss. ``max_tokens``: the longest sample.
    ``unsupported``: what the reward, a ROUGE-L of 0 to 1, loses for each name, speaker, number or
    other entity that the dialogue does not bear out.
    """

    kind: Literal["self-critical"] = "self-critical"
    weight: float = Field(0.5, ge=0, le=1)
    max_tokens: int = Field(100, ge=1)
    unsupported: float = Field(0.0, ge=0, le=10)

    def text_keys(self) -> Iterator[tuple[str, bool]]:
        """What was said is compared with the dialogue as text."""
        if self.unsupported:
            yield "objective.unsupported", True

    def build(self, symbols: Symbols, tokenizer: Tokenizer | None = None) -> "SelfCritical":
        """The objective; ``unsupported`` needs the tokenizer."""
        if not self.unsupported:
            return SelfCritical(self, symbols)
        assert tokenizer is not None
        return SelfCritical(self, symbols, UnsupportedCounter(tokenizer))


def rollouts(
    greedy: Sequence[Hypothesis],
    sampled: Sequence[Hypothesis],
    references: Sequence[list[int]],
    fines: Sequence[Tensor] | None = None,
) -> tuple[Tensor, float]:
    """Score N pairs of hypotheses against references; ``fines`` (N,) of both are taken off.

    Returns (N,) how much better the greedy ones are, each by a ROUGE-L F1 in 0 .. 1 less what it is
    fined, and the mean of the sampled ones.
    """
    baseline, rewards = (
        rouge_l([list(h.tokens) for h in said], references) for said in (greedy, sampled)
    )
    if fines is not None:
        baseline, rewards = baseline - fines[0].to(baseline), rewards - fines[1].to(rewards)
    return baseline - rewards, float(rewards.mean())


def target_ids(target_out: Tensor, mask: Tensor) -> list[list[int]]:
    """The sequences (N, T) that end at each row's last real position, without the end symbol."""
    lengths = mask.sum(dim=1).tolist()
    return [ids[: n - 1] for ids, n in zip(target_out.tolist(), lengths, strict=True)]


def draw_seed() -> int:
    """A seed for samplers, drawn from torch's generator: part of what makes a run repeatable."""
    return int(torch.randint(_LARGEST_SEED, ()))


class SelfCritical:
    """Cross-entropy and reinforcement of a `GeneratorModule`."""

    per: Per = "dialogue"

    def __init__(
        self,
        config: SelfCriticalConfig,
        symbols: Symbols,
        unsupported: UnsupportedCounter | None = None,
    ) -> None:
        self.config = config
        self.symbols = symbols
        self.unsupported = unsupported

    def __call__(self, model: GeneratorModule, batch: Batch) -> Loss:
        """``terms``: ``nll`` per token of each dialogue, ``reward`` of the samples (at most 1)."""
        outputs = model.forward(batch)
        log_probs = outputs.log_probs.of(outputs.targets).target
        nll = -per_sequence(log_probs, batch.target_mask).sum()
        terms = {"nll": float(nll.detach())}
        if not model.training or not self.config.weight:
            return Loss(nll, len(batch), terms)
        options = DecodingOptions(max_tokens=self.config.max_tokens, seed=draw_seed())
        rows = torch.arange(len(batch), device=batch.source.device)
        with evaluation_mode(model), torch.inference_mode():
            greedy, sampled = roll_out(model, model.start(batch), rows, options, self.symbols)
        references = target_ids(batch.target_out, batch.target_mask)
        fines = None
        if (count := self.unsupported) is not None:
            fines = [self.config.unsupported * count(batch, said) for said in (greedy, sampled)]
        gap, reward = rollouts(greedy, sampled, references, fines)
        inputs = [t.to(batch.source.device) for t in forced_targets(sampled, self.symbols)]
        again = model.forward(batch.with_targets(*inputs))
        log_probs = again.log_probs.of(again.targets).target
        policy = (gap.to(log_probs) * per_sequence(log_probs, inputs[2])).sum()
        terms["reward"] = reward * len(batch)
        value = (1 - self.config.weight) * nll + self.config.weight * policy
        return Loss(value, len(batch), terms)


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """While a model is searched in training: evaluation mode, and back."""
    model.eval()
    try:
        yield
    finally:
        model.train()
