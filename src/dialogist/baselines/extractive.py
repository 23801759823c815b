"""Systems without a model, with the face of a `Summarizer`: the floors every table needs."""

from collections.abc import Callable, Mapping, Sequence

from dialogist.records import Coverage, Dialogue, Summary, Utterance


def spoken(utterance: Utterance) -> str:
    """``speaker: text``, as a transcript has it."""
    return f"{utterance.speaker}: {utterance.text}" if utterance.speaker else utterance.text


class Extractive:
    """Takes whole utterances; ``choose`` gives their indices."""

    def __init__(self, name: str, choose: Callable[[Sequence[Utterance]], list[int]]) -> None:
        self.name = name
        self._choose = choose

    def summarize(self, dialogues: Sequence[Dialogue], options: object = None) -> list[Summary]:
        """The chosen utterances of each dialogue, one a line, in their order."""
        return [self._one(dialogue) for dialogue in dialogues]

    def _one(self, dialogue: Dialogue) -> Summary:
        chosen = sorted(self._choose(dialogue.utterances))
        text = "\n".join(spoken(dialogue.utterances[i]) for i in chosen)
        count = len(dialogue.utterances)
        return Summary(
            text=text,
            id=dialogue.id,
            status="ok" if text else "empty",
            coverage=Coverage(utterances=count, utterances_read=count),
            model=self.name,
        )


class Constant:
    """Says the same about every dialogue: what template alone earns."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text

    def summarize(self, dialogues: Sequence[Dialogue], options: object = None) -> list[Summary]:
        """The sentence, for each dialogue."""
        return [Summary(text=self.text, id=d.id, model=self.name) for d in dialogues]


def lead(n: int) -> Extractive:
    """The first ``n`` utterances."""
    return Extractive(f"lead-{n}", lambda utterances: list(range(min(n, len(utterances)))))


def longest(n: int) -> Extractive:
    """The ``n`` longest utterances (in characters; ties: the earlier)."""

    def choose(utterances: Sequence[Utterance]) -> list[int]:
        order = sorted(range(len(utterances)), key=lambda i: -len(utterances[i].text))
        return order[:n]

    return Extractive(f"longest-{n}", choose)


CONSTANT_DIALOGSUM = (
    "#Person1# and #Person2# are talking about #Person2#'s work. "
    "#Person1# tells #Person2# about it."
)

BASELINES: Mapping[str, Extractive | Constant] = {
    "lead-1": lead(1),
    "lead-3": lead(3),
    "longest-1": longest(1),
    "longest-3": longest(3),
    "constant-dialogsum": Constant("constant-dialogsum", CONSTANT_DIALOGSUM),
}
"""By the name the command line knows them under."""
