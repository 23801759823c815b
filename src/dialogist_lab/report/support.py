"""What of an output its dialogue does not bear out, in words for whoever reads the report."""

from collections.abc import Mapping

from dialogist.evaluation.outputs.output import Output
from dialogist.metrics.faithfulness import Finding, FindingKind, findings
from dialogist_lab.report.marking import Spot

_WHY: Mapping[FindingKind, str] = {
    "name": "a name that the dialogue does not have",
    "speaker": "no speaker of the dialogue",
    "number": "a number that the dialogue does not have",
    "entity": "not in the dialogue",
    "swap": "who did it to whom may be swapped",
    "negation": "denies what the dialogue does not deny",
    "lost_negation": "the dialogue denies this",
}
_LONGEST = 60


def unsupported(output: Output) -> list[Spot]:
    """The findings in an output; none where its dialogue is not known."""
    if output.dialogue is None:
        return []
    found = findings(output.prediction, output.dialogue)
    return [Spot(one.start, one.end, _why(one)) for one in found]


def _why(finding: Finding) -> str:
    text = " ".join(finding.text.split())
    shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return f"“{shown}”: {_WHY[finding.kind]}"
