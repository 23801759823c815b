"""The store: keys, stored batches, feedback; on SQLite, and on PostgreSQL if given."""

import asyncio
import json
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import pytest
import sqlalchemy as sa
from tests.service.conftest import Slow, ask, asking, finished, serving, wait_for
from tests.service.test_api import CALL, JSON

from dialogist.errors import ConfigError, DataError, UsageError
from dialogist.service import keys, tables
from dialogist.service import stored_batches as batches
from dialogist.service.feedback import feedback_of, shared_feedback
from dialogist.service.keys import KeyRing, TokenBucket, add_key, revoke_key, valid_keys
from dialogist.service.problems import Problem
from dialogist.service.settings import Settings


def rows_of(engine, table):
    with engine.connect() as connection:
        return connection.execute(sa.select(table)).all()


OLD_KEY = "dlg_PQ0qdm4AvFzckmv6nxF6vp3r5JgZu0wwM0mnvmq4VqI"


def test_a_store_of_release_0_2_goes_on(engine):
    """Its key is good, its batch is worked off, its review is shown; it is upgraded once."""
    is_sqlite = engine.dialect.name == "sqlite"
    made = (Path(__file__).parent / "store_of_0_2.sql").read_text()
    made = made if is_sqlite else made.replace("number INTEGER NOT NULL,", "number SERIAL,", 1)
    fresh = shape_of(engine)
    tables.metadata.drop_all(engine)
    with engine.begin() as connection:
        for statement in made.split(";\n")[1:-2]:
            connection.exec_driver_sql(statement)
        for table in ("batches", "reviews"):  # else they would be forgotten some day
            connection.exec_driver_sql(f"UPDATE {table} SET created = {time.time()}")
        gone = "('1234', 'gone', 'abcd', 'summaries', 1.0, 2.0)"
        connection.exec_driver_sql(f"INSERT INTO keys VALUES {gone}")
        if not is_sqlite:  # the rows were not numbered by it
            connection.exec_driver_sql("SELECT setval('audit_number_seq', 100)")
    for _ in range(2):
        tables.upgrade(engine)
    assert rows_of(engine, tables.store_version) == [(tables.VERSION,)]
    assert shape_of(engine) == fresh
    old_key = KeyRing(engine, 60).find(OLD_KEY)
    assert (old_key.name, "forms" in old_key.scopes) == ("old", True)
    assert {row.who for row in rows_of(engine, tables.audit)} == {"old"}
    assert keys.revoked_keys(engine) == [("gone", 2.0)]
    add_key(engine, "gone")
    [row] = rows_of(engine, tables.batches)
    assert row.options == {"form": "call", "length": "short"}

    own = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}
    with serving(engine) as service, service.blocking(OLD_KEY, **own) as client:
        [review] = client.get("/v1/reviews?form=&search=new one").json()["reviews"]
        page = client.get(f"/reviews/{review['id']}")
        path = f"/v1/reviews/{review['id']}/decision"
        done = client.post(path, json={"verdict": "approved"})
        status, results = finished(client, f"/v1/batches/{row.id}")
    assert (status["done"], [one["status"] for one in results]) == (2, ["review", "review"])
    assert results[0]["filled"]
    assert (page.status_code, done.status_code) == (200, 200)
    assert "Bo will send a new one today" in page.text


def shape_of(engine):
    """The columns and indexes of a store."""
    there = sa.inspect(engine)
    names = there.get_table_names()
    columns = {(name, column["name"]) for name in names for column in there.get_columns(name)}
    return columns, {index["name"] for name in names for index in there.get_indexes(name)}


def test_tables_of_a_newer_release_are_refused(engine):
    with engine.begin() as connection:
        connection.execute(sa.update(tables.store_version).values(version=9))
    with pytest.raises(DataError, match="newer release"):
        tables.upgrade(engine)


@pytest.mark.parametrize("url", ["nonsense", "mysql://x/y", ""])
def test_an_address_that_is_no_store_is_refused(url):
    with pytest.raises(ConfigError, match="store"):
        tables.open_store(url)


def test_a_key_is_stored_as_its_hash_and_can_be_revoked(engine):
    secret = add_key(engine, "desk", ["summaries"])
    ring = KeyRing(engine, 60)
    assert ring.find(secret).scopes == {"summaries"}
    assert ring.find(secret[:-1]) is None
    assert secret not in str(rows_of(engine, tables.keys))
    session = ring.open_session(ring.find(secret), 1)
    assert ring.find_session(session).name == "desk"
    assert session not in str(rows_of(engine, tables.sessions))
    revoke_key(engine, "desk")
    assert valid_keys(engine) == []
    assert KeyRing(engine, 60).find(secret) is None
    assert KeyRing(engine, 60).find_session(session) is None
    done = [(row.who, row.action) for row in rows_of(engine, tables.audit)]
    assert done == [("desk", "key added"), ("desk", "key revoked")]
    new = add_key(engine, "desk")  # the name can be used again
    ring = KeyRing(engine, 60)
    assert (ring.find(secret), ring.find(new).name) == (None, "desk")
    assert [name for name, _ in keys.revoked_keys(engine)] == ["desk"]


def test_a_new_key_works_at_once_and_guessing_does_not_hammer_the_store(engine, monkeypatch):
    looks = []
    monkeypatch.setattr(keys, "valid_keys", lambda store: looks.append(1) or valid_keys(store))
    monkeypatch.setattr(keys, "_LOOKS", 20)
    ring = KeyRing(engine, 60)
    for name in ("a", "b", "c"):
        assert ring.find(add_key(engine, name)).name == name
    assert len(looks) == 3
    secret = add_key(engine, "d")
    assert all(ring.find(f"guess {n}") is None for n in range(1000))
    assert len(looks) <= 22
    assert ring.find(secret).name == "d"  # seen while the guesses were looked for
    assert ring.find(add_key(engine, "e")) is None


def test_names_and_scopes_of_keys_are_checked(engine):
    add_key(engine, "desk")
    with pytest.raises(UsageError, match="another key has it"):
        add_key(engine, "desk")
    with pytest.raises(UsageError, match="did you mean 'batches'"):
        add_key(engine, "new", ["batch"])
    with pytest.raises(UsageError, match="letters"):
        add_key(engine, "\x1b[2J")
    with pytest.raises(UsageError, match="no such key"):
        revoke_key(engine, "nobody")


def test_a_rate_is_exact():
    bucket = TokenBucket(1000)
    assert sum(bucket.take(now / 100) == 0 for now in range(12_000)) in range(2998, 3002)


def add(client, dialogues, **headers):
    body = {"dialogues": dialogues}
    return client.post("/v1/batches", json=body, headers=headers)


def test_a_batch_has_a_result_for_each_dialogue_in_order(engine):
    dialogues = [{**CALL, "id": str(n)} for n in range(20)]
    dialogues[3] = {"id": "3", "text": 7}
    dialogues[4] = "no object"
    with asking(engine) as client:
        reply = add(client, dialogues)
        (status, results) = finished(client, reply.headers["Location"])
        body = {"dialogues": [{"id": "a@b.com", "text": 7}], "options": {"mask": "input"}}
        reply_masked = client.post("/v1/batches", json=body)
        (_, [masked]) = finished(client, reply_masked.headers["Location"])
    assert masked["id"] == "[EMAIL_1]"
    assert reply.status_code == 202
    assert (status["done"], status["failed"]) == (18, 2)
    assert [one["id"] for one in results[:4]] == ["0", "1", "2", "3"]
    assert results[3]["error"]["code"] == results[4]["error"]["code"] == "unreadable_dialogue"
    assert results[0]["text"]
    assert all(row.dialogue is None for row in rows_of(engine, tables.items))


def test_options_of_a_dialogue_count_before_those_of_its_batch(engine):
    dialogues = [
        {**CALL, "options": {"mask": "input"}},
        {**CALL, "options": {"form": "meeting"}},
        *({**CALL, **more} for more in ({"options": {"no": 1}}, {"mask": "input"})),
        *({**CALL, **more} for more in ({"timeout_ms": 0}, {"review": True})),
        {**CALL, "words": [{"word": "My"}], "topic": "order"},
    ]
    with asking(engine) as client:
        body = {"dialogues": dialogues, "options": {"template": "call"}}
        reply = client.post("/v1/batches", json=body)
        _, (masked, formed, *refused, other) = finished(client, reply.headers["Location"])
    assert "010 0199" not in json.dumps(masked)
    assert "[PHONE_1]" in json.dumps(masked)
    assert [one["filled"]["form"] for one in (masked, formed, other)] == ["call", "meeting", "call"]
    assert {one["error"]["code"] for one in refused} == {"invalid_options"}
    assert refused[1]["error"]["detail"] == "mask stands in 'options'"


def test_a_line_that_is_no_json_fails_alone_and_is_named(engine):
    lines = [json.dumps({**CALL, "id": "0"}), '{"id": "1", ', "", json.dumps({**CALL, "id": "2"})]
    with asking(engine) as client:
        kind = {"Content-Type": "application/x-ndjson"}
        reply = client.post("/v1/batches", content="\n".join(lines), headers=kind)
        (status, results) = finished(client, reply.headers["Location"])
    assert reply.status_code == 202
    assert (status["done"], status["failed"]) == (2, 1)
    assert results[1]["error"] == {
        "code": "unreadable_dialogue",
        "detail": "line 2: cannot be read at column 12",
    }
    assert results[2]["id"] == "2"


def test_nobody_else_may_read_the_store(tmp_path):
    tables.open_store(f"sqlite:///{tmp_path}/service.db").dispose()
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}


def test_a_batch_goes_on_after_a_restart(engine):
    model = Slow(is_open=False)
    key = add_key(engine, "desk")
    with serving(engine, model, drain_seconds=0) as service, service.blocking(key) as client:
        reply = add(client, [{**CALL, "id": str(n)} for n in range(30)])
        wait_for(lambda: model.begun)
    model.go.set()
    lease(engine, 0.0)  # as if the minute were over
    with serving(engine) as service, service.blocking(key) as client:
        status, results = finished(client, reply.headers["Location"])
    assert status["done"] == 30
    assert [one["id"] for one in results] == [str(n) for n in range(30)]


def stored(engine, count):
    """A batch of so many dialogues; its id."""
    add_key(engine, "desk")
    with engine.begin() as connection:
        return batches.store_batch(connection, valid_keys(engine)[0].id, [CALL] * count, {})


def lease(engine, until):
    with engine.begin() as connection:
        connection.execute(sa.update(tables.items).values(lease=until))


def test_two_processes_never_lease_the_same_item(engine):
    stored(engine, 10)
    one = batches.lease_items(engine, "one", 6)
    other = batches.lease_items(engine, "other", 6)
    assert [item.number for item in (*one, *other)] == list(range(10))
    batches.finish_item(engine, one[0], "other", {"state": "done", "result": {}})
    assert rows_of(engine, tables.items)[0].state == "waiting"


def test_an_item_that_processes_die_of_is_given_up_and_one_kill_is_no_reason(engine):
    stored(engine, 3)
    for owner in ("1", "2", "3", "4", "5"):
        assert len(batches.lease_items(engine, owner, 3)) == 3
        lease(engine, 0.0)  # as if the minute were over
    assert batches.lease_items(engine, "6", 3) == []
    row = rows_of(engine, tables.items)[0]
    assert (row.state, row.result["error"]["code"], row.dialogue) == ("failed", "internal", None)


def test_a_clock_that_was_wrong_keeps_no_item(engine):
    stored(engine, 1)
    lease(engine, time.time() + 3600)
    assert len(batches.lease_items(engine, "one", 1)) == 1


def test_the_same_request_twice_at_once_makes_one_batch(engine):
    async def conversation(service):
        async with service.client() as client:
            once = {"Idempotency-Key": "k1"}
            return await asyncio.gather(*(add(client, [CALL], **once) for _ in range(2)))

    assert len({reply.json()["id"] for reply in ask(engine, conversation)}) == 1
    assert len(rows_of(engine, tables.batches)) == 1


def test_an_idempotency_key_covers_the_whole_request(engine):
    """Method, path, query, type and body: what differs in one of them is another request."""
    with asking(engine) as client:
        once = {"Idempotency-Key": "k1", **JSON}
        body, batch = json.dumps({"verdict": "approved"}), json.dumps({"dialogues": [CALL]})
        # The same bytes are one dialogue as a line, and nothing that can be read as JSON.
        lines = {"Idempotency-Key": "k2", "Content-Type": "application/x-ndjson"}
        made = client.post("/v1/feedback", content=body, headers=once)
        first = client.post("/v1/batches", content=batch, headers=lines)
        assert (made.status_code, first.status_code) == (201, 202)
        others = [
            client.post("/v1/batches", content=batch, headers=once),
            client.post("/v1/feedback?x=1", content=body, headers=once),
            client.post("/v1/feedback", content=f" {body}", headers=once),
            client.post("/v1/batches", content=batch, headers={**lines, **JSON}),
        ]
        client.delete(first.headers["Location"])
        again = client.post("/v1/batches", content=batch, headers=lines)
    codes = [(reply.status_code, reply.json()["code"]) for reply in (*others, again)]
    assert codes == [(409, "idempotency_conflict")] * 5
    assert "deleted" in again.json()["detail"]


def test_a_batch_belongs_to_its_key_and_can_be_deleted(engine):
    with (
        serving(engine) as service,
        service.blocking() as client,
        service.blocking(add_key(engine, "x")) as stranger,
    ):
        path = add(client, [CALL]).headers["Location"]
        foreign = [stranger.get(path), stranger.delete(path)]
        gone = client.delete(path)
        after = client.get(path)
    assert [one.status_code for one in foreign] == [404, 404]
    assert (gone.status_code, after.status_code) == (204, 404)
    assert rows_of(engine, tables.items) == []


def test_what_is_old_is_forgotten(engine):
    old = stored(engine, 1)
    with engine.begin() as connection:
        connection.execute(sa.update(tables.batches).values(created=time.time() - 8 * 86400))
        batches.store_batch(connection, valid_keys(engine)[0].id, [CALL], {})
        for days, action in ((29, "recent"), (31, "old")):
            row = {"at": time.time() - days * 86400, "key_id": "", "action": action, "subject": ""}
            connection.execute(sa.insert(tables.audit).values(row))
    tables.forget(engine, 7, 30)
    assert old not in {row.batch_id for row in rows_of(engine, tables.items)}
    assert len(rows_of(engine, tables.items)) == 1
    actions = {row.action for row in rows_of(engine, tables.audit)}
    assert actions & {"recent", "old"} == {"recent"}


def test_a_clock_that_jumps_deletes_nothing_until_it_was_steady_for_an_hour():
    runner, day, hour = batches.Runner(None, Mock(threads=1), Settings()), 86_400, 3_600

    def due(wall, steady):
        return runner._is_due(1_000_000 + wall, 50 + steady)

    assert [due(n * 600, n * 600) for n in range(13)] == [n in (6, 12) for n in range(13)]
    assert not any(due(31 * day + n * 600, n * 600) for n in range(13, 19))
    assert not due(19 * 600, 19 * 600)  # set right
    assert due(19 * 600 + hour, 19 * 600 + hour)


def test_nothing_that_was_said_is_stored_unless_asked_for(engine):
    with asking(engine) as client:
        client.post("/v1/summaries", json={**CALL})
        verdict = {"verdict": "edited", "edits": {"kept": 2, "changed": 1}, "wrong": 1}
        assert client.post("/v1/feedback", json=verdict).status_code == 201
    whole = "".join(str(rows_of(engine, one)) for one in tables.metadata.sorted_tables)
    assert "order" not in whole
    assert rows_of(engine, tables.feedback_table)[0].edits == {"kept": 2, "changed": 1, "wrong": 1}


def test_a_refusal_of_feedback_says_which_field_is_wrong():
    for values, told in (
        ({"verdict": "edited", "edits": {"rewritten": 1}}, "edits: Input should be 'kept'"),
        ({"verdict": "x"}, "verdict: Input should be 'approved'"),
        ({"verdict": "approved", "right": -1}, "right: "),
        ({"verdict": "approved", "secret": 1}, "use only verdict, right"),
    ):
        with pytest.raises(Problem) as refused:
            feedback_of(values)
        assert refused.value.detail.startswith(told)


def test_feedback_with_consent_becomes_a_masked_training_pair(engine):
    pair = {"dialogue": CALL, "before": "x", "after": "Ann waits; her phone is 555 010 0199."}
    with asking(engine) as client:
        refused = client.post("/v1/feedback", json={"verdict": "edited", "content": pair})
        body = {"verdict": "edited", "content": pair, "consent": True}
        once = {"Idempotency-Key": "f1"}
        taken = [client.post("/v1/feedback", json=body, headers=once) for _ in range(2)]
    assert refused.status_code == 400
    assert [one.status_code for one in taken] == [201, 200]
    [found] = shared_feedback(engine, "pairs")
    assert found["summary"] == "[PERSON_1] waits; her phone is [PHONE_1]."
    assert found["utterances"][0]["speaker"] == "[PERSON_1]"
    assert "555" not in json.dumps(found)


def test_nothing_of_a_deleted_batch_stays_in_the_files(tmp_path):
    store = tables.open_store(f"sqlite:///{tmp_path / 'service.db'}")
    batch = stored(store, 50)

    def files():
        return b"".join(path.read_bytes() for path in tmp_path.iterdir())

    assert b"free of charge" in files()
    batches.remove_batch(store, valid_keys(store)[0].id, batch)
    assert b"free of charge" not in files()
    store.dispose()


def refusal_of(reply):
    return reply.status_code, reply.json()["code"], "Retry-After" in reply.headers


def test_a_store_that_is_locked_stops_no_summaries(tmp_path, monkeypatch):
    """Feedback is refused for a while; keys are found, and summaries made."""
    monkeypatch.setattr(tables, "PATIENCE", 1)
    engine = tables.open_store(f"sqlite:///{tmp_path}/service.db")
    locked, over = threading.Event(), threading.Event()

    def lock():
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            locked.set()
            over.wait(20)

    async def conversation(service):
        async with service.client() as client:
            service.queue.lane(1).process.start()
            thread = threading.Thread(target=lock)
            thread.start()
            await asyncio.to_thread(locked.wait)
            posts = (client.post("/v1/feedback", json={"verdict": "approved"}) for _ in range(30))
            sent = [asyncio.create_task(post) for post in posts]
            await asyncio.sleep(0.1)
            began = time.monotonic()
            made = await client.post("/v1/summaries", json=CALL)
            took = time.monotonic() - began
            replies = await asyncio.gather(*sent)
            all_took = time.monotonic() - began
            over.set()
            thread.join()
            return made, took, replies, all_took

    made, took, replies, all_took = ask(engine, conversation)
    assert made.status_code == 200
    assert took < 5
    assert {refusal_of(one) for one in replies} == {(503, "store_unavailable", True)}
    assert all_took < 15  # not one after the other
    engine.dispose()


def test_a_full_store_refuses_and_loses_nothing(tmp_path):
    engine = tables.open_store(f"sqlite:///{tmp_path}/service.db")

    def full(connection, _):
        connection.execute("PRAGMA max_page_count=1")  # no more than there are

    with asking(engine) as client:
        kept = add(client, [CALL]).headers["Location"]
        finished(client, kept)
        engine.dispose()  # the limit is of a connection
        sa.event.listen(engine, "connect", full)
        long = {**CALL, "utterances": CALL["utterances"] * 100}
        refused = [add(client, [long] * 50)]
        refused.append(client.post("/v1/summaries", json={**long, "review": True}))
        made = client.post("/v1/summaries", json=CALL)
        status, _ = finished(client, kept)
    assert [refusal_of(one) for one in refused] == [(503, "store_unavailable", True)] * 2
    assert made.status_code == 200
    assert status["done"] == 1
    engine.dispose()
