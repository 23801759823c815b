"""Forms of a team's own over HTTP: checked, previewed, stored, used, replaced, deleted."""

import time

import pytest
from tests.service.conftest import ask, finished, running
from tests.service.test_api import CALL, TRANSCRIPT

from dialogist.service import stored_forms
from dialogist.service.keys import add_key
from dialogist.service.problems import Problem

FORM = """name: Rückgabe
title: Notiz zur Rückgabe
language: en
version: 1
sections:
- {title: Problem, source: issue, required: true}
- {title: Phone, source: field, type: phone, cues: [call]}
"""
YAML = {"Content-Type": "application/yaml"}
PATH = "/v1/forms/R%C3%BCckgabe"


def with_cues(count):
    return FORM.replace("[call]", f"[{', '.join(f'word{n}' for n in range(count))}]")


def test_a_form_is_stored_listed_used_replaced_and_deleted(engine):
    """By one process; another one knows of it at once."""

    async def conversation(service):
        replies = {}
        async with running(engine) as other, service.client() as client, other.client() as there:

            async def send(name, text, code):
                reply = await client.post("/v1/forms", content=text, headers=YAML)
                replies[name] = reply
                assert reply.status_code == code, (name, reply.text)

            await send("new", FORM, 201)
            await send("again", FORM, 200)
            replies["list"] = await there.get("/v1/forms")
            replies["text"] = await there.get(PATH)
            options = {"form": "Rückgabe"}
            replies["used"] = await there.post("/v1/summaries", json={**CALL, "options": options})
            await send("changed", FORM.replace("Problem", "Trouble"), 409)
            newer = FORM.replace("version: 1", "version: 2").replace("Problem", "Trouble")
            await send("newer", newer, 200)
            used = await there.post("/v1/summaries", json={**CALL, "options": options})
            replies["used newer"] = used
            replies["audit"] = await client.get("/v1/audit")
            assert (await there.delete(PATH)).status_code == 204
            for method, path in (("GET", PATH), ("DELETE", PATH), ("DELETE", "/v1/forms/call")):
                assert (await client.request(method, path)).status_code == 404
            replies["gone"] = await client.post("/v1/summaries", json={**CALL, "options": options})
        return replies

    replies = ask(engine, conversation)
    assert replies["new"].headers["Location"] == PATH
    listed = {one["name"]: one for one in replies["list"].json()["forms"]}
    assert listed["Rückgabe"] == {
        "name": "Rückgabe",
        "title": "Notiz zur Rückgabe",
        "language": "en",
        "version": 1,
        "about": "",
        "sections": ["Problem", "Phone"],
        "own": True,
    }
    assert (listed["call"]["title"], listed["call"]["own"]) == ("Customer call", False)
    assert replies["text"].text == FORM
    sections = replies["used"].json()["filled"]["sections"]
    assert [one["title"] for one in sections] == ["Problem", "Phone"]
    assert sections[1]["entries"][0]["text"] == "555 010 0199"
    assert "Trouble" in replies["used newer"].text
    assert (replies["gone"].status_code, replies["gone"].json()["code"]) == (422, "invalid_options")
    actions = [one["action"] for one in replies["audit"].json()["changes"]]
    assert actions[:2] == ["form changed", "form added"]


def test_a_stored_batch_uses_a_form_of_ones_own(engine):
    async def conversation(service):
        async with service.client() as client:
            await client.post("/v1/forms", content=FORM, headers=YAML)
            body = {"dialogues": [CALL], "options": {"form": "Rückgabe"}}
            refused = await client.post("/v1/batches", json={**body, "options": {"form": "no"}})
            path = (await client.post("/v1/batches", json=body)).headers["Location"]
            return refused, (await finished(client, path))[1]

    refused, [result] = ask(engine, conversation)
    assert refused.json()["code"] == "invalid_options"
    assert result["filled"]["form"] == "Rückgabe"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            FORM.replace("source: issue", "source: isue"),
            "line 6: no source is 'isue'; did you mean",
        ),
        (FORM.replace("version: 1", "version: x"), "line 4: key 'version'"),
        (FORM.replace("version: 1", "version: [1"), "line 5: not YAML"),
        (FORM + "packs: [/etc/passwd]", "line 8: rule pack '/etc/passwd': none of this name"),
        (FORM + "packs: [clinicl]", "did you mean 'clinical'"),
        (FORM + "'': 1", "line 8: unknown key ''"),
        (FORM + "Form: 1", "line 8: unknown key 'Form'"),
        (FORM.replace("name: Rückgabe", "name: call"), "call comes with Dialogist"),
        (FORM.replace("name: Rückgabe", "name: a/b"), "1 to 64 letters"),
        (FORM + f"about: {'x' * stored_forms.LARGEST_FORM}", "at most 32000 characters"),
        (with_cues(201), "at most 200 cues: 201"),
        (FORM + "\n".join(f"- {{title: a{n}, source: title}}" for n in range(39)), "40 sections"),
        ("[" * 3000, "cannot be read"),
        ("", "must hold"),
    ],
)
def test_a_form_at_fault_is_refused_with_its_line(engine, text, told):
    with pytest.raises(Problem) as raised:
        stored_forms.store_form(engine, "x" * 16, text)
    assert raised.value.code == "invalid_form"
    assert told in raised.value.detail


def test_there_is_a_limit_to_the_number_of_forms(engine, monkeypatch):
    monkeypatch.setattr(stored_forms, "MOST_FORMS", 1)
    stored_forms.store_form(engine, "", FORM)
    with pytest.raises(Problem, match="conflict"):
        stored_forms.store_form(engine, "", FORM.replace("Rückgabe", "other"))
    stored_forms.store_form(engine, "", FORM.replace("version: 1", "version: 2"))


def test_a_form_is_previewed_and_nothing_is_stored(engine):
    async def conversation(service):
        async with service.client() as client:
            bodies = [{}, {"dialogue": TRANSCRIPT}, {"dialogue": CALL}, {"dialogue": 1}, {"x": 1}]
            path = "/v1/forms/preview"
            replies = [await client.post(path, json={"form": FORM, **body}) for body in bodies]
            replies.append(await client.post(path, json={"form": "name: x"}))
            return replies, (await client.get("/v1/forms")).json()["forms"]

    replies, forms = ask(engine, conversation)
    assert [reply.status_code for reply in replies] == [200, 200, 200, 400, 400, 422]
    for reply in replies[:3]:
        titles = [section["title"] for section in reply.json()["filled"]["sections"]]
        assert titles == ["Problem", "Phone"]
    assert not any(form["own"] for form in forms)


def test_a_key_needs_the_scope_to_store_forms(engine):
    async def conversation(service):
        narrow = add_key(engine, "narrow", ["summaries"])
        async with service.client(narrow) as client:
            sent = await client.post("/v1/forms", content=FORM, headers=YAML)
            return sent, await client.delete(PATH), await client.get("/v1/forms")

    replies = ask(engine, conversation)
    assert [reply.status_code for reply in replies] == [403, 403, 200]


def test_as_many_cues_as_there_may_be_take_little_time(engine):
    said = {"speaker": "Ann", "text": "Is your number 555 010 0199?"}
    dialogue = {"utterances": [{**said, "text": f"{n}. {said['text']}"} for n in range(300)]}

    async def conversation(service):
        async with service.client() as client:
            times = []
            for form in (with_cues(1), with_cues(200)):
                began = time.perf_counter()
                body = {"form": form, "dialogue": dialogue}
                reply = await client.post("/v1/forms/preview", json=body)
                assert reply.status_code == 200
                times.append(time.perf_counter() - began)
            return times

    few, many = ask(engine, conversation)
    assert many < 3 * few + 0.5
