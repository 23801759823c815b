"""Which records and turns of a file are read: the user's conditions, and internal notes."""

from collections import Counter
from collections.abc import Mapping, Sequence

from dialogist.data.readers.base import ReadOptions, Reporter
from dialogist.data.readers.keys import some
from dialogist.data.readers.where import value_at
from dialogist.errors import DataError
from dialogist.records import JSON
from dialogist.text.listing import counted

_PUBLIC = "public"


class Selection:
    """Applies the conditions of one file, and counts what they leave out.

    A condition is about the record where the record has its key, else about each of its turns.
    """

    def __init__(self, options: ReadOptions) -> None:
        self._conditions = options.where
        self._notes_out = not options.internal_notes and all(
            condition.key != _PUBLIC for condition in options.where
        )
        self._met: set[str] = set()
        self._keys: dict[str, None] = {}
        self._left: Counter[str] = Counter()

    def takes(self, record: Mapping[str, JSON]) -> bool:
        """Whether a record that is one turn or row is to be read."""
        if self._is_internal(record):
            self._left["internal note"] += 1
            return False
        if self._conditions and not self._all_hold(record):
            self._left["record"] += 1
            return False
        return True

    def takes_whole(self, record: Mapping[str, JSON], turns: Sequence[JSON]) -> bool:
        """Whether a record with these turns is to be read, as far as its own keys tell."""
        if not self._conditions:
            return True
        objects = [turn for turn in turns if isinstance(turn, dict)]
        for condition in self._conditions:
            found = value_at(record, condition.key)
            about_turns = not found.there and any(
                value_at(turn, condition.key).there for turn in objects
            )
            self._see(condition.key, found.there or about_turns, record)
            if not about_turns and not condition.holds(found):
                self._left["record"] += 1
                return False
        return True

    def turns(self, record: Mapping[str, JSON], turns: Sequence[JSON]) -> list[JSON]:
        """The turns of a record that are to be read."""
        kept = [turn for turn in turns if not (isinstance(turn, dict) and self._is_internal(turn))]
        self._left["internal note"] += len(turns) - len(kept)
        chosen = kept
        for condition in self._conditions:
            if not value_at(record, condition.key).there:
                chosen = [
                    turn
                    for turn in chosen
                    if not isinstance(turn, dict) or condition.holds(value_at(turn, condition.key))
                ]
        self._left["turn"] += len(kept) - len(chosen)
        return chosen

    def tell(self, report: Reporter) -> None:
        """Note what was left out.

        Raises:
            DataError: a condition names a key that nothing in the file has.
        """
        for condition in self._conditions:
            if condition.key not in self._met and self._keys:
                raise DataError(
                    f"{report.file}: --where {condition}: nothing has '{condition.key}' "
                    f"(found: {some(self._keys)})"
                )
        asked = " ".join(f"--where {condition}" for condition in self._conditions)
        for what in ("record", "turn"):
            if self._left[what]:
                report.note(f"{counted(self._left[what], f'{what}s')} left out by {asked}")
        if count := self._left["internal note"]:
            left = counted(count, "internal notes")
            report.note(f"{left} left out (public=false); --internal-notes reads them, too")

    def _all_hold(self, record: Mapping[str, JSON]) -> bool:
        holds = True
        for condition in self._conditions:
            found = value_at(record, condition.key)
            self._see(condition.key, found.there, record)
            holds = holds and condition.holds(found)
        return holds

    def _see(self, key: str, there: bool, record: Mapping[str, JSON]) -> None:
        if there:
            self._met.add(key)
        elif not self._keys:
            self._keys.update(dict.fromkeys(record))

    def _is_internal(self, turn: Mapping[str, JSON]) -> bool:
        if not self._notes_out:
            return False
        public = turn.get(_PUBLIC)
        return public is False or (isinstance(public, str) and public.strip().lower() == "false")
