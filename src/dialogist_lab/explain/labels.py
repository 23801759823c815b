"""How tokens and maps are called where they are shown."""

from dialogist_lab.explain.choice import Shown
from dialogist_lab.explain.explanation import Explanation

_LONGEST = 24  # characters of a token beside a map: one word may be a long address


def visible(text: str) -> str:
    """White space as ``␣``, and ``·`` for a token that adds nothing by itself."""
    if text.strip():
        return text.strip()
    return "␣" if text else "·"


def tick(text: str) -> str:
    """A token in one short line of printable characters."""
    line = "".join(c if c.isprintable() else " " for c in visible(text))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def map_label(explanation: Explanation, shown: Shown) -> str:
    """Which of a family a map is: its layer, and its utterance or sub-summary."""
    found = shown.map
    names = [f"layer {found.layer}"] if found.layer else []
    if not found.layer and not shown.heads:
        names = ["all layers"]
    if found.group is not None and found.role == "within":
        names.append(f"utterance {explanation.labels('utterances')[found.group]}")
    elif found.group is not None:
        names.append(f"sub-summary {found.group + 1}")
        if explanation.key_points:
            names.append(explanation.key_points[found.group].label)
    return ", ".join(names)
