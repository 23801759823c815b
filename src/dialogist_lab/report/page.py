"""The report as one HTML file: figures, style and all inside, no script at all."""

from collections.abc import Iterator

from dialogist.evaluation.pages import asset, content_policy, page_templates, trusted
from dialogist.records import Dialogue, Utterance
from dialogist_lab.report.canvas import Picture
from dialogist_lab.report.contents import Contents
from dialogist_lab.report.examples import Example

_LONGEST = 20_000  # characters of a dialogue that stand in the page; more is counted


def render_page(contents: Contents, version: str) -> str:
    """The whole page.

    Raises:
        MissingExtraError: jinja2 or matplotlib is not installed.
    """
    engine = page_templates("dialogist report")
    engine.globals.update(
        panels=_panels, turns=lambda example: list(_turns(example)), left_out=_left_out
    )
    return engine.get_template("report.html.j2").render(
        policy=content_policy(),
        style=trusted(asset("style.css") + asset("report.css")),
        contents=contents,
        version=version,
    )


def _panels(picture: Picture) -> list[tuple[str, str]]:
    """Title and SVG of every panel; the SVG is ours and safe."""
    return [
        (panel.title, trusted(svg))
        for panel, svg in zip(picture.panels, picture.svgs(), strict=True)
    ]


def _turns(example: Example) -> Iterator[tuple[int, Utterance]]:
    """The turns shown, each with its speaker's number."""
    if example.dialogue is None:
        return
    speakers = example.dialogue.speakers
    for utterance in example.dialogue.utterances[: _shown(example.dialogue)]:
        yield speakers.index(utterance.speaker) if utterance.speaker else 0, utterance


def _left_out(example: Example) -> int:
    """How many turns of a very long dialogue are not shown."""
    if example.dialogue is None:
        return 0
    return len(example.dialogue.utterances) - _shown(example.dialogue)


def _shown(dialogue: Dialogue) -> int:
    total = 0
    for number, utterance in enumerate(dialogue.utterances):
        total += len(utterance.text)
        if total > _LONGEST and number:
            return number
    return len(dialogue.utterances)
