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
        for name, alternatives in fragments.items():
            place = ("fragments", name)
            if not re.fullmatch(r"\w+", name):
                message = f"'{name}': names are made of letters, digits and _"
                raise source.fault(place, message)
            pattern = "|".join(alternatives)
            self.compiled(pattern, place)
            self._fragments[name] = self.expanded(pattern, place)

    def expanded(self, pattern: str, place: _Place) -> str:
        """The pattern with its calls written out.

        Raises:
            ConfigError: it calls a fragment that is not there; names the line.
        """

        def written_out(call: re.Match[str]) -> str:
            if call[1] not in self._fragments:
                hint = nearest(call[1], self._fragments)
                message = f"{call[0]}: no fragment above has that name{hint}"
                raise self._source.fault(place, message)
            return f"(?:{self._fragments[call[1]]})"

        return _CALL.sub(written_out, pattern)

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
