"""Reviews keep their result: decided once, found again, exported, undone, and forgotten in time."""

import asyncio
import csv
import io
import json
import threading
import time

import pytest
import sqlalchemy as sa
from tests.service.conftest import Says, ask, asking
from tests.service.test_api import TEXT
from tests.service.test_store import rows_of
from typer.testing import CliRunner

from dialogist import Dialogue, SummaryOptions
from dialogist.cli.main import command_line
from dialogist.records import Draft, EvidenceSpan
from dialogist.service import reviews, tables
from dialogist.service.keys import add_key, valid_keys
from dialogist.service.problems import Problem
from dialogist.service.requests import checked_values
from dialogist.service.reviewed_text import edits_between
from dialogist.service.reviews import Decision, ReviewPage, decide, delete_review, find_reviews
from dialogist.summarizer import Summarizer
from dialogist_lab.verifier.judged import read_judged

TALK = (
    "Guest: The sink leaks, and my number is 415 555 0132.\n"
    "Agent: I will send a plumber today at noon.\n"
    "Guest: Thank you, I will wait here for the plumber.\n"
)
DAY = 86_400.0


def writer_of(*texts):
    """It says these texts, or two, under headings in turns."""
    texts = texts or ("The number of the guest is 415 555 0132.", "A plumber comes.")
    headings = ("Problem", "Done")
    said = ((text, n % 3, headings[n % 2]) for n, text in enumerate(texts))
    return Says(*(Draft(t, (n,), heading, (EvidenceSpan(n, 0, 5),)) for t, n, heading in said))


@pytest.fixture
def key(engine):
    add_key(engine, "desk")
    return valid_keys(engine)[0]


def add(engine, key, *texts, conversation="case-7", form=None):
    dialogue = Dialogue(Dialogue.from_text(TALK).utterances, id=conversation)
    writer = writer_of(*texts)
    result = Summarizer(writer, None, form).result(dialogue, SummaryOptions(unsupported="mark"))
    return reviews.add_review(engine, key.id, result)


def later(engine, identity, seconds):
    """As if everything that happened to a review were that long ago."""
    table = tables.reviews
    moved = {name: table.c[name] - seconds for name in ("at", "created", "reviewed", "deleted")}
    with engine.begin() as connection:
        connection.execute(sa.update(table).where(table.c.id == identity).values(moved))


def approve(engine, key, identity, **more):
    return decide(engine, key, identity, Decision(verdict="approved", **more), "masked")


def ids_of(engine, **wanted):
    return [one["id"] for one in find_reviews(engine, ReviewPage(**wanted))["reviews"]]


def text_of(engine, **wanted):
    return "".join(reviews.export_reviews(engine, reviews.ExportFilter(**wanted)))


@pytest.mark.parametrize(("keep", "number"), [("masked", "[PHONE_1]"), ("as_is", "415 555 0132")])
def test_what_was_approved_is_kept_masked_or_as_it_is(engine, keep, number):
    with asking(engine, writer_of(), keep_approved=keep) as client:
        made = client.post("/v1/summaries?review=1&id=case-7", content=TALK, headers=TEXT)
        path = made.headers["Location"].replace("/reviews", "/v1/reviews")
        done = client.post(f"{path}/decision", json={"verdict": "approved"})
        listed = client.get("/v1/reviews?state=approved,edited&search=CASE-7").json()
        shown = client.get(path).json()
    said = f"Problem\nThe number of the guest is {number}."
    assert shown == done.json()
    assert shown["text"] == f"{said}\n\nDone\nA plumber comes."
    assert shown["statements"][0]["lines"] == [1]
    assert (shown["state"], shown["reviewer"]) == ("approved", "test 0")
    assert shown["speakers"] == ["Guest", "Agent"]
    assert shown["reviewed"] >= shown["created"]
    assert "dialogue" not in shown
    [one] = listed["reviews"]
    assert one["excerpt"].startswith(said)
    assert not {"text", "statements", "dialogue"} & one.keys()


def test_how_ready_a_summary_is_is_null_where_nobody_tells(engine, key):
    identity = add(engine, key, form="call")
    assert find_reviews(engine, ReviewPage())["reviews"][0]["ready"] is None
    assert approve(engine, key, identity)["ready"] is None
    assert next(csv.DictReader(io.StringIO(text_of(engine))))["ready"] == ""


def test_an_edit_keeps_headings_and_the_lines_of_what_it_changed(engine, key):
    identity = add(engine, key)
    left = [
        {"text": "A plumber comes   at noon.", "heading": "To do"},
        {"text": "It is urgent"},
        {"text": "The number of the guest is 415 555 0132."},
    ]
    shown = decide(engine, key, identity, Decision(verdict="edited", statements=left), "as_is")
    assert shown["statements"] == [
        {"heading": "To do", "text": "A plumber comes at noon.", "verdict": "edited", "lines": [2]},
        {"heading": "To do", "text": "It is urgent", "verdict": "added", "lines": []},
        {**left[2], "heading": "Problem", "verdict": "unverified", "lines": [1]},
    ]
    assert shown["draft_text"].startswith("Problem\nThe number")
    [row] = rows_of(engine, tables.feedback_table)
    assert row.edits == {"changed": 1, "added": 1, "kept": 1}
    assert (row.content, row.review_id) == (None, identity)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"verdict": "edited"}, "send all that remain"),
        ({"verdict": "approved", "statements": [{"text": "x"}]}, "send all that remain"),
        ({"verdict": "edited", "statements": [{"text": "  "}]}, "statements: "),
        ({"verdict": "rejected", "reason": "x" * 2001}, "reason: "),
        ({"verdict": "fine"}, "verdict: "),
        ({"verdict": "approved", "secret": 1}, "use only "),
    ],
)
def test_a_decision_that_is_not_clear_is_refused(engine, key, given, told):
    identity = add(engine, key)
    with pytest.raises(Problem) as refused:
        decide(engine, key, identity, checked_values(Decision, given), "masked")
    assert refused.value.code == "bad_request"
    assert refused.value.detail.removeprefix("statements: ").startswith(
        told.removeprefix("statements: ")
    )
    assert ids_of(engine) == [identity]


def test_of_two_who_decide_at_once_one_is_told(engine, key):
    outcomes = []
    for _ in range(5):
        identity, ready = add(engine, key), threading.Barrier(3)

        def one(verdict, identity=identity, ready=ready):
            ready.wait()
            try:
                outcomes.append(decide(engine, key, identity, Decision(verdict=verdict), "masked"))
            except Problem as problem:
                outcomes.append(problem.code)

        verdicts = ("approved", "rejected", "approved")
        threads = [threading.Thread(target=one, args=(verdict,)) for verdict in verdicts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        done = [each for each in outcomes[-3:] if each != "conflict"]
        assert len(done) == 1
        assert reviews.review_of(engine, identity) == done[0]
    assert len(rows_of(engine, tables.feedback_table)) == 5


def test_reviews_are_filtered_and_paged_in_their_order(engine, key):
    made = [add(engine, key, form="call" if n % 2 else None) for n in range(7)]
    for n, identity in enumerate(made):
        later(engine, identity, (7 - n) * 3600)
    for identity in made[:5]:
        approve(engine, key, identity)
    decide(engine, key, made[5], Decision(verdict="rejected", reason="Wrong customer."), "masked")
    delete_review(engine, key, made[4])
    assert ids_of(engine) == [made[6]]
    assert ids_of(engine, state="approved") == made[3::-1]
    assert ids_of(engine, state="approved", form="call") == [made[3], made[1]]
    assert ids_of(engine, state="approved,deleted") == made[4::-1]
    [rejected] = find_reviews(engine, ReviewPage(state="rejected"))["reviews"]
    assert rejected["reason"] == "Wrong customer."
    seen, after = [], ""
    for _ in range(4):
        page = find_reviews(engine, ReviewPage(state="approved", limit=1, after=after))
        seen += [one["id"] for one in page["reviews"]]
        after = page["next"]
    assert seen == made[3::-1]
    assert find_reviews(engine, ReviewPage(state="approved", limit=1, after=after))["next"] == ""
    later(engine, made[1], 5 * DAY)
    week_ago = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 3 * DAY))
    assert ids_of(engine, state="approved", until=week_ago) == [made[1]]
    assert made[1] not in ids_of(engine, state="approved", since=week_ago)


def test_what_waits_comes_the_oldest_first_and_page_by_page(engine, key):
    made = [add(engine, key) for _ in range(5)]
    first = find_reviews(engine, ReviewPage(limit=2))
    assert [one["id"] for one in first["reviews"]] == made[:2]
    approve(engine, key, made[0])
    assert ids_of(engine, limit=2, after=first["next"]) == made[2:4]


@pytest.mark.parametrize(
    ("search", "found"),
    [
        *(("PLUMBER comes", [0]), ("ÜBER 100%", [1]), ("00%", [1]), ("0_%", [])),
        *(("Case-1", [1]), ("case-", [1, 0]), ("0132", [])),
    ],
)
def test_a_search_looks_in_texts_and_ids(engine, key, search, found):
    made = [
        add(engine, key, conversation="case-0"),
        add(engine, key, "It costs über 100%", "Nothing else.", conversation="case-1"),
    ]
    for identity in made:
        approve(engine, key, identity)
    assert ids_of(engine, state="approved", search=search) == [made[n] for n in found]


def test_a_search_looks_at_so_many_reviews_and_says_where_to_go_on(engine, key, monkeypatch):
    monkeypatch.setattr(reviews, "_SCANNED", 3)
    wanted = add(engine, key, "The boiler is cold.", "Nothing else.")
    for _ in range(4):
        add(engine, key)
    for one in ids_of(engine):
        approve(engine, key, one)
    found = find_reviews(engine, ReviewPage(state="approved", search="boiler"))
    assert found["reviews"] == []
    assert ids_of(engine, state="approved", search="boiler", after=found["next"]) == [wanted]
    assert "boiler" in text_of(engine, search="boiler", format="jsonl")


def test_an_export_is_whole_and_runs_nothing(engine, key, monkeypatch):
    monkeypatch.setattr(reviews, "_PAGE", 2)
    payload = '=HYPERLINK("https://x.example","y")'
    made = [add(engine, key, conversation=f"case-{n}") for n in range(4)]
    made.append(add(engine, key, "# <b>Bold</b>", "- x", conversation=payload))
    for identity in made:
        approve(engine, key, identity)
    rows = list(csv.DictReader(io.StringIO(text_of(engine))))
    assert [row["id"] for row in rows] == made[::-1]
    assert rows[0]["conversation"] == f"'{payload}"
    assert rows[1]["text"].splitlines()[0] == "Problem"
    lines = [json.loads(line) for line in text_of(engine, format="jsonl").splitlines()]
    assert [one["id"] for one in lines] == made[::-1]
    assert lines[1]["statements"][1]["heading"] == "Done"
    markdown = text_of(engine, format="markdown", search="bold")
    assert "### Problem\n- \\# \\<b\\>Bold\\</b\\>" in markdown.replace("\n\n", "\n")
    assert "<b>" not in markdown


def test_an_export_comes_over_http_as_a_file(engine, key):
    approve(engine, key, add(engine, key))
    with asking(engine) as client:
        paths = ("format=csv", "format=jsonl&state=open", "format=pdf", "limit=3")
        table, empty, unknown, limit = [client.get(f"/v1/reviews/export?{path}") for path in paths]
    assert table.headers["Content-Type"].startswith("text/csv")
    assert table.headers["Content-Disposition"] == 'attachment; filename="reviews.csv"'
    assert len(table.text.split("case-7")) == 2
    assert (empty.status_code, empty.text) == (200, "")
    assert unknown.json()["detail"].startswith("format: ")
    assert limit.status_code == 422


@pytest.mark.parametrize("verdict", ["approved", "rejected", "deleted"])
def test_a_decision_is_undone_within_a_day(engine, key, verdict):
    identity = add(engine, key)
    before = reviews.review_of(engine, identity)

    def act():
        if verdict == "deleted":
            delete_review(engine, key, identity)
        else:
            given = Decision(verdict=verdict, reason="x" * (verdict == "rejected"), consent=True)
            decide(engine, key, identity, given, "masked")

    act()
    assert reviews.review_of(engine, identity)["state"] == verdict
    assert ids_of(engine) == []
    later(engine, identity, DAY - 60)
    tables.forget(engine, 30, 400)
    reviews.undo(engine, key, identity)
    assert {**reviews.review_of(engine, identity), "created": before["created"]} == before
    assert rows_of(engine, tables.feedback_table) == []
    with pytest.raises(Problem, match="conflict"):
        reviews.undo(engine, key, identity)
    act()
    later(engine, identity, DAY + 60)
    with pytest.raises(Problem, match="conflict"):
        reviews.undo(engine, key, identity)
    assert reviews.review_of(engine, identity)["state"] == verdict


def test_a_deletion_of_what_was_approved_is_undone_first(engine, key):
    identity = add(engine, key)
    approve(engine, key, identity)
    delete_review(engine, key, identity)
    with pytest.raises(Problem, match="not_found"):
        delete_review(engine, key, identity)
    assert reviews.undo(engine, key, identity)["state"] == "approved"
    assert reviews.undo(engine, key, identity)["state"] == "open"


@pytest.mark.parametrize(
    ("act", "days", "left"),
    [
        ("open", 29, "whole"),
        ("open", 31, "gone"),
        ("approved", 0.9, "whole"),
        ("approved", 1.1, "text"),
        ("approved", 29, "text"),
        ("approved", 31, "gone"),
        ("rejected", 0.9, "whole"),
        ("rejected", 1.1, "empty"),
        ("deleted", 0.9, "whole"),
        ("deleted", 1.1, "gone"),
    ],
)
def test_content_goes_when_its_time_is_over(engine, key, act, days, left):
    identity = add(engine, key)
    if act != "open":
        verdict = "rejected" if act == "rejected" else "approved"
        decide(engine, key, identity, Decision(verdict=verdict, consent=True), "as_is")
    if act == "deleted":
        delete_review(engine, key, identity)
    later(engine, identity, days * DAY)
    tables.forget(engine, 30, 400)
    rows = rows_of(engine, tables.reviews)
    kinds = {(): "gone", (True, True): "whole", (True, False): "text", (False, False): "empty"}
    held = tuple(x for row in rows for x in ("415 555" in str(row), bool(row.dialogue)))
    assert kinds[held] == left
    if act != "open" and left == "gone":
        assert all(not row.content for row in rows_of(engine, tables.feedback_table))


def test_the_audit_says_who_did_what_and_holds_no_content(engine, key):
    add_key(engine, "Ann Lee")
    other = next(one for one in valid_keys(engine) if one.name == "Ann Lee")
    identity = add(engine, key)
    reason = "It names 415 555 0132."
    decide(engine, other, identity, Decision(verdict="rejected", reason=reason), "masked")
    reviews.undo(engine, key, identity)
    delete_review(engine, other, identity)
    with asking(engine) as client:
        whole = client.get("/v1/audit").json()["changes"]
        last = client.get(f"/v1/audit?limit=1&after={whole[2]['number']}").json()
        none = client.get("/v1/audit?since=2100-01-01T00:00:00Z").json()
        assert client.get(f"/v1/audit?after={10**40}").status_code == 400
    of_review = [(one["who"], one["action"]) for one in whole if one["subject"] == identity]
    assert of_review == [
        ("Ann Lee", "review deleted"),
        ("desk", "review undone"),
        ("Ann Lee", "review rejected"),
        ("desk", "review added"),
    ]
    assert last["changes"] == [whole[3]]
    assert none == {"changes": []}
    assert "415 555" not in str(whole)


@pytest.mark.parametrize(
    "after",
    [
        [f"wholly other {n}" for n in range(2000)],
        [f"the sink number {n} of the guest leaks again" for n in range(2000)],
        [f"{n} the guest of sink number leaks" for n in range(2000, 0, -1)],
    ],
)
def test_two_thousand_edited_lines_take_no_time(after):
    before = [f"the sink number {n} of the guest leaks" for n in range(2000)]
    began = time.process_time()
    edits = edits_between(before, after)
    assert time.process_time() - began < 0.7
    assert edits.get("kept", 0) + edits.get("changed", 0) + edits.get("added", 0) == 2000


def test_a_long_edit_holds_up_nobody(engine, key):
    """It took the event loop for half a minute."""
    draft = [f"The sink number {n} of the guest leaks." for n in range(2000)]
    identity = add(engine, key, *draft)
    left = [{"text": f"{n} sinks of the guest leak."} for n in range(2000)]

    async def conversation(service):
        async with service.client() as client:
            body = {"verdict": "edited", "statements": left}
            task = asyncio.create_task(client.post(f"/v1/reviews/{identity}/decision", json=body))
            waits = []
            while not task.done():
                began = time.monotonic()
                assert (await client.get("/healthz")).status_code == 200
                waits.append(time.monotonic() - began)
                await asyncio.sleep(0.01)
            return await task, max(waits)

    done, wait = ask(engine, conversation, keep_approved="as_is")
    assert len(done.json()["statements"]) == 2000
    assert wait < 5


def test_corrections_with_consent_become_data_for_three_models(engine, key, tmp_path):
    shared = {"consent": True, "verdict": "edited"}
    left = [{"text": "A plumber comes at noon."}, {"text": "Call 415 555 0132."}]
    first, second, third, fourth = (add(engine, key) for _ in range(4))
    decide(engine, key, first, Decision(**shared, statements=left), "masked")
    approve(engine, key, second, consent=True)
    decide(engine, key, third, Decision(verdict="rejected", consent=True), "masked")
    approve(engine, key, fourth)
    exported = {}
    for kind in ("pairs", "statements", "verdicts"):
        file = tmp_path / f"{kind}.jsonl"
        words = ["export", "--as", kind, "--store", str(engine.url.render_as_string(False))]
        made = CliRunner().invoke(command_line("feedback"), ["feedback", *words, "-o", str(file)])
        assert made.exit_code == 0, made.output
        exported[kind] = [json.loads(line) for line in file.read_text().splitlines()]
        assert "415 555" not in file.read_text()
    assert [one["summary"] for one in exported["pairs"]] == [
        "A plumber comes at noon.\nCall [PHONE_1].",
        "The number of the guest is [PHONE_1].\nA plumber comes.",
    ]
    edited, approved = read_judged([tmp_path / "statements.jsonl"], tmp_path / "no", None)
    assert [(one.label, one.lines, one.text) for one in edited.statements] == [
        ("partial", (1,), "A plumber comes."),
        ("true", (1,), "A plumber comes at noon."),
        ("invented", (0,), "The number of the guest is [PHONE_1]."),
    ]
    assert {one.label for one in approved.statements} == {"true"}
    assert edited.dialogue.utterances[1].text == "I will send a plumber today at noon."
    assert [one["verdict"] for one in exported["verdicts"]] == ["edited", "approved", "rejected"]
    assert exported["verdicts"][0]["edits"] == {"changed": 1, "added": 1, "removed": 1}
    assert exported["verdicts"][2]["statements"][1]["text"] == "A plumber comes."


def test_a_filter_that_is_not_valid_is_refused(engine):
    for wanted in ({"state": "done"}, {"since": "soon"}, {"after": "x"}, {"search": "x" * 201}):
        with pytest.raises(Problem) as refused:
            checked_values(ReviewPage, wanted)
        assert refused.value.detail.startswith(f"{next(iter(wanted))}: ")
    with pytest.raises(Problem, match="not_found"):
        find_reviews(engine, ReviewPage(after="0" * 16))
    assert reviews.ReviewFilter(since="2026-11-28").since.timestamp() == 1795824000
