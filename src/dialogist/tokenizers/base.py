"""`Tokenizer`: the one protocol, a thin face over a Hugging Face ``tokenizers`` pipeline."""

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

import tokenizers
from tokenizers import decoders

from dialogist.errors import ModelError
from dialogist.language.casing import Casing
from dialogist.tokenizers.special_tokens import PlanTokens, entity_placeholders
from dialogist.tokenizers.wordpiece_codec import WORDPIECE_PREFIX, WordPieces, byte_of, common_words

# `Characters`: which entries of a vocabulary hold only a part of a character.
#
# What a vocabulary lacks is spelt by the bytes of its UTF-8: in byte-level pieces (Radford et al.
# 2019), by SentencePiece's fallback, and in WordPiece here. Whoever writes token by token can then
# stop within a character, or put two halves together that are none.

LONGEST_CHARACTER = 4
"""Bytes of a character in UTF-8, and so tokens of one at most."""

_FALLBACK = re.compile("<0x([89A-F][0-9A-F])>")


@dataclass(frozen=True)
class Characters:
    """``parts``: each entry that is not whole characters, its id and its bytes."""

    parts: tuple[tuple[int, bytes], ...] = ()

    @cached_property
    def ids(self) -> frozenset[int]:
        """All of them."""
        return frozenset(index for index, _ in self.parts)

    @cached_property
    def later(self) -> frozenset[int]:
        """What goes on with a character: may be said again whenever that is."""
        return frozenset(index for index, part in self.parts if continued(part))


def characters_of(entries: Iterable[str], byte_level: bool) -> Characters:
    """The parts of characters in a vocabulary.

    ``byte_level``: each character of an entry is a byte, as in GPT-2's vocabulary.
    """
    spelt = ((index, _bytes_of(entry, byte_level)) for index, entry in enumerate(entries))
    return Characters(
        tuple((index, part) for index, part in spelt if part and left_of(part) != b"")
    )


def continued(part: bytes) -> int:
    """How many of its bytes go on with a character that begins before it."""
    return next((n for n, byte in enumerate(part) if not 0x80 <= byte < 0xC0), len(part))


def left_of(text: bytes) -> bytes | None:
    """The bytes of a last character that is not whole; None: no UTF-8 begins so."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(text)
    except UnicodeDecodeError:
        return None
    left = decoder.getstate()[0]
    # Half a surrogate is UTF-8 for nobody else, but Python waits for its end.
    return None if left[:1] == b"\xed" and left[1:2] >= b"\xa0" else left


def _bytes_of(entry: str, byte_level: bool) -> bytes:
    """The bytes of an entry; nothing, if these are whole characters anyway."""
    if not byte_level:
        fallback = _FALLBACK.fullmatch(entry) if entry.startswith("<0x") else None
        byte = int(fallback[1], 16) if fallback else byte_of(entry)
        return b"" if byte is None else bytes((byte,))
    if entry.isascii() or any(character not in _LEVEL for character in entry):
        return b""  # a control symbol or placeholder is no text
    return bytes(_LEVEL[character] for character in entry)


def _byte_level() -> dict[str, int]:
    """GPT-2's spelling of bytes: a printable one is its own character, the others' begin at 256."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = (byte for byte in range(0x100) if byte not in printable)
    found = {chr(byte): byte for byte in printable}
    return found | {chr(0x100 + number): byte for number, byte in enumerate(others)}


_LEVEL = _byte_level()


# `Tokenizer`: the one protocol, a thin face over a Hugging Face ``tokenizers`` pipeline.
#
# Every kind (`word`, `bpe`, `unigram`, `wordpiece`, `pretrained`) is expressed as such a pipeline,
# so one file format (``tokenizer.json``) and one loader serve them all. The four control symbols
# (padding, unknown, begin, end) and the tokens of a plan (`PlanTokens`) can never be produced by a
# user's text, whatever it spells; the placeholders of speakers and entities can, and are atomic:
# one character in the text, one id.

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
"""What a saved tokenizer is, in its folder."""

PLACEHOLDERS = 32
"""How many speakers of one dialogue can have an atomic token of their own."""

LANGUAGE_MODEL = "language-model"
"""The kind of a tokenizer that belongs to a pretrained language model, and to nothing else."""

_FINAL_MARKS = frozenset(".!?。！？")  # the last three of Chinese

_FIRST_PLACEHOLDER = 0x10F000  # supplementary private use area B: no meaning in any real text


def placeholder(index: int) -> str:
    """The character that stands for speaker ``index`` (0-based) in prepared text."""
    if not 0 <= index < PLACEHOLDERS:
        raise IndexError(f"speaker placeholder {index} of {PLACEHOLDERS}")
    return chr(_FIRST_PLACEHOLDER + index)


@dataclass(frozen=True, slots=True)
class ControlSymbols:
    """The spelling of the four control symbols in the vocabulary."""

    pad: str = "<pad>"
    unk: str = "<unk>"
    bos: str = "<s>"
    eos: str = "</s>"


@dataclass(frozen=True, slots=True)
class Symbols:
    """The ids that everybody needs who works with a tokenizer's ids.

    ``size`` is V: ids from there on are unknown words of one dialogue, in order of appearance,
    which a pointer can copy. No table has a row for them: whoever looks ids up reads ``unk``.
    ``plan``: of models that write a plan first, as a prefix. ``inside``: the pieces that go on with
    a word, where the tokenizer tells them from those that begin one. ``speakers``: the placeholders
    of speakers, in order, where they are atomic. ``sentence_ends``: what ends a sentence.
    ``characters``: which entries hold parts of characters.
    """

    pad: int
    bos: int
    eos: int
    unk: int = 1
    size: int = 1 << 62
    plan: PlanTokens | None = None
    inside: frozenset[int] = frozenset()
    speakers: tuple[int, ...] = ()
    sentence_ends: frozenset[int] = frozenset()
    characters: Characters = field(default_factory=Characters)


class Tokenizer:
    """Text to ids and back.

    Attributes:
        kind: ``word``, ``bpe``, ``unigram``, ``wordpiece``, ``pretrained`` or ``language-model``.
        pad_id, unk_id, bos_id, eos_id: the control symbols' ids.
        plan: the ids of a plan's tokens; None where the tokenizer was made without them.
        words: of kind ``wordpiece``, the words of its training texts, as far as they are of letters
            and no rarity; none where the tokenizer is of an earlier release.
    """

    def __init__(
        self,
        kind: str,
        pipeline: tokenizers.Tokenizer,
        controls: ControlSymbols,
        casing: Casing | None = None,
        words: Iterable[str] = (),
    ) -> None:
        """``casing``: of kind ``wordpiece``, how words are written that it has in small letters."""
        self.kind = kind
        self.words = tuple(words)
        self._pieces = WordPieces(pipeline, casing or Casing()) if kind == "wordpiece" else None
        self.controls = controls
        self._pipeline = pipeline
        self.pad_id = self._control(controls.pad)
        self.unk_id = self._control(controls.unk)
        self.bos_id = self._control(controls.bos)
        self.eos_id = self._control(controls.eos)
        self.plan = PlanTokens.of(pipeline)
        self._controls = frozenset((self.pad_id, self.bos_id, self.eos_id, *self.plan_ids()))
        # A user's text that spells "</s>" is text, not a control symbol.
        pipeline.encode_special_tokens = True

    def _control(self, symbol: str) -> int:
        index = self._pipeline.token_to_id(symbol)
        if index is None:
            raise ModelError(f"tokenizer: the control symbol '{symbol}' is not in its vocabulary")
        return int(index)

    def __len__(self) -> int:
        """The size of the vocabulary, control symbols and placeholders included."""
        return int(self._pipeline.get_vocab_size())

    def encode(self, text: str) -> list[int]:
        """The ids of ``text``, without begin and end symbols."""
        return self._as_text(self._pipeline.encode(self._ready(text), add_special_tokens=False).ids)

    def encode_turn(self, text: str) -> list[int]:
        """The ids of what one speaker says; for a pretrained language model a line of its own."""
        return self.encode(f"{text.strip()}\n" if self.kind == LANGUAGE_MODEL else text)

    def encode_template(self, text: str) -> list[int]:
        """The ids of a prompt, where the spelling of a control symbol stands for the symbol."""
        self._pipeline.encode_special_tokens = False
        try:
            return list(self._pipeline.encode(text, add_special_tokens=False).ids)
        finally:
            self._pipeline.encode_special_tokens = True

    def _ready(self, text: str) -> str:
        return text if self._pieces is None else self._pieces.marked(text)

    def encode_extended(self, text: str, unknown: dict[str, int], grow: bool) -> list[int]:
        """`encode` with an id from V on for each word of ``text`` that is not in the vocabulary.

        ``unknown`` holds these ids by word. With ``grow`` new words enter it; otherwise they are
        the unknown token (See et al. 2017, section 2.2: the extended vocabulary).
        """
        if self._pieces is not None:
            return self.encode(text)  # it can spell every word
        encoding = self._pipeline.encode(text, add_special_tokens=False)
        ids: list[int] = self._as_text(encoding.ids)
        for place, index in enumerate(ids):
            if index == self.unk_id:
                start, end = encoding.offsets[place]
                word = text[start:end]
                if grow:
                    unknown.setdefault(word, len(self) + len(unknown))
                ids[place] = unknown.get(word, self.unk_id)
        return ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` for many texts at once, in parallel."""
        ready = [self._ready(text) for text in texts]
        encodings = self._pipeline.encode_batch(ready, add_special_tokens=False)
        return [self._as_text(encoding.ids) for encoding in encodings]

    def _as_text(self, ids: Iterable[int]) -> list[int]:
        """Control symbols out: word and unigram vocabularies match their spelling like any word."""
        return [self.unk_id if i in self._controls else i for i in ids]

    def decode(self, ids: Iterable[int], unknown: Sequence[str] = ()) -> str:
        """The text of ``ids``; padding, begin and end symbols and plans are left out.

        ``unknown`` are the words behind ids from V on.
        """
        kept = [i for i in ids if i not in self._controls]
        if self._pieces is not None:
            return self._pieces.text(map(self.token, kept))
        if not unknown:
            return str(self._pipeline.decode(kept, skip_special_tokens=False))
        size = len(self)
        # only word vocabularies have unknown words, and their text is words and spaces
        return " ".join(unknown[i - size] if i >= size else self.token(i) for i in kept)

    @cached_property
    def symbols(self) -> Symbols:
        """The ids others need."""
        inside: frozenset[int] = frozenset()
        if self._pieces is not None:
            inside = frozenset(
                i for i in range(len(self)) if self.token(i).startswith(WORDPIECE_PREFIX)
            )
        controls = (self.pad_id, self.bos_id, self.eos_id, self.unk_id)
        speakers = tuple(self.placeholder_ids())
        ends, characters = self._sentence_ends(), self._characters()
        return Symbols(*controls, len(self), self.plan, inside, speakers, ends, characters)

    def _characters(self) -> Characters:
        byte_level = isinstance(self._pipeline.decoder, decoders.ByteLevel)
        return characters_of((self.token(i) for i in range(len(self))), byte_level)

    def _sentence_ends(self) -> frozenset[int]:
        """The entries that are a final mark and nothing else, however they are spelled."""
        ids = (i for i in range(len(self)) if not _FINAL_MARKS.isdisjoint(self.token(i)))
        return frozenset(i for i in ids if self.decode([i]).strip() in _FINAL_MARKS)

    def learn_words(self, texts: Iterable[str]) -> None:
        """Add the ``words`` of more training texts; other kinds than ``wordpiece`` have none."""
        if self._pieces is not None:
            counts = Counter(word for text in texts for word in self._pieces.words(text))
            self.words = tuple(sorted({*self.words, *common_words(counts)}))

    def words_in_pieces(self) -> list[tuple[int, ...]]:
        """The ``words``, each as the pieces that texts hold it in."""
        entries = self._pipeline.get_vocab()  # most words are one; to encode those takes time
        parted = [word for word in self.words if word not in entries]
        found = self._pipeline.encode_batch(parted, add_special_tokens=False)
        pieces = {word: tuple(e.ids) for word, e in zip(parted, found, strict=True)}
        return [pieces[word] if word in pieces else (entries[word],) for word in self.words]

    def token(self, index: int) -> str:
        """The vocabulary entry of one id, as spelled in the vocabulary."""
        return str(self._pipeline.id_to_token(index))

    def placeholder_ids(self) -> list[int]:
        """The ids of the speaker placeholders, in order; empty where they are not atomic."""
        found = [self._pipeline.token_to_id(placeholder(i)) for i in range(PLACEHOLDERS)]
        return [int(index) for index in found if index is not None]

    def entity_ids(self) -> dict[str, int]:
        """The id of each entity placeholder; empty where the tokenizer was made without them."""
        found = {c: self._pipeline.token_to_id(c) for c in entity_placeholders()}
        return {character: int(i) for character, i in found.items() if i is not None}

    def plan_ids(self) -> list[int]:
        """The ids of the border and the labels of plans; empty where it was made without them."""
        return [] if self.plan is None else list(self.plan.ids)

    def to_json(self) -> str:
        """The pipeline, as ``tokenizer.json`` has it."""
        return str(self._pipeline.to_str())

    def save(self, folder: Path) -> None:
        """Write ``tokenizer.json`` (the pipeline) and ``tokenizer_config.json`` (the rest)."""
        self._pipeline.save(str(folder / "tokenizer.json"))
        about: dict[str, object] = {"kind": self.kind, **asdict(self.controls)}
        if self._pieces is not None:
            about["spellings"] = self._pieces.casing.spellings
            about["words"] = " ".join(self.words)
        text = json.dumps(about, ensure_ascii=False, indent=2) + "\n"
        (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")


def read_tokenizer(folder: Path) -> Tokenizer:
    """Read what `Tokenizer.save` wrote.

    Raises:
        ModelError: a file is missing or damaged; names it.
    """
    path = folder / "tokenizer.json"
    try:
        about = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        kind = str(about.pop("kind"))
        casing, words = Casing(about.pop("spellings", None)), str(about.pop("words", "")).split()
        return Tokenizer(kind, read_pipeline(path), ControlSymbols(**about), casing, words)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelError(f"{folder}: its tokenizer cannot be read: {error}") from None


def read_pipeline(path: Path) -> tokenizers.Tokenizer:
    """Read a ``tokenizer.json``.

    Raises:
        ModelError: missing or damaged.
    """
    try:
        return tokenizers.Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except Exception as error:  # the library raises bare Exception for a damaged file
        raise ModelError(f"{path}: is no usable tokenizer.json: {error}") from None
