"""The user profile from file to summary: a value that stands only there is right with it alone."""

import io
import json
import random
from pathlib import Path

import pytest
import torch
from tests.learning import Silent, pairs_of_all
from tests.test_copying import COPYING

from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.formats import ReadOptions, read_dialogues
from dialogist.formats.fields import dialogue_to_line
from dialogist.data.stats import check_dialogues
from dialogist.errors import UsageError
from dialogist.model_folder.bundle import Bundle, load_bundle, save_bundle
from dialogist.model_folder.options import SummaryOptions
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.pipeline.summarizer import Session, Summarizer
from dialogist.present import PresentOptions, text_of
from dialogist.privacy.masking import mask_dialogue
from dialogist.privacy.packs import privacy_of
from dialogist.records import Dialogue, Summary, Utterance
from dialogist.forms.fill import fill
from dialogist.forms.filled import as_text
from dialogist.forms.template_config import load_template
from dialogist.tokenizers.build import train_word
from dialogist.training.base import TrainingConfig, TrainingData, Validation
from dialogist.training.trainer import Trainer

CALL = (
    Utterance("Customer", "Hello, my vehicle does not start and I cannot get to work."),
    Utterance("Agent", "I am sorry. I will send a mechanic to your home address this afternoon."),
    Utterance("Customer", "Thank you, that is a great help."),
)
PROFILE = {"vehicle": "Opel Corsa", "home_address": "4 Mill Lane", "plan": "Gold"}


@pytest.fixture(scope="module")
def faithful() -> Summarizer:
    return Summarizer.load()


def read(*records: dict[str, object]) -> list[Dialogue]:
    lines = "".join(json.dumps(record) + "\n" for record in records)
    return list(read_dialogues(io.BytesIO(lines.encode())))


def record(**fields: object) -> dict[str, object]:
    turns = [{"speaker": one.speaker, "text": one.text} for one in CALL]
    return {"id": "c1", "turns": turns, "profile": fields}


def test_fields_are_read_as_text_and_written_again() -> None:
    fields = {"plan": " Gold ", "age": 31, "vip": True, "tickets": ["late", 7]}
    [found] = read(record(**fields, contacts={"x": 1}, note=None))
    assert found.profile == {"plan": "Gold", "age": "31", "vip": "yes", "tickets": "late; 7"}
    assert found.metadata == {"profile": {"contacts": {"x": 1}, "note": None}}
    assert [found] == read(json.loads(dialogue_to_line(found)))
    assert "profile" not in json.loads(dialogue_to_line(Dialogue(CALL)))


def test_data_check_names_the_fields_that_are_not_read() -> None:
    records = [record(plan="Gold", contacts={}, note=None), record(contacts={}), record(plan="x")]
    lines = "".join(json.dumps({**one, "id": str(n)}) + "\n" for n, one in enumerate(records))
    report = check_dialogues(io.BytesIO(lines.encode()), ReadOptions())
    [found] = [one for one in report.warnings if one.kind == "ignored_profile"]
    assert (found.count, found.examples) == (2, ("contacts", "note"))


def test_a_profile_that_is_not_text_is_refused() -> None:
    with pytest.raises(UsageError, match=r"profile\['age'\]"):
        Dialogue(CALL, profile={"age": 31})  # type: ignore[dict-item]


def test_values_are_masked_with_the_dialogue() -> None:
    known = {"phone": "555 010 0199", "name": "Zoe Miller", "plan": "Gold"}
    masked, _ = mask_dialogue(Dialogue(CALL, profile=known), privacy_of(names="people"))
    assert "0199" not in str(masked.profile)
    assert "Miller" not in str(masked.profile)
    assert masked.profile["plan"] == "Gold"


def statement_on(word: str, summary: Summary) -> str:
    return next((one.text for one in summary.sentences if word in one.text), "")


def test_a_faithful_statement_says_which_one_the_customer_means(faithful: Summarizer) -> None:
    [summary] = faithful.summarize([Dialogue(CALL, profile=PROFILE)])
    assert "(profile: vehicle Opel Corsa)" in statement_on("vehicle", summary)
    cited = {name for one in summary.sentences for name in one.profile}
    assert {"profile.vehicle"} <= cited <= {"profile.vehicle", "profile.home_address"}
    assert Summary.from_json(summary.to_json()) == summary
    for one in summary.sentences:
        assert summary.text[one.start : one.end] == one.text
    shown = "".join(text_of(PresentOptions().apply(summary, Dialogue(CALL, profile=PROFILE))))
    assert "(reported) [profile.vehicle]" in shown


SAYS = {
    "plan": (
        "I want to cancel my plan because it is too expensive.",
        "My plan does not include calls to Spain.",
    ),
    "vehicle": (
        "My vehicle does not start this morning.",
        "I need a new key for my vehicle before Friday.",
    ),
    "home_address": (
        "Please send the invoice to my home address.",
        "The parcel never came to my home address.",
    ),
    "last ticket": ("Nobody answered my last ticket about the refund.",),
}


def test_faithful_statements_have_values_of_the_profile_and_only_with_it(
    faithful: Summarizer,
) -> None:
    chance = random.Random(0)
    known, bare = [], []
    for number in range(60):
        field = list(SAYS)[number % len(SAYS)]
        first = Utterance("Customer", f"Hello. {chance.choice(SAYS[field])}")
        agent = Utterance("Agent", chance.choice(("Let me check this.", "I will see to it today.")))
        value = f"Q{chance.randrange(10**6):06}"
        turns = (first, agent, Utterance("Customer", "Thank you, goodbye."))
        known.append(Dialogue(turns, profile={"tier": "B2", field: value}))
        bare.append(Dialogue(turns))
    told = faithful.summarize(known)
    right = 0
    for summary, dialogue in zip(told, known, strict=True):
        [_, (field, value)] = dialogue.profile.items()
        cited = {name for one in summary.sentences for name in one.profile}
        right += value in summary.text and cited == {f"profile.{field}"}
    assert right > 0.95 * len(known)
    for summary, dialogue in zip(faithful.summarize(bare), known, strict=True):
        assert not any(value in summary.text for value in dialogue.profile.values())


@pytest.mark.parametrize(
    "said",
    [
        ["Customer: My vehicle is a Fiat.", "Customer: My vehicle does not start at all today."],
        ["Customer: The Opel Corsa is old.", "Customer: My vehicle does not start at all today."],
        ["Agent: My vehicle does not start at all today, so I am late. Sorry for that."],
        ["Customer: The vehicle of my neighbour does not start at all today."],
        ["Ann: My vehicle does not start at all today.", "Bo: I will send a mechanic today."],
    ],
    ids=["told otherwise", "told", "of the agent", "of others", "nobody is the customer"],
)
def test_what_is_said_or_is_not_the_customers_has_no_note(
    faithful: Summarizer, said: list[str]
) -> None:
    lines = [*said, "Agent: Let me look into this for you."] if len(said) == 1 else said
    dialogue = Dialogue.from_text("\n".join(lines))
    [plain] = faithful.summarize([dialogue])
    [known] = faithful.summarize([Dialogue(dialogue.utterances, profile=PROFILE)])
    assert known.text == plain.text != ""


def test_a_session_knows_the_profile(faithful: Summarizer) -> None:
    session = Session(faithful, profile=PROFILE)
    session.add(*CALL)
    assert session.summary().text == faithful.summarize([Dialogue(CALL, profile=PROFILE)])[0].text


def test_a_template_shows_the_fields_it_asks_for(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "name: own\nlanguage: en\nversion: 1\nsections:\n"
        "- {title: Car, source: profile, fields: Vehicle}\n"
        "- {title: Known, source: profile, fields: [plan, home address]}\n"
        "- {title: City, source: profile, fields: city}\n"
    )
    dialogue = Dialogue(CALL, profile=PROFILE)
    filled = fill(Summary(""), dialogue, load_template(tmp_path / "own.yaml"))
    known = "Known: plan: Gold, home address: 4 Mill Lane"
    assert as_text(filled) == f"Car: Opel Corsa\n{known}\nCity: None found.\n"
    [entry] = filled.sections[0].entries
    assert (entry.origin, entry.profile) == ("profile", ("profile.vehicle",))
    bundled = as_text(fill(Summary(""), dialogue, load_template("ticket")))
    assert "Customer profile: vehicle: Opel Corsa, home address: 4 Mill Lane, plan: Gold" in bundled
    without = as_text(fill(Summary(""), Dialogue(CALL), load_template("ticket")))
    assert "profile" not in without


# A network that reads profiles: the order's number stands there alone.
TALK = ("hello", "my order is late", "please call {phone} today")
SUMMARY = "the order {order} is late"
WORDS = ("profile order: {order}", "profile city: {city}", *TALK, SUMMARY)
TOKENIZER = train_word([text.format(order="", phone="", city="") for text in WORDS], speakers=True)


def dialogues(count: int, seed: int) -> list[Dialogue]:
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        order, phone, city = (str(chance.randrange(10**9)) for _ in range(3))
        said = [text.format(phone=phone) for text in chance.sample(TALK, len(TALK))]
        turns = tuple(Utterance("user", text) for text in said)
        fields = chance.sample([("order", order), ("city", city)], 2)
        found.append(Dialogue(turns, "", (SUMMARY.format(order=order),), profile=dict(fields)))
    return found


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Summarizer:
    run = tmp_path_factory.mktemp("run")
    torch.manual_seed(0)
    wanted = {"speakers": "role", "unknown": "copied", "user_profile": "first"}
    preparation = Preparation(PreparationConfig.parse(wanted))
    model = COPYING["transformer"].build(len(TOKENIZER))
    examples = map(preparation.prepare, dialogues(32 * 150, seed=1))
    pairs = pairs_of_all(preparation.encode(example, TOKENIZER) for example in examples)
    training = TrainingConfig.parse(
        {
            "epochs": 1,
            "precision": "fp32",
            "sampler": {"kind": "shuffle-buffer", "examples": 32},
            "schedule": {"kind": "linear", "peak": 0.01, "warmup": 20},
            "checkpoint_every": 10_000,
        }
    )
    data = TrainingData(pairs, TOKENIZER.symbols)
    Trainer(model, CrossEntropy(), data, training, run, Silent()).fit(lambda epoch: Validation({}))
    decoding = SummaryOptions(max_tokens=8, safe=True)
    save_bundle(run / "model", Bundle(model, TOKENIZER, preparation, decoding), "", torch.float16)
    return Summarizer(load_bundle(run / "model", torch.device("cpu")))


def test_a_network_says_what_stands_in_the_profile_alone(network: Summarizer) -> None:
    unseen = dialogues(100, seed=2)
    said = network.summarize(unseen)
    right = sum(one.text == d.references[0] for one, d in zip(said, unseen, strict=True))
    assert right > 95
    for summary, dialogue in zip(said, unseen, strict=True):
        if summary.text == dialogue.references[0]:
            assert summary.sentences[0].profile == ("profile.order",)
        spans = [span for one in summary.sentences for span in one.evidence]
        for span in spans:
            assert span.end <= len(dialogue.utterances[span.utterance].text)
        assert summary.coverage.utterances == summary.coverage.utterances_read == 3
        assert not [one for one in summary.warnings if one.kind in ("number", "removed")]


def test_without_the_profile_it_never_does(network: Summarizer) -> None:
    unseen = dialogues(100, seed=2)
    bare = [Dialogue(one.utterances) for one in unseen]
    for summary, dialogue in zip(network.summarize(bare), unseen, strict=True):
        assert dialogue.profile["order"] not in summary.text
        assert all(one.profile == () for one in summary.sentences)


def test_every_window_begins_with_the_profile(network: Summarizer) -> None:
    talk = [Utterance("user", f"please call {n} today") for n in range(30)]
    dialogue = Dialogue(tuple(talk), profile={"order": "123456", "city": "987"})
    limits = {"source_tokens": 24}
    bundle = network.bundle
    config = bundle.preparation.config.model_copy(
        update={"limits": type(bundle.preparation.config.limits).parse(limits)}
    )
    short = Bundle(bundle.model, TOKENIZER, Preparation(config), bundle.decoding, bundle.name)
    reading = Summarizer(short).read(dialogue)
    assert len(reading.windows) > 3
    kept = {w.example.utterances[0].text for w in reading.windows}
    assert kept == {"profile order: 123456"}
    assert reading.example.notes == ("of 2 fields of the user profile the model has room for 1",)
    spans = Summarizer(short).summarize([dialogue])[0].coverage.windows
    assert (spans[0][0], spans[-1][1]) == (0, 30)
    assert all(a < b for a, b in spans)
