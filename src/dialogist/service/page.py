"""The page: paste a transcript, check the summary against it, correct it, approve it.

All of it works without JavaScript, statements that appear while a language model writes included;
the script adds dropping files, lighting up evidence, editing in place, copying and keys.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from importlib import resources
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl

from anyio import to_thread
from fastapi import APIRouter
from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from dialogist import __version__
from dialogist.errors import DataError
from dialogist.forms.form_file import FIELD_TYPES, FieldSource
from dialogist.records import JSON, Masking, Statement
from dialogist.service import deliveries, feedback, guards, reviews, stored_forms, tables
from dialogist.service.api import Identity
from dialogist.service.api_docs import documented_routes
from dialogist.service.keys import Key
from dialogist.service.problems import Problem
from dialogist.service.requests import (
    SummaryRequest,
    build_request,
    checked_values,
    dialogue_of,
    dialogue_of_text,
    options_of,
    record_of,
)
from dialogist.service.view import statements_of, view_of, view_of_review
from dialogist.service.work_queue import followed
from dialogist.summarizer import Result

router = APIRouter(include_in_schema=False)

_ASSETS = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
_LISTED = 50  # reviews on a page
_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"))
_LOGIN = 4096  # bytes, of which anybody may send as many as they like
_FIELDS = 1000  # in a form: one for each warning, too
_MASKS: Mapping[str, tuple[Masking | None, str]] = {
    "none": (None, "none"),
    "data": ("input", "none"),
    "names": ("input", "people"),
}
_EXAMPLES: Mapping[str, tuple[str, str]] = {
    "support-chat": ("a support chat", "ticket"),
    "meeting": ("a meeting", "meeting"),
    "visit": ("a visit to the doctor", "clinical"),
}
"""Files of assets/examples: what the page calls them, and the form that suits each."""
_EMPTY = {"text": "", "length": "", "form": "", "mask": "none", "review": ""}
_ID = re.compile("[0-9a-f]{16}")
_NOT_HTML = re.compile("[^\t\n -~\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TEXTS = {
    file.name: file.read_text("utf-8")
    for folder in ("service", "examples")
    for file in (resources.files("dialogist") / "assets" / folder).iterdir()
    if file.name.endswith((".j2", *_ASSETS, ".txt"))
}
"""The files of the page, read at the start: the package may be replaced under a service."""


def _displayable(value: Any) -> Any:
    """What HTML cannot hold (control characters, halves of pairs) as U+FFFD."""
    return _NOT_HTML.sub("\ufffd", value) if type(value) is str else value


_PAGES = Environment(
    loader=DictLoader(_TEXTS),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=_displayable,
)


def _ago(when: str) -> str:
    """How long ago a time was, in words."""
    seconds = (datetime.now(UTC) - datetime.fromisoformat(when)).total_seconds()
    words = (f"{int(seconds / size)} {unit} ago" for size, unit in _UNITS if seconds >= size)
    return next(words, "now")


_PAGES.globals |= {"ago": _ago, "version": __version__}
_PAGES.filters["field"] = lambda text: Markup(
    _displayable(text).replace("&", "&amp;").replace("<", "&lt;")
)
"""The text of a textarea, in which quotes are no markup: half the size of JSON that is escaped."""


async def _page(request: Request, name: str, status: int = 200, **values: Any) -> Response:
    """A page; a long one takes seconds, which others do not wait for."""
    return HTMLResponse(await to_thread.run_sync(partial(_text, request, name, **values)), status)


def _text(request: Request, name: str, block: str = "", **values: Any) -> str:
    """A page as HTML, or one block of it."""
    asked = request.query_params
    about = asked.get("about", "")
    shared = {"path": request.scope["path"], "signed_in": True}
    shared |= {"done": asked.get("done", ""), "order": asked.get("order", "age")}
    shared |= {"about": about if _ID.fullmatch(about) else ""}
    template = _PAGES.get_template(f"{name}.html.j2")
    if not block:
        return template.render({**shared, **values})
    return "".join(template.blocks[block](template.new_context({**shared, **values})))


def problem_page(request: Request, problem: Problem) -> Response:
    """Return a problem as a page, for those who came with a browser."""
    values = {"problem": problem, "request_id": request.state.request_id}
    is_known = guards.COOKIE in request.cookies
    reply = HTMLResponse(_text(request, "problem", signed_in=is_known, **values), problem.status)
    reply.headers.update(problem.headers)
    return reply


async def _form(request: Request, most: int = 0) -> dict[str, str]:
    """The fields of a form, each given once; of ``most`` bytes, by default what a page may send."""
    guards.check_same_site(request)
    if guards.media_type(request) != "application/x-www-form-urlencoded":
        raise Problem("unsupported_media_type", "send the form of the page")
    body = await guards.read_body(request, most or 3 * guards.service_of(request).settings.max_body)
    return await to_thread.run_sync(_fields, body)  # a second for three megabytes


def _fields(body: bytes) -> dict[str, str]:
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
    return Response(
        _TEXTS[name], headers={"Cache-Control": "max-age=300"}, media_type=_ASSETS[name]
    )


@router.get("/login")
async def login(request: Request) -> Response:
    return await _login(request, "")


async def _login(request: Request, problem: str, status: int = 200) -> Response:
    by_oidc = guards.service_of(request).settings.oidc is not None
    values = {"signed_in": False, "problem": problem, "by_oidc": by_oidc}
    return await _page(request, "login", status, **values)


@router.post("/login")
async def sign_in(request: Request) -> Response:
    """Begin a session with a key."""
    given = (await _form(request, _LOGIN)).get("key", "")
    service = guards.service_of(request)
    key = await to_thread.run_sync(service.keys.find, given.strip())
    if key is None:
        return await _login(request, "This key is not known.", 401)
    return await begin_session(request, key)


async def begin_session(request: Request, key: Key) -> Response:
    """Sign the person of a key in, and go to the first page."""
    service = guards.service_of(request)
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
    service, _ = await guards.authorized(request, "summaries")
    return await _page(request, "home", **await _home(service, _EMPTY))


async def _home(service: guards.Service, form: Mapping[str, str], **values: Any) -> dict[str, Any]:
    usual = {"form": form, "view": None, "problem": "", "review": ""}
    examples = [(name, title) for name, (title, _) in _EXAMPLES.items()]
    forms = await service.stored(stored_forms.known_forms)
    return {**usual, "forms": forms, "examples": examples, **values}


@router.post("/")
async def summarize_form(request: Request) -> Response:
    """Summarize the transcript of the form, and show both side by side.

    What a language model writes is sent as it comes, above the place of the whole.
    """
    service, key = await guards.authorized(request, "summaries")
    form = {**_EMPTY, **await _form(request)}  # first: what is refused comes back to be sent again
    if form.get("example") in _EXAMPLES:
        form["text"] = _TEXTS[f"{form['example']}.txt"]
        form["form"] = form["form"] or _EXAMPLES[form["example"]][1]
    queue = service.queue

    async def summarized(on_statement: Callable[[Statement], None]) -> Result:
        with queue.place(len(form["text"])) as lane:
            read, left = partial(_read, form), partial(guards.left, request)
            return (await queue.summarize(read, lane, left, on_statement))[1]

    drafts, task = await followed(summarized)
    for_review = form["review"] and "reviews" in key.scopes
    if not (task.done() or for_review):
        return StreamingResponse(
            _written(request, service, form, drafts, task),
            media_type="text/html",
            headers=guards.UNBUFFERED,
        )
    values, status = await _outcome(service, form, task)
    if for_review and values["view"]:
        stored = await service.stored(reviews.add_review, key.id, task.result())
        return RedirectResponse(f"/reviews/{stored}", 303)
    return await _page(request, "home", status, **values)


def _words(problem: Problem) -> str:
    return f"{problem.title}: {problem.detail}." if problem.detail else problem.title


async def _outcome(
    service: guards.Service, form: Mapping[str, str], task: asyncio.Task[Result]
) -> tuple[dict[str, Any], int]:
    """What the page shows of some work, and the status of the reply; the text of the form stays
    where there is no summary."""
    try:
        result = await task
    except Problem as problem:
        return await _home(service, form, problem=_words(problem)), problem.status
    summary = result.summary
    if summary.status in ("error", "refused"):
        return await _home(service, form, problem=f"Not summarized: {summary.reason}."), 502
    view = await to_thread.run_sync(lambda: view_of(result.dialogue, result.to_json()))
    text = form["text"] if form["mask"] == "none" else view.record  # what is masked stays so
    return await _home(service, {**form, "text": text}, view=view), 200


async def _written(
    request: Request,
    service: guards.Service,
    form: Mapping[str, str],
    drafts: AsyncIterator[Statement],
    task: asyncio.Task[Result],
) -> AsyncIterator[str]:
    """The page in parts: its head, each statement as it is written, the whole in their place."""
    head, between, end = _text(request, "writing").split("<!--more-->")
    yield head
    async for draft in drafts:
        yield _text(request, "writing", "statement", draft=draft)
    values, _ = await _outcome(service, form, task)
    whole = await to_thread.run_sync(partial(_text, request, "home", "main", **values))
    yield between + whole + end


def _read(form: Mapping[str, str]) -> SummaryRequest:
    where, names = _MASKS.get(form["mask"], _MASKS["none"])
    wanted: dict[str, JSON] = {"length": form["length"] or None, "form": form["form"] or None}
    wanted |= {"mask": where, "mask_names": names, "unsupported": "mark"}  # a person reads it
    return build_request(dialogue_of_text(form["text"], ""), options_of(wanted))


@router.get("/reviews")
async def queue(request: Request) -> Response:
    """List reviews: those that wait, the oldest first, or others, the newest first."""
    service, _ = await guards.authorized(request, "reviews")
    known = ("state", "search", "form", "order", "after")
    asked = {name: value for name, value in request.query_params.items() if name in known}
    wanted = checked_values(reviews.ReviewPage, {**asked, "limit": str(_LISTED)})
    listed = await service.stored(reviews.find_reviews, wanted)
    forms = await service.stored(stored_forms.known_forms)
    return await _page(request, "reviews", asked=wanted, forms=forms, **listed)


@router.get("/reviews/{identity}")
async def review_page(request: Request, identity: Identity) -> Response:
    """Show a summary that waits for review beside its transcript, or what became of it."""
    service, _ = await guards.authorized(request, "reviews")
    stored: dict[str, Any] = await service.stored(reviews.review_of, identity)
    if stored["state"] != "open":
        wanted = deliveries.DeliveryFilter(review=identity)
        sent = await service.stored(deliveries.find_deliveries, wanted)
        targets = [(n, each.connector.ticket) for n, each in service.outbox.targets.items()]
        values: dict[str, Any] = {"stored": stored, "view": view_of_review(stored)}
        is_kept = stored["state"] in ("approved", "edited")
        values["is_masked"] = is_kept and service.settings.keep_approved == "masked"
        return await _page(request, "reviewed", deliveries=sent, targets=targets, **values)
    dialogue = dialogue_of(stored["dialogue"])
    view = await to_thread.run_sync(view_of, dialogue, stored["summary"])
    return await _page(request, "home", **await _home(service, _EMPTY, view=view, review=identity))


@router.post("/approve")
async def approve(request: Request) -> Response:
    """Record what a person made of a summary, and go on to the next review.

    What was not yet stored is stored once it is approved, and shown as it is kept.
    """
    service, key = await guards.authorized(request, "reviews")
    form = await _form(request)
    review, depth = form.get("review", ""), service.settings.max_depth
    order = form.get("order", "age")
    judged = [value for name, value in form.items() if name.startswith("warning")]
    values: dict[str, Any] = {name: judged.count(name) for name in ("right", "wrong")}
    if form.get("verdict") == "rejected" and not review:
        given = feedback.feedback_of({**values, "verdict": "rejected"})
        await service.stored(tables.once_only, key.id, "", "", feedback.add_feedback, given)
        return RedirectResponse("/?done=rejected", 303)
    if review:
        wanted = checked_values(reviews.ReviewPage, {"limit": "2", "order": order})
        waiting = await service.stored(reviews.find_reviews, wanted)
        following = [each["id"] for each in waiting["reviews"] if each["id"] != review]
    else:
        content = await service.worked(partial(_content, form, depth))
        review, following = await service.stored(reviews.add_shown, key.id, content), []
    stored: dict[str, Any] = await service.stored(reviews.review_of, review)
    before = [{name: part[name] for name in ("heading", "text")} for part in stored["statements"]]
    after = await service.worked(partial(statements_of, form.get("after", "")))
    verdict = "approved" if before == after else "edited"
    values["verdict"] = form["verdict"] if form.get("verdict") == "rejected" else verdict
    values["statements"] = after if values["verdict"] == "edited" else []
    values |= {"consent": bool(form.get("consent")), "reason": form.get("reason", "")}
    decision = checked_values(reviews.Decision, values)
    decide = partial(reviews.decide, call=service.queue.call)
    await service.stored(decide, key, review, decision, service.settings.keep_approved)
    where = f"/reviews/{[*following, review][0]}?done={decision.verdict}&about={review}"
    return RedirectResponse(where + ("&order=ready" if order == "ready" else ""), 303)


def _content(form: Mapping[str, str], depth: int) -> dict[str, JSON]:
    """The dialogue and the summary of a page, as a review has them."""
    record, summary = (
        guards.strict_json(form.get(name, "").encode(), depth) for name in ("dialogue", "summary")
    )
    try:
        dialogue = dialogue_of(record)
        view_of(dialogue, summary if isinstance(summary, dict) else {})
    except (DataError, LookupError, TypeError, ValueError, AttributeError):
        raise Problem("bad_request", "send the summary as the page has it") from None
    return {"dialogue": {**record_of(dialogue)}, "summary": summary}


@router.post("/reviews/{identity}/{action}")
async def change_review(
    request: Request, identity: Identity, action: Literal["undo", "delete", "send"]
) -> Response:
    """Take back what was decided of a review, delete it (or take that back), or send it."""
    service, key = await guards.authorized(request, "reviews")
    form = await _form(request)
    if action == "send":
        given = checked_values(deliveries.DeliveryRequest, form)
        add = service.outbox.add_by_hand
        await service.stored(tables.once_only, key.id, "", "", add, identity, given)
        return RedirectResponse(f"/reviews/{identity}?done=sent", 303)
    if action == "undo":
        await service.stored(reviews.undo, key, identity)
        return RedirectResponse(f"/reviews/{identity}?done=undone", 303)
    await service.stored(reviews.delete_review, key, identity)
    return RedirectResponse(f"/reviews?done=deleted&about={identity}", 303)


@router.get("/deliveries")
async def failed_deliveries(request: Request) -> Response:
    """List what could not be sent."""
    service, _ = await guards.authorized(request, "reviews")
    wanted = deliveries.DeliveryFilter(state="dead")
    failed = await service.stored(deliveries.find_deliveries, wanted)
    return await _page(request, "deliveries", deliveries=failed)


@router.post("/deliveries/{identity}/retry")
async def send_again(request: Request, identity: Identity) -> Response:
    """Have what could not be sent tried again."""
    service, key = await guards.authorized(request, "reviews")
    about = (await _form(request)).get("about", "")
    await service.stored(deliveries.retry_delivery, key.id, identity)
    where = f"/reviews/{about}" if _ID.fullmatch(about) else "/deliveries"
    return RedirectResponse(f"{where}?done=sent", 303)


@router.get("/forms")
async def show_forms(request: Request) -> Response:
    """Show the forms, and the text of one to begin with."""
    service, _ = await guards.authorized(request, "summaries")
    like = request.query_params.get("like", "")
    text = await service.stored(stored_forms.form_text, like) if like else ""
    return await _forms_page(request, service, text)


async def _forms_page(
    request: Request,
    service: guards.Service,
    text: str,
    problem: Problem | None = None,
    view: Any = None,
) -> Response:
    values = {"text": text, "view": view, "forms": await service.stored(stored_forms.known_forms)}
    values |= {"sources": get_args(FieldSource), "types": FIELD_TYPES}
    values["problem"] = _words(problem) if problem else ""
    return await _page(request, "forms", problem.status if problem else 200, **values)


@router.post("/forms")
async def change_forms(request: Request) -> Response:
    """Fill an example in a form, store it, or delete one."""
    service, key = await guards.authorized(request, "summaries")
    form = await _form(request)
    text, queue = form.get("text", "").replace("\r\n", "\n"), service.queue
    try:
        if form.get("do") == "preview":
            read = partial(stored_forms.preview_request, {"form": text})
            with queue.place(len(text)) as lane:
                _, result = await queue.summarize(read, lane, partial(guards.left, request))
            view = view_of(result.dialogue, result.to_json())
            return await _forms_page(request, service, text, view=view)
        await guards.authorized(request, "forms")
        if form.get("do") == "delete":
            await service.stored(stored_forms.remove_form, key.id, form.get("name", ""))
            return RedirectResponse("/forms?done=deleted", 303)
        await service.stored(stored_forms.store_form, key.id, text)
    except Problem as problem:
        return await _forms_page(request, service, text, problem)
    return RedirectResponse("/forms?done=stored", 303)


@router.get("/audit")
async def audit(request: Request) -> Response:
    """Show who changed what, the newest first."""
    service, _ = await guards.authorized(request, "reviews")
    changes = await service.stored(tables.find_changes, tables.AuditFilter())
    return await _page(request, "audit", changes=changes)


@router.get("/quality")
async def quality(request: Request) -> Response:
    """Show how summaries fared with the people who read them."""
    service, _ = await guards.authorized(request, "reviews")
    verdicts, edits = await service.stored(feedback.figures_of)
    return await _page(request, "quality", verdicts=verdicts, counts=verdicts + edits)


@router.get("/docs")
async def show_api(request: Request) -> Response:
    """Show the API, without anything from elsewhere."""
    service, _ = await guards.authorized(request, "summaries")
    address = service.settings.public_url or str(request.base_url)
    return await _page(request, "docs", routes=documented_routes(address.rstrip("/")))
