"""The regular expressions of packs: parts with names, and faults that name their line."""

import re
import warnings
from collections.abc import Mapping, Sequence

from dialogist.data.yaml_lines import YamlSource
from dialogist.errors import nearest

# What Perl and PCRE call a subpattern call; to Python's `re` it is an error, so it is free to use.
_CALL = re.compile(r"\(\?&(\w+)\)")
_Place = tuple[object, ...]


class PackPatterns:
    """Reads patterns that call fragments as ``(?&name)``; all are case-insensitive."""

    def __init__(self, fragments: Mapping[str, Sequence[str]], source: YamlSource) -> None:
        """``fragments`` are lists of alternatives under their names; each may call those above.

        Raises:
            ConfigError: a name or a pattern is at fault; names the line.
        """
        self._source = source
        self._fragments: dict[str, str] = {}
        self._compiled: dict[str, re.Pattern[str]] = {}
        for name, alternatives in fragments.items():
            place = ("fragments", name)
            if not re.fullmatch(r"\w+", name):
                message = f"'{name}': names are made of letters, digits and _"
                raise source.fault(place, message)
            pattern = "|".join(alternatives)
            self._compiled[name] = self.compiled(pattern, place)
            self._fragments[name] = self.expanded(pattern, place)

    def expanded(self, pattern: str, place: _Place) -> str:
        """The pattern with its calls written out.

        Raises:
            ConfigError: it calls a fragment that is not there; names the line.
        """

        def written_out(call: re.Match[str]) -> str:
            self._expect(call[1], call[0], place)
            return f"(?:{self._fragments[call[1]]})"

        return _CALL.sub(written_out, pattern)

    def named(self, name: str, place: _Place) -> re.Pattern[str]:
        """The fragment of that name, as a regular expression of its own.

        Raises:
            ConfigError: there is none; names the line.
        """
        self._expect(name, name, place)
        return self._compiled[name]

    def compiled(self, pattern: str, place: _Place, form: str = "{}") -> re.Pattern[str]:
        """The pattern, put in the place of ``{}`` in ``form``, as a regular expression.

        Raises:
            ConfigError: it is none, or calls a fragment that is not there; names the line.
        """
        expanded = self.expanded(pattern, place)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # what Python will read differently one day
                if form != "{}":
                    re.compile(expanded)  # alone: "a)(b" would fit into the brackets of a form
                return re.compile(form.replace("{}", expanded), re.IGNORECASE)
        except (re.error, Warning, RecursionError, OverflowError) as error:
            raise self._source.fault(place, f"no regular expression: {error}") from None

    def _expect(self, name: str, written: str, place: _Place) -> None:
        if name not in self._fragments:
            hint = nearest(name, self._fragments)
            raise self._source.fault(place, f"{written}: no fragment above has that name{hint}")
