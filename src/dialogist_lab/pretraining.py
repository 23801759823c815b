"""Word vectors trained on dialogues, and examples of what denoising does to them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dialogist.data.chance import Chance
from dialogist.data.collate import EncodedPair
from dialogist.data.noise import KINDS, Noise, NoiseKind, utterances_of
from dialogist.data.prepare import Preparation
from dialogist.errors import DataError, UsageError, needs_extra
from dialogist.files import temporary_for, writing
from dialogist.objectives.cross_entropy import DenoisingConfig
from dialogist.recipe.corpus import Corpus, Note, settle_tokenizer
from dialogist.recipe.recipe_config import Recipe
from dialogist.recipe.training_set import PairMaker, speaker_ids
from dialogist.language.tokens import counted, words_in
from dialogist.tokenizers import Tokenizer, placeholder, read_tokenizer

NOISE_MASK = "____"
_READ = 300  # dialogues for the examples, and for a tokenizer where none is given


@dataclass(frozen=True, slots=True)
class NoiseExample:
    """One window: what the model reads (utterance by utterance) and what it is to write."""

    kind: NoiseKind
    dialogue: str
    reads: tuple[str, ...]
    writes: str


def noise_examples(
    recipe: Recipe, data: Path, tokenizer: Path | None, count: int, note: Note
) -> list[NoiseExample]:
    """``count`` examples of each kind that the recipe weighs above 0.

    From its first dialogues; ``tokenizer`` is a folder, None trains one on these.

    Raises:
        UsageError: the recipe's objective is another one.
    """
    if not isinstance(recipe.objective, DenoisingConfig):
        raise UsageError(f"{recipe.name}: objective.kind is {recipe.objective.kind}, not denoising")
    preparation = Preparation(recipe.preparation)
    dialogues = islice(Corpus(recipe.data.train, data, note), _READ)
    examples = [preparation.prepare(dialogue) for dialogue in dialogues]
    if tokenizer is not None:
        known = read_tokenizer(tokenizer)
    else:
        with TemporaryDirectory() as place:
            folder = Path(place) / "tokenizer"
            known = settle_tokenizer(folder, recipe.tokenizer, examples, preparation, note)
    windows = PairMaker(preparation, known, windows=True).all(examples)
    speakers = speaker_ids(preparation, known)
    longest = recipe.preparation.limits.summary_tokens
    noise = Noise(recipe.objective.noise, known.symbols, speakers, longest)
    return list(_shown(noise, windows, known, count))


def _shown(
    noise: Noise, windows: Sequence[EncodedPair], tokenizer: Tokenizer, count: int
) -> Iterator[NoiseExample]:
    for kind, weight in zip(KINDS, noise.config.weights, strict=True):
        order = Chance("examples", kind).order(len(windows) if weight else 0)
        found = (noise.of_kind(kind, windows[i], Chance("example", kind, i)) for i in order)
        for pair in islice((pair for pair in found if pair is not None), count):
            reads = tuple(_readable(ids, tokenizer) for ids in utterances_of(pair))
            yield NoiseExample(kind, pair.id, reads, _readable(pair.target, tokenizer))


def _readable(ids: Sequence[int], tokenizer: Tokenizer) -> str:
    """Text with the mask as `NOISE_MASK` and speakers as ``[1]``, ``[2]`` ..."""
    pieces: list[list[int]] = [[]]
    for token in ids:
        if token == tokenizer.unk_id:
            pieces.append([])
        else:
            pieces[-1].append(token)
    text = f" {NOISE_MASK} ".join(tokenizer.decode(piece).strip() for piece in pieces)
    for number in range(len(tokenizer.placeholder_ids())):
        text = text.replace(placeholder(number), f" [{number + 1}] ")
    return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class VectorTraining:
    """Options of the training."""

    width: int = 300
    epochs: int = 5
    min_count: int = 5
    seed: int = 1


def train_vectors(
    texts: Iterable[str], config: VectorTraining, output: Path, note: Note
) -> tuple[int, int]:
    """Train on ``texts`` and write word2vec's text format; texts are held on disk, not in memory.

    Returns how many words got a vector, and how many there are in all.

    Raises:
        DataError: no word is frequent enough, or a file cannot be written.
        MissingExtraError: gensim is not installed.
    """
    with needs_extra("training word vectors", "vectors"):
        from gensim.models import callbacks, word2vec

    class Told(callbacks.CallbackAny2Vec):  # type: ignore[misc]
        done = 0

        def on_epoch_end(self, model: Any) -> None:
            self.done += 1
            note(f"epoch {self.done} of {config.epochs} done")

    with writing(output), TemporaryDirectory(prefix="dialogist-") as folder:
        corpus = Path(folder) / "corpus.txt"
        lines, words = _write_corpus(texts, corpus)
        note(f"{counted(lines, 'texts')} with {counted(words, 'words')} read")
        model = word2vec.Word2Vec(
            vector_size=config.width,
            window=5,  # as the paper's software has it
            min_count=config.min_count,
            sg=1,  # skip-gram learns better vectors from little text than a bag of words
            seed=config.seed,
            workers=1,  # several would learn in random order
        )
        sentences = word2vec.LineSentence(str(corpus))
        model.build_vocab(sentences)
        if not len(model.wv):
            few = f"no word occurs {config.min_count} times in these texts"
            raise DataError(f"{few}: give more, or --min-count 1")
        model.train(sentences, total_examples=lines, epochs=config.epochs, callbacks=[Told()])
        _write(model.wv, output)
    return len(model.wv), words


def _write_corpus(texts: Iterable[str], path: Path) -> tuple[int, int]:
    """One text a line, its words between spaces."""
    lines = total = 0
    with path.open("w", encoding="utf-8", errors="replace") as file:
        for text in texts:
            words = words_in(text.lower())
            if words:
                file.write(" ".join(words) + "\n")
                lines += 1
                total += len(words)
    return lines, total


def _write(vectors: Any, output: Path) -> None:
    temporary = temporary_for(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    with temporary.open("w", encoding="utf-8") as file:
        file.write(f"{len(vectors)} {vectors.vector_size}\n")
        for word, row in zip(vectors.index_to_key, vectors.vectors, strict=True):
            file.write(f"{word} {' '.join(f'{value:.6g}' for value in row.tolist())}\n")
    temporary.replace(output)
