"""`Corruption`: a summary with one error planted into it, for a model to learn what not to say.

The errors are those that summarizers make (Kryscinski et al. 2020; Cao and Wang 2021): another
name, number or date, speakers that change places. They are planted by the rules with which
evaluation tests its own checks (`dialogist.data.planting`).
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from dialogist.config import Config
from dialogist.data.chance import Chance
from dialogist.data.collate import Pair
from dialogist.data.planting import (
    Ground,
    Planter,
    names_of,
    plant_entity,
    plant_name,
    plant_number,
)
from dialogist.data.planting_roles import plant_denial, plant_swap
from dialogist.data.spelled import dialogue_of, respelled, summary_of
from dialogist.tokenizers import Tokenizer

Error: TypeAlias = Literal["name", "number", "entity", "swap", "denial"]

_PLANTERS: dict[Error, Planter] = {
    "name": plant_name,
    "number": plant_number,
    "entity": plant_entity,
    "swap": plant_swap,
    "denial": plant_denial,
}
UNNAMED: tuple[Error, ...] = ("number", "swap", "denial")
"""Those that are planted without looking for words with capitals."""

_LOOKED_AT = 2000  # pairs, for names that are put in place of others


class CorruptionConfig(Config):
    """``share`` of the pairs get a corrupted summary in an epoch, as far as an error finds a place.

    ``errors``: of these one is planted: another ``name``, ``number``, ``entity`` (weekday, month,
    code), a ``swap`` of speakers in a sentence, a ``denial`` of what is asserted.
    """

    share: float = Field(0.5, gt=0, le=1)
    errors: tuple[Error, ...] = Field(("name", "number", "entity", "swap"), min_length=1)


class Corruption:
    """A `Change` that gives pairs a corrupted summary beside the right one."""

    name: ClassVar[str] = "corruption"
    keeps_lengths: ClassVar[bool] = True

    def __init__(
        self,
        config: CorruptionConfig,
        tokenizer: Tokenizer,
        speakers: frozenset[int],
        pairs: Sequence[Pair],
        longest: int | None = None,
    ) -> None:
        """``pairs``: of training, where other names are found; ``longest``: tokens of a target."""
        self.config = config
        self.tokenizer = tokenizer
        self.speakers = speakers
        self.longest = longest
        self._pairs = pairs

    @cached_property
    def names(self) -> list[str]:
        """Names that are said in the first training dialogues."""
        some = islice(self._pairs, _LOOKED_AT)
        return names_of([dialogue_of(pair, self.tokenizer, self.speakers) for pair in some])

    def __call__(self, pair: Pair, chance: Chance) -> Pair:
        """The first error in a random order that finds a place; else the pair as it is."""
        if chance.share() >= self.config.share:
            return pair
        dialogue = dialogue_of(pair, self.tokenizer, self.speakers)
        ground = Ground(summary_of(pair, self.tokenizer), dialogue, self.names)
        generator = chance.generator()
        for number in chance.order(len(self.config.errors)):
            planted = _PLANTERS[self.config.errors[number]](ground, generator)
            if planted is not None:
                wrong = respelled(planted.text, self.tokenizer)
                fits = self.longest is None or len(wrong) <= self.longest
                return replace(pair, corrupted=wrong) if fits else pair
        return pair
