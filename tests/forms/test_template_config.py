"""Template files: bundled ones are sound, every fault names its line."""

import pytest

from dialogist.errors import ConfigError
from dialogist.forms.template_config import bundled_templates, load_template, parse_template

HEAD = "name: mine\nlanguage: en\nversion: 1\nsections:\n"


def test_bundled_templates_are_read_and_called_like_their_files():
    names = set(bundled_templates())
    assert {"plain", "call", "call-zh", "meeting", "ticket", "clinical"} <= names
    for name in names:
        assert load_template(name).name == name


def test_the_clinical_template_has_every_label_that_tells_a_finding_once():
    from dialogist.data.key_points import load_pack

    labels = [label for s in load_template("clinical").sections for label in s.labels]
    told_by_rules = {
        "Assessment",
        "Assessment and plan",
        "Diagnosis",
        "Disposition",
        "Emergency course",
        "Instructions",
        "Plan",
        "Procedure",
    }
    assert sorted(labels) == sorted(set(load_pack("clinical").labels) - told_by_rules)


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        (
            "- {title: A, source: keypoints}",
            "line 5: no source is 'keypoints'; did you mean 'key_points'?",
        ),
        (
            "- {title: A, source: field, type: oder}",
            "line 5: no type is 'oder'; did you mean 'order'?",
        ),
        ("- {title: A, source: summary}\n- {title: B, source: field}", "line 6: a field needs"),
        ("- {title: A, source: key_points}", "line 5: key_points needs labels"),
        (
            "- title: A\n  source: summary\n  cues: [order]",
            "line 7: 'cues' has no effect with source summary",
        ),
        (
            "- title: A\n  source: summary\n  titel: B",
            "line 7: unknown key 'sections.0.titel'; did you mean 'title'?",
        ),
        (
            "- {title: A, source: title}\n- {title: A, source: summary}",
            "line 6: two sections are called 'A'",
        ),
        ("- title: A\n  source: summary\n  max: 0", "line 7"),
        (
            "- title: A\n  source: summary\n  required: true\n  leave_out: true",
            "line 8: a required section cannot be left out",
        ),
        (
            "- title: A\n  source: summary\n  empty: x\n  leave_out: true",
            "line 8: a section that is left out",
        ),
        ("- summary", "line 5: a section holds 'key: value' lines"),
        ("- {title: ' A', source: title}", "line 5: key 'sections.0.title': must be one line"),
    ],
)
def test_a_fault_is_one_line_with_its_line(sections, message):
    with pytest.raises(ConfigError) as error:
        parse_template(HEAD + sections + "\n", "mine.yaml")
    assert f"mine.yaml, {message}" in str(error.value)
    assert "\n" not in str(error.value)


def test_labels_must_be_ones_that_the_packs_give():
    text = (
        "packs: [dialogsum]\n" + HEAD + "- title: A\n  source: key_points\n  labels:\n"
        "  - Advice\n  - Refusel\n"
    )
    with pytest.raises(ConfigError, match=r"line 10: 'Refusel' is no label .*'Refusal'"):
        parse_template(text)
    assert parse_template(text.replace("Refusel", "Refusal")).sections[0].labels == (
        "Advice",
        "Refusal",
    )


def test_an_unknown_pack_is_named_with_its_line():
    text = "packs:\n- dialogsum\n- meting\n" + HEAD + "- {title: A, source: summary}\n"
    with pytest.raises(ConfigError, match=r"line 3: rule pack 'meting'.*'meeting'"):
        parse_template(text)


def test_a_template_by_path_and_by_a_misspelt_name(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(HEAD + "- {title: A, source: summary}\n")
    assert load_template(path).name == "mine"
    with pytest.raises(ConfigError, match="did you mean 'meeting'"):
        load_template("meetin")
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_template(path)
