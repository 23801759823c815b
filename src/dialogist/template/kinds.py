"""The kinds of statement in words: behind each statement, and once below all of them."""

from collections.abc import Collection, Mapping

from dialogist.records import StatementKind

SHOWN: Mapping[StatementKind, str] = {
    "checked": "checked",
    "reported": "reported",
    "quoted": "quoted",
    "free": "not verified",
}
"""What stands behind a statement."""

_MEANING: Mapping[StatementKind, str] = {
    "checked": "written by the network, accepted by a verifier",
    "reported": "what somebody said, in the third person by rules",
    "quoted": "the words themselves",
}


def legend(kinds: Collection[str]) -> str:
    """Return what the kinds mean, on one line. A summary's status tells of ``free``."""
    return "; ".join(f"{SHOWN[kind]}: {told}" for kind, told in _MEANING.items() if kind in kinds)
