"""Tools for assistants by the Model Context Protocol: read, summarize, verify and mask transcripts.

The limits are those of the service. Tools get text, not files: an assistant sees nothing of this
machine that it was not given.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from dialogist import __version__
from dialogist.errors import DialogistError
from dialogist.forms.form_file import Form
from dialogist.grounding.verification import Verifier
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
from dialogist.service.keys import KeyRing
from dialogist.service.problems import Problem
from dialogist.service.requests import build_request, dialogue_of_text, options_of
from dialogist.service.settings import Settings
from dialogist.summarizer import Summarizer
from dialogist.writers import GIVEN_UP
from dialogist.writers.answers import drafts_of

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
    name: str = "given"
    licence: str = ""
    language: str = ""
    at_once: int = 1

    def write(self, dialogue: Dialogue, form: Form | None, _: SummaryOptions) -> WriterOutput:
        return WriterOutput(tuple(drafts_of(self.summary, len(dialogue.utterances), [])))


@dataclass(frozen=True, slots=True)
class AssistantTools:
    """The tools, on one summarizer; ``find_form`` gives the form of a name."""

    summarizer: Summarizer
    verifier: Verifier | None
    find_form: Callable[[str | Form | None], Form | None]
    settings: Settings
    threads: CapacityLimiter

    async def read(self, transcript: Transcript) -> dict[str, Any]:
        """Read a transcript in any common format, and return its turns, numbered and with their
        speakers. Use it to see who speaks, or to look up the turns that a summary cites."""
        return await self._done(transcript, _turns)

    async def summarize(
        self,
        transcript: Transcript,
        length: Annotated[Length, Field(description="How much to tell.")] = "medium",
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
        return await self._done(transcript, partial(self._summary, options))

    async def verify(
        self,
        transcript: Transcript,
        summary: Annotated[str, Field(description="The text to check, of any origin.")],
    ) -> dict[str, Any]:
        """Check a summary against its conversation. Returns each of its statements with a verdict,
        the reason, and the turns that speak for or against it. Use it on what you wrote yourself,
        before you hand it over."""
        self._check_size(summary)
        return await self._done(transcript, partial(self._verdicts, summary))

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
        """Some work on a transcript, in a thread and in time; what goes wrong is told in a line."""
        self._check_size(transcript)
        seconds, *_ = self.settings.times(bool(self.summarizer.chats))

        def call() -> T:
            return work(dialogue_of_text(transcript, ""))

        try:
            with anyio.fail_after(seconds) as scope:
                GIVEN_UP.set(lambda: "the deadline has passed" if scope.cancel_called else "")
                return await to_thread.run_sync(call, limiter=self.threads, abandon_on_cancel=True)
        except TimeoutError:
            raise ToolError(f"It took over {seconds:g} seconds: send less text.") from None
        except Problem as problem:
            raise ToolError(f"{problem.title}: {problem.detail}.") from None
        except DialogistError as error:
            raise ToolError(str(error)) from None
        except Exception as error:  # a bug of ours; its message may hold content
            LOGGER.error("a tool failed: %s", type(error).__name__, exc_info=error)
            raise ToolError("Something went wrong: the log of the server says more.") from None

    def _summary(self, values: dict[str, Any], dialogue: Dialogue) -> dict[str, Any]:
        request = build_request(dialogue, options_of(values))
        form, shared = self.find_form(request.form), self.summarizer
        if form is not None:
            shared = Summarizer(shared.writer, shared.verifier, form)
        result = request.result(shared)
        summary, filled = result.summary, result.filled
        told: dict[str, Any] = {
            "status": summary.status,
            "reason": summary.reason,
            "statements": [_statement(one) for one in summary.statements],
            "warnings": [warning.message for warning in summary.warnings],
        }
        if filled is not None:
            sections = {one.title: [entry.text for entry in one.entries] for one in filled.sections}
            told |= {"form": filled.form, "sections": sections, "missing": [*filled.missing]}
        if values.get("mask"):
            told["turns"] = _turns(result.dialogue)["turns"]
        return told

    def _verdicts(self, summary: str, dialogue: Dialogue) -> dict[str, Any]:
        judge = Summarizer(_Given(summary), self.verifier)
        result = judge.result(dialogue, SummaryOptions(unsupported="mark"))
        found = result.summary
        statements = [_statement(one) for one in found.statements]
        return {"status": found.status, "reason": found.reason, "statements": statements}


def _statement(statement: Statement) -> dict[str, Any]:
    values = {
        "text": statement.text,
        "verdict": statement.verdict,
        "turns": sorted({span.utterance + 1 for span in statement.evidence}),
    }
    return {**values, "reasons": [*statement.reasons]} if statement.reasons else values


def _turns(dialogue: Dialogue) -> dict[str, Any]:
    turns = [
        {"number": number, "speaker": one.speaker, "text": one.text}
        for number, one in enumerate(dialogue.utterances, 1)
    ]
    words = sum(len(words_in(one.text)) for one in dialogue.utterances)
    return {"speakers": [*dialogue.speakers], "words": words, "turns": turns}


def _masked(names: MaskedNames, level: MaskLevel, dialogue: Dialogue) -> dict[str, Any]:
    masked, table = mask_dialogue(dialogue, privacy_of(names=names, level=level))
    return {"transcript": transcript_of(masked), "masked": dict(table.counts())}


def mcp_server(tools: AssistantTools) -> MCPServer[Any]:
    """A server of the protocol with these tools."""
    server: MCPServer[Any] = MCPServer(
        "dialogist",
        title="Dialogist",
        instructions=_ABOUT,
        version=__version__,
        log_level="CRITICAL",  # what it logs of failures may hold content; ours does not
    )
    for tool in (tools.read, tools.summarize, tools.verify, tools.mask):
        server.add_tool(tool, annotations=_READS)
    return server


class BearerGuard:
    """Lets requests with a key of the scope ``summaries`` pass, as many as its rate allows."""

    def __init__(self, app: ASGIApp, keys: KeyRing) -> None:
        self._app, self._keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            problem = await self._problem(Request(scope))
            if problem is not None:
                return await problem.response("")(scope, receive, send)
        return await self._app(scope, receive, send)

    async def _problem(self, request: Request) -> Problem | None:
        kind, _, secret = request.headers.get("authorization", "").partition(" ")
        key = None
        if kind.lower() == "bearer" and secret:
            key = await to_thread.run_sync(self._keys.find, secret.strip())
        if key is None:
            return Problem("unauthorized", "send 'Authorization: Bearer KEY' (dialogist keys add)")
        if "summaries" not in key.scopes:
            return Problem("forbidden", "this key lacks the scope summaries")
        wait = self._keys.wait_for(key)
        return Problem("rate_limited", "wait", wait) if wait else None
