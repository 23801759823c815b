import pytest

from dialogist.data.encode import Limits
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.errors import ConfigError
from dialogist.records import Dialogue, Example, Utterance
from dialogist.tokenizers import PLACEHOLDERS, placeholder

P, Q = placeholder(0), placeholder(1)
TALK = Dialogue(
    (
        Utterance("Ann", "  Hi,\tBob! "),
        Utterance("Ann", "Anna says hi."),
        Utterance("Bob", " \n"),
        Utterance("Bob", "Tell Ann  thanks", role="agent"),
    ),
    id="d1",
    references=("Ann greets Bob.", " ", "Bob thanks\nAnna."),
)


def prepare(dialogue=TALK, **options):
    return Preparation(PreparationConfig(**options)).prepare(dialogue)


def test_atomic_by_hand():
    assert prepare() == Example(
        utterances=(
            Utterance(P, f"Hi, {Q}!"),
            Utterance(P, "Anna says hi."),
            Utterance(Q, f"Tell {P} thanks", "agent"),
        ),
        id="d1",
        targets=(f"{P} greets {Q}.", f"{Q} thanks Anna."),
        speakers=("Ann", "Bob"),
        origins=((0,), (1,), (3,)),
        merged=0,
        notes=("1 utterance without text left out",),
    )


def test_inline_by_hand():
    example = prepare(speakers="inline", profile="dialogsum-keras")
    assert [u.text for u in example.utterances] == [
        "ann: hi, bob!",
        "ann: anna says hi.",
        "bob: tell ann thanks",
    ]
    assert {u.speaker for u in example.utterances} == {""}
    assert example.speakers == ()
    assert example.targets == ("ann greets bob.", "bob thanks anna.")


def test_inline_without_a_speaker_is_the_text_alone():
    example = prepare(Dialogue((Utterance("", "so: what"),)), speakers="inline")
    assert example.utterances == (Utterance("", "so: what"),)


def test_merging_speaks_the_name_once_and_is_counted():
    example = prepare(speakers="inline", merge_below=15)
    assert [u.text for u in example.utterances] == [
        "Ann: Hi, Bob! Anna says hi.",
        "Bob: Tell Ann thanks",
    ]
    assert example.merged == 1


@pytest.mark.parametrize(
    ("way", "targets"),
    [
        ("each", ("Ann greets Bob.", "Bob thanks Anna.")),
        ("first", ("Ann greets Bob.",)),
        ("joined", ("Ann greets Bob. Bob thanks Anna.",)),
    ],
)
def test_references(way, targets):
    assert prepare(references=way, speakers="inline").targets == targets
    assert prepare(Dialogue(TALK.utterances), references=way).targets == ()


def test_names_are_normalised_like_the_text():
    talk = Dialogue((Utterance(" ANN\tLee ", "Ann LEE here"), Utterance("ann lee", "hm")))
    example = prepare(talk, profile="dialogsum-keras")
    assert example.speakers == ("ann lee",)
    assert [(u.speaker, u.text) for u in example.utterances] == [(P, f"{P} here"), (P, "hm")]


def test_restore_gives_names_back():
    preparation = Preparation(PreparationConfig())
    example = preparation.prepare(TALK)
    assert [preparation.restore(t, example) for t in example.targets] == [
        "Ann greets Bob.",
        "Bob thanks Anna.",
    ]
    assert preparation.restore(f"{Q} and {placeholder(2)}!", example) == "Bob and !"


@pytest.mark.parametrize("way", ["atomic", "inline"])
def test_no_placeholder_reaches_the_reader(way):
    preparation = Preparation(PreparationConfig(speakers=way))
    example = preparation.prepare(Dialogue((Utterance("", "no names"),)))
    assert preparation.restore(f"{P} said", example) == " said"


def test_overflow_and_reserved_characters_are_noted():
    turns = [Utterance(f"s{i:02}", f"I am s{i:02}") for i in range(PLACEHOLDERS + 1)]
    example = prepare(Dialogue((*turns, Utterance("s00", f"odd {P}"))))
    assert example.utterances[32] == Utterance("s32", "I am s32")
    assert example.utterances[33] == Utterance(P, "odd \ufffd")
    assert len(example.notes) == 2
    assert example.notes[0].startswith("1 of the speakers")
    assert "private-use" in example.notes[1]


def test_nothing_to_note():
    assert prepare(Dialogue((Utterance("A", "b"),))).notes == ()
    assert prepare(Dialogue(())) == Example(())


@pytest.mark.parametrize(
    "values",
    [
        {"source_tokens": 2},
        {"summary_tokens": 0},
        {"utterances": 0},
        {"utterance_tokens": -1},
        {"tokens": 5},
    ],
)
def test_senseless_limits_are_refused(values):
    with pytest.raises(ConfigError):
        Limits.parse(values)
