"""`Writer`: prepared dialogues in, what the model says of each out. No text is made here.

Windows of all dialogues are sorted by length and searched in batches; where a draft says what its
dialogue does not bear out, that window is searched again with what it said forbidden
(``engine/judging.py``).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch

from dialogist.data.collate import collate, serving_pairs
from dialogist.data.encode import Encoded
from dialogist.decoding.constraints import NearRepeat
from dialogist.decoding.word_constraints import Lexicon, LexiconConstraint, WordTable
from dialogist.engine.bundle import Bundle
from dialogist.engine.drafts import Bounds, Draft, SearchedWindow, Window, write_drafts
from dialogist.engine.forced_decoding import looks_of, retold
from dialogist.engine.judging import ROUNDS, Banned, bans_of, clean_first
from dialogist.engine.options import SummaryOptions
from dialogist.models import GeneratorModule
from dialogist.nn.kv_cache import State
from dialogist.tensors import Batch
from dialogist.text.tokens import FUNCTION_WORDS
from dialogist.tokenizers import Tokenizer
from dialogist.tokenizers.word_vectors import words_of_entries
from dialogist.tokenizers.wordpiece_codec import JOIN

# `batches_of`: windows of like length together, few enough for the caches and for memory.


class BatchLimits(NamedTuple):
    """How much is computed at once.

    ``tokens``: padded source tokens of a batch; one window may hold more, and is then alone.
    ``windows``: what bounds the scores over the vocabulary, which are ``beam_size`` times as many.
    """

    tokens: int
    windows: int

    @classmethod
    def on(cls, device: torch.device) -> "BatchLimits":
        """Those of a device.

        On a CPU larger batches were slower and took more memory (docs/notes); on a GPU, where
        nothing was measured, each kernel's start costs, so they are larger.
        """
        return cls(4_000, 16) if device.type == "cpu" else cls(8_000, 256)


def batches_of(
    windows: Sequence[Window], wanted: Iterable[int], limits: BatchLimits
) -> Iterator[list[int]]:
    """The numbers ``wanted``, sorted by the windows' lengths and cut into batches."""
    batch: list[int] = []
    for i in sorted(wanted, key=lambda i: len(windows[i].encoded.source)):
        tokens = (len(batch) + 1) * len(windows[i].encoded.source)
        if batch and (tokens > limits.tokens or len(batch) == limits.windows):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


# Which words a model may put together from pieces: those of its training, and of each dialogue.


def lexicon_of(tokenizer: Tokenizer) -> Lexicon | None:
    """The words of the training texts; None where the tokenizer does not tell them.

    Word tokenizers make no words up; other pieces than those of WordPiece do not say where one
    begins.
    """
    if not tokenizer.words:
        return None
    symbols = tokenizer.symbols
    no_text = {symbols.pad, symbols.bos, symbols.eos, symbols.unk}
    entries = [tokenizer.token(index) for index in range(symbols.size)]
    # A character in bytes is a word, too: emojis and letters that nobody wrote are made up as well.
    parts = symbols.characters
    inside = symbols.inside | parts.later
    begin = {
        index: entry
        for index, entry in enumerate(entries)
        if entry.isalnum() and index not in inside and index not in no_text
    }
    return Lexicon(
        WordTable.of(tokenizer.words_in_pieces()),
        inside=inside,
        letters=(parts.ids - parts.later)
        | {i for i, entry in begin.items() if len(entry) > 1 and entry.isalpha()},
        spelt=inside | begin.keys() | parts.ids,
        join=entries.index(JOIN),
        size=symbols.size,
    )


def known_words(lexicon: Lexicon, windows: Sequence[Encoded], eos: int) -> LexiconConstraint:
    """The rule of search for a batch of windows."""
    return LexiconConstraint(
        lexicon, [WordTable.of(lexicon.words_in(w.source)) for w in windows], eos
    )


# `Writer` itself.


_ENDS = frozenset(".!?")


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

    @torch.inference_mode()
    def write(self, windows: Sequence[Window], options: SummaryOptions) -> list[SearchedWindow]:
        """Drafts for each window, in order, and what evidence needs to know of them."""
        found = [SearchedWindow(one.example, one.encoded) for one in windows]
        wanted = [i for i, one in enumerate(windows) if one.encoded.coverage.tokens_read]
        for rows in batches_of(windows, wanted, self._limits):
            together = [windows[i] for i in rows]
            for i, one in zip(rows, self._write(together, options), strict=True):
                found[i] = one
        return found

    def _write(self, windows: Sequence[Window], options: SummaryOptions) -> list[SearchedWindow]:
        """One batch. It is encoded once, whatever is asked of it."""
        started = self._start(windows, options)
        found: list[tuple[Draft, ...]] = [() for _ in windows]
        banned: list[Banned] = [() for _ in windows]
        wanted = list(range(len(windows)))
        for turn in range(1 + ROUNDS * options.safe):
            bans = [banned[i] for i in wanted] if turn else ()
            for i, drafts in zip(wanted, self._search(started, wanted, options, bans), strict=True):
                found[i] = tuple(drafts)
            if options.safe:
                wanted = self._check(windows, wanted, found, banned, options.n_best)
            if not wanted:
                break
        written = [
            SearchedWindow(one.example, one.encoded, drafts[: options.n_best])
            for one, drafts in zip(windows, found, strict=True)
        ]
        if not options.evidence:
            return written
        told = retold(self.bundle, written, [one.dialogue for one in windows], started.state)
        return [
            replace(one, looks=looks_of(one, parts))
            for one, parts in zip(written, told, strict=True)
        ]

    def _start(self, windows: Sequence[Window], options: SummaryOptions) -> "_Started":
        model = self.bundle.model.eval()
        batch = collate(serving_pairs([one.encoded for one in windows]), self._symbols)
        batch = batch.to(self._device)
        allowed = None
        if len(self._placeholders) or self._entities or batch.extra:
            allowed = self._allowed(windows, batch.extra).to(self._device)
        known = None
        if options.known_words and self._lexicon is not None:
            known = known_words(self._lexicon, [w.encoded for w in windows], self._symbols.eos)
        state = model.start(batch) if isinstance(model, GeneratorModule) else None
        return _Started(batch, state, allowed, known)

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
        self,
        started: "_Started",
        wanted: Sequence[int],
        options: SummaryOptions,
        bans: Sequence[Banned],
    ) -> list[list[Draft]]:
        if len(wanted) < len(started.batch):
            started = started.select(torch.tensor(wanted, device=self._device))
        asked = options
        if options.safe and options.strategy == "beam" and started.state is not None:
            asked = options.model_copy(update={"n_best": options.beam_size})
        words = self._spelt.words if options.no_double_words else None
        near = self._spelt.near_repeat(options.near_repeat) if options.near_repeat else None
        bounds = Bounds(started.allowed, bans, words, near, started.known)
        model, batch = self.bundle.model, started.batch
        return write_drafts(model, batch, asked, self._symbols, bounds, started.state)

    @cached_property
    def _spelt(self) -> "_Spelt":
        return _Spelt.of(self.bundle.tokenizer, self._device)

    @cached_property
    def _lexicon(self) -> Lexicon | None:
        return lexicon_of(self.bundle.tokenizer)

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


@dataclass(frozen=True, slots=True)
class _Spelt:
    """What the tokens of a vocabulary spell, each (V,).

    ``words``: those that begin a word of letters. ``content``: of these what is no grammar, as far
    as English. ``begins``: those that begin anything but a mark. ``ends``: the ends of sentences.
    """

    words: torch.Tensor
    content: torch.Tensor
    begins: torch.Tensor
    ends: torch.Tensor

    @classmethod
    def of(cls, tokenizer: Tokenizer, device: torch.device) -> "_Spelt":
        spelt = words_of_entries(tokenizer)
        words = [bool(word and word.isalpha()) for word in spelt]
        content = [
            is_word and len(word or "") > 1 and (word or "").lower() not in FUNCTION_WORDS
            for is_word, word in zip(words, spelt, strict=True)
        ]
        begins = [bool(word and word[0].isalnum()) for word in spelt]
        for index in [*tokenizer.placeholder_ids(), *tokenizer.entity_ids().values()]:
            begins[index] = True
        ends = [word in _ENDS for word in spelt]
        return cls(*(torch.tensor(one, device=device) for one in (words, content, begins, ends)))

    def near_repeat(self, penalty: float) -> NearRepeat:
        return NearRepeat(penalty, self.content, self.begins, self.ends)


@dataclass(frozen=True, slots=True)
class _Started:
    """A batch of B windows to be searched.

    ``state``: what the model starts from, None of one that plans: it encodes by itself.
    ``allowed``: (B, X) False for what a window's dialogue does not have; None: nothing is.
    ``known``: which words each may hold; None: any.
    """

    batch: Batch
    state: State | None
    allowed: torch.Tensor | None
    known: LexiconConstraint | None

    def select(self, rows: torch.Tensor) -> "_Started":
        """Some of the windows, (n,)."""
        return _Started(
            self.batch.select(rows),
            None if self.state is None else self.state.select(rows),
            None if self.allowed is None else self.allowed[rows],
            None if self.known is None else self.known.of(rows.tolist()),
        )
