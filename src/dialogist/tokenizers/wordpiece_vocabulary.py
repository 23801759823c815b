"""The WordPiece tokenizer of a BERT-like encoder's folder, no larger than a corpus needs."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from dialogist.errors import ConfigError, ModelError
from dialogist.language.casing import Casing, learn_casing
from dialogist.tokenizers.base import PLACEHOLDERS, ControlSymbols, Tokenizer, placeholder
from dialogist.tokenizers.special_tokens import entity_placeholders, plan_characters
from dialogist.tokenizers.wordpiece_codec import (
    LONGEST_PIECE,
    WORDPIECE_PREFIX,
    WordPieces,
    common_words,
    extra_tokens,
)

BERT_CONTROLS = ControlSymbols(pad="[PAD]", unk="[UNK]", bos="[CLS]", eos="[SEP]")

_CONTROLS = (BERT_CONTROLS.pad, BERT_CONTROLS.unk, BERT_CONTROLS.bos, BERT_CONTROLS.eos)
_ASCII = "".join(map(chr, range(0x21, 0x7F)))


@dataclass(frozen=True, slots=True)
class FolderVocabulary:
    """An encoder's pieces in the order of their ids (the frequent ones first, by custom).

    ``lowercase``: it reads small letters only; ``strip_accents``: and no accents.
    """

    pieces: tuple[str, ...]
    lowercase: bool
    strip_accents: bool

    def normalizer(self) -> normalizers.Normalizer:
        """BERT's own, but control characters and Chinese are treated elsewhere."""
        return normalizers.BertNormalizer(
            clean_text=False,
            handle_chinese_chars=False,
            strip_accents=self.strip_accents,
            lowercase=self.lowercase,
        )


def read_vocabulary(folder: Path) -> FolderVocabulary:
    """The WordPiece vocabulary of a folder with tokenizer.json, or with vocab.txt.

    Raises:
        ModelError: there is none, it is damaged, or of another kind.
    """
    try:
        if (folder / "tokenizer.json").is_file():
            found = _of_pipeline(folder / "tokenizer.json")
        elif (folder / "vocab.txt").is_file():
            found = _of_list(folder)
        else:
            raise ModelError(f"{folder}: holds neither tokenizer.json nor vocab.txt")
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelError(f"{folder}: its tokenizer cannot be read: {error}") from None
    missing = [symbol for symbol in _CONTROLS if symbol not in found.pieces]
    if missing:
        raise ModelError(f"{folder}: its vocabulary has no {missing[0]}: it is not a BERT's")
    return found


def _of_pipeline(path: Path) -> FolderVocabulary:
    about = json.loads(path.read_text(encoding="utf-8"))
    model: dict[str, Any] = about["model"]
    if (
        model.get("type") != "WordPiece"
        or model.get("continuing_subword_prefix") != WORDPIECE_PREFIX
    ):
        raise ModelError(
            f"{path}: is a {model.get('type')} tokenizer; tokenizer.kind wordpiece needs WordPiece"
        )
    rules = about.get("normalizer") or {}
    lowercase = bool(rules.get("lowercase", False))
    accents = rules.get("strip_accents")
    pieces = tuple(sorted(model["vocab"], key=model["vocab"].__getitem__))
    return FolderVocabulary(pieces, lowercase, lowercase if accents is None else bool(accents))


def _of_list(folder: Path) -> FolderVocabulary:
    settings, path = {}, folder / "tokenizer_config.json"
    if path.is_file():
        settings = json.loads(path.read_text(encoding="utf-8"))
    lowercase = bool(settings.get("do_lower_case", True))
    accents = settings.get("strip_accents")
    pieces = tuple((folder / "vocab.txt").read_text(encoding="utf-8").split("\n"))
    return FolderVocabulary(
        tuple(piece for piece in pieces if piece),
        lowercase,
        lowercase if accents is None else bool(accents),
    )


def prune_wordpiece(
    folder: Path,
    texts: Iterable[str],
    size: int | None,
    min_count: int,
    entities: bool,
    labels: int = 0,
) -> Tokenizer:
    """The tokenizer for ``texts``: at most ``size`` entries, controls and placeholders in.

    Pieces that the texts use less often than ``min_count`` are left out, but single characters
    are kept. Where room is left the folder's first other pieces fill it: words that these texts
    happen not to have. ``size`` None: exactly what the texts need. ``labels``: of a plan.

    Raises:
        ConfigError: ``size`` has no room for the single characters.
        ModelError: the folder has no WordPiece tokenizer.
    """
    vocabulary = read_vocabulary(folder)
    added = [*map(placeholder, range(PLACEHOLDERS)), *extra_tokens()]
    added += [*(entity_placeholders() if entities else ()), *plan_characters(labels)]
    whole = _pipeline(vocabulary, [*vocabulary.pieces, *_alphabet(vocabulary), *added])
    words = _Words(whole)
    casing = learn_casing(words.counted(texts))  # one pass: the texts may be a stream
    room = None if size is None else size - len(_CONTROLS) - len(added)
    kept = _chosen(vocabulary, words.pieces(), room, min_count)
    casing = casing if vocabulary.lowercase else Casing()
    pipeline = _pipeline(vocabulary, [*kept, *added])
    return Tokenizer("wordpiece", pipeline, BERT_CONTROLS, casing, words.common())


def _pipeline(vocabulary: FolderVocabulary, entries: Iterable[str]) -> tokenizers.Tokenizer:
    ids = {piece: i for i, piece in enumerate(dict.fromkeys((*_CONTROLS, *entries)))}
    model = models.WordPiece(
        ids, unk_token=BERT_CONTROLS.unk, max_input_chars_per_word=LONGEST_PIECE
    )
    pipeline = tokenizers.Tokenizer(model)
    pipeline.normalizer = vocabulary.normalizer()
    pipeline.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    pipeline.decoder = decoders.WordPiece(WORDPIECE_PREFIX, cleanup=False)
    return pipeline


def _alphabet(vocabulary: FolderVocabulary) -> list[str]:
    """What spells ASCII one by one, whether the folder has it or not."""
    letters = dict.fromkeys(vocabulary.normalizer().normalize_str(_ASCII))
    return [*letters, *(WORDPIECE_PREFIX + c for c in letters if c.isalnum())]


class _Words:
    """Counts what a pipeline would look up of texts that pass by."""

    def __init__(self, pipeline: tokenizers.Tokenizer) -> None:
        self._pipeline = pipeline
        self._codec = WordPieces(pipeline, Casing())
        self._counts: Counter[str] = Counter()

    def counted(self, texts: Iterable[str]) -> Iterator[str]:
        """The texts themselves, each counted before it goes on."""
        for text in texts:
            self._counts.update(self._codec.words(text))
            yield text

    def common(self) -> list[str]:
        """The words that a tokenizer remembers."""
        return common_words(self._counts)

    def pieces(self) -> Counter[str]:
        """How often the texts use each piece."""
        found: Counter[str] = Counter()
        for word, count in self._counts.items():
            for piece in self._pipeline.encode(word, add_special_tokens=False).tokens:
                found[piece] += count
        return found


def _chosen(
    vocabulary: FolderVocabulary, counts: Counter[str], room: int | None, min_count: int
) -> list[str]:
    """The pieces to keep, in the folder's order; what it lacks is last."""
    place = {piece: i for i, piece in enumerate(vocabulary.pieces)}
    used = [piece for piece, count in counts.items() if count >= min_count and piece in place]
    letters = sorted({c for piece in used for c in piece.removeprefix(WORDPIECE_PREFIX)})
    forms = (form for c in letters for form in (c, WORDPIECE_PREFIX + c) if form in place)
    kept = dict.fromkeys((*_alphabet(vocabulary), *forms))
    wanted = [piece for piece in used if piece not in kept]
    wanted.sort(key=lambda piece: (-counts[piece], place[piece]))
    if room is not None:
        if room < len(kept):
            raise ConfigError(
                f"tokenizer.size must be {len(kept) - room} larger: it has no room for all of the "
                f"{len(kept)} single characters"
            )
        others = (p for p in place if p not in counts and not _is_rare(p))
        wanted = [*islice((*wanted, *others), room - len(kept))]
    chosen = dict.fromkeys((*kept, *wanted))
    return sorted(chosen, key=lambda piece: place.get(piece, len(place)))


def _is_rare(piece: str) -> bool:
    """Whether a piece that no text uses is a control symbol, or one character of some script."""
    return len(piece.removeprefix(WORDPIECE_PREFIX)) == 1 or (piece[0] == "[" and piece[-1] == "]")
