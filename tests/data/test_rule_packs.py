import pytest
from tests.data.rule_pack_samples import SERVICE

from dialogist.data.key_points import load_pack, parse_pack
from dialogist.errors import ConfigError


def test_fragments():
    text = SERVICE.replace(
        "rules:", "fragments: {who: [I, we], said: '(?&who) (told|said)'}\nrules:"
    )
    text = text.replace(r"^(I|we) (suggested|recommended)\b", r"^(?&who) (suggested|recommended)\b")
    text = text.replace(r"^I told\b", r"^(?&said)\b")
    pack = parse_pack(text)
    parts = pack.analyse("We suggested it. We said no.")
    assert [part.label for part in parts] == ["Suggestion", "Solution"]


AFTER = r"""
name: order
language: en
version: 1
default: Rest
fragments:
  verb: ['asks?', 'tells?']
  lead: '(?>(?:(?!(?&verb))\S+ )*)'
  formal: 'dear (?=\S)'
rules:
  - {label: Letter, after: formal, pattern: '\w+', examples: [Dear Sir or Madam.]}
  - {label: Question, after: lead, pattern: 'asks?\b|(?<=who )tells?', examples: [Ann asks him.]}
  - {label: Answer, after: lead, pattern: 'tells?\b', examples: [Ann tells him what Bo asks.]}
  - {label: Rest, pattern: 'x', examples: [x]}
"""


@pytest.mark.parametrize(
    ("sentence", "label"),
    [
        ("Ann tells him that he asks.", "Answer"),  # the first verb; what is skipped stays skipped
        ("Ann and Bo ask.", "Question"),
        ("It was Ann who tells.", "Question"),  # looking back sees what was skipped
        ("Nobody speaks.", "Rest"),
        ("My dear friend.", "Rest"),  # `after` fits at the start or not at all
        ("dear", "Rest"),  # it does not fit
    ],
)
def test_after_is_matched_from_the_start_and_the_pattern_right_behind_it(sentence, label):
    assert parse_pack(AFTER).analyse_sentences(sentence)[0].label == label


def test_after_is_the_same_as_a_pattern_that_begins_with_an_atomic_fragment():
    pack = load_pack("dialogsum")
    written_out = pack.text.replace("    after: lead\n    pattern: '", "    pattern: '^(?&lead)")
    assert written_out.count("^(?&lead)") > 10
    other = parse_pack(written_out)
    for rule in pack.rules:
        for example in rule.examples:
            for sentence in (
                example,
                f"When it rains, {example}",
                f"Yesterday {example[:-1]} and left.",
            ):
                assert pack.analyse(sentence) == other.analyse(sentence)


FAULTS = [
    ("language: en", "language: fr", 3, "key 'language'"),
    ("version: 1", "version: one", 4, "key 'version'"),
    ("version: 1", "verison: 1", 4, "unknown key 'verison'; did you mean 'version'"),
    ("version: 1\n", "", 1, "key 'version' is missing"),
    ("default: Question description", "default: Question descripton", 5, "did you mean"),
    ("name: service", "name: ' service'", 2, "key 'name'"),
    ("name: service", "name: service\nname: other", 3, "'name' is there twice"),
    ("name: service", "name: [", 4, "expected"),
    ("name: service", "name: a\x01b", 2, "not allowed"),
    ("  - label: End\n", "  - label: End\n    labels: x\n", 22, "unknown key 'rules.4.labels'"),
    ("pattern: 'hung up'", "pattern: 'hung (up'", 22, "no regular expression: missing )"),
    ("pattern: 'hung up'", "pattern: '[[a]hung up'", 22, "no regular expression"),
    ("pattern: 'hung up'", "pattern: '(hung up)?'", 22, "fits every sentence"),
    ("pattern: 'hung up'", "pattern: '(?&who) hung up'", 22, "no fragment above has that name"),
    (
        "    pattern: 'hung up'",
        "    after: led\n    pattern: 'hung up'",
        22,
        "(?&led): no fragment above has that name",
    ),
    ("pattern: 'hung up'", "pattern: 3", 22, "key 'rules.4.pattern'"),
    ('examples: ["User hung up."]', "examples: []", 23, "key 'rules.4.examples'"),
    ('["User hung up."]', '[\n      "User hung up.",\n      "User left."]', 25, "no rule fits"),
    ('["User hung up."]', '["User approved, hung up."]', 23, "rule of 'User approval' in line 14"),
    ('["User hung up."]', '["User hung up. Bye."]', 23, "these are 2"),
    (
        '["User hung up."]',
        "[User hung up.]\n    counterexamples: [He hung up.]",
        24,
        "counterexample",
    ),
    ("[User approval, User dis", "[User approval, Usr dis", 27, "is no label that a rule has"),
    (
        "key_facts:",
        "labels: {End: '', Solution: ''}\nkey_facts:",
        7,
        "no label that 'labels' declares",
    ),
    ("key_facts:", "sections: {X: Ende}\nkey_facts:", 27, "'Ende' is no label"),
    ("key_facts:", "fragments: {a b: x}\nkey_facts:", 27, "'a b': names are made of"),
    ("key_facts:", "fragments: {a: '('}\nkey_facts:", 27, "no regular expression"),
    ("key_facts:", "labels: &a {End: ''}\nsections: *a\nkey_facts:", 27, "aliases"),
]


@pytest.mark.parametrize(("old", "new", "line", "message"), FAULTS)
def test_faults_name_the_line(old, new, line, message):
    assert SERVICE.count(old) == 1
    with pytest.raises(ConfigError) as fault:
        parse_pack(SERVICE.replace(old, new), "my.yaml")
    said = str(fault.value)
    assert said.startswith(f"my.yaml, line {line}: "), said
    assert message in said
    assert "\n" not in said


@pytest.mark.parametrize("text", ["", "just text", "- a\n- b", "[" * 3000, "a: 2024-13-45"])
def test_what_is_no_pack_at_all(text):
    with pytest.raises(ConfigError, match=r"my\.yaml"):
        parse_pack(text, "my.yaml")


def test_load_by_path_and_name(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("\ufeff" + SERVICE, encoding="utf-8")
    assert load_pack(path).name == "service"
    with pytest.raises(ConfigError, match="did you mean 'dialogsum'"):
        load_pack("dialogsun")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"mine\.yaml: cannot be read"):
        load_pack(path)
