"""Which entries of a vocabulary spell a whole word, and which one: what word vectors are for."""

from collections import Counter

from tokenizers import decoders

from dialogist.tokenizers.base import Tokenizer

_BYTE_LEVEL, _METASPACE, _WORDPIECE = "Ġ", "▁", "##"


def words_of_entries(tokenizer: Tokenizer) -> list[str | None]:
    """For each id the word it spells where it begins one, else None (V,).

    Control symbols and placeholders are no words. Of word tokenizers every other entry is one; of
    subword ones those that stand after a space (``Ġhello`` of byte-level pieces, ``▁hello`` of
    SentencePiece; without ``##`` in WordPiece).
    """
    entries = [tokenizer.token(index) for index in range(len(tokenizer))]
    others = {tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id}
    others |= {*tokenizer.placeholder_ids(), *tokenizer.entity_ids().values()}
    others |= {*tokenizer.plan_ids()}
    ours = {"word": "", "bpe": _BYTE_LEVEL, "unigram": _BYTE_LEVEL}
    style = ours[tokenizer.kind] if tokenizer.kind in ours else _style(entries)
    return [None if index in others else _word(entry, style) for index, entry in enumerate(entries)]


def _style(entries: list[str]) -> str:
    """The mark that most marked entries bear; none at all: every entry is a word."""
    marks = Counter(
        mark
        for entry in entries
        for mark in (_BYTE_LEVEL, _METASPACE, _WORDPIECE)
        if entry.startswith(mark)
    )
    return marks.most_common(1)[0][0] if marks else ""


def _word(entry: str, style: str) -> str | None:
    if style == _WORDPIECE:
        return None if entry.startswith(style) else entry
    if not entry.startswith(style) or entry == style:
        return None
    word = entry.removeprefix(style)
    if style == _BYTE_LEVEL:
        word = str(decoders.ByteLevel().decode([word]))
    return None if "\ufffd" in word else word
