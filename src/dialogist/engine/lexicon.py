"""Which words a model may put together from pieces: those of its training, and of each dialogue."""

from collections.abc import Sequence

from dialogist.data.encode import Encoded
from dialogist.decoding.word_constraints import Lexicon, LexiconConstraint, WordTable
from dialogist.tokenizers import Tokenizer
from dialogist.tokenizers.wordpiece_codec import JOIN


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
