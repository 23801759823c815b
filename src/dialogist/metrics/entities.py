"""Whether a dialogue holds an entity that can be told by its form."""

import re

from dialogist.metrics.evidence import Evidence
from dialogist.text.entities import Entity
from dialogist.text.names import MONTHS

_SHORTEST_SQUASHED = 5
_PARTS = re.compile(r"[^\W\d_]+|\d+")


def supports_entity(evidence: Evidence, entity: Entity) -> bool:
    """Whether the entity is in the dialogue, in whichever spelling."""
    if entity.value in evidence.entities:
        return True
    if entity.kind == "phone":
        return entity.value in evidence.digits
    if entity.kind == "month":  # April and May are names, too
        return MONTHS[int(entity.value[1:]) - 1] in evidence.capitals
    if entity.kind == "day":
        return False
    parts = " ".join(_PARTS.findall(entity.value))  # PS4 is written PS 4, too
    return (
        (len(entity.value) >= _SHORTEST_SQUASHED and entity.value in evidence.squashed)
        or f" {entity.value} " in evidence.spaced
        or f" {parts} " in evidence.spaced
    )
