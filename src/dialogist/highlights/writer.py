"""`Highlights`, the built-in writer: the most important of what was said, in its own words."""

from collections.abc import Mapping

from dialogist.highlights.section_network import section_chances
from dialogist.highlights.selection import select
from dialogist.language.reading import reading_of
from dialogist.records import Dialogue, Draft, Length, SummaryOptions, WriterOutput

# Words as a share of the dialogue's, at least and at most so many.
_LENGTHS: Mapping[Length, tuple[float, int, int]] = {
    "short": (0.15, 12, 60),
    "medium": (0.35, 12, 150),
    "long": (0.65, 40, 300),
}


class Highlights:
    """Quotes turns, or parts of long ones, with the brief replies to them.

    It reads English, needs neither a model nor a GPU, and writes nothing of its own.
    """

    name, licence, language, at_once = "highlights", "Apache-2.0", "en", 1

    def write(self, dialogue: Dialogue, form: object, options: SummaryOptions) -> WriterOutput:
        """The statements in the order of the dialogue; a short summary begins with the outcome."""
        reading = reading_of(dialogue)
        focus = options.focus or ""
        length = options.length or "long"
        share, fewest, most = _LENGTHS[length]
        words = (unit.words for unit in reading.units if focus in ("", unit.speaker))
        budget = int(share * sum(words))
        budget = min(max(budget, fewest), most)
        if options.words is not None:
            budget = options.words
        filed = section_chances(dialogue)
        if not filed.candidates:
            return WriterOutput(())
        highlights = select(reading, filed, budget, length == "short", focus)
        kept = {highlight.text: highlight for highlight in highlights}  # each once
        return WriterOutput(
            tuple(
                Draft(highlight.text, (), "", highlight.quotes, round(highlight.chance, 4))
                for highlight in kept.values()
            )
        )


def open_highlights(options: str = "") -> Highlights:
    """The built-in writer; it takes no options."""
    return Highlights()
