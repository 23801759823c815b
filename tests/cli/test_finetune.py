"""``dialogist finetune``, ``annotate`` and ``init --from``: pairs in, a model out, refusals."""

import json
from pathlib import Path

import pytest
from tests.command import Called

THINGS = ("lamp", "kettle", "router", "phone", "chair", "ticket", "parcel")


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    """A table as help desks export it: a row a chat, the agent's note in a column."""
    rows = ["id,dialogue,wrap_up"]
    for n in range(14):
        thing = THINGS[n % 7]
        turns = (
            f"Customer: My {thing} from day {n} is broken.\nAgent: Case {31 * n} gets a {thing}."
        )
        rows.append(f'c{n},"{turns}",The {thing} of case {31 * n} is replaced.')
    (tmp_path / "chats.csv").write_text("\n".join(rows) + "\n")
    return tmp_path / "chats.csv"


def said(called: Called) -> str:
    return called.stderr.decode()


def items_of(page: Path) -> list[dict[str, object]]:
    text = page.read_text(encoding="utf-8")
    return json.loads(text.split('id="page">')[1].split("</script>")[0])["items"]


def test_from_a_table_to_a_model(dialogist, chats: Path, tmp_path: Path, tiny_model: Path) -> None:
    call = ("finetune", chats, "--column", "summary=wrap_up", "--base", tiny_model, "--epochs", 1)
    done = dialogist(*call, "--output", "runs/mine")
    assert done.returncode == 0, said(done)
    table = done.stdout.decode()
    assert "| before |" in table
    assert "| after |" in table
    assert "dialogist summarize --model runs/mine FILE" in said(done)
    info = dialogist("models", "info", "runs/mine")
    assert f"base {tiny_model}" in info.stdout.decode()
    again = dialogist(*call, "--output", "runs/mine", "--quiet")
    assert (again.returncode, again.stdout) == (0, done.stdout)


def test_what_cannot_be_is_told_at_once(dialogist, chats: Path, tmp_path: Path) -> None:
    done = dialogist("finetune", chats, "--output", "run")
    assert done.returncode == 1
    assert "no dialogue of 14 has a summary" in said(done)
    done = dialogist("finetune", chats, "--output", "run", "--base", "defualt")
    assert done.returncode == 1
    assert "did you mean 'default'?" in said(done)
    assert not (tmp_path / "run").exists()


def test_a_page_to_write_summaries_on(
    dialogist, chats: Path, tmp_path: Path, tiny_model: Path
) -> None:
    done = dialogist("annotate", chats, "--model", tiny_model, "--count", 3, "-o", "page.html")
    assert done.returncode == 0, said(done)
    assert "page.html: 3 of 14 dialogues" in said(done)
    assert all(item["draft"] for item in items_of(tmp_path / "page.html"))
    own = ("annotate", chats, "--column", "summary=wrap_up", "--model", "own", "-o", "page.html")
    assert dialogist(*own).returncode == 0
    assert "The lamp of case 0 is replaced." in (tmp_path / "page.html").read_text()
    assert dialogist("annotate", chats, "--model", "none", "-o", "page.html").returncode == 0
    assert all(not item["draft"] for item in items_of(tmp_path / "page.html"))


def test_summaries_are_written_saved_and_loaded(dialogist, chats, tmp_path, browser) -> None:
    call = ("annotate", chats, "--model", "none", "--count", 2, "-o", "page.html")
    assert dialogist(*call).returncode == 0
    address = (tmp_path / "page.html").as_uri()
    page, faults = browser.new_page(), []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(address)
    page.click("#form button[type=submit]")
    assert "no summary yet" in page.inner_text("#message")
    page.fill("#summary", "It is replaced.")
    page.press("#summary", "Control+Enter")
    assert page.inner_text("#item-title") == "Dialogue 2 of 2"
    assert page.inner_text("#count") == "1 of 2"
    page.reload()  # kept in the browser
    assert page.inner_text("#count") == "1 of 2"
    with page.expect_download() as download:
        page.click("#save")
    assert page.inner_text("#message") == "Saved 1 summary; still open: 1 dialogue."
    download.value.save_as(tmp_path / "summaries.jsonl")
    [record] = map(json.loads, (tmp_path / "summaries.jsonl").read_text().splitlines())
    assert record["summaries"] == ["It is replaced."]
    fresh = browser.new_page()
    fresh.add_init_script("Storage.prototype.setItem = () => { throw new Error('refused'); };")
    fresh.on("pageerror", lambda error: faults.append(str(error)))
    fresh.goto(address)
    assert "keeps nothing here: save your summaries" in fresh.inner_text("#message")
    fresh.set_input_files("#load", tmp_path / "summaries.jsonl")
    fresh.locator("#count", has_text="1 of 2").wait_for()
    fresh.set_input_files("#load", chats)
    fresh.locator("#message", has_text="no file").wait_for()
    assert faults == []


def test_the_recipe_that_fits_a_model(
    dialogist, chats: Path, tmp_path: Path, tiny_model: Path
) -> None:
    """It trains with --from, which the recipe from nothing does not; that one is as before."""
    call = ("--data", ".", "--from", tiny_model, "--set", "training.epochs=1", "--output")
    (tmp_path / "rows").mkdir()
    assert dialogist("init", "own.yaml", "--from", tiny_model).returncode == 0
    assert dialogist("init", "scratch.yaml").returncode == 0
    split = dialogist(
        "data", "split", chats, "--column", "summary=wrap_up", "-o", ".", "--shares",
        "train=0.7,dev=0.3",
    )  # fmt: skip
    assert split.returncode == 0, said(split)
    done = dialogist("train", "own.yaml", *call, "run")
    assert done.returncode == 0, said(done)
    done = dialogist("train", "scratch.yaml", *call, "other")
    assert done.returncode == 1
    assert f"dialogist init --from {tiny_model}" in said(done)
