"""The page: paste a transcript, check the summary against it, correct it, approve it.

All of it works without JavaScript, statements that appear while a language model writes included;
the script adds dropping files, lighting up evidence, editing in place, copying and keys.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from importlib import resources
from typing import Any
from urllib.parse import parse_qsl

from anyio import to_thread
from fastapi import APIRouter
from jinja2 import Environment, FunctionLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from dialogist import __version__
from dialogist.forms.form_file import bundled_forms
from dialogist.records import JSON, Masking, Statement
from dialogist.service import feedback, guards, reviews, tables
from dialogist.service.api import Identity
from dialogist.service.problems import Problem
from dialogist.service.requests import (
    SummaryRequest,
    build_request,
    checked_values,
    dialogue_of,
    dialogue_of_text,
    options_of,
)
from dialogist.service.reviewed_text import edits_between, lines_of
from dialogist.service.view import view_of
from dialogist.service.work_queue import followed
from dialogist.summarizer import Result

router = APIRouter(include_in_schema=False)

_ASSETS = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
_FIELDS = 1000  # in a form: one for each warning, too
_MASKS: Mapping[str, tuple[Masking | None, str]] = {
    "none": (None, "none"),
    "data": ("input", "none"),
    "names": ("input", "people"),
}
_EMPTY = {"text": "", "length": "medium", "form": "", "mask": "none", "review": ""}


_NOT_HTML = re.compile("[^\t\n -~\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _asset(name: str) -> str:
    """The text of a file of the page."""
    return (resources.files("dialogist") / "assets" / "service" / name).read_text("utf-8")


def _displayable(value: object) -> object:
    """What HTML cannot hold (control characters, halves of pairs) as U+FFFD."""
    return _NOT_HTML.sub("\ufffd", value) if type(value) is str else value


_PAGES = Environment(
    loader=FunctionLoader(_asset),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=_displayable,
)


def _page(request: Request, name: str, status: int = 200, **values: Any) -> Response:
    return HTMLResponse(_text(request, name, **values), status)


def _text(request: Request, name: str, block: str = "", **values: Any) -> str:
    """A page as HTML, or one block of it."""
    shared = {"version": __version__, "path": request.scope["path"], "signed_in": True}
    template = _PAGES.get_template(f"{name}.html.j2")
    if not block:
        return template.render({**shared, **values})
    return "".join(template.blocks[block](template.new_context({**shared, **values})))


def problem_page(request: Request, problem: Problem) -> Response:
    """Return a problem as a page, for those who came with a browser."""
    values = {"problem": problem, "request_id": request.state.request_id}
    is_known = guards.COOKIE in request.cookies
    reply = _page(request, "problem", problem.status, signed_in=is_known, **values)
    reply.headers.update(problem.headers)
    return reply


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form, each given once."""
    settings = guards.service_of(request).settings
    guards.check_same_site(request)
    if guards.media_type(request) != "application/x-www-form-urlencoded":
        raise Problem("unsupported_media_type", "send the form of the page")
    body = await guards.read_body(request, 3 * settings.max_body, settings.receive_seconds)
    try:
        text = guards.strict_text(body)
        fields = parse_qsl(text, keep_blank_values=True, max_num_fields=_FIELDS, errors="strict")
    except ValueError:
        raise Problem("invalid_encoding", "the form is not UTF-8, or has too many fields") from None
    form = dict(fields)
    if len(form) != len(fields) or any("\0" in value for value in form.values()):
        raise Problem("bad_request", "a field is given twice, or holds a NUL character")
    return form


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """Give the style sheet or the script; both are open, for they say nothing."""
    if name not in _ASSETS:
        raise Problem("not_found")
    data = _asset(name)
    return Response(data, headers={"Cache-Control": "max-age=300"}, media_type=_ASSETS[name])


@router.get("/login")
async def login(request: Request) -> Response:
    return _page(request, "login", signed_in=False, problem="")


@router.post("/login")
async def sign_in(request: Request) -> Response:
    """Begin a session with a key."""
    given = (await _form(request)).get("key", "")
    service = guards.service_of(request)
    key = await to_thread.run_sync(service.keys.find, given.strip())
    if key is None:
        return _page(request, "login", 401, signed_in=False, problem="This key is not known.")
    hours = service.settings.session_hours
    session = await service.stored(lambda _: service.keys.open_session(key, hours))
    reply = RedirectResponse("/", 303)
    reply.set_cookie(
        guards.COOKIE,
        session,
        max_age=round(hours * 3600),
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
    return reply


@router.post("/logout")
async def sign_out(request: Request) -> Response:
    await _form(request)
    if await guards.identified(request) is None:
        raise Problem("unauthorized")
    session, service = request.cookies.get(guards.COOKIE, ""), guards.service_of(request)
    await service.stored(lambda _: service.keys.close_session(session))
    reply = RedirectResponse("/login", 303)
    reply.delete_cookie(guards.COOKIE)
    return reply


@router.get("/")
async def home(request: Request) -> Response:
    """Show the form for a transcript."""
    await guards.authorized(request, "summaries")
    done = request.query_params.get("done", "")
    notice = {"approved": "Approved.", "edited": "Your edit is recorded.", "rejected": "Rejected."}
    return _page(request, "home", **_home(_EMPTY, notice=notice.get(done, "")))


def _home(form: Mapping[str, str], **values: Any) -> dict[str, Any]:
    usual = {"form": form, "view": None, "problem": "", "notice": "", "review": ""}
    return {**usual, "forms": list(bundled_forms()), **values}


@router.post("/")
async def summarize_form(request: Request) -> Response:
    """Summarize the transcript of the form, and show both side by side.

    What a language model writes is sent as it comes, above the place of the whole.
    """
    service, key = await guards.authorized(request, "summaries")
    form = {**_EMPTY, **await _form(request)}  # first: what is refused comes back to be sent again
    form["form"] = form["form"] or form.get("template", "")
    queue = service.queue

    async def summarized(on_statement: Callable[[Statement], None]) -> Result:
        with queue.place(len(form["text"])) as lane:
            async with guards.until_left(request) as leaves:
                read = partial(_read, form)
                return (await queue.summarize(read, lane, leaves, on_statement))[1]

    drafts, task = await followed(summarized)
    for_review = form["review"] and "reviews" in key.scopes
    if not (task.done() or for_review):
        return StreamingResponse(
            _written(request, form, drafts, task), media_type="text/html", headers=guards.UNBUFFERED
        )
    values, status = await _outcome(form, task)
    if for_review and values["view"]:
        stored = await service.stored(reviews.add_review, key.id, task.result())
        return RedirectResponse(f"/reviews/{stored}", 303)
    return _page(request, "home", status, **values)


async def _outcome(
    form: Mapping[str, str], task: asyncio.Task[Result]
) -> tuple[dict[str, Any], int]:
    """What the page shows of some work, and the status of the reply; the text of the form stays
    where there is no summary."""
    try:
        result = await task
    except Problem as problem:
        words = f"{problem.title}: {problem.detail}." if problem.detail else problem.title
        return _home(form, problem=words), problem.status
    summary = result.summary
    if summary.status in ("error", "refused"):
        return _home(form, problem=f"Not summarized: {summary.reason}."), 502
    return _home(form, view=view_of(result.dialogue, result.to_json())), 200


async def _written(
    request: Request,
    form: Mapping[str, str],
    drafts: AsyncIterator[Statement],
    task: asyncio.Task[Result],
) -> AsyncIterator[str]:
    """The page in parts: its head, each statement as it is written, the whole in their place."""
    head, between, end = _text(request, "writing").split("<!--more-->")
    yield head
    async for draft in drafts:
        yield _text(request, "writing", "statement", draft=draft)
    values, _ = await _outcome(form, task)
    yield between + _text(request, "home", "main", **values) + end


def _read(form: Mapping[str, str]) -> SummaryRequest:
    where, names = _MASKS.get(form["mask"], _MASKS["none"])
    wanted: dict[str, JSON] = {"length": form["length"], "form": form["form"] or None}
    options = options_of(
        {**wanted, "mask": where, "mask_names": names, "unsupported": "mark"}
    )  # a person reads it
    return build_request(dialogue_of_text(form["text"], ""), options)


@router.get("/reviews")
async def queue(request: Request) -> Response:
    """List what waits for review, the oldest first."""
    service, _ = await guards.authorized(request, "reviews")
    waiting = await service.stored(reviews.find_reviews, reviews.ReviewPage())
    return _page(request, "reviews", reviews=waiting["reviews"])


@router.get("/reviews/{identity}")
async def review_page(request: Request, identity: Identity) -> Response:
    """Show a summary that waits for review beside its transcript."""
    service, _ = await guards.authorized(request, "reviews")
    stored = await service.stored(reviews.review_of, identity)
    if stored["state"] != "open":
        raise Problem("not_found", "there is no open review of this id")
    summary = stored["summary"]
    view = view_of(dialogue_of(stored["dialogue"]), summary if isinstance(summary, dict) else {})
    return _page(request, "review", view=view, review=identity)


@router.post("/approve")
async def approve(request: Request) -> Response:
    """Record what a person made of a summary, and go on to the next review."""
    service, key = await guards.authorized(request, "reviews")
    form = await _form(request)
    before, after = lines_of(form.get("before", "")), lines_of(form.get("after", ""))
    verdict = "approved" if before == after else "edited"
    if form.get("verdict") == "rejected":
        verdict = "rejected"
    judged = [value for name, value in form.items() if name.startswith("warning")]
    values: dict[str, Any] = {"verdict": verdict, "consent": bool(form.get("consent"))}
    values |= {name: judged.count(name) for name in ("right", "wrong")}
    if review := form.get("review", ""):
        lines: list[JSON] = [{"text": line} for line in after if verdict == "edited"]
        decision = checked_values(reviews.Decision, {**values, "statements": lines})
        keep = service.settings.keep_approved
        await service.stored(reviews.decide, key, review, decision, keep)
        waiting = await service.stored(reviews.find_reviews, reviews.ReviewPage(limit=1))
        if waiting["reviews"]:
            return RedirectResponse(f"/reviews/{waiting['reviews'][0]['id']}", 303)
        return RedirectResponse(f"/?done={verdict}", 303)
    if verdict != "rejected":
        values["edits"] = await to_thread.run_sync(edits_between, before, after)
    if form.get("consent"):
        record = guards.strict_json(form.get("dialogue", "").encode(), service.settings.max_depth)
        values["content"] = {
            "dialogue": record,
            "before": "\n".join(before),
            "after": "\n".join(after),
        }
    given = feedback.feedback_of(values)
    await service.stored(
        tables.once_only, key.id, "", "", lambda store: feedback.add_feedback(store, key.id, given)
    )
    return RedirectResponse(f"/?done={verdict}", 303)


@router.get("/quality")
async def quality(request: Request) -> Response:
    """Show how summaries fared with the people who read them."""
    service, _ = await guards.authorized(request, "reviews")
    verdicts, edits = await service.stored(feedback.figures_of)
    return _page(request, "quality", verdicts=verdicts, edits=edits)
