"""`Highlights`: the built-in writer, for now as the selection of before chooses, all quoted."""

from dialogist.data.normalise import readable_in_place, without_long_runs
from dialogist.highlights.network import bundled_network
from dialogist.highlights.select import MOST, USUAL, select
from dialogist.records import Dialogue, Draft, EvidenceSpan, Length, SummaryOptions

_BUDGETS: dict[Length, tuple[float, int, int, float]] = {
    "short": (0.25, 18, 60, 0.0),
    "medium": (MOST, 25, 150, USUAL),
    "long": (0.65, 40, 400, 0.0),
}


class Highlights:
    """Quotes the most important of what was said."""

    name, licence, language, at_once = "highlights", "Apache-2.0", "en", 1

    def write(self, dialogue: Dialogue, form: object, options: SummaryOptions) -> list[Draft]:
        """Quotes in the order of the dialogue."""
        read = [without_long_runs(readable_in_place(u.text)) for u in dialogue.utterances]
        numbers = [i for i, words in enumerate(read) if words.text.strip()]
        turns = [(dialogue.utterances[i].speaker, read[i].text) for i in numbers]
        share, fewest, most, usual = _BUDGETS[options.length]
        budget = int(share * sum(len(u.text.split()) for u in dialogue.utterances))
        usual = usual if fewest < budget <= most else 0.0
        budget = options.words or min(max(budget, fewest), most)
        network, about = bundled_network(), options.focus or ""
        drafts = []
        for chosen in select(turns, network, budget, options.length == "short", about, usual):
            spans = []
            for unit in chosen.units:
                number, words = numbers[unit.turn], read[numbers[unit.turn]]
                start, end = words.place(unit.start), words.place(unit.end - 1) + 1
                spans.append(EvidenceSpan(number, start, end))
            quotes = (
                f'{u.speaker}: "{u.text[s.start : s.end]}"'
                if u.speaker
                else u.text[s.start : s.end]
                for s in spans
                for u in (dialogue.utterances[s.utterance],)
            )
            text, importance = " – ".join(quotes), round(chosen.probability, 4)
            drafts.append(Draft(text, (), "", tuple(spans), importance))
        return drafts


def open_highlights(options: str = "") -> Highlights:
    """The built-in writer; it takes no options."""
    return Highlights()
