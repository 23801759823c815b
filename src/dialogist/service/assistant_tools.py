"""Tools for assistants by the Model Context Protocol: read, summarize, verify and mask transcripts.

The limits are those of the service. Tools get text, not files: an assistant sees nothing of this
machine that it was not given.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeVar

from anyio import to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations
from pydantic import Field
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from dialogist import __version__
from dialogist.forms.form_file import Form
from dialogist.language.tokens import words_in
from dialogist.privacy.masking import mask_dialogue
from dialogist.privacy.packs import privacy_of
from dialogist.privacy.restoring import transcript_of
from dialogist.records import (
    Dialogue,
    Length,
    MaskedNames,
    MaskLevel,
    Statement,
    SummaryOptions,
    WriterOutput,
)
from dialogist.service.keys import KeyRing, bearer_of
from dialogist.service.problems import Problem
from dialogist.service.requests import (
    SummaryRequest,
    build_request,
    checked_values,
    dialogue_of_text,
    options_of,
)
from dialogist.service.settings import Settings
from dialogist.service.work_queue import WorkQueue
from dialogist.summarizer import Result, Summarizer
from dialogist.writers import open_verifier
from dialogist.writers.answers import drafts_written

T = TypeVar("T")
LOGGER = logging.getLogger("dialogist")
_ABOUT = (
    "Works on transcripts of conversations (chats, calls, meetings) on this machine. Every "
    "statement comes with a verdict and the numbers of the turns that it rests on: cite them, and "
    "tell the user of statements that are doubtful or contradicted. Turns are numbered from 1."
)
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)

Transcript = Annotated[
    str,
    Field(
        description="The whole conversation: lines 'Name: words', or the content of an export "
        "(WebVTT, SRT, WhatsApp, JSON, CSV and others). Not a path."
    ),
]


@dataclass(frozen=True, slots=True)
class _Given:
    """A summary that somebody wrote, as a `dialogist.writers.Writer`."""

    summary: str
    name, licence, language, at_once = "given", "", "", 1

    def write(self, dialogue: Dialogue, form: Form | None, _: SummaryOptions) -> WriterOutput:
        return WriterOutput(tuple(drafts_written(self.summary, len(dialogue.utterances))))


@dataclass(frozen=True, slots=True)
class AssistantTools:
    """The tools; ``queue`` has the work done, as for other clients of the service."""

    queue: WorkQueue
    settings: Settings

    async def read(self, transcript: Transcript) -> dict[str, Any]:
        """Read a transcript in any common format, and return its turns, numbered and with their
        speakers. Use it to see who speaks, or to look up the turns that a summary cites."""
        return await self._done(transcript, _turns)

    async def summarize(
        self,
        transcript: Transcript,
        length: Annotated[Length | None, Field(description="How much to tell.")] = None,
        form: Annotated[
            str | None,
            Field(description="Fill a form: call, ticket, meeting, clinical, plain or a team's."),
        ] = None,
        focus: Annotated[
            str | None, Field(description="Only what concerns this speaker, named as in the text.")
        ] = None,
        mask_names: Annotated[
            MaskedNames | None,
            Field(description="Mask personal data: none (no names), speakers, or people."),
        ] = None,
    ) -> dict[str, Any]:
        """Summarize a conversation. Returns its statements, each with a verdict (quoted, supported,
        unverified, doubtful, contradicted) and the turns it rests on; with a form, its sections.
        Nothing is invented: an empty section means that nothing was found, not that nothing was
        said."""
        mask = {} if mask_names is None else {"mask": "input", "mask_names": mask_names}
        options = {"length": length, "form": form, "focus": focus, "unsupported": "mark", **mask}
        self._check_size(transcript)
        read = partial(_request, transcript, options)
        with _told(), self.queue.place(len(transcript)) as lane:
            _, result = await self.queue.summarize(read, lane)
        return _summary(result, bool(mask))

    async def verify(
        self,
        transcript: Transcript,
        summary: Annotated[str, Field(description="The text to check, of any origin.")],
    ) -> dict[str, Any]:
        """Check a summary against its conversation. Returns each of its statements with a verdict,
        the reason, and the turns that speak for or against it. Use it on what you wrote yourself,
        before you hand it over."""
        self._check_size(summary)
        return await self._done(transcript, partial(_verdicts, summary))

    async def mask(
        self,
        transcript: Transcript,
        names: Annotated[
            MaskedNames, Field(description="Names to mask: none, speakers, or all people.")
        ] = "people",
        level: Annotated[MaskLevel, Field(description="How much else to mask.")] = "medium",
    ) -> dict[str, Any]:
        """Replace personal data (phone numbers, addresses, names and the like) by masks such as
        [PHONE_1], the same value by the same mask. Returns the masked transcript and how many
        mentions of each kind were masked. What stands behind the masks is not returned."""
        return await self._done(transcript, partial(_masked, names, level))

    def _check_size(self, text: str) -> None:
        if len(text.encode("utf-8", "replace")) > self.settings.max_body:
            raise ToolError(f"Send at most {self.settings.max_body} bytes of text.")

    async def _done(self, transcript: str, work: Callable[[Dialogue], T]) -> T:
        """Some work on a transcript, in a process that ends with its deadline."""
        self._check_size(transcript)
        with _told():
            return await to_thread.run_sync(self.queue.call, partial(_read_first, transcript, work))


@contextmanager
def _told() -> Iterator[None]:
    """What goes wrong is told in a line."""
    try:
        yield
    except Problem as problem:
        raise ToolError(f"{problem.title}: {problem.detail}.") from None
    except Exception as error:  # a bug of ours; its message may hold content
        LOGGER.error("a tool failed: %s", type(error).__name__, exc_info=error)
        raise ToolError("Something went wrong: the log of the server says more.") from None


def _read_first(transcript: str, work: Callable[[Dialogue], T]) -> T:
    return work(dialogue_of_text(transcript, ""))


def _request(transcript: str, values: dict[str, Any]) -> SummaryRequest:
    return build_request(dialogue_of_text(transcript, ""), options_of(values))


def _summary(result: Result, is_masked: bool) -> dict[str, Any]:
    summary, filled = result.summary, result.filled
    values: dict[str, Any] = {
        "status": summary.status,
        "reason": summary.reason,
        "statements": [*map(_statement, summary.statements)],
        "warnings": [warning.message for warning in summary.warnings],
    }
    if filled is not None:
        sections = {s.title: [entry.text for entry in s.entries] for s in filled.sections}
        values |= {"form": filled.form, "sections": sections, "missing": [*filled.missing]}
    return values | {"turns": _turns(result.dialogue)["turns"]} if is_masked else values


def _verdicts(summary: str, dialogue: Dialogue) -> dict[str, Any]:
    given = _Given(summary)
    judge = Summarizer(given, open_verifier("local", given))
    judged = judge.result(dialogue, SummaryOptions(unsupported="mark")).summary
    statements = [*map(_statement, judged.statements)]
    warnings = [warning.message for warning in judged.warnings]
    values = {"status": judged.status, "reason": judged.reason, "statements": statements}
    return {**values, "warnings": warnings}


def _statement(statement: Statement) -> dict[str, Any]:
    values = {
        "text": statement.text,
        "verdict": statement.verdict,
        "turns": sorted({span.utterance + 1 for span in statement.evidence}),
    }
    return {**values, "reasons": [*statement.reasons]} if statement.reasons else values


def _turns(dialogue: Dialogue) -> dict[str, Any]:
    turns = [
        {"number": number, "speaker": turn.speaker, "text": turn.text}
        for number, turn in enumerate(dialogue.utterances, 1)
    ]
    words = sum(len(words_in(turn.text)) for turn in dialogue.utterances)
    return {"speakers": [*dialogue.speakers], "words": words, "turns": turns}


def _masked(names: MaskedNames, level: MaskLevel, dialogue: Dialogue) -> dict[str, Any]:
    masked, table = mask_dialogue(dialogue, privacy_of(names=names, level=level))
    return {"transcript": transcript_of(masked), "masked": dict(table.counts())}


class _StrictTool(Tool):
    """A tool that refuses arguments which it does not have, and says so without their values."""

    async def run(self, arguments: dict[str, Any], *given: Any, **named: Any) -> Any:
        wanted = self.fn_metadata
        with _told():
            checked_values(wanted.arg_model, wanted.pre_parse_json(arguments))
        return await super().run(arguments, *given, **named)


def _strict(function: Callable[..., Any]) -> Tool:
    about = " ".join((function.__doc__ or "").split())
    tool = _StrictTool.from_function(function, description=about, annotations=_READS)
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    tool.parameters = model.model_json_schema()
    return tool


def mcp_server(tools: AssistantTools) -> MCPServer[Any]:
    """A server of the protocol with these tools."""
    return MCPServer(
        "dialogist",
        title="Dialogist",
        instructions=_ABOUT,
        version=__version__,
        log_level="CRITICAL",  # what it logs of failures may hold content; ours does not
        tools=[_strict(f) for f in (tools.read, tools.summarize, tools.verify, tools.mask)],
    )


class BearerGuard:
    """Lets requests with a key of the scope ``summaries`` pass, as many as its rate allows."""

    def __init__(self, app: ASGIApp, keys: KeyRing) -> None:
        self._app, self._keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            secret = bearer_of(Request(scope).headers.get("authorization", ""))
            try:
                key = await to_thread.run_sync(self._keys.find, secret) if secret else None
                self._keys.admitted(key, "summaries")
            except Problem as problem:
                return await problem.response("")(scope, receive, send)
        return await self._app(scope, receive, send)
