"""Form files: bundled ones and those of earlier releases are read, every fault names its line."""

import pytest
from tests.forms.samples import table

from dialogist.errors import ConfigError
from dialogist.forms.form_file import bundled_forms, load_form, parse_form
from dialogist.forms.key_points import load_pack

HEAD = "name: mine\nlanguage: en\nversion: 1\nsections:\n"


def test_bundled_forms_are_read_and_called_like_their_files():
    assert {*bundled_forms()} == {"plain", "call", "meeting", "ticket", "clinical"}
    for name in bundled_forms():
        assert load_form(name).name == name


def test_the_clinical_form_has_every_label_of_a_finding_once():
    labels = [label for section in load_form("clinical").sections for label in section.labels]
    told_by_rules = {
        "Assessment", "Assessment and plan", "Chief complaint", "Diagnosis", "Disposition",
        "Emergency course", "Instructions", "Medications", "Plan", "Procedure",
    }  # fmt: skip
    assert sorted(labels) == sorted({*load_pack("clinical").labels} - told_by_rules)


def test_a_form_of_release_0_2_is_read():
    """With every key that it had, labels of sections that rules fill, and Chinese headings."""
    form = parse_form(
        "name: 表格\nlanguage: zh\nversion: 3\nabout: x\npacks: [dialogsum]\n"
        "empty: 无。\nsections:\n"
        "- {title: 待办, source: actions, labels: [Advice], max: 2, leave_out: true}\n"
        "- {title: 要点, source: key_points, labels: [Advice], cues: [allergy]}\n"
        "- {title: 订单, source: field, type: order, cues: [订单], several: true, required: true}\n"
        "- {title: 其他, source: summary, part: remaining, empty: 无}\n"
        "- {title: 客户, source: profile, fields: [city]}\n"
    )
    assert [section.source for section in form.sections][:2] == ["actions", "key_points"]


@pytest.mark.parametrize(("sections", "message"), table("form_faults"))
def test_a_fault_is_one_line_with_its_line(sections, message):
    with pytest.raises(ConfigError) as error:
        parse_form(f"{HEAD}{sections}\n", "mine.yaml")
    assert f"mine.yaml, {message}" in str(error.value)
    assert "\n" not in str(error.value)


def test_labels_must_be_ones_that_the_packs_give():
    text = (
        f"packs: [dialogsum]\n{HEAD}- title: A\n  source: key_points\n  labels:\n"
        "  - Advice\n  - Refusel\n"
    )
    with pytest.raises(ConfigError, match=r"line 10: 'Refusel' is no label .*'Refusal'"):
        parse_form(text)
    assert parse_form(text.replace("Refusel", "Refusal")).sections[0].labels[1] == "Refusal"
    with pytest.raises(ConfigError, match=r"line 1: rule pack 'dialogsun'.*'dialogsum'"):
        parse_form(text.replace("[dialogsum]", "[dialogsun]"))


def test_a_form_by_path_and_by_a_misspelt_name(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(HEAD + "- {title: A, source: summary}\n")
    assert load_form(path).name == "mine"
    with pytest.raises(ConfigError, match="did you mean 'meeting'"):
        load_form("meetin")
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_form(path)
