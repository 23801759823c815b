"""Sections that only the dialogue's own rules fill: decisions, actions, what was done, outcomes.

A model's sentence under "Outcome" is read as a fact. Labels and titles tell such sections, too,
where a template asks for key points.
"""

import re
from collections.abc import Mapping

from dialogist.template.config import SectionConfig, Source

RULED: Mapping[Source, str] = {
    "issue": "what a customer comes with",
    "done": "what was done",
    "outcome": "how it ended",
    "decisions": "decisions",
    "actions": "actions",
    "questions": "open questions",
}
"""The sources that read the dialogue and never the summary."""

_TITLE = re.compile(
    r"\b(?:decisions?|decided|agreed|agreements?|actions?|outcomes?|resolutions?|resolved|"
    r"solutions?|done|measures|steps?|to[ -]?dos?|tasks?|follow[ -]?ups?|end(?:ed|ing)?|promises?|"
    r"promised|plans?|commitments?|conclusions?|closure|closing|instructions|disposition)\b"
    r"|决定|结果|待办|处理|措施|结论|行动|承诺|解决|下一步",
    re.I,
)
_LABELS = frozenset(
    line.strip()
    for line in """
    Decision; Action; Open question; Agreement; Refusal; Purchase; Solution; Escalation;
    E-mail sent; Refund granted; Refund refused; Compensation; Driver penalised;
    Driver not penalised;
    Order cancelled; Order not cancelled; Close the order; Keep the order open; End; Call dropped;
    Need call back; No call back needed; User approval; User disapproval; User undecided;
    Identity verified; Identity not verified; Driver contacted; Driver unreachable;
    Payment confirmed; Payment failed; Item found; Item not found; Plan; Assessment and plan;
    Instructions; Disposition; Procedure
    """.replace("\n", " ").split(";")
)  # fmt: skip


def is_ruled(section: SectionConfig) -> bool:
    """Whether a section says what somebody decided, did, will do, or how things ended."""
    if section.source in RULED:
        return True
    if section.source != "key_points":
        return False
    return _TITLE.search(section.title) is not None or not _LABELS.isdisjoint(section.labels)
