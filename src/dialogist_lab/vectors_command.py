"""``dialogist data vectors``: word vectors trained on dialogues and documents, by gensim."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from dialogist.errors import DataError
from dialogist.formats import read_dialogues
from dialogist.language.tokens import words_in


def vectors(
    files: Annotated[list[Path], typer.Argument(help="Dialogue or document files to learn from.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the vectors.")],
    width: Annotated[int, typer.Option(help="Numbers per word.", min=1)] = 300,
    epochs: Annotated[int, typer.Option(help="Passes over the text.", min=1)] = 5,
    min_count: Annotated[int, typer.Option(help="Rarer words get no vector.", min=1)] = 5,
    seed: Annotated[int, typer.Option(help="Another seed, other vectors.", min=0)] = 1,
) -> int:
    """Train word vectors (Word2Vec) on FILES, for a recipe's vectors.path; GloVe's work as well."""
    from gensim.models.word2vec import LineSentence, Word2Vec

    with TemporaryDirectory(prefix="dialogist-") as folder:
        corpus = Path(folder) / "corpus.txt"  # the texts are held on disk, not in memory
        with corpus.open("w", encoding="utf-8", errors="replace") as lines:
            lines.writelines(f"{' '.join(words_in(text.lower()))}\n" for text in _texts(files))
        sentences = LineSentence(str(corpus))
        model = Word2Vec(
            vector_size=width,
            min_count=min_count,
            sg=1,  # skip-gram learns better vectors from little text than a bag of words
            seed=seed,
            workers=1,  # several would learn in random order
        )
        model.build_vocab(sentences)
        if not len(model.wv):
            raise DataError(f"no word occurs {min_count} times in these texts: --min-count 1")
        model.train(sentences, total_examples=model.corpus_count, epochs=epochs)
    output.parent.mkdir(parents=True, exist_ok=True)
    temporary = output.with_name(f".new-{output.name}")
    model.wv.save_word2vec_format(str(temporary))
    temporary.replace(output)
    typer.echo(f"{output}: {len(model.wv)} words of {width} numbers each")
    return 0


def _texts(files: list[Path]) -> Iterator[str]:
    """Everything said or written: utterances (of a document: sentences), and summaries."""
    for dialogue in chain.from_iterable(map(read_dialogues, files)):
        yield from (utterance.text for utterance in dialogue.utterances)
        yield from dialogue.references
