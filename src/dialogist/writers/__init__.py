"""Writers: whatever writes the sentences of a summary, found by its name; all of equal rank."""

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from dialogist.errors import UsageError, nearest
from dialogist.records import Dialogue, Draft, SummaryOptions

if TYPE_CHECKING:
    from dialogist.forms.form_file import Form

WRITERS = "dialogist.writers"
"""The group of entry points by which other packages offer writers.

Each is called with what follows the colon of its name and returns a `Writer`.
"""

OWN_WRITERS = {
    "highlights": "dialogist.highlights.writer:open_highlights",
    "endpoint": "dialogist.writers.endpoint:open_endpoint",
}


class Writer(Protocol):
    """Writes drafts; many threads may call it at the same time.

    ``name`` is its name in tables and in `Summary.writer`, ``licence`` that of its weights (empty:
    not known), ``language`` the only one that it reads, as in ``en`` (empty: any), ``at_once`` how
    many dialogues it is given at the same time, in threads.
    """

    @property
    def name(self) -> str: ...

    @property
    def licence(self) -> str: ...

    @property
    def language(self) -> str: ...

    @property
    def at_once(self) -> int: ...

    def write(
        self, dialogue: Dialogue, form: "Form | None", options: SummaryOptions
    ) -> list[Draft]:
        """The sentences of a summary in order; of ``form`` each says its section.

        Raises:
            DialogistError: this dialogue cannot be summarized; the others go on.
            ModelError: none can; that ends the run.
        """
        ...


def open_writer(name: str) -> Writer:
    """A writer by its name: ``highlights``, ``endpoint:URL#MODEL``, or another package's.

    Raises:
        UsageError: there is no such writer; names the nearest.
        DialogistError: what follows the colon is wrong.
    """
    kind, _, rest = name.partition(":")
    if kind in OWN_WRITERS:
        module, _, member = OWN_WRITERS[kind].partition(":")
        return cast(Writer, getattr(import_module(module), member)(rest))
    from dialogist.plugins import plugin, plugin_names  # slow to load, and seldom needed

    opened = plugin(WRITERS, kind)
    if opened is None:
        known = (*OWN_WRITERS, *plugin_names(WRITERS))
        raise UsageError(
            f"writer '{name}': there is none{nearest(kind, known)} (there are: {', '.join(known)})"
        )
    return cast(Writer, opened(rest))
