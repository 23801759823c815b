"""`WindowGenerator`: search over windows, and forced decoding for where the model looked."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dialogist.data.collate import EncodedPair, collate, serving_pairs
from dialogist.data.encode import Encoded
from dialogist.decoding.constraints import NearRepeat
from dialogist.decoding.word_constraints import Lexicon, LexiconConstraint, WordTable
from dialogist.model_folder.bundle import Bundle
from dialogist.model_folder.options import SummaryOptions
from dialogist.models import GeneratorModule
from dialogist.models.base import Outputs
from dialogist.nn.kv_cache import State
from dialogist.nn.output_layer import PointerLogProbs
from dialogist.pipeline.drafts import (
    ROUNDS,
    AttentionTrace,
    Banned,
    Bounds,
    Draft,
    ForcedScores,
    Shares,
    Window,
    banned_ngrams,
    rerank_by_findings,
    write_drafts,
)
from dialogist.tensors import FIRST_KEY_POINT, Batch
from dialogist.language.tokens import FUNCTION_WORDS, count_words
from dialogist.tokenizers import Symbols, Tokenizer
from dialogist.tokenizers.word_vectors import words_of_entries
from dialogist.tokenizers.wordpiece_codec import JOIN

# `forced_decode`: where the model looked and what it copied while it wrote, and how sure it was.
#
# The drafts that search found are the targets, and the dialogues are those that search has
# encoded: it keeps nothing else for this. Attention to the begin and end symbols is to no
# utterance, so a row sums to one at most.


@torch.inference_mode()
def forced_decode(
    bundle: Bundle, windows: Sequence[Window], state: State | None = None
) -> list[list[ForcedScores]]:
    """Each part of each best draft by forced decoding, in one batch.

    The share of utterance u is the mean over heads of the decoder's last cross-attention to
    its tokens (more layers were no better; no figures were kept). Of models with a pointer it is
    ``p_gen`` times that, and ``1 - p_gen`` times the weights that they copy by. Of models without
    it is zero. U counts the utterances of ``windows[i].dialogue``, which its ``example.origins``
    refers to. None where nothing was said.

    ``state``: what the model's ``start`` gave for these dialogues, if search has asked it already.
    """
    found: list[list[ForcedScores]] = [[] for _ in windows]
    said = [i for i, one in enumerate(windows) if one.drafts and _said(one.drafts[0])]
    if not said:
        return found
    symbols = bundle.tokenizer.symbols
    device = next(bundle.model.parameters()).device
    pairs = [forced_pair(windows[i].encoded, windows[i].drafts[0], symbols) for i in said]
    if state is not None:
        state = state.select(torch.tensor(said, device=device))
    seen = _look(bundle, collate(pairs, symbols).to(device), state)
    row = 0
    for i in said:
        one, draft = windows[i], windows[i].drafts[0]
        places = origins_of_tokens(one, symbols.eos)
        count = len(one.dialogue.utterances)
        for part, (text, start) in zip(draft.parts, draft.places, strict=True):
            tokens = slice(start, start + len(part.tokens))
            shares = seen.shares(row + text, tokens, places, count)
            found[i].append(ForcedScores(shares, seen.log_probs[row + text, tokens].copy()))
        row += len(draft.texts)
    return found


def attention_trace(window: Window, parts: Sequence[ForcedScores]) -> AttentionTrace:
    """Of what was told of a window its own utterances' columns."""
    numbers = [i for origins in window.example.origins for i in origins]
    own = slice(min(numbers, default=0), max(numbers, default=-1) + 1)
    narrowed = (replace(part, shares=part.shares[:, own].copy()) for part in parts)
    return AttentionTrace(own.start, tuple(narrowed))


def _said(draft: Draft) -> int:
    return sum(len(part.tokens) for part in draft.parts)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What N (sub-)summaries looked at.

    ``log_probs``: (N, T) of the tokens said. ``cross``: (N, T, S) over tokens, or (N, T, U) over
    prepared utterances if ``by_utterance``; None of models without attention. ``copies``:
    (N, T, S), with ``gate`` (N, T) the chance of generating. ``utterance``: (B, S) the prepared
    utterance of each position, ``owner`` (N,).
    """

    log_probs: NDArray[np.float32]
    cross: NDArray[np.float32] | None
    by_utterance: bool
    utterance: NDArray[np.int64]
    owner: NDArray[np.int64]
    copies: NDArray[np.float32] | None = None
    gate: NDArray[np.float32] | None = None

    def shares(self, row: int, tokens: slice, places: NDArray[np.int64], utterances: int) -> Shares:
        """(T, U) of some tokens; ``places`` (S',) is the utterance of each position."""
        if self.cross is None:
            return np.zeros((tokens.stop - tokens.start, utterances), dtype=np.float32)
        known = len(places)
        own = places[places >= 0]
        if not len(own):
            return np.zeros((tokens.stop - tokens.start, utterances), dtype=np.float32)
        # Of a dialogue of hours a window has a few utterances, and only these columns.
        first, last = int(own.min()), int(own.max()) + 1
        inside = (places[:, None] == np.arange(first, last)).astype(np.float32)  # (S', U)
        to = inside
        if self.by_utterance:
            prepared = self.utterance[self.owner[row], :known]  # (S',)
            count = int(prepared.max()) + 1
            members = (np.arange(count)[:, None] == prepared).astype(np.float32)  # (U', S')
            to = members @ inside / np.maximum(1, members.sum(axis=1, keepdims=True))
        found = np.zeros((tokens.stop - tokens.start, utterances), dtype=np.float32)
        cross = self.cross[row, tokens, : len(to)] @ to
        if self.copies is not None and self.gate is not None:
            gate = self.gate[row, tokens, None]
            cross = gate * cross + (1 - gate) * (self.copies[row, tokens, :known] @ inside)
        found[:, first:last] = cross
        return found


def _look(bundle: Bundle, batch: Batch, state: State | None) -> _Seen:
    """Run the model, or what of it comes behind ``state``, once."""
    model = bundle.model
    assert batch.utterance is not None  # `collate` always tells
    forced = model.forced_decode(batch, state)
    outputs, real, cross = forced.outputs, forced.real, forced.cross_attention
    log_probs = torch.zeros(real.shape, device=real.device)
    log_probs[real] = outputs.log_probs.of(outputs.targets).target
    return _Seen(
        _array(log_probs),
        None if cross is None else _array(cross),
        model.attends_to == "utterances",
        batch.utterance.cpu().numpy(),
        forced.owner.cpu().numpy(),
        *_copies(outputs, real),
    )


def _copies(
    outputs: Outputs, real: Tensor
) -> tuple[NDArray[np.float32] | None, NDArray[np.float32] | None]:
    """Where the positions that are ``real`` (N, T) copy from (N, T, S), and how rarely (N, T)."""
    if not isinstance(outputs.log_probs, PointerLogProbs):
        return None, None
    gate, weights, _, _ = outputs.log_probs.copies
    grid = weights.new_zeros((*real.shape, weights.shape[1]))
    grid[real] = weights.to(grid.dtype)
    gates = gate.new_zeros(real.shape)
    gates[real] = torch.sigmoid(gate)
    return _array(grid), _array(gates)


def _array(values: Tensor) -> NDArray[np.float32]:
    return np.asarray(values.float().cpu().numpy(), dtype=np.float32)


# Teacher forcing on what search found: a dialogue with a draft as its target.


def forced_pair(encoded: Encoded, draft: Draft, symbols: Symbols) -> EncodedPair:
    """The dialogue with a draft as its target, each part (and its key point) a sub-summary.

    Every part has an end symbol in the target, whether search came to it or not. A plan prefix is
    said again as it was: to the model it is a part of the text.
    """
    tokens = [token for text in draft.texts for token in text.tokens]
    target = (symbols.bos, *tokens, symbols.eos)
    ends: list[int] = []
    planned = draft.labels if draft.whole is None else ()
    for part in draft.parts if planned else ():
        ends.append((ends[-1] if ends else 1) + len(part.tokens))
    key_points = tuple(FIRST_KEY_POINT + label for label in planned)
    return EncodedPair(encoded.source, target, encoded.id, encoded.starts, key_points, tuple(ends))


# From a prepared dialogue's tokens back to the utterances that were said.


def origins_of_tokens(window: Window, eos: int) -> NDArray[np.int64]:
    """(S,) the utterance of the dialogue behind each source token, -1 of begin and end.

    Where several utterances were merged, each has as many of the tokens as it has of the words:
    their texts stand one behind the other.
    """
    encoded, origins_of = window.encoded, window.example.origins
    ended = bool(encoded.source) and encoded.source[-1] == eos  # a cut may have taken it
    places = np.full(len(encoded.source), -1, dtype=np.int64)
    ends = (*encoded.starts[1:], len(encoded.source) - int(ended))
    for number, (start, end) in enumerate(zip(encoded.starts, ends, strict=True)):
        origins = origins_of[number] if origins_of else (number,)
        words = [1 + count_words(window.dialogue.utterances[i].text) for i in origins]
        for origin, (first, last) in zip(origins, _split(end - start, words), strict=True):
            places[start + first : start + last] = origin
    return places


def _split(tokens: int, words: Sequence[int]) -> list[tuple[int, int]]:
    """(first, after the last) token of each of some texts in a row."""
    total = sum(words)
    ends = [round(tokens * done / total) for done in accumulate(words)]
    return list(zip((0, *ends), ends, strict=False))


# `WindowGenerator`: prepared dialogues in, what the model says of each out. No text is made here.
#
# Windows of all dialogues are sorted by length and searched in batches; where a draft says what its
# dialogue does not bear out, that window is searched again with what it said forbidden
# (``pipeline/compose.py``).


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

        On a CPU larger batches were slower and took more memory
        (docs/notes/2026-11-24-summary-speed.md); on a GPU, where nothing was measured, each
        kernel's start costs, so they are larger.
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


# `WindowGenerator` itself.


_ENDS = frozenset(".!?")


class WindowGenerator:
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
    def write(self, windows: Sequence[Window], options: SummaryOptions) -> list[Window]:
        """The windows with drafts, and with what evidence needs to know of them."""
        found = list(windows)
        wanted = [i for i, one in enumerate(windows) if one.encoded.coverage.tokens_read]
        for rows in batches_of(windows, wanted, self._limits):
            together = [windows[i] for i in rows]
            for i, one in zip(rows, self._write(together, options), strict=True):
                found[i] = one
        return found

    def _write(self, windows: Sequence[Window], options: SummaryOptions) -> list[Window]:
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
        searched = [
            replace(one, drafts=drafts[: options.n_best])
            for one, drafts in zip(windows, found, strict=True)
        ]
        if not options.evidence:
            return searched
        forced = forced_decode(self.bundle, searched, started.state)
        return [
            replace(one, attention=attention_trace(one, parts))
            for one, parts in zip(searched, forced, strict=True)
        ]

    def _start(self, windows: Sequence[Window], options: SummaryOptions) -> "_EncodedBatch":
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
        return _EncodedBatch(batch, state, allowed, known)

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
            found[i], clean = rerank_by_findings(self.bundle, window, found[i], n_best)
            if clean:
                continue
            more = banned_ngrams(self.bundle, window, found[i][0])
            if more - set(banned[i]):
                banned[i] = (*banned[i], *sorted(more - set(banned[i])))
                again.append(i)
        return again

    def _search(
        self,
        started: "_EncodedBatch",
        wanted: Sequence[int],
        options: SummaryOptions,
        bans: Sequence[Banned],
    ) -> list[list[Draft]]:
        if len(wanted) < len(started.batch):
            started = started.select(torch.tensor(wanted, device=self._device))
        asked = options
        if options.safe and options.strategy == "beam" and started.state is not None:
            asked = options.model_copy(update={"n_best": options.beam_size})
        words = self._masks.words if options.no_double_words else None
        near = self._masks.near_repeat(options.near_repeat) if options.near_repeat else None
        bounds = Bounds(started.allowed, bans, words, near, started.known)
        model, batch = self.bundle.model, started.batch
        return write_drafts(model, batch, asked, self._symbols, bounds, started.state)

    @cached_property
    def _masks(self) -> "_VocabularyMasks":
        return _VocabularyMasks.of(self.bundle.tokenizer, self._device)

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
class _VocabularyMasks:
    """What the tokens of a vocabulary spell, each (V,).

    ``words``: those that begin a word of letters. ``content``: of these what is no grammar, as far
    as English. ``begins``: those that begin anything but a mark. ``ends``: the ends of sentences.
    """

    words: torch.Tensor
    content: torch.Tensor
    begins: torch.Tensor
    ends: torch.Tensor

    @classmethod
    def of(cls, tokenizer: Tokenizer, device: torch.device) -> "_VocabularyMasks":
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
class _EncodedBatch:
    """A batch of B windows to be searched.

    ``state``: what the model starts from, None of one that plans: it encodes by itself.
    ``allowed``: (B, X) False for what a window's dialogue does not have; None: nothing is.
    ``known``: which words each may hold; None: any.
    """

    batch: Batch
    state: State | None
    allowed: torch.Tensor | None
    known: LexiconConstraint | None

    def select(self, rows: torch.Tensor) -> "_EncodedBatch":
        """Some of the windows, (n,)."""
        return _EncodedBatch(
            self.batch.select(rows),
            None if self.state is None else self.state.select(rows),
            None if self.allowed is None else self.allowed[rows],
            None if self.known is None else self.known.of(rows.tolist()),
        )
