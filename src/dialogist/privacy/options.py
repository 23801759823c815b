"""What is to be masked: the kinds, the names, and the packs that know them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from dialogist.errors import UsageError, nearest
from dialogist.privacy.packs import PrivacyPack, bundled_pack, bundled_packs, load_pack
from dialogist.privacy.rules import Rule

PERSON, NAME, CODE = "PERSON", "NAME", "CODE"

Names: TypeAlias = Literal["none", "speakers", "people", "all"]
NAMES: tuple[Names, ...] = get_args(Names)
"""Whose names are masked: nobody's; the speakers' and their mentions; other people's, too, as far
as they are told; every word that looks like a name, places and firms among them."""


@dataclass(frozen=True, slots=True)
class Privacy:
    """What to mask: see `privacy_of`. ``kinds`` are those wanted, ``rules`` in their precedence."""

    kinds: frozenset[str]
    names: Names
    rules: tuple[Rule, ...]
    keep: tuple[re.Pattern[str], ...]
    given_names: frozenset[str]


def privacy_of(kinds: str = "", names: str = "none", packs: Iterable[Path] = ()) -> Privacy:
    """What to mask, from what a person says.

    ``kinds``: names between commas, ``all``, or ``+URL,-CODE``: more or fewer than without.
    ``packs``: privacy packs beside the bundled ones; their rules come first.

    Raises:
        UsageError: there is no such kind or choice of names.
        ConfigError: a pack cannot be read, or is at fault.
    """
    every = [*map(load_pack, packs), *map(bundled_pack, bundled_packs())]
    if names not in NAMES:
        hint = nearest(names, NAMES)
        raise UsageError(f"--names {names}: must be one of {', '.join(NAMES)}{hint}")
    chosen: Names = NAMES[NAMES.index(names)]
    wanted = _chosen(kinds, every)
    return Privacy(
        kinds=wanted | {PERSON} if chosen in ("people", "all") else wanted,
        names=chosen,
        # What fits a whole kind of entities comes after what tells more of some of them.
        rules=tuple(sorted((r for pack in every for r in pack.rules), key=lambda r: r.is_plain)),
        keep=tuple(pattern for pack in every for pattern in pack.keep),
        given_names=frozenset().union(*(pack.given_names for pack in every)),
    )


def described_kinds(packs: Iterable[Path] = ()) -> Mapping[str, tuple[str, bool]]:
    """Every kind: what it is, and whether it is masked unless asked otherwise.

    Raises:
        ConfigError: a pack cannot be read, or is at fault.
    """
    return _described([*map(load_pack, packs), *map(bundled_pack, bundled_packs())])


def _described(packs: Iterable[PrivacyPack]) -> dict[str, tuple[str, bool]]:
    found: dict[str, tuple[str, bool]] = {}
    for pack in packs:
        for kind, what in pack.kinds.items():
            if kind != PERSON:
                found.setdefault(kind, (what, kind not in pack.optional))
    return found


def _chosen(text: str, packs: Iterable[PrivacyPack]) -> frozenset[str]:
    described = _described(packs)
    words = [word.strip() for word in text.split(",") if word.strip()]
    usual = {kind for kind, (_, masked) in described.items() if masked}
    chosen = set(usual) if all(word[0] in "+-" for word in words) else set()
    for word in words:
        kind = word.lstrip("+-").upper()
        if kind != "ALL" and kind not in described:
            raise UsageError(_no_kind(kind, described))
        named = set(described) if kind == "ALL" else {kind}
        chosen = chosen - named if word[0] == "-" else chosen | named
    if not chosen and "-" not in text:
        raise UsageError("--kinds: names no kind")
    return frozenset(chosen)


def _no_kind(kind: str, described: Iterable[str]) -> str:
    if kind in (PERSON, NAME):
        return f"--kinds {kind}: names of people are masked with --names"
    known = list(described)
    return (
        f"--kinds {kind}: there is no such kind{nearest(kind, known)} (one of {', '.join(known)})"
    )
