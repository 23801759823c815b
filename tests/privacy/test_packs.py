"""Privacy packs: every example of ours is found, and every fault of anybody's names its line."""

import re
from pathlib import Path

import pytest

from dialogist.config import bundled_files
from dialogist.errors import ConfigError, UsageError
from dialogist.privacy import packs
from dialogist.privacy.masks import mask_texts
from dialogist.privacy.packs import described_kinds, parse_privacy_pack, privacy_of
from dialogist.privacy.rules import CHECKS

PACK = """\
name: mine
language: en
version: 1
kinds: {BADGE: badges}
fragments: {two: '[0-9]{2}'}
rules:
  - kind: BADGE
    pattern: 'B(?&two)'
    before: 'badge '
    examples: ['badge [[B12]]']
    counterexamples: ['B12']
"""


@pytest.mark.parametrize("name", bundled_files("privacy"))
def test_all_examples_of_our_packs_are_found(name):
    pack = packs.load_privacy_pack(bundled_files("privacy")[name])
    assert pack.config.name == name
    assert {rule.kind for rule in pack.rules} == set(pack.config.kinds)


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("text", ["", "-", "汉字", "١٢٣", "X" * 40, "²²²²²²²²²²²²²²²²²X"])
def test_no_check_fails_on_any_text(name, text):
    assert CHECKS[name](text) is False


def test_a_pack_of_ones_own():
    pack = parse_privacy_pack(PACK)
    assert [rule.spans("my badge B12, B34") for rule in pack.rules] == [[(9, 12)]]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("kind: BADGE", "kind: BAGDE", "line 7: 'BAGDE' is no kind that 'kinds' describes; did"),
        ("{BADGE: badges}", "{badge: badges}", "line 4: key 'kinds.badge"),
        ("'B(?&two)'", "'B(?&tow)'", r"line 8: (?&tow): no fragment above has that name; did you"),
        ("'B(?&two)'", "'B('", "line 8: no regular expression"),
        ("'B(?&two)'", "'B)(?:'", "line 8: no regular expression"),
        ("'B(?&two)'", "'[0-9]*'", "line 8: the pattern fits an empty text"),
        ("pattern: 'B(?&two)'", "entity: PHONES", "line 8: 'PHONES' is no entity; did you mean"),
        ("    pattern: 'B(?&two)'\n", "", "line 7: a rule needs 'pattern', 'entity' or both"),
        ("before: 'badge '", "check: lunh", "line 9: 'lunh' is no check (there are: luhn, "),
        ("before: 'badge '", "cued: true", "line 9: 'cued' is about an 'entity'"),
        ("before: 'badge '", "befor: 'badge '", "line 9: unknown key 'rules.0.befor'; did you"),
        ("badge [[B12]]", "[[badge]] B12", "line 10: the rule finds 'B12' in its example"),
        ("badge [[B12]]", "[[B12]]", "line 10: the rule finds nothing in its example"),
        ("[[B12]]", "B12", "line 10: mark what is found as [[value]]"),
        ("['B12']", "['badge B12']", "line 11: the rule finds 'B12' in the counterexample"),
        ("version: 1", "version: 1\nversion: 2", "line 4: 'version' is there twice"),
    ],
)
def test_faults_name_their_line(old, new, said):
    assert old in PACK
    with pytest.raises(ConfigError) as caught:
        parse_privacy_pack(PACK.replace(old, new), "mine.yaml")
    assert "\n" not in str(caught.value)
    found = str(caught.value).replace("mine.yaml, ", "").replace("mine.yaml: ", "")
    assert found.startswith(said) or said in str(caught.value)


def test_a_pack_that_is_no_mapping_or_not_there(tmp_path):
    with pytest.raises(ConfigError, match="must hold 'key: value' lines"):
        parse_privacy_pack("- a\n")
    with pytest.raises(ConfigError, match="No such file"):
        packs.load_privacy_pack(tmp_path / "none.yaml")


TEXT = "Call 415-555-0132, see https://example.com/a, use 9400111899223817, mail a@b.com"


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ("", {"PHONE", "CODE", "EMAIL"}),
        ("phone, email", {"PHONE", "EMAIL"}),
        ("+URL,-CODE", {"PHONE", "EMAIL", "URL"}),
        ("all,-PHONE", {"CODE", "EMAIL", "URL"}),
        ("-all", set()),
    ],
)
def test_kinds(kinds, expected):
    _, table = mask_texts([TEXT], privacy_of(kinds))
    assert set(table.counts()) == expected


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"kinds": "PHON"}, "there is no such kind; did you mean 'PHONE'"),
        ({"kinds": "PERSON"}, "names of people are masked with --names"),
        ({"names": "speeker"}, "must be one of none, speakers, people, all; did you mean"),
    ],
)
def test_what_is_not_there(call, said):
    with pytest.raises(UsageError, match=said):
        privacy_of(**call)


def test_a_pack_of_ones_own_comes_first_and_keeps(tmp_path):
    path = tmp_path / "acme.yaml"
    path.write_text(
        "name: acme\nlanguage: en\nversion: 1\nkinds: {BADGE: badges}\nkeep: ['415-555-0132']\n"
        "rules: [{kind: BADGE, entity: ORDER, examples: ['[[9400111899223817]]']}]\n"
    )
    (done,), _ = mask_texts([TEXT], privacy_of(packs=[path]))
    expected = "Call 415-555-0132, see https://example.com/a, use [BADGE_1], mail [EMAIL_1]"
    assert done.text == expected
    assert described_kinds([path])["BADGE"] == ("badges", True)
    assert described_kinds()["URL"] == ("web addresses", False)


PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "mask.md"
TEXT_PAGE = PAGE.read_text(encoding="utf-8")


def test_the_pack_of_the_page_is_one():
    (pack,) = re.findall(r"```yaml\n(.*?)```", TEXT_PAGE, re.DOTALL)
    assert parse_privacy_pack(pack).config.kinds == {"BADGE": "staff badges"}


def test_every_kind_key_and_check_is_described():
    for name in described_kinds():
        assert f"`{name}`" in TEXT_PAGE, name
    about = packs.PrivacyRuleConfig.__doc__
    for name in (*packs.PrivacyRuleConfig.model_fields, *CHECKS):
        assert re.search(rf"\b{name}\b", about), name
