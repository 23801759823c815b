"""Privacy packs: every example of ours is found, and every fault of anybody's names its line."""

import pytest

from dialogist.errors import ConfigError
from dialogist.privacy.packs import bundled_packs, load_pack, parse_pack

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


@pytest.mark.parametrize("name", bundled_packs())
def test_all_examples_of_our_packs_are_found(name):
    pack = load_pack(bundled_packs()[name])
    assert pack.name == name
    assert {rule.kind for rule in pack.rules} == set(pack.kinds)


def test_a_pack_of_ones_own():
    pack = parse_pack(PACK)
    assert [rule.spans("my badge B12, B34") for rule in pack.rules] == [[(9, 12)]]
    assert pack.rules[0].line == 7


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
        parse_pack(PACK.replace(old, new), "mine.yaml")
    assert "\n" not in str(caught.value)
    found = str(caught.value).replace("mine.yaml, ", "").replace("mine.yaml: ", "")
    assert found.startswith(said) or said in str(caught.value)


def test_a_pack_that_is_no_mapping_or_not_there(tmp_path):
    with pytest.raises(ConfigError, match="must hold 'key: value' lines"):
        parse_pack("- a\n")
    with pytest.raises(ConfigError, match="No such file"):
        load_pack(tmp_path / "none.yaml")
