"""Deliveries: kept until they are sent, tried again, listed, and sent once by several processes."""

import json
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from tests.service.conftest import asking, wait_for
from tests.service.receiver import receiving
from tests.service.test_api import CALL
from tests.service.test_connectors import KINDS, SECRET
from tests.service.test_store import rows_of
from typer.testing import CliRunner

from dialogist.cli.main import command_line
from dialogist.service import deliveries, tables
from dialogist.service.connectors import open_destinations
from dialogist.service.deliveries import DeliveryFilter, Outbox, find_deliveries, retry_delivery
from dialogist.service.keys import add_key, valid_keys
from dialogist.service.problems import Problem
from dialogist.service.prometheus import log_as_json
from dialogist.service.settings import Settings

TICKET = (200, {}, {"ticket": {"id": 4711}})
BUSY = (503, {}, "")
GONE = (404, {}, {"error": "RecordNotFound"})
SAID = [{"heading": "Issue", "text": "The order is late.", "verdict": "kept", "lines": [1]}]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(deliveries, "_LOOK", 0.02)
    monkeypatch.setattr(deliveries, "_PAUSES", (0.02,) * 7)
    monkeypatch.setenv("DESK_TOKEN", "t0k3n")
    monkeypatch.setenv("DESK_SECRET", SECRET)


def destinations(url, kind="zendesk", when=("approved", "edited")):
    return {"desk": {"kind": kind, "url": url, "when": when, **KINDS[kind]}}


def outbox_of(engine, url, *approved, **more):
    """An outbox with some reviews that were approved."""
    settings = Settings(destinations=destinations(url, **more))
    outbox = Outbox(engine, open_destinations(settings.destinations), "https://desk.example/")
    for review in approved:
        enqueue(outbox, engine, review)
    return outbox


@contextmanager
def running(*outboxes):
    for outbox in outboxes:
        outbox.start()
    try:
        yield
    finally:
        for outbox in outboxes:
            outbox.stop(10)


def reviewed(engine, conversation="4711", state="approved"):
    """A review that somebody decided; its id."""
    if not valid_keys(engine):
        add_key(engine, "desk")
    now = time.time()
    values = {"id": tables.new_id(), "key_id": valid_keys(engine)[0].id, "created": now, "at": now}
    values |= {"state": state, "conversation": conversation, "text": "The order is late."}
    values |= {"final": SAID, "reviewer": "ann", "reviewed": now, "reason": "too short"}
    with engine.begin() as connection:
        connection.execute(sa.insert(tables.reviews).values(values))
    return values["id"]


def enqueue(outbox, engine, identity, event="approved"):
    engine.update_execution_options(targets=outbox.targets)  # the last one's, else
    with engine.begin() as connection:
        query = sa.select(tables.reviews.c.conversation).where(tables.reviews.c.id == identity)
        deliveries.enqueue(connection, identity, event, connection.scalar(query))


def states(engine):
    return [row.state for row in rows_of(engine, tables.deliveries)]


def leased(engine):
    return [row for row in rows_of(engine, tables.deliveries) if row.lease > time.time()]


def tickets_of(receiver):
    return [got.asked.rpartition("/")[2].removesuffix(".json") for got in receiver.got]


def test_from_a_call_to_a_note_in_its_ticket(engine):
    """Over HTTP alone; a decision that is undone before it was sent is not sent."""
    statements = [{"heading": "Issue", "text": SAID[0]["text"]}]
    with (
        receiving(TICKET) as receiver,
        asking(
            engine, destinations=destinations(receiver.url), public_url="https://desk.example/"
        ) as client,
    ):

        def decide(number, **decision):
            client.post("/v1/summaries", json={**CALL, "id": number, "review": True})
            [review] = client.get("/v1/reviews").json()["reviews"]
            path = f"/v1/reviews/{review['id']}"
            assert client.post(f"{path}/decision", json=decision).status_code == 200
            return path

        first = decide("4711", verdict="edited", statements=statements)
        wait_for(lambda: states(engine) == ["sent"])
        [row] = rows_of(engine, tables.deliveries)
        assert (row.body, row.tries, row.error) == (None, 1, "")
        receiver.answers[0] = BUSY
        second = decide("4712", verdict="approved")
        wait_for(lambda: len(receiver.got) >= 2)
        assert client.post(f"{second}/undo").status_code == 200
        undone, sent = client.get("/v1/deliveries").json()["deliveries"]
        assert client.post(f"/v1/deliveries/{undone['id']}/retry").status_code == 409
    assert receiver.got[0].asked == "PUT /api/v2/tickets/4711.json"
    comment = json.loads(receiver.got[0].body)["ticket"]["comment"]
    link = f'<p><a href="https://desk.example{first[3:]}">Open the review</a></p>'
    note = f"<h2>Issue</h2><ul><li>The order is late.</li></ul>{link}"
    assert comment == {"html_body": note, "public": False}
    assert (sent["state"], sent["event"], sent["error"]) == ("sent", "review.edited", "")
    assert (undone["state"], undone["event"]) == ("withdrawn", "review.approved")
    assert undone["error"] == "undone before it was sent"


def test_what_fails_is_tried_again_with_the_same_id(engine):
    with receiving(BUSY, "close", BUSY, (204, {}, "")) as receiver:
        outbox = outbox_of(engine, receiver.url, reviewed(engine), kind="webhook")
        with running(outbox):
            wait_for(lambda: states(engine) == ["sent"])
    assert len(receiver.got) == 4
    assert len({got.headers["webhook-id"] for got in receiver.got}) == 1
    assert len({got.body for got in receiver.got}) == 1


def test_pauses_grow_and_a_receiver_can_ask_for_longer(engine, monkeypatch):
    monkeypatch.setattr(deliveries, "_PAUSES", (5.0, 60.0))
    with receiving(BUSY, (429, {"Retry-After": "900"}, "")) as receiver:
        outbox = outbox_of(engine, receiver.url, reviewed(engine))
        with running(outbox):
            for number, pause, spread in ((1, 5, 1.5), (2, 900, 2)):
                wait_for(lambda n=number: len(receiver.got) == n and not leased(engine))
                [row] = rows_of(engine, tables.deliveries)
                assert row.next_try - time.time() == pytest.approx(pause, abs=spread)
                with engine.begin() as connection:  # as if that time had passed
                    connection.execute(sa.update(tables.deliveries).values(next_try=0.0))
            enqueue(outbox, engine, reviewed(engine))
            time.sleep(0.2)
    assert len(receiver.got) == 2, "the destination has the pause that it asks for"


def test_what_is_refused_is_a_dead_letter_until_somebody_retries(engine):
    with receiving(GONE, TICKET) as receiver:
        outbox = outbox_of(engine, receiver.url, reviewed(engine), reviewed(engine, "call-17"))
        with running(outbox):
            wait_for(lambda: states(engine) == ["dead", "dead"])
            dead = find_deliveries(engine, DeliveryFilter(state="dead"))
            told = {one["error"] for one in dead}
            assert "404 Not Found: RecordNotFound (ticket 4711)" in told
            assert any("send it with its ticket" in error for error in told)
            [known] = [one["id"] for one in dead if "404" in one["error"]]
            retry_delivery(engine, "", known)
            wait_for(lambda: sorted(states(engine)) == ["dead", "sent"])
        with pytest.raises(Problem, match="conflict"):
            retry_delivery(engine, "", known)
    assert len(receiver.got) == 2


def test_what_fails_too_often_is_a_dead_letter(engine):
    with receiving(BUSY) as receiver:
        outbox = outbox_of(engine, receiver.url, reviewed(engine))
        with running(outbox):
            wait_for(lambda: states(engine) == ["dead"])
    assert len(receiver.got) == 8
    assert rows_of(engine, tables.deliveries)[0].body, "it can still be sent"


def test_a_decision_goes_where_it_is_wanted_and_without_text_unless_approved(engine):
    with receiving((204, {}, "")) as receiver:
        outbox = outbox_of(engine, receiver.url, kind="webhook", when=("rejected", "undone"))
        enqueue(outbox, engine, reviewed(engine))
        enqueue(outbox, engine, reviewed(engine, state="rejected"), "rejected")
        with running(outbox):
            wait_for(lambda: states(engine) == ["sent"])
    [got] = receiver.got
    told = json.loads(got.body)
    assert told["type"] == "review.rejected"
    data = {name: told["data"][name] for name in ("decision", "reason", "reviewer", "text")}
    assert data == {"decision": "rejected", "reason": "too short", "reviewer": "ann", "text": ""}
    assert told["data"]["statements"] == []


def test_what_has_no_ticket_waits_for_somebody_who_knows_it(engine):
    outbox_of(engine, "http://127.0.0.1:9", reviewed(engine, conversation=""))
    assert rows_of(engine, tables.deliveries) == []


def test_a_deletion_while_it_is_sent_ends_its_tries(engine):
    with receiving(BUSY, TICKET) as receiver:
        receiver.go.clear()
        review = reviewed(engine)
        outbox = outbox_of(engine, receiver.url, review)
        with running(outbox):
            wait_for(lambda: receiver.got)
            enqueue(outbox, engine, review, "deleted")
            receiver.go.set()
            time.sleep(0.3)
    assert (len(receiver.got), states(engine)) == (1, ["withdrawn"])


def test_several_processes_send_each_delivery_once(engine):
    with receiving(TICKET) as receiver:
        tickets = [str(number) for number in range(40)]
        others = [outbox_of(engine, receiver.url) for _ in range(2)]
        reviews = (reviewed(engine, ticket) for ticket in tickets)
        with running(*others, outbox_of(engine, receiver.url, *reviews)):
            wait_for(lambda: set(states(engine)) == {"sent"})
    assert sorted(tickets_of(receiver)) == sorted(tickets)


def test_a_slow_destination_holds_up_no_other(engine):
    with receiving(TICKET) as slow, receiving((204, {}, "")) as other:
        slow.go.clear()
        chosen = {
            **destinations(slow.url),
            "log": {"kind": "webhook", "url": other.url, "when": ["approved"], **KINDS["webhook"]},
        }
        targets = open_destinations(Settings(destinations=chosen).destinations)
        outbox = Outbox(engine, targets, "")
        for _ in range(3):
            enqueue(outbox, engine, reviewed(engine))
        with running(outbox):
            wait_for(lambda: len(other.got) == 3)
            assert len(slow.got) == 1
            slow.go.set()
            wait_for(lambda: set(states(engine)) == {"sent"})


SENDER = """
import os, sys, time
from dialogist.service import deliveries, tables
from dialogist.service.connectors import open_destinations
from dialogist.service.settings import Settings

deliveries._LOOK = 0.02
settings = Settings.model_validate_json(sys.argv[2])
engine = tables.open_store(sys.argv[1])
outbox = deliveries.Outbox(engine, open_destinations(settings.destinations), "")
outbox.start()
time.sleep(60)
"""


def test_a_process_that_is_killed_while_it_sends_loses_nothing(tmp_path):
    url = f"sqlite:///{tmp_path / 'service.db'}"
    engine = tables.open_store(url)
    with receiving("hold", TICKET, "hold", TICKET) as receiver:
        tickets = [str(number) for number in range(5)]
        outbox = outbox_of(engine, receiver.url, *(reviewed(engine, one) for one in tickets))
        settings = Settings(destinations=destinations(receiver.url)).model_dump_json()
        for asked in (1, 3):
            process = subprocess.Popen([sys.executable, "-c", SENDER, url, settings])
            wait_for(lambda n=asked: len(receiver.got) == n)
            process.kill()
            process.wait()
            assert len(leased(engine)) == 1
            with engine.begin() as connection:  # as if the time of the lease had passed
                connection.execute(sa.update(tables.deliveries).values(lease=0.0))
        with running(outbox):
            wait_for(lambda: set(states(engine)) == {"sent"})
    assert set(tickets_of(receiver)) == set(tickets)
    assert len(receiver.got) == len(tickets) + 2, "twice only what was being sent at a kill"
    engine.dispose()


def test_a_clock_that_jumps_holds_nothing_up(engine):
    with receiving(TICKET) as receiver:
        outbox = outbox_of(engine, receiver.url, reviewed(engine))
        with engine.begin() as connection:  # as a process left it whose clock was a month ahead
            ahead = time.time() + 30 * 86_400
            values = {"next_try": ahead, "lease": ahead, "owner": "x"}
            connection.execute(sa.update(tables.deliveries).values(values))
        with running(outbox):
            wait_for(lambda: states(engine) == ["sent"])


def test_a_store_that_is_locked_when_it_was_sent_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "PATIENCE", 0.05)
    engine = tables.open_store(f"sqlite:///{tmp_path / 'service.db'}")
    with receiving(TICKET) as receiver:
        receiver.go.clear()
        outbox = outbox_of(engine, receiver.url, reviewed(engine))
        with running(outbox):
            wait_for(lambda: receiver.got)
            with engine.connect() as connection:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                receiver.go.set()
                time.sleep(0.3)
                connection.rollback()
            wait_for(lambda: states(engine) == ["sent"])
    assert len(receiver.got) == 1
    engine.dispose()


def test_over_http_by_hand(engine):
    review, rejected = reviewed(engine, "call-17"), reviewed(engine, state="rejected")
    path, other = (f"/v1/reviews/{one}/deliveries" for one in (review, rejected))
    with (
        receiving(GONE, TICKET) as receiver,
        asking(engine, destinations=destinations(receiver.url)) as client,
    ):

        def post(path, **body):
            return client.post(path, json=body)

        refused = [
            post(path, to="nowhere", ticket="1"),
            post(path, to="desk"),
            post(path, to="desk", ticket="../1"),
            post(path, to="desk", ticket=1),
            post(path, to="desk", ticket="1", url="http://evil.example"),
            post(other, to="desk", ticket="1"),
            client.get("/v1/deliveries?state=lost"),
            client.get("/v1/deliveries?limit=0"),
            post("/v1/deliveries/0123456789abcdef/retry"),
        ]
        once = {"Idempotency-Key": "a"}
        body = {"to": "desk", "ticket": "#4711"}
        added = [client.post(path, json=body, headers=once) for _ in range(2)]
        added.append(client.post(other, json=body, headers=once))
        wait_for(lambda: states(engine) == ["dead"])
        dead = client.get("/v1/deliveries?state=dead").json()["deliveries"]
        retry = f"/v1/deliveries/{dead[0]['id']}/retry"
        again = post(retry)
        wait_for(lambda: states(engine) == ["sent"])
        sent = client.get(f"/v1/deliveries?review={review}").json()["deliveries"]
        sent_again = post(retry)
    statuses = [reply.status_code for reply in refused]
    assert statuses == [422, 422, 422, 400, 400, 409, 400, 400, 404]
    assert refused[0].json()["detail"] == "to: use one of desk"
    assert refused[1].json()["detail"] == "ticket: give its number at desk"
    assert added[0].status_code == 202
    assert added[2].json()["code"] == "idempotency_conflict"
    assert added[0].json() == added[1].json() == {"id": dead[0]["id"]}
    assert (dead[0]["tries"], dead[0]["error"][-13:]) == (1, "(ticket 4711)")
    assert "The order" not in str(dead)
    assert (again.status_code, sent_again.status_code) == (202, 409)
    assert (sent[0]["state"], sent[0]["event"]) == ("sent", "review.approved")
    assert [got.asked for got in receiver.got] == ["PUT /api/v2/tickets/4711.json"] * 2
    assert "delivery added" in [row.action for row in rows_of(engine, tables.audit)]


def test_on_the_command_line(tmp_path):
    store = f"sqlite:///{tmp_path / 'service.db'}"
    engine = tables.open_store(store)
    outbox = outbox_of(engine, "http://127.0.0.1:9", reviewed(engine, "call-17"))
    with running(outbox):
        wait_for(lambda: states(engine) == ["dead"])

    def run(*words):
        words = ["deliveries", *words, "--store", store]
        return CliRunner().invoke(command_line("deliveries"), words)

    [row] = rows_of(engine, tables.deliveries)
    cells = [row.id, "desk", "review.approved", row.review_id, "1", row.error]
    assert run("list").stdout == "\t".join(cells) + "\n"
    assert run("retry").exit_code == 0
    assert run("list").stdout == ""
    assert states(engine) == ["waiting"]
    assert "no delivery of this id" in str(run("retry", "nope").exception)
    engine.dispose()


def test_logs_have_no_content(engine, capsys):
    with receiving((422, {}, {"error": "InvalidNote", "x": "The order is late."})) as receiver:
        log_as_json()
        outbox = outbox_of(engine, receiver.url, reviewed(engine))
        with running(outbox):
            wait_for(lambda: states(engine) == ["dead"])
    told = capsys.readouterr().err
    assert '"event": "delivery dead"' in told
    assert "The order" not in told
    assert "t0k3n" not in told
