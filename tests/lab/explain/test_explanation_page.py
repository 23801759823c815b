"""The page: everything escaped, nothing from elsewhere, weights in 8 bits, all families."""

import base64
import json
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from tests.lab.explain.explaining import CONFIGS, TALK, summarizer_of

from dialogist.evaluation.pages import source_hash
from dialogist.records import Dialogue, Utterance
from dialogist_lab.explain.explanation import MapChoice, SelectedMaps, select_maps
from dialogist_lab.explain.explanation_page import (
    explanation_page,
    explanation_to_json,
    packed_weights,
)
from dialogist_lab.explain.tracing import explain_dialogue

EVIL = "</script><script>alert('x')</script>"
NASTY = Dialogue(
    (
        Utterance("<script>alert(1)</script>", f"I'll <b>pay</b> $5 & 6, {EVIL} \" onload='x'"),
        Utterance('"><img src=x>', "用户 🙂 \ud800 \x07 {{ 7 * 7 }} {% raw %} " + "x" * 400),
    ),
    id=f"id {EVIL}",
)
VOID = {"meta", "br", "img", "input", "link", "hr"}


class Checked(HTMLParser):
    """Reads a page as a browser does: elements opened and closed, text, attributes."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def data(self) -> Any:
        [(_, text), *_] = [pair for pair in self.texts if pair[0] == "script"]
        return json.loads(text)

    def spots(self) -> list[str]:
        return [str(a.get("class")) for tag, a in self.elements if "data-i" in a]


def page_of(family: str, dialogue: Dialogue = TALK, choice: MapChoice | None = None) -> str:
    explanation = explain_dialogue(summarizer_of(family), dialogue)
    return explanation_page(explanation, select_maps(explanation, choice or MapChoice()))


@pytest.mark.parametrize("family", CONFIGS)
def test_a_page_of_every_family(family: str) -> None:
    explanation = explain_dialogue(summarizer_of(family), TALK)
    selected = select_maps(explanation, MapChoice())
    found = Checked(explanation_page(explanation, selected))
    assert found.open == []
    assert len(found.spots()) == len(explanation.source) + len(explanation.target)
    data = found.data()
    assert [m["names"] for m in data["maps"]] == [list(s.names) for s in selected.maps]
    buttons = [a for tag, a in found.elements if tag == "button" and a.get("class") == "map"]
    assert len(buttons) == sum(len(shown.names) for shown in selected.maps)
    labels = [a for tag, a in found.elements if tag == "button" and a.get("class") == "label"]
    assert len(labels) == len(explanation.summary.key_points)
    check_data(data, selected)


def test_a_plan_prefix_is_shown_among_the_tokens() -> None:
    summarizer = summarizer_of("hierarchical", plan="prefix", key_points="customer-service-en")
    explanation = explain_dialogue(summarizer, TALK)
    found = Checked(explanation_page(explanation, select_maps(explanation, MapChoice())))
    assert len(found.spots()) == len(explanation.source) + len(explanation.target)
    paragraphs = [a for tag, a in found.elements if tag == "p" and a.get("class") == "part"]
    assert len(paragraphs) == len(explanation.summary.key_points)
    assert not [a for tag, a in found.elements if a.get("class") == "label"]  # a Leader's alone
    shown = [text for _, text in found.texts if text.startswith("‹")]
    wanted = [token.text for token in explanation.target if token.kind == "plan"]
    assert len(wanted) >= 2
    assert set(wanted) <= set(shown)
    json.dumps(explanation_to_json(explanation, select_maps(explanation, MapChoice())))


def test_labels_of_rules_leave_the_text_whole() -> None:
    summarizer = summarizer_of("hierarchical", key_points="customer-service-en")
    explanation = explain_dialogue(summarizer, TALK)
    assert explanation.summary.key_points
    found = Checked(explanation_page(explanation, select_maps(explanation, MapChoice())))
    assert len(found.spots()) == len(explanation.source) + len(explanation.target)
    assert not [a for tag, a in found.elements if a.get("class") == "label"]


def check_data(data: Any, selected: SelectedMaps) -> None:
    """What the script unpacks is, to half of 1/255 of each row's largest, what there was."""
    for found, shown in zip(data["maps"], selected.maps, strict=True):
        rows, columns = (data["axes"][found[side]]["places"] for side in ("rows", "columns"))
        shape = (len(found["names"]), len(rows), len(columns))
        shares = np.frombuffer(base64.b64decode(found["weights"]), np.uint8).reshape(shape)
        scales = np.frombuffer(base64.b64decode(found["scales"]), "<f4").reshape(shape[:2])
        unpacked = shares / 255 * scales[:, :, None]
        assert (abs(unpacked - shown.stack) <= scales[:, :, None] / 510 + 1e-7).all()


def test_packing_rows_of_zeros() -> None:
    weights = np.zeros((1, 2, 3), np.float32)
    weights[0, 1] = [0.25, 0.5, 0.25]
    shares, scales = packed_weights(weights)
    assert list(base64.b64decode(shares)) == [0, 0, 0, 128, 255, 128]
    assert np.frombuffer(base64.b64decode(scales), "<f4").tolist() == [0, 0.5]


@pytest.mark.parametrize("family", ["transformer", "leader-pointer-writer"])
def test_whatever_people_write_is_text(family: str) -> None:
    summarizer = summarizer_of(family)
    explanation = explain_dialogue(summarizer, NASTY)
    page = explanation_page(
        explanation, select_maps(explanation, MapChoice(within="leader" in family))
    )
    page.encode("utf-8")  # no half of a pair is left
    found = Checked(page)
    assert found.open == []
    assert {tag for tag, _ in found.elements} >= {"html", "script", "canvas"}
    assert "img" not in {tag for tag, _ in found.elements}
    assert sum(tag == "script" for tag, _ in found.elements) == 2
    assert not any(name.startswith("on") for _, a in found.elements for name in a)
    assert "alert(" not in "".join(text for tag, text in found.texts if tag == "style")
    assert "{{ 7 * 7 }}" in "".join(text for _, text in found.texts).replace("\n", "")
    assert any(EVIL in text for tag, text in found.texts if tag != "script")  # the id, as text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", page)


def test_nothing_comes_from_elsewhere() -> None:
    page = page_of("transformer, pointer")
    found = Checked(page)
    assert not [a for _, a in found.elements if "src" in a or "href" in a]
    assert not re.search(r"https?://|@import|url\(|fetch\(|XMLHttp|innerHTML|eval\(", page)
    [policy] = [
        a["content"] for _, a in found.elements if a.get("http-equiv") == "Content-Security-Policy"
    ]
    script = page.split("<script>")[-1].split("</script>")[0]
    assert policy is not None
    assert "default-src 'none'" in policy
    assert source_hash(script) in policy


def test_its_size_is_bounded() -> None:
    long = Dialogue(tuple(Utterance("Ann", f"We meet at {i}.") for i in range(30)))
    plain = len(page_of("transformer", long, MapChoice(megabytes=0)))
    assert len(page_of("transformer", long)) > plain + 100_000
    assert len(page_of("transformer", long, MapChoice(megabytes=0.05))) < plain + 60_000


def test_what_is_left_out_is_told() -> None:
    page = page_of("transformer", choice=MapChoice(megabytes=0.005, layers=frozenset((1,))))
    assert "only layers 1, as asked for" in page
    assert "Encoder self-attention, layer 1 and the whole: left out" in page


def test_a_page_says_what_was_not_read_and_how_weights_are_kept() -> None:
    long = Dialogue(tuple(Utterance("Ann", f"We meet at {i}.") for i in range(60)))
    page = page_of("transformer", long)
    assert "utterances were read" in page
    assert "not all of it" in page
    assert "in 8 bits" in page


def test_numbers_stand_in_tables_too() -> None:
    """For those without JavaScript, and on paper."""
    page = page_of("recurrent, coverage")
    for head in ("probability", "p_gen", "copied", "repeated"):
        assert f"<th>{head}</th>" in page
    plain = page_of("transformer")
    assert "<th>p_gen</th>" not in plain
    assert "How widely each head looks" in plain
    assert "<noscript>" in plain
