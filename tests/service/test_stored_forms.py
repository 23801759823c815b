"""Forms of a team's own over HTTP: checked, previewed, stored, used, replaced, deleted."""

import time

import pytest
from tests.service.conftest import asking, finished
from tests.service.test_api import CALL, TRANSCRIPT

from dialogist.service import stored_forms
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
    with asking(engine) as client, asking(engine) as there:

        def sent(text):
            return client.post("/v1/forms", content=text, headers=YAML)

        def used():
            return there.post("/v1/summaries", json={**CALL, "options": {"form": "Rückgabe"}})

        new = sent(FORM)
        assert (new.status_code, new.headers["Location"]) == (201, PATH)
        assert sent(FORM).status_code == 200
        listed = {form["name"]: form for form in there.get("/v1/forms").json()["forms"]}
        assert there.get(PATH).text == FORM
        sections = used().json()["filled"]["sections"]
        assert sent(FORM.replace("Problem", "Trouble")).status_code == 409
        newer = FORM.replace("version: 1", "version: 2").replace("Problem", "Trouble")
        assert sent(newer).status_code == 200
        assert "Trouble" in used().text
        actions = [change["action"] for change in client.get("/v1/audit").json()["changes"]]
        assert actions[:2] == ["form changed", "form added"]
        assert there.delete(PATH).status_code == 204
        for method, path in (("GET", PATH), ("DELETE", PATH), ("DELETE", "/v1/forms/call")):
            assert client.request(method, path).status_code == 404
        gone = used()
        assert (gone.status_code, gone.json()["code"]) == (422, "invalid_options")
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
    assert [section["title"] for section in sections] == ["Problem", "Phone"]
    assert sections[1]["entries"][0]["text"] == "555 010 0199"


def test_a_stored_batch_uses_a_form_of_ones_own(engine):
    with asking(engine) as client:
        client.post("/v1/forms", content=FORM, headers=YAML)
        body = {"dialogues": [CALL], "options": {"form": "Rückgabe"}}
        refused = client.post("/v1/batches", json={**body, "options": {"form": "no"}})
        path = client.post("/v1/batches", json=body).headers["Location"]
        [result] = finished(client, path)[1]
    assert refused.json()["code"] == "invalid_options"
    assert result["filled"]["form"] == "Rückgabe"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (FORM.replace(": issue", ": isue"), "line 6: no source is 'isue'; did you mean"),
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
    with asking(engine) as client:
        bodies = [{}, {"dialogue": TRANSCRIPT}, {"dialogue": CALL}, {"dialogue": 1}, {"x": 1}]
        path = "/v1/forms/preview"
        replies = [client.post(path, json={"form": FORM, **body}) for body in bodies]
        replies.append(client.post(path, json={"form": "name: x"}))
        forms = client.get("/v1/forms").json()["forms"]
    assert [reply.status_code for reply in replies] == [200, 200, 200, 400, 400, 422]
    for reply in replies[:3]:
        titles = [section["title"] for section in reply.json()["filled"]["sections"]]
        assert titles == ["Problem", "Phone"]
    assert not any(form["own"] for form in forms)


def test_as_many_cues_as_there_may_be_take_little_time(engine):
    said = {"speaker": "Ann", "text": "Is your number 555 010 0199?"}
    dialogue = {"utterances": [{**said, "text": f"{n}. {said['text']}"} for n in range(300)]}
    with asking(engine) as client:
        times = []
        for form in (with_cues(1), with_cues(200)):
            began = time.perf_counter()
            body = {"form": form, "dialogue": dialogue}
            assert client.post("/v1/forms/preview", json=body).status_code == 200
            times.append(time.perf_counter() - began)
    few, many = times
    assert many < 3 * few + 0.5
