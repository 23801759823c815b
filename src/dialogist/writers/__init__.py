"""Writers: whatever writes the sentences of a summary, found by its name; all of equal rank."""

import os
import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Protocol, cast
from urllib.parse import urlencode

from dialogist.errors import UsageError, nearest
from dialogist.records import Dialogue, Draft, Sent, SummaryOptions, WriterOutput

if TYPE_CHECKING:
    from dialogist.forms.form_file import Form
    from dialogist.grounding.verification import Verifier

WRITERS = "dialogist.writers"
"""The group of entry points by which other packages offer writers.

Each is called with what follows the colon of its name and returns a `Writer`.
"""

VERIFIERS = "dialogist.verifiers"
"""The same of verifiers: what is called returns a `dialogist.grounding.verification.Verifier`."""

OWN_WRITERS = {
    "highlights": "dialogist.highlights.writer:open_highlights",
    "openai": "dialogist.writers.language_model:open_openai",
    "ollama": "dialogist.writers.language_model:open_ollama",
    "llamacpp": "dialogist.writers.language_model:open_llamacpp",
    "vllm": "dialogist.writers.language_model:open_vllm",
    "file": "dialogist.writers.written_file:WrittenFile",
}


SENT: ContextVar[dict[str, Sent] | None] = ContextVar("SENT", default=None)
"""What this thread has sent since somebody put an empty mapping here, by address."""

DRAFTED: ContextVar[Callable[[Draft], None] | None] = ContextVar("DRAFTED", default=None)
"""Who hears of the drafts of this thread's dialogue while a writer still writes, if it can tell."""

GIVEN_UP: ContextVar[Callable[[], str]] = ContextVar("GIVEN_UP", default=str)
"""Why nobody waits for this thread's dialogue any more; empty: somebody does, so go on asking."""


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
    ) -> WriterOutput:
        """The sentences of a summary in order; of ``form`` each says its section.

        Raises:
            DialogistError: this dialogue cannot be summarized; the others go on.
            Declined: the model behind it declines to write.
            ModelError: nothing can be summarized at all; the run ends.
        """
        ...


def open_writer(name: str) -> Writer:
    """A writer by its name: ``highlights``, ``ollama:MODEL``, ``openai:URL#MODEL``, or another
    package's; the path of a file means ``file:PATH``.

    Raises:
        UsageError: there is no such writer; names the nearest.
        DialogistError: what follows the colon is wrong.
    """
    kind, _, rest = re.sub(r"^(\w+)(?=[?#])", r"\1:", name).partition(":")
    from_file = kind not in OWN_WRITERS and (os.sep in name or Path(name).suffix)
    if from_file and Path(name).is_file():
        kind, rest = "file", name
    if kind in OWN_WRITERS:
        return cast(Writer, resolve_name(OWN_WRITERS[kind])(rest))
    from dialogist.plugins import plugin, plugin_names  # slow to load, and seldom needed

    opened = plugin(WRITERS, kind)
    if opened is None:
        known = (*OWN_WRITERS, *plugin_names(WRITERS))
        raise UsageError(
            f"writer '{name}': there is none{nearest(kind, known)} (there are: {', '.join(known)}, "
            "or a file of summaries)"
        )
    return cast(Writer, opened(rest))


def with_settings(name: str, settings: Mapping[str, object]) -> str:
    """A writer's name with settings behind it, ``ollama:qwen?at_once=2``; those it has win.

    Of a writer that is no language model the name stays as it is.
    """
    if "language_model" not in OWN_WRITERS.get(re.split("[:?#]", name)[0], ""):
        return name
    before = name.partition("?")[2]
    given = {part.partition("=")[0] for part in before.split("&")}
    more = {key: value for key, value in settings.items() if value and key not in given}
    return name + ("&" if before else "?") * bool(more) + urlencode(more)


def writer_names(
    writer: str,
    verify: str = "auto",
    verifier: str = "",
    prompt: Path | None = None,
    cache: str | None = None,
    send_unmasked: bool = False,
) -> tuple[str, str]:
    """Settings as the names of a writer and a verifier, for `dialogist.summarizer.Summarizer`.

    Raises:
        UsageError: they do not go together.
    """
    if verifier and verify not in ("auto", "model"):
        raise UsageError(f"--verifier {verifier} goes with --verify model")
    shared = {"cache": cache, "send_unmasked": "true" if send_unmasked else ""}
    named = with_settings(writer, {"prompt": prompt and prompt.absolute(), **shared})
    if prompt and named == writer:
        raise UsageError("--prompt goes with a --writer that is a language model")
    return named, with_settings(verifier, shared) if verifier else verify


def open_verifier(mode: str, writer: Writer) -> "Verifier | None":
    """The verifier of a `VerifyMode`, of another package (`VERIFIERS`), or behind the name of a
    writer that is a language model; None: the sure rules alone.

    Raises:
        UsageError: there is no such mode, and no language model of that name.
    """
    if mode == "rules":
        return None
    kind, colon, rest = mode.partition(":")
    if colon:
        from dialogist.plugins import plugin  # slow to load, and seldom needed

        opened = plugin(VERIFIERS, kind)
        if opened is not None:
            return cast("Verifier", opened(rest))
    asked = writer if mode in ("auto", "model", "local") else open_writer(mode)
    chat = getattr(asked, "chat", None) if mode != "local" else None
    if chat is not None:
        from dialogist.writers.asking import AskingVerifier

        return AskingVerifier(chat)
    if mode in ("auto", "local"):
        from dialogist.grounding.local_verifier import local_verifier

        return local_verifier()
    raise UsageError(f"{asked.name} is no language model: name one with --verifier")
