"""What a summary copies, what it says anew, what it repeats, in which order; any language.

Copied spans are the extractive fragments of Grusky et al. 2018 ("Newsroom", section 4.1): from the
left, the longest run of words that is also in the dialogue, then on behind it. No span goes from
one utterance into the next. Words are in small letters, without punctuation; a Chinese character
counts as one.

`EventOrder` looks at the order in which things are told (report 1, sections VI and VII, finds a
banquet before the arrival). An anchor is a word of the summary, at its first place there, that
exactly one utterance of the dialogue holds; function words and the speakers' names are none. Two
anchors of different utterances are an inversion where the summary has them in the other order. A
person's summary may well begin with the outcome: compare with references, not with zero.
"""

from collections.abc import Iterator, Sequence

from dialogist.metrics.base import UNSPACED, Case, Column, mean_column, mean_of, percentage
from dialogist.metrics.dialogue_facts import dialogue_facts
from dialogist.records import Dialogue
from dialogist.language.tokens import FUNCTION_WORDS, count_words, folded, without_tags, words_in

_NOVEL = (1, 2, 3, 4)
_COPIED = 3  # words: what one summary shares with another one's dialogue is hardly ever as long
_REPEATED = 3
_REPEATS = 4
_UNSPACED = frozenset(("thai", "lao", "khmer", "myanmar"))
_BREAK = "\0"
_FIRST_SURROGATE, _SURROGATES = 0xD800, 0x800
_CODES = 0x10F000  # characters: more different words would share some


class Copying:
    """Copied spans, novel n-grams, compression, repetition, length.

    ``copied`` is the share of a summary's words that stand in copied spans of three words or more,
    ``coverage`` of those in any span, ``density`` the mean length of the span in which a word
    stands (0 outside). ``novel1`` to ``novel4``: the share of different n-grams that the dialogue
    does not hold. ``compression``: words of the dialogue to one of the summary. ``repeated3``: the
    share of trigrams that the summary has said before; ``repeats4``: the share of summaries that
    say any four words twice.
    """

    name = "copying"
    signature = (
        "copying 1 | words in small letters, CJK by character | fragments: Grusky et al. 2018, "
        f"within utterances, copied from {_COPIED} words on | novel: different n-grams"
    )
    columns = (
        Column("copying.copied", "Copied", "neither", 2, percentage),
        mean_column("copying.coverage", "Coverage", "neither"),
        mean_column("copying.density", "Density", "neither", "words"),
        *(Column(f"copying.novel{n}", f"Novel {n}", "neither", 2, percentage) for n in _NOVEL),
        mean_column("copying.compression", "Compression", "neither", "times"),
        Column("copying.repeated3", "Repeated 3", "lower", 2, percentage),
        Column("copying.repeats4", "Repeats", "lower", 2, percentage),
        mean_column("copying.words", "Length", "neither", "words and marks"),
    )

    def reads(self, script: str) -> bool:
        """Words between spaces, Chinese, Japanese and Korean by character."""
        return script not in _UNSPACED

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of one output; what needs the dialogue has none where there is none."""
        codes = _Codes()
        said = codes.row(words_in(case.prediction))
        return (
            *self._beside(said, case.dialogue, codes),
            *_repeated(said, _REPEATED),
            float(_repeated(said, _REPEATS)[0] > 0),
            1.0,
            *mean_of(float(count_words(case.prediction))),
        )

    def _beside(self, said: str, dialogue: Dialogue | None, codes: "_Codes") -> Iterator[float]:
        heard = codes.dialogue(dialogue) if dialogue is not None else ""
        if not heard or not said:
            yield from (0.0,) * (6 + 2 * len(_NOVEL) + 2)
            return
        spans = fragments(said, heard)
        yield from (float(sum(s for s in spans if s >= _COPIED)), float(len(said)))
        yield from mean_of(100 * sum(spans) / len(said))
        yield from mean_of(sum(s * s for s in spans) / len(said))
        for n in _NOVEL:
            grams = set(_grams(said, n))
            yield from (float(len(grams.difference(_grams(heard, n)))), float(len(grams)))
        yield from mean_of((len(heard) - heard.count(_BREAK)) / len(said))


class _Codes:
    """A character for each different word, so that the search for words is one for text."""

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}

    def row(self, words: Sequence[str]) -> str:
        return "".join(self._code(word.lower()) for word in words)

    def dialogue(self, dialogue: Dialogue) -> str:
        turns = (words_in(f"{u.speaker} {u.text}") for u in dialogue.utterances)
        return _BREAK.join(map(self.row, turns))

    def _code(self, word: str) -> str:
        code = self._numbers.get(word)
        if code is None:
            number = len(self._numbers) % _CODES + 1
            code = chr(number + _SURROGATES if number >= _FIRST_SURROGATE else number)
            self._numbers[word] = code
        return code


def fragments(said: str, heard: str) -> list[int]:
    """The lengths of the copied spans, from left to right; a character is a word."""
    lengths = []
    start = 0
    while start < len(said):
        length = _copied(said, start, heard)
        if length:
            lengths.append(length)
        start += max(length, 1)
    return lengths


def _copied(said: str, start: int, heard: str) -> int:
    """The length of the longest span from ``start`` on; by doubling, for it may be long."""
    length, step = 0, 1
    while step:
        end = start + length + step
        if end <= len(said) and said[start:end] in heard:
            length, step = length + step, 2 * step
        else:
            step //= 2
    return length


def _grams(row: str, n: int) -> list[str]:
    return [row[i : i + n] for i in range(len(row) - n + 1)]


def _repeated(said: str, n: int) -> tuple[float, float]:
    """How many n-grams have stood before, of how many."""
    grams = _grams(said, n)
    return float(len(grams) - len(set(grams))), float(len(grams))


_SHORTEST = 3  # letters


class EventOrder:
    """``order.inversions``: pairs of anchors in the other order than in the dialogue, in percent.

    The mean over the outputs that have a pair; ``order.pairs`` is how many pairs an output has.
    """

    name = "order"
    signature = (
        "order 2 | anchors: content words of one utterance, no speakers' names | "
        "pairs: of different utterances"
    )
    columns: tuple[Column, ...] = (
        mean_column("order.inversions", "Out of order", "lower"),
        mean_column("order.pairs", "Pairs in order", "neither", "pairs"),
    )

    def reads(self, script: str) -> bool:
        """Words between spaces: a Chinese character alone is no event."""
        return script not in UNSPACED

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of one output; none where there is no dialogue."""
        if case.dialogue is None:
            return (*mean_of(None), *mean_of(None))
        inverted, pairs = inversions(anchors(case.prediction, case.dialogue))
        share = 100 * inverted / pairs if pairs else None
        return (*mean_of(share), *mean_of(float(pairs)))


def anchors(text: str, dialogue: Dialogue) -> list[int]:
    """The utterances that the anchors of a summary come from, in the order of the summary."""
    who = dialogue_facts(dialogue).speakers.who
    places: dict[str, int | None] = {}
    for number, utterance in enumerate(dialogue.utterances):
        for word in {word.lower() for word in words_in(utterance.text)}:
            places[word] = number if word not in places else None
    told = dict.fromkeys(word.lower() for word in words_in(without_tags(text)))
    found = (
        places.get(word)
        for word in told
        if len(word) >= _SHORTEST and word not in FUNCTION_WORDS and who(_bare(word)) is None
    )
    return [place for place in found if place is not None]


def _bare(word: str) -> str:
    """``Oscar's`` as `Speakers` knows it."""
    return folded(word).replace("’", "'").removesuffix("'s")


def inversions(places: Sequence[int]) -> tuple[int, int]:
    """How many pairs of different places come in descending order, and of how many."""
    pairs = [(a, b) for i, a in enumerate(places) for b in places[i + 1 :] if a != b]
    return sum(a > b for a, b in pairs), len(pairs)
