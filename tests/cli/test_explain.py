"""``dialogist explain``: text, files and stdin in; a page, pictures or JSON out; refusals."""

import json
import sys

import pytest

from dialogist.errors import UsageError
from dialogist_lab.cli.explain import numbers

CHAT = "Ann: Shall we meet at noon?\nBo: Yes, gladly, at Luigi's.\n"


@pytest.fixture
def run(dialogist, tiny_model):
    """``dialogist explain`` with the tiny model."""

    def explain(*arguments, **options):
        return dialogist("explain", *arguments, "--model", tiny_model, **options)

    return explain


def rows(path):
    turns = [[["Ann", f"We meet at {i}."], ["Bo", "Fine."]] for i in range(3)]
    lines = [json.dumps({"id": f"d{i}", "turns": t}) for i, t in enumerate(turns)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_page_from_text_a_file_and_stdin(run, tmp_path):
    (tmp_path / "chat.txt").write_text(CHAT)
    pages = []
    for arguments, options in (
        ((CHAT,), {}),
        (("chat.txt",), {}),
        (("-",), {"input": CHAT.encode()}),
        ((), {"input": CHAT.encode()}),
    ):
        result = run(*arguments, **options)
        assert result.returncode == 0, result.stderr.decode()
        assert result.stdout == b"explanation.html\n"
        page = (tmp_path / "explanation.html").read_text(encoding="utf-8")
        assert page.startswith("<!doctype html>")
        pages.append(page)
        (tmp_path / "explanation.html").unlink()
    bodies = {page.split('<script type="application/json" id="page">')[1] for page in pages}
    assert len(bodies) == 1  # only the dialogue's name differs


def test_one_dialogue_of_a_file(run, tmp_path):
    path = rows(tmp_path / "all.jsonl")
    first = run(path, "--format", "json")
    assert json.loads(first.stdout)["id"] == "d0"
    assert b"there are more dialogues: this is the first, 'd0' (see --id)" in first.stderr
    other = run(path, "--format", "json", "--id", "d2")
    assert json.loads(other.stdout)["id"] == "d2"
    assert b"more dialogues" not in other.stderr
    none = run(path, "--format", "json", "--id", "d9")
    assert none.returncode == 1
    assert b"'d9': there is none of that id; did you mean" in none.stderr


def test_json_into_a_file(run, tmp_path):
    result = run(CHAT, "-o", "all.json")
    assert (result.returncode, result.stdout) == (0, b"")
    assert json.loads((tmp_path / "all.json").read_bytes())["maps"]
    assert not (tmp_path / "explanation.html").exists()


def test_pictures_json_and_page_at_once(run, tmp_path):
    """The old spelling, --json, allows all three in one call."""
    result = run(
        CHAT, "--png", "maps", "--json", "-o", "page.html", "--layers", "1", "--heads", "2"
    )
    assert b"--json is now written --format json" in result.stderr
    assert result.returncode == 0, result.stderr.decode()
    found = json.loads(result.stdout)
    assert {tuple(m["heads"]) for m in found["maps"]} == {(2,)}
    assert (tmp_path / "page.html").is_file()
    assert not (tmp_path / "explanation.html").exists()
    pictures = sorted(file.name for file in (tmp_path / "maps").iterdir())
    assert "decoder_layer1_block2_decenc_att.png" in pictures
    for name in (*pictures, "page.html"):
        assert name.encode() in result.stderr
    assert b"only heads 2, as asked for" in result.stderr


def test_the_summary_is_that_of_summarize(run, dialogist, tiny_model):
    flags = ("--strategy", "beam", "--beam-size", "3", "--max-tokens", "7")
    told = json.loads(run(CHAT, "--format", "json", *flags).stdout)
    plain = dialogist(
        "summarize", "-m", tiny_model, "--format", "json", *flags, input=CHAT.encode()
    )
    assert told["summary"] == json.loads(plain.stdout)[0]["text"]
    sampled = run(CHAT, "--format", "json", "--strategy", "sample", "--seed", "3")
    assert sampled.returncode == 0
    wrong = run(CHAT, "--seed", "3")
    assert (wrong.returncode, b"with --strategy sample only" in wrong.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("",), 2, "no input: give a file or a dialogue"),
        (("nosuch.txt",), 1, "nosuch.txt: no such file, and no dialogue either"),
        (("Ann:  \nBo: \n",), 1, "holds no dialogue"),
        (("hello\nthere\n",), 1, "no line starts with a speaker"),
        ((CHAT, "--layers", "2"), 2, "--layers 2: there are 1 to 1 here"),
        ((CHAT, "--heads", "2-1"), 2, "--heads 2-1: write numbers from 1 as 1,3-5"),
        ((CHAT, "--utterances", "3"), 2, "--utterances 3: there are 1 to 2 here"),
        ((CHAT, "--within"), 2, "only hierarchical models"),
        ((CHAT, "--max-tokens", "99"), 2, "this model writes at most 23 tokens"),
        ((CHAT, "-o", "no/such/folder.html"), 2, "there is no folder no/such"),
        (("x" * 5000,), 1, "no such file"),
    ],
)
def test_refusals_are_one_line(run, tmp_path, arguments, code, message):
    result = run(*arguments)
    assert result.returncode == code
    assert message in result.stderr.decode()
    lines = result.stderr.decode().splitlines()
    assert [line for line in lines if "max_tokens and stops" not in line] == lines[-1:]
    assert result.stdout == b""
    assert list(tmp_path.glob("*.html")) == []


def test_other_models(dialogist):
    for model, code, message in (
        ("lead-3", 2, "'lead-3' is a baseline: it has no network"),
        ("constant:hello", 2, "is a baseline"),
        ("nosuch", 1, "model 'nosuch': no such folder"),
    ):
        result = dialogist("explain", CHAT, "--model", model)
        assert result.returncode == code
        assert message in result.stderr.decode()


def test_bad_records_are_told(run, tmp_path):
    path = rows(tmp_path / "all.jsonl")
    path.write_text("{broken\n" + path.read_text())
    result = run(path)
    assert result.returncode == 3
    assert b"all.jsonl:1" in result.stderr
    assert (tmp_path / "explanation.html").is_file()


def test_nasty_text_and_names(run, tmp_path):
    row = {
        "id": "<i>\u0007",
        "turns": [["<script>x</script>", "a\u200bb {{ x }}"], ["", "用户 🙂"]],
    }
    (tmp_path / "nasty.jsonl").write_text(json.dumps(row) + "\n")
    result = run("nasty.jsonl", "--json", "-o", "page.html")
    assert result.returncode == 0, result.stderr.decode()
    json.loads(result.stdout.decode("utf-8"))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>x" not in page
    assert "&lt;script&gt;x" in page


def test_missing_extras(run, monkeypatch):
    for name in ("jinja2", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)
    for arguments, feature in (((), "dialogist explain"), (("--png", "maps"), "--png")):
        result = run(CHAT, *arguments)
        assert result.returncode == 1
        line = f"{feature} needs optional packages: pip install 'jinja2>="
        assert line in result.stderr.decode()


def test_numbers() -> None:
    assert numbers(None, "--layers") is None
    assert numbers("1, 3-5,4", "--layers") == {1, 3, 4, 5}
    for wrong in ("", "0", "-1", "1-", "a", "1,,2", "3-2", "１", "1e3"):
        with pytest.raises(UsageError, match="write numbers from 1 as 1,3-5"):
            numbers(wrong, "--layers")
