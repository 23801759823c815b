"""`Writer`: prepared dialogues in, what the model says of each out. No text is made here.

Windows of all dialogues are sorted by length and searched in batches; where a draft says what its
dialogue does not bear out, that window is searched again with what it said forbidden
(``engine/safety.py``).
"""

from collections.abc import Sequence
from functools import cached_property

import torch

from dialogist.data.collate import collate, serving_pairs
from dialogist.engine.batches import BatchLimits, batches_of
from dialogist.engine.bundle import Bundle
from dialogist.engine.drafts import Bounds, Draft, write_drafts
from dialogist.engine.options import SummaryOptions
from dialogist.engine.safety import ROUNDS, Banned, bans_of, clean_first
from dialogist.engine.written import Window, Written
from dialogist.models.leader_writer import LeaderWriter
from dialogist.tokenizers.word_starts import words_of_entries


class Writer:
    """Searches for drafts with one model."""

    def __init__(self, bundle: Bundle, limits: BatchLimits | None = None) -> None:
        self.bundle = bundle
        tokenizer = bundle.tokenizer
        self._device = next(bundle.model.parameters()).device
        self._limits = limits or BatchLimits.on(self._device)
        self._symbols = tokenizer.symbols
        self._placeholders = torch.tensor(tokenizer.placeholder_ids(), dtype=torch.int64)
        self._entities = tokenizer.entity_ids()

    def write(self, windows: Sequence[Window], options: SummaryOptions) -> list[Written]:
        """Drafts for each window, in order."""
        found: list[tuple[Draft, ...]] = [() for _ in windows]
        banned: list[Banned] = [() for _ in windows]
        wanted = [i for i, one in enumerate(windows) if one.encoded.coverage.tokens_read]
        for turn in range(1 + ROUNDS * options.safe):
            for batch in batches_of(windows, wanted, self._limits):
                bans = [banned[i] for i in batch] if turn else ()
                drafts = self._search([windows[i] for i in batch], options, bans)
                for i, one in zip(batch, drafts, strict=True):
                    found[i] = tuple(one)
            if options.safe:
                wanted = self._check(windows, wanted, found, banned, options.n_best)
            if not wanted:
                break
        kept = (drafts[: options.n_best] for drafts in found)
        return [
            Written(one.example, one.encoded, drafts)
            for one, drafts in zip(windows, kept, strict=True)
        ]

    def _check(
        self,
        windows: Sequence[Window],
        wanted: Sequence[int],
        found: list[tuple[Draft, ...]],
        banned: list[Banned],
        n_best: int,
    ) -> list[int]:
        """Puts drafts without fault first; of windows without any, bans what is at fault."""
        again: list[int] = []
        for i in wanted:
            window = windows[i]
            found[i], clean = clean_first(self.bundle, window, found[i], n_best)
            if clean:
                continue
            more = bans_of(self.bundle, window, found[i][0])
            if more - set(banned[i]):
                banned[i] = (*banned[i], *sorted(more - set(banned[i])))
                again.append(i)
        return again

    def _search(
        self, windows: Sequence[Window], options: SummaryOptions, bans: Sequence[Banned]
    ) -> list[list[Draft]]:
        batch = collate(serving_pairs([w.encoded for w in windows]), self._symbols)
        batch = batch.to(self._device)
        allowed = None
        if len(self._placeholders) or self._entities or batch.extra:
            allowed = self._allowed(windows, batch.extra).to(self._device)
        asked = options
        if options.safe and options.strategy == "beam" and not self._plans:
            asked = options.model_copy(update={"n_best": options.beam_size})
        words = self._words if options.no_double_words else None
        bounds = Bounds(allowed, bans, words)
        return write_drafts(self.bundle.model, batch, asked, self._symbols, bounds)

    @cached_property
    def _words(self) -> torch.Tensor:
        """(V,) the tokens that begin a word of letters."""
        spelt = words_of_entries(self.bundle.tokenizer)
        return torch.tensor([bool(word and word.isalpha()) for word in spelt], device=self._device)

    @property
    def _plans(self) -> bool:
        return isinstance(self.bundle.model, LeaderWriter)

    def _allowed(self, windows: Sequence[Window], extra: int) -> torch.Tensor:
        """(B, X) False for a speaker, entity or unknown word that a dialogue does not have."""
        size = len(self.bundle.tokenizer)
        allowed = torch.ones(len(windows), size + extra, dtype=torch.bool)
        for row, window in enumerate(windows):
            example = window.example
            allowed[row, size + len(window.encoded.unknown) :] = False
            allowed[row, self._placeholders[len(example.speakers) :]] = False
            absent = [i for c, i in self._entities.items() if c not in example.entities]
            allowed[row, absent] = False
        return allowed
