"""``dialogist rate``: the page is made, raters answer in a browser, the answers are summed up."""

import json
import re

import pytest

KINDS = ("faithful", "complete", "fluent", "overall")


@pytest.fixture
def files(tmp_path):
    """A's and B's predictions for dialogues of ``data.jsonl``; of d9 only A has one."""
    ids = [f"d{i}" for i in range(10)]
    data = [
        {"id": i, "turns": [["Ann", f"Lunch {i}? <b>"], ["Bo", "Yes."]], "summary": "Ann asks."}
        for i in ids
    ]
    a = [{"id": i, "prediction": f"Ann wants lunch {i}."} for i in ids]
    b = [{"id": i, "prediction": f"Bo says yes to {i}."} for i in ids[:-1]]
    b[0] = {"id": "d0", "prediction": "Ann wants  lunch d0."}
    for name, rows in (("data", data), ("mine.predictions", a), ("theirs.predictions", b)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text)
    return tmp_path


def make(dialogist, *more):
    names = ("mine.predictions.jsonl", "theirs.predictions.jsonl")
    return dialogist("rate", "make", *names, "--on", "data.jsonl", "--output", "page.html", *more)


def page_of(folder):
    text = (folder / "page.html").read_text(encoding="utf-8")
    return json.loads(re.search(r'id="page">(.*?)</script>', text, re.DOTALL)[1])


def answers(folder, rater, prefer):
    """A file of answers; ``prefer`` is the text that a rater likes to see first."""
    page = page_of(folder)
    given = {}
    for number, item in enumerate(page["items"]):
        choice = "first" if prefer in item["first"] else "second"
        given[number] = {**dict.fromkeys(KINDS, choice), "false": [], "note": ""}
    given[0]["note"] = "a \x1b[1mnote"
    path = folder / f"{rater}.json"
    head = {"kind": "dialogist rating answers", "version": 1}
    record = {**head, "page": page["page"], "key": page["key"], "rater": rater, "answers": given}
    path.write_text(json.dumps(record))
    return path.name


def test_only_what_both_say_and_say_differently_is_shown(dialogist, files):
    made = make(dialogist)
    assert made.returncode == 0, made.stderr
    assert b"9 of 10 dialogues have a summary of both systems" in made.stderr
    assert b"8 dialogues (no more of the 9 pairs differ)" in made.stderr
    assert b"1 identical pair drawn" in made.stderr
    assert len(page_of(files)["items"]) == 8


def test_the_same_seed_makes_the_same_page(dialogist, files):
    pages = []
    for seed in ("1", "1", "2"):
        assert make(dialogist, "--seed", seed, "--count", "5").returncode == 0
        pages.append((files / "page.html").read_bytes())
    assert pages[0] == pages[1] != pages[2]


def test_who_is_preferred_comes_out_whatever_the_side(dialogist, files):
    make(dialogist)
    given = [answers(files, "Ann", "wants lunch"), answers(files, "Bo", "wants lunch")]
    told = dialogist("rate", "report", *given)
    assert told.returncode == 0, told.stderr
    text = told.stdout.decode()
    assert "A is mine, B is theirs" in text
    assert re.search(r"overall +16 +0 +0 +100\.0", text)
    assert "8:0  0.008" in text
    assert "Ann on 1" in text
    assert "\x1b" not in text
    record = json.loads(dialogist("rate", "report", *given, "--format", "json").stdout)
    assert record["systems"] == ["mine", "theirs"]
    assert record["preferences"][3]["share"] == 100
    assert record["preferences"][3]["agreement"]["same"] == 100
    markdown = dialogist("rate", "report", *given, "--format", "md").stdout.decode()
    assert "| overall | 16 | 0 | 0 | 100.0 |" in markdown


def test_preferred_summaries_become_data_for_finetune(dialogist, files):
    make(dialogist)
    given = [answers(files, "Ann", "wants lunch"), answers(files, "Bo", "wants lunch")]
    told = dialogist("rate", "preferred", "page.html", *given, "--output", "preferred.jsonl")
    assert told.returncode == 0, told.stderr
    assert b"8 of 8 dialogues have a preferred summary" in told.stderr
    written = [json.loads(line) for line in (files / "preferred.jsonl").read_text().splitlines()]
    assert {one["id"] for one in written} == {f"d{i}" for i in range(1, 9)}
    for one in written:
        assert one["summaries"] == [f"Ann wants lunch {one['id']}."]
        assert one["turns"][0] == {"speaker": "Ann", "text": f"Lunch {one['id']}? <b>"}
    assert dialogist("data", "check", "preferred.jsonl").returncode == 0


def test_preferred_summaries_need_the_page_of_the_answers(dialogist, files):
    make(dialogist, "--seed", "2")
    given = answers(files, "Ann", "wants")
    make(dialogist)
    for page, said in (("page.html", b"not the page"), ("data.jsonl", b"is no page of")):
        told = dialogist("rate", "preferred", page, given)
        assert told.returncode == 1
        [line] = told.stderr.splitlines()
        assert page.encode() in line
        assert said in line


def test_answers_to_another_page_are_refused_in_one_line(dialogist, files):
    make(dialogist)
    one = answers(files, "Ann", "wants")
    make(dialogist, "--seed", "2")
    other = answers(files, "Bo", "wants")
    told = dialogist("rate", "report", one, other)
    assert told.returncode == 1
    [line] = told.stderr.decode().splitlines()
    assert "Bo.json: answers to another page" in line
    assert told.stdout == b""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: (f / "data.jsonl").unlink(), b"data.jsonl"),
        (lambda f: (f / "mine.predictions.jsonl").write_text("{}\n"), b"mine.predictions.jsonl"),
        (lambda f: (f / "page.html").mkdir(), b"page.html: cannot be written"),
        (
            lambda f: (f / "theirs.predictions.jsonl").write_text('{"id":"x","prediction":"y"}'),
            b"none of its ids",
        ),
        (
            lambda f: (f / "theirs.predictions.jsonl").write_bytes(
                (f / "mine.predictions.jsonl").read_bytes()
            ),
            b"say the same about every dialogue",
        ),
    ],
)
def test_faults_are_one_clear_line(dialogist, files, change, said):
    change(files)
    made = make(dialogist)
    assert made.returncode == 1
    assert said in made.stderr
    assert b"Traceback" not in made.stderr
    assert not (files / "page.html").is_file()


def open_page(context, folder):
    """The page, and what went wrong on it."""
    page, problems = context.new_page(), []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text))
    page.on(
        "request", lambda one: None if one.url.startswith("file:") else problems.append(one.url)
    )
    page.goto((folder / "page.html").as_uri())
    return page, problems


def test_rating_by_keyboard_is_kept_saved_and_resumed(dialogist, files, browser):
    make(dialogist, "--count", "3")
    context = browser.new_context(accept_downloads=True)
    page, problems = open_page(context, files)
    assert "Lunch d" in page.inner_text("#turns")
    page.click("#save")
    assert "enter your name" in page.inner_text("#message")
    page.fill("#rater", "Ann")
    page.locator("#rater").blur()
    for key in ("1", "2", "0", "1", "Shift+2", "n", "2"):
        page.keyboard.press(key)
    # Chromium stores in another process, a moment later: a page closed at once may lose it.
    page.wait_for_timeout(1000)
    page.close()
    page, more = open_page(context, files)  # the browser was closed: all is still there
    assert page.input_value("#rater") == "Ann"
    assert page.inner_text("#item-title") == "Dialogue 2 of 3"
    assert page.inner_text("#count") == "1 of 3"
    assert page.is_checked("input[name=faithful][value=second]")
    for key in ("2", "2", "2", "Enter", "0", "0", "0", "0", "n"):
        page.keyboard.press(key)
    assert page.is_visible("#done")
    with page.expect_download() as download:
        page.click("#save-done")
    download.value.save_as(files / "ann.json")
    given = json.loads((files / "ann.json").read_text())["answers"]
    assert given["0"] == {
        **dict(zip(KINDS, ("first", "second", "equal", "first"), strict=True)),
        "false": ["second"],
        "note": "",
    }
    assert {given["1"][kind] for kind in KINDS} == {"second"}
    assert dialogist("rate", "report", "ann.json").returncode == 0
    fresh, _ = open_page(browser.new_context(), files)
    fresh.set_input_files("#load", files / "ann.json")
    fresh.locator("#count", has_text="3 of 3").wait_for()
    fresh.set_input_files("#load", files / "data.jsonl")
    fresh.locator("#message", has_text="no file").wait_for()
    assert problems + more == []


def test_the_page_fits_a_phone(dialogist, files, browser):
    make(dialogist)
    context = browser.new_context(viewport={"width": 360, "height": 700})
    page, problems = open_page(context, files)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.click("#next")
    assert page.inner_text("#item-title") == "Dialogue 2 of 8"
    assert problems == []
