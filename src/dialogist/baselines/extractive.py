"""Baselines: systems without a model, with the interface of a `Summarizer`, and their names."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dialogist.errors import UsageError, nearest
from dialogist.records import Coverage, Dialogue, Status, Summary, Utterance, Warning
from dialogist.language.tokens import counted, words_in

if TYPE_CHECKING:
    from dialogist.baselines.openai_endpoint import OpenAIEndpoint

# Which utterances are in the middle of what is said: PageRank over how alike they are.
#
#     texts -> words -> (U, U) likeness -> rank, one number for each text
#
# TextRank (Mihalcea & Tarau 2004) and LexRank (Erkan & Radev 2004) differ in the likeness alone.
# The units are utterances, so text without punctuation is ranked as well; words are those of
# `text.tokens.words_in`, a Chinese character being one. There is no list of stop words: it would be
# another one for each language.

_Floats = NDArray[np.float64]

_DAMPING = 0.85  # both papers
_DIGITS = 9  # ranks that differ by less are equal: rounding must not choose between twins
_WORDS_AT_ONCE = 4_096  # columns of the (U, words) tables


def textrank_scores(texts: Sequence[str]) -> list[float]:
    """The rank of every text; higher is more central.

    Likeness (section 4.1): the distinct words that two texts share, by the logarithms of
    both lengths; 0 between two texts of one word, where these are 0.
    """
    words = [_words(text) for text in texts]
    lengths = np.log([max(1, len(each)) for each in words])
    shared = _products(words, np.ones(len(_vocabulary(words))), count_once=True)
    both = lengths[:, None] + lengths[None, :]
    alike = np.divide(shared, both, out=np.zeros_like(shared), where=both > 0)
    np.fill_diagonal(alike, 0.0)
    return _rank(alike)


def lexrank_scores(texts: Sequence[str]) -> list[float]:
    """The rank of every text; higher is more central.

    Likeness (equation 1): the cosine of tf-idf vectors, of a text with itself, too, and without a
    threshold ("continuous"). The paper takes idf from a collection; here a dialogue is all there
    is: log(1 + U / texts that hold the word).
    """
    words = [_words(text) for text in texts]
    vocabulary = _vocabulary(words)
    holders = np.zeros(len(vocabulary))
    for each in words:
        holders[[vocabulary[word] for word in set(each)]] += 1
    idf = np.log1p(len(texts) / holders)
    products = _products(words, idf**2, count_once=False)
    sizes = np.sqrt(np.diag(products))
    both = sizes[:, None] * sizes[None, :]
    return _rank(np.divide(products, both, out=np.zeros_like(products), where=both > 0))


def _words(text: str) -> list[str]:
    return words_in(text.casefold())


def _vocabulary(words: Sequence[Sequence[str]]) -> dict[str, int]:
    return {word: i for i, word in enumerate(dict.fromkeys(w for each in words for w in each))}


def _products(words: Sequence[Sequence[str]], weights: _Floats, count_once: bool) -> _Floats:
    """(U, U) inner products of the texts' vectors: (distinct) words counted, times weights.

    Made piece by piece of the vocabulary, in order of first use: one long text must not cost U
    times its words.
    """
    vocabulary = _vocabulary(words)
    rows = np.repeat(np.arange(len(words)), [len(each) for each in words])
    columns = np.array([vocabulary[word] for each in words for word in each], dtype=np.int64)
    total = np.zeros((len(words), len(words)))
    for begin in range(0, len(vocabulary), _WORDS_AT_ONCE):
        width = min(_WORDS_AT_ONCE, len(vocabulary) - begin)
        here = (columns >= begin) & (columns < begin + width)
        table = np.zeros((len(words), width))
        np.add.at(table, (rows[here], columns[here] - begin), 1.0)
        if count_once:
            table = np.minimum(table, 1.0)
        table *= weights[begin : begin + width]
        total += table @ table.T
    return total


def _rank(alike: _Floats) -> list[float]:
    """Weighted PageRank of (U, U) likeness: ws = 1 - d + d * (column-normalised likeness) @ ws.

    Solved, not iterated: there is no tolerance to choose. A text that is like no other has 1 - d.
    """
    sums = alike.sum(axis=0)
    moves = np.divide(alike, sums, out=np.zeros_like(alike), where=sums > 0)
    count = len(alike)
    ranks = np.linalg.solve(np.eye(count) - _DAMPING * moves, np.full(count, 1 - _DAMPING))
    rounded: list[float] = np.round(ranks, _DIGITS).tolist()
    return rounded


# Systems without a model, with the face of a `Summarizer`: the floors every table needs.

RANKED_AT_MOST = 3_000  # utterances: ranking compares each with each, n x n numbers

Choose = Callable[[Sequence[Utterance]], Sequence[int]]


def transcript_line(utterance: Utterance) -> str:
    """``speaker: text``, as a transcript has it."""
    return f"{utterance.speaker}: {utterance.text}" if utterance.speaker else utterance.text


def join_utterances(dialogue: Dialogue, chosen: Sequence[int]) -> str:
    """The chosen utterances, one a line, in their order."""
    return "\n".join(transcript_line(dialogue.utterances[i]) for i in sorted(chosen))


class Extractive:
    """Takes whole utterances, never one that says nothing.

    ``choose`` gives indices into those that say something; it is shown the first ``reads`` of them
    (None: all). What it was not shown is told: status ``truncated`` and a warning.
    """

    def __init__(self, name: str, choose: Choose, reads: int | None = None) -> None:
        self.name = name
        self._choose = choose
        self._reads = reads

    def summarize(self, dialogues: Sequence[Dialogue], options: object = None) -> list[Summary]:
        """The chosen utterances of each dialogue, one a line, in their order."""
        return [self._one(dialogue) for dialogue in dialogues]

    def _one(self, dialogue: Dialogue) -> Summary:
        said = [i for i, one in enumerate(dialogue.utterances) if one.text.strip()]
        shown = said[: self._reads]
        chosen = self._choose([dialogue.utterances[i] for i in shown])
        text = join_utterances(dialogue, [shown[i] for i in chosen])
        left, count = len(said) - len(shown), len(dialogue.utterances)
        status: Status = "empty" if not text else "truncated" if left else "ok"
        return Summary(
            text=text,
            id=dialogue.id,
            status=status,
            coverage=Coverage(utterances=count, utterances_read=count - left),
            warnings=tuple(_remarks(left, bool(said and not text))),
            model=self.name,
        )


class ConstantSummary:
    """Says the same about every dialogue: what template alone earns."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text

    def summarize(self, dialogues: Sequence[Dialogue], options: object = None) -> list[Summary]:
        """The sentence, for each dialogue."""
        return [Summary(text=self.text, id=d.id, model=self.name) for d in dialogues]


def lead(n: int) -> Extractive:
    """The first ``n`` utterances."""
    return Extractive(f"lead-{n}", lambda utterances: range(min(n, len(utterances))))


def longest(n: int) -> Extractive:
    """The ``n`` longest utterances (in characters; ties: the earlier)."""
    return Extractive(
        f"longest-{n}",
        lambda utterances: _best([len(utterance.text) for utterance in utterances], n),
    )


def random_utterances(n: int, seed: int = 1) -> Extractive:
    """``n`` utterances by lot. A dialogue's lot hangs on its own words and the seed alone."""

    def choose(utterances: Sequence[Utterance]) -> Sequence[int]:
        own = _lot("\n".join(map(transcript_line, utterances)))
        return _best([_lot(f"{seed} {own} {i}") for i in range(len(utterances))], n)

    return Extractive(f"random-{n}" if seed == 1 else f"random-{n}:{seed}", choose)


def role_turns(role: str) -> Extractive:
    """Every turn of a role (``customer``, ``doctor``) or, where nobody has it, of that speaker."""
    wanted = role.casefold()

    def choose(utterances: Sequence[Utterance]) -> Sequence[int]:
        roles = [i for i, one in enumerate(utterances) if one.role.casefold() == wanted]
        names = (i for i, one in enumerate(utterances) if one.speaker.casefold() == wanted)
        return roles or list(names)

    return Extractive(f"turns:{role}", choose)


def textrank(n: int) -> Extractive:
    """The ``n`` utterances that TextRank puts first (Mihalcea & Tarau 2004)."""
    return _ranked(f"textrank-{n}", textrank_scores, n)


def lexrank(n: int) -> Extractive:
    """The ``n`` utterances that continuous LexRank puts first (Erkan & Radev 2004)."""
    return _ranked(f"lexrank-{n}", lexrank_scores, n)


def _ranked(name: str, scores: Callable[[Sequence[str]], Sequence[float]], n: int) -> Extractive:
    def choose(utterances: Sequence[Utterance]) -> Sequence[int]:
        return _best(scores([utterance.text for utterance in utterances]), n)

    return Extractive(name, choose, RANKED_AT_MOST)


def _remarks(left: int, none: bool) -> Iterator[Warning]:
    if left:
        yield Warning("not_read", f"{counted(left, 'utterances')} at the end not read")
    if none:
        yield Warning("input", "no utterance is of the wanted kind")


def _best(scores: Sequence[float], n: int) -> list[int]:
    """The places of the ``n`` highest; of equals the earlier."""
    return sorted(range(len(scores)), key=lambda i: -scores[i])[:n]


def _lot(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")


CONSTANT_DIALOGSUM = (
    "#Person1# and #Person2# are talking about #Person2#'s work. "
    "#Person1# tells #Person2# about it."
)
CONSTANT_TWEETSUMM = (
    "Customer is complaining about the issue with the service. "
    "Agent requests the customer to send a DM with the details to help further."
)

BaselineSystem: TypeAlias = "Extractive | ConstantSummary | OpenAIEndpoint"

_LISTED: tuple[Extractive | ConstantSummary, ...] = (
    lead(1),
    lead(3),
    longest(1),
    longest(3),
    random_utterances(3),
    textrank(3),
    lexrank(3),
    ConstantSummary("constant-dialogsum", CONSTANT_DIALOGSUM),
    ConstantSummary("constant-tweetsumm", CONSTANT_TWEETSUMM),
)

BASELINES: "Mapping[str, Extractive | ConstantSummary]" = {
    system.name: system for system in _LISTED
}
"""Those to be listed, by name; `find_baseline` knows any number and text."""


# Baselines by the names people give them.
#
#     lead-N  longest-N  textrank-N  lexrank-N    N utterances
#     random-N  random-N:SEED                     N utterances by lot
#     turns:ROLE                                  every turn of a role or speaker
#     constant-dialogsum  constant-tweetsumm      sentences that fit any dialogue of these corpora
#     constant:TEXT                               a sentence of one's own
#     openai:URL#NAME                             a model behind an endpoint
#
# The oracle and people are not among them: they read the references (`evaluation.upper_bounds`).

_COUNTED: Mapping[str, Callable[[int], Extractive]] = {
    "lead": lead,
    "longest": longest,
    "textrank": textrank,
    "lexrank": lexrank,
    "random": random_utterances,
}
_COUNT = re.compile(rf"({'|'.join(_COUNTED)})-([0-9]{{1,9}})(?::([0-9]{{1,9}}))?")


def find_baseline(name: str) -> "BaselineSystem | None":
    """The baseline of that name; None where the name is no baseline's: it may be a model's.

    Raises:
        UsageError: it is one, but of no utterance or no text, or it needs --allow-network.
    """
    if name in BASELINES:
        return BASELINES[name]
    kind, colon, text = name.partition(":")
    if colon and kind == "openai":
        from dialogist.baselines.openai_endpoint import OpenAIEndpoint  # an optional extra

        return OpenAIEndpoint(name)
    if colon and kind in ("constant", "turns"):
        if not text.strip():
            what = "TEXT, the sentence" if kind == "constant" else "ROLE, whose turns"
            raise UsageError(f"baseline '{name}': say {kind}:{what}")
        return ConstantSummary(name, text) if kind == "constant" else role_turns(text)
    match = _COUNT.fullmatch(name)
    return None if match is None else _counted(name, match)


def _counted(name: str, found: re.Match[str]) -> Extractive | None:
    kind, count, seed = found[1], int(found[2]), found[3]
    if seed is not None and kind != "random":
        return None
    if count == 0:
        raise UsageError(f"baseline '{name}': takes at least one utterance ({kind}-1)")
    return _COUNTED[kind](count) if seed is None else random_utterances(count, int(seed))


def baseline(name: str) -> BaselineSystem:
    """The baseline of that name.

    Raises:
        UsageError: there is none; names the nearest.
    """
    found = find_baseline(name)
    if found is None:
        raise UsageError(
            f"baseline '{name}': there is none of that name{nearest(name, BASELINES)} "
            f"(any number goes: lead-5; and turns:ROLE, constant:TEXT)"
        )
    return found
