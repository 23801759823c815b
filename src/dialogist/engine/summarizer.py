"""`Summarizer`: dialogues in, summaries out. All that command line and evaluation ever see."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, Self

import torch

from dialogist.data.collate import collate, serving_pairs
from dialogist.data.encode import Encoded
from dialogist.decoding.options import DecodingOptions
from dialogist.engine.bundle import Bundle, load_bundle
from dialogist.engine.drafts import Draft, write_drafts
from dialogist.engine.names import DEFAULT_MODEL, find_model
from dialogist.errors import UsageError
from dialogist.models.leader_writer import LeaderWriter
from dialogist.records import Coverage, Dialogue, Example, SubSummary, Summary


class SummarizerLike(Protocol):
    """The face that neural, extractive and pretrained systems share."""

    @property
    def name(self) -> str:
        """How the system is called in tables and in `Summary.model`."""
        ...

    def summarize(
        self, dialogues: Sequence[Dialogue], options: DecodingOptions | None = None
    ) -> list[Summary]:
        """One summary per dialogue, in order."""
        ...


def pick_device(wanted: str) -> torch.device:
    """``auto`` is the GPU where there is one.

    Raises:
        UsageError: no such device here.
    """
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
    except RuntimeError:
        raise UsageError(f"device '{wanted}': use auto, cpu or cuda") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UsageError("device cuda: torch sees no GPU here; use --device cpu")
    if device.type not in ("cpu", "cuda"):
        raise UsageError(f"device '{wanted}': use auto, cpu or cuda")
    return device


@dataclass(frozen=True, slots=True)
class Written:
    """A summary with all that it was made from; ``drafts`` are none where nothing can be said."""

    summary: Summary
    example: Example
    encoded: Encoded
    drafts: tuple[Draft, ...] = ()


class Summarizer:
    """A trained model with its preparation and search.

    Example:
        >>> from dialogist import Dialogue, Summarizer, Utterance
        >>> dialogue = Dialogue((Utterance("Ann", "Lunch at noon?"), Utterance("Bo", "Yes!")))
        >>> [summary] = Summarizer.load("default").summarize([dialogue])
        >>> summary.status
        'ok'
    """

    def __init__(self, bundle: Bundle, batch_tokens: int = 8_000) -> None:
        self.bundle = bundle
        self.batch_tokens = batch_tokens
        self._device = next(bundle.model.parameters()).device
        tokenizer = bundle.tokenizer
        self._symbols = tokenizer.symbols
        self._placeholders = torch.tensor(tokenizer.placeholder_ids(), dtype=torch.int64)
        self._entities = tokenizer.entity_ids()

    @classmethod
    def load(cls, name_or_path: str = DEFAULT_MODEL, device: str = "auto") -> Self:
        """Load a model by name (``default``), model folder, or run folder.

        Raises:
            ModelError: there is no such model, or it is damaged.
            UsageError: there is no such device.
        """
        chosen = pick_device(device)
        return cls(load_bundle(find_model(name_or_path), chosen, name_or_path))

    @property
    def name(self) -> str:
        """The model's name."""
        return self.bundle.name

    @property
    def options(self) -> DecodingOptions:
        """The decoding options the model was tuned for."""
        return self.bundle.decoding

    def summarize(
        self, dialogues: Sequence[Dialogue], options: DecodingOptions | None = None
    ) -> list[Summary]:
        """One summary per dialogue, in order; ``options`` default to the model's own.

        Raises:
            UsageError: the options ask for more than the model can write.
        """
        return [written.summary for written in self.write(dialogues, options)]

    def write(
        self, dialogues: Sequence[Dialogue], options: DecodingOptions | None = None
    ) -> list[Written]:
        """`summarize`, with what each summary was made from."""
        chosen = options or self.options
        self._check(chosen)
        preparation, tokenizer = self.bundle.preparation, self.bundle.tokenizer
        examples = [preparation.prepare(dialogue) for dialogue in dialogues]
        encoded = [preparation.encode(example, tokenizer) for example in examples]
        drafts: list[list[Draft]] = [[] for _ in dialogues]
        for batch in self._batches(encoded):
            found = self._search([encoded[i] for i in batch], [examples[i] for i in batch], chosen)
            for i, one in zip(batch, found, strict=True):
                drafts[i] = one
        return [
            Written(self._compose(*parts), *parts[:2], tuple(parts[2]))
            for parts in zip(examples, encoded, drafts, strict=True)
        ]

    def stream(
        self,
        dialogues: Iterable[Dialogue],
        options: DecodingOptions | None = None,
        window: int = 64,
    ) -> Iterator[Summary]:
        """`summarize` for endless input: ``window`` dialogues are read at a time."""
        remaining = iter(dialogues)
        while group := list(islice(remaining, window)):
            yield from self.summarize(group, options)

    def _check(self, options: DecodingOptions) -> None:
        longest = self.bundle.model.longest_target
        if longest is not None and options.max_tokens >= longest:
            raise UsageError(
                f"max_tokens {options.max_tokens}: this model writes at most {longest - 1} tokens"
            )
        if options.n_best > 1 and isinstance(self.bundle.model, LeaderWriter):
            raise UsageError("n_best above 1: this model writes by key points, one summary only")

    def _batches(self, encoded: Sequence[Encoded]) -> Iterator[list[int]]:
        """Indices of dialogues of like length, at most ``batch_tokens`` padded tokens each."""
        order = sorted(
            (i for i, e in enumerate(encoded) if e.coverage.tokens_read),
            key=lambda i: len(encoded[i].source),
        )
        batch: list[int] = []
        for i in order:
            if batch and (len(batch) + 1) * len(encoded[i].source) > self.batch_tokens:
                yield batch
                batch = []
            batch.append(i)
        if batch:
            yield batch

    def _search(
        self, encoded: Sequence[Encoded], examples: Sequence[Example], options: DecodingOptions
    ) -> list[list[Draft]]:
        batch = collate(serving_pairs(encoded), self._symbols).to(self._device)
        allowed = None
        if len(self._placeholders) or self._entities or batch.extra:
            allowed = self._allowed(encoded, examples, batch.extra).to(self._device)
        return write_drafts(self.bundle.model, batch, options, self._symbols, allowed)

    def _allowed(
        self, encoded: Sequence[Encoded], examples: Sequence[Example], extra: int
    ) -> torch.Tensor:
        """(B, X) False for a speaker, entity or unknown word that a dialogue does not have."""
        size = len(self.bundle.tokenizer)
        allowed = torch.ones(len(examples), size + extra, dtype=torch.bool)
        for row, one in enumerate(encoded):
            allowed[row, size + len(one.unknown) :] = False
        for row, example in enumerate(examples):
            allowed[row, self._placeholders[len(example.speakers) :]] = False
            absent = [i for c, i in self._entities.items() if c not in example.entities]
            allowed[row, absent] = False
        return allowed

    def _compose(self, example: Example, encoded: Encoded, drafts: Sequence[Draft]) -> Summary:
        if not drafts:
            return self._nothing_said(example, encoded)
        parts = [self._parts(draft, example, encoded) for draft in drafts]
        texts = ["".join(part.text for part in said) for said in parts]
        coverage = encoded.coverage
        return Summary(
            text=texts[0],
            id=example.id,
            status="ok" if coverage.complete else "partial",
            score=drafts[0].mean_log_prob,
            coverage=coverage,
            warnings=(*example.notes, *_warnings(drafts[0], coverage)),
            alternatives=tuple(texts[1:]),
            key_points=parts[0] if drafts[0].labels else (),
            model=self.name,
        )

    def _parts(self, draft: Draft, example: Example, encoded: Encoded) -> tuple[SubSummary, ...]:
        """What was written about each key point (or all of it, without a label), as text."""
        preparation, tokenizer = self.bundle.preparation, self.bundle.tokenizer
        pack = preparation.pack
        between = "" if pack is not None and pack.language == "zh" else " "
        found: list[SubSummary] = []
        for number, hypothesis in enumerate(draft.parts):
            said = tokenizer.decode(hypothesis.tokens, encoded.unknown)
            text = preparation.restore(said, example).strip()
            label = pack.labels[draft.labels[number]] if pack and draft.labels else ""
            gap = between if text and any(part.text for part in found) else ""
            found.append(SubSummary(label, gap + text))
        return tuple(found)

    def _nothing_said(self, example: Example, encoded: Encoded) -> Summary:
        return Summary(
            text="",
            id=example.id,
            status="empty",
            coverage=encoded.coverage,
            warnings=(*example.notes, "the dialogue holds no text"),
            model=self.name,
        )


def _warnings(draft: Draft, coverage: Coverage) -> Iterator[str]:
    if not coverage.complete:
        yield (
            f"only {coverage.tokens_read} of {coverage.tokens} tokens and "
            f"{coverage.utterances_read} of {coverage.utterances} utterances were read: "
            "the dialogue is longer than this model can take"
        )
    if not draft.finished:
        yield "the summary reached max_tokens and stops there"
    if not draft.planned:
        yield "the summary reached max_key_points and stops there"
