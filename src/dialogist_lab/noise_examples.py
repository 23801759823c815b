"""What a denoising recipe asks of a model, as text: some examples of each kind of noise."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from dialogist.data.chance import Chance
from dialogist.data.collate import Pair
from dialogist.data.noise import KINDS, Kind, Noise
from dialogist.data.prepare import Preparation
from dialogist.data.windows import utterances_of
from dialogist.errors import UsageError
from dialogist.objectives.cross_entropy import DenoisingConfig
from dialogist.recipe.config import Recipe
from dialogist.recipe.corpus import Corpus, Note, settle_tokenizer
from dialogist.recipe.pairs import PairMaker, speaker_ids
from dialogist.tokenizers import Tokenizer, placeholder, read_tokenizer

MASK = "____"
_READ = 300  # dialogues for the examples, and for a tokenizer where none is given


@dataclass(frozen=True, slots=True)
class NoiseExample:
    """One window: what the model reads (utterance by utterance) and what it is to write."""

    kind: Kind
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
    noise: Noise, windows: Sequence[Pair], tokenizer: Tokenizer, count: int
) -> Iterator[NoiseExample]:
    for kind, weight in zip(KINDS, noise.config.weights, strict=True):
        order = Chance("examples", kind).order(len(windows) if weight else 0)
        found = (noise.of_kind(kind, windows[i], Chance("example", kind, i)) for i in order)
        for pair in islice((pair for pair in found if pair is not None), count):
            reads = tuple(readable(ids, tokenizer) for ids in utterances_of(pair))
            yield NoiseExample(kind, pair.id, reads, readable(pair.target, tokenizer))


def readable(ids: Sequence[int], tokenizer: Tokenizer) -> str:
    """Text with the mask as `MASK` and speakers as ``[1]``, ``[2]`` ..."""
    pieces: list[list[int]] = [[]]
    for token in ids:
        if token == tokenizer.unk_id:
            pieces.append([])
        else:
            pieces[-1].append(token)
    text = f" {MASK} ".join(tokenizer.decode(piece).strip() for piece in pieces)
    for number in range(len(tokenizer.placeholder_ids())):
        text = text.replace(placeholder(number), f" [{number + 1}] ")
    return " ".join(text.split())
