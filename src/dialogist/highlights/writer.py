"""`Highlights`, the built-in writer: the most important of what was said, in its own words."""

from dialogist.highlights.network import bundled_network
from dialogist.highlights.selection import MOST, USUAL, select
from dialogist.language.reading import reading_of
from dialogist.records import Dialogue, Draft, Length, SummaryOptions, WriterOutput

# Words as a share of the dialogue's, at least and at most so many; and the usual share of them.
_LENGTHS: dict[Length, tuple[float, int, int, float]] = {
    "short": (0.25, 18, 60, 0.0),
    "medium": (MOST, 25, 150, USUAL),
    "long": (0.65, 40, 400, 0.0),
}


class Highlights:
    """Quotes clauses, answers with their questions and offers with their replies.

    It reads English, needs neither a model nor a GPU, and writes nothing of its own.
    """

    name, licence, language, at_once = "highlights", "Apache-2.0", "en", 1

    def write(self, dialogue: Dialogue, form: object, options: SummaryOptions) -> WriterOutput:
        """The statements in the order of the dialogue; they belong to no section of a form."""
        reading = reading_of(dialogue)
        focus = options.focus or ""
        share, fewest, most, usual = _LENGTHS[options.length]
        words = (unit.words for unit in reading.units if focus in ("", unit.speaker))
        budget = int(share * sum(words))
        usual = usual if fewest < budget <= most else 0.0
        budget = min(max(budget, fewest), most)
        if options.words is not None:
            budget, usual = options.words, 0.0
        is_short = options.length == "short"
        highlights = select(reading, bundled_network(), budget, is_short, focus, usual)
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
