"""The made-up corpus: repeatable, its parts apart, its lengths the paper's, its labels true."""

import json
from collections import Counter
from functools import cache
from hashlib import sha256
from itertools import chain, pairwise

import pytest

from dialogist.data.key_points import first_match, load_pack
from dialogist.formats.read_options import ReadOptions
from dialogist.formats.fields import dialogue_to_line
from dialogist.formats.readers import read_dialogues
from dialogist.errors import DataError, UsageError
from dialogist.language.tokens import count_words
from dialogist_lab.synth import SPLITS, CorpusConfig, generate_pair, generate_pairs
from dialogist_lab.synth.dialogues import split_of
from dialogist_lab.synth.grammar import (
    RandomDraw,
    exchange_of,
    expand,
    line_content,
    line_of,
    load_grammar,
)
from dialogist_lab.synth.plan import LABELS, MOST_PAIRS, UNIQUE, Unique

PAIRS = 2_500
PINNED = {"en": "29ed1ae6d3fb3192", "zh": "1a23913c0279099e"}  # SHA-256 of the first hundred lines
both = pytest.mark.parametrize("language", ["en", "zh"])


@cache
def corpus(language, split="train", pairs=PAIRS):
    """Made once for all tests."""
    return tuple(generate_pairs(CorpusConfig(language, 1, split), pairs))


def text_of(dialogue):
    return "\n".join(utterance.text for utterance in dialogue.utterances)


def share(counts, limit):
    return sum(count > limit for count in counts) / len(counts)


# --- the same pairs every time, from any start


@both
def test_prefix_and_start(language):
    config = CorpusConfig(language, 7, "dev")
    long = [dialogue_to_line(d) for d in generate_pairs(config, 60)]
    assert [dialogue_to_line(d) for d in generate_pairs(config, 10)] == long[:10]
    assert [dialogue_to_line(d) for d in generate_pairs(config, 20, start=40)] == long[40:]
    assert dialogue_to_line(generate_pair(config, 59)) == long[59]


@both
def test_these_very_pairs(language):
    """Another sequence of draws is another corpus: then VERSION must go up, and this changes."""
    lines = "".join(dialogue_to_line(d) + "\n" for d in corpus(language)[:100])
    assert sha256(lines.encode()).hexdigest()[:16] == PINNED[language]


@both
def test_seeds_and_parts_differ(language):
    configs = [CorpusConfig(language, seed, split) for seed in (1, 2) for split in SPLITS]
    texts = [text_of(d) for config in configs for d in generate_pairs(config, 50)]
    assert len(set(texts)) == len(texts)


def test_it_is_a_stream():
    pairs = generate_pairs(CorpusConfig(), MOST_PAIRS)
    assert next(pairs).id == "synth-en-1-train-0"


@pytest.mark.parametrize(
    ("pairs", "start"), [(-1, 0), (1, -1), (MOST_PAIRS + 1, 0), (1, MOST_PAIRS)]
)
def test_numbers_out_of_range(pairs, start):
    with pytest.raises(UsageError, match="pairs"):
        generate_pairs(CorpusConfig(), pairs, start)


@pytest.mark.parametrize("bad", [("fr", 1, "train"), ("en", -1, "train"), ("en", 1, "Test")])
def test_bad_configuration(bad):
    with pytest.raises(UsageError):
        CorpusConfig.of(*bad)


# --- parts share no combination of templates


@both
def test_parts_share_no_combination(language):
    combinations = {
        split: Counter(d.metadata["combination"] for d in corpus(language, split))
        for split in SPLITS
    }
    for split, found in combinations.items():
        assert all(split_of(combination) == split for combination in found)
        # Not for lack of repetition: within a part combinations do return.
        assert max(found.values()) > 3
        assert sum(found.values()) - len(found) > PAIRS // 20
    train, dev, test = (set(combinations[split]) for split in SPLITS)
    assert not train & dev
    assert not train & test
    assert not dev & test


@both
def test_parts_have_the_same_key_points(language):
    """Only the wording is dealt out: no part lacks an issue or a key point."""
    for name in ("issue", "key_points"):
        shares = []
        for split in SPLITS:
            found = [d.metadata[name] for d in corpus(language, split)]
            values = found if name == "issue" else chain.from_iterable(found)
            shares.append(Counter(values))
        for value in shares[0]:
            for other in shares[1:]:
                assert abs(shares[0][value] - other[value]) < 0.02 * PAIRS + 0.1 * other[value]
    assert set(chain.from_iterable(d.metadata["key_points"] for d in corpus(language))) == set(
        LABELS
    )


# --- lengths as in Figure 2 and section 4.1 (two points more or less)


@both
def test_lengths(language):
    pairs = corpus(language)
    utterances = [len(d.utterances) for d in pairs]
    words = [count_words(d.references[0]) for d in pairs]
    points = [len(d.metadata["key_points"]) for d in pairs]
    subs = [count_words(text) for d in pairs for _, text in d.metadata["topics"]]
    assert share(utterances, 20) == pytest.approx(0.28, abs=0.02)
    assert share(utterances, 40) == pytest.approx(0.045, abs=0.01)
    assert share(words, 100) == pytest.approx(0.34, abs=0.02)
    assert share(points, 5) == pytest.approx(0.20, abs=0.02)
    assert share(subs, 50) == pytest.approx(0.023, abs=0.01)
    assert max(points) <= 15  # the paper decodes no more
    assert all({u.role for u in d.utterances} == {"agent", "user"} for d in pairs)


# --- true labels


@both
def test_labels_come_back(language):
    pack = load_pack(f"customer-service-{language}")
    assert set(pack.labels) == set(LABELS)
    assert len(pack.labels) == 51
    for split in SPLITS:
        for dialogue in corpus(language, split):
            found = pack.analyse(dialogue.references[0])
            true = dialogue.metadata["topics"]
            assert [[sub.label, sub.text.strip()] for sub in found] == true, dialogue.id


@both
def test_every_template_has_its_label(language):
    """Not only those that the samples above happened to hold."""
    grammar, rules = load_grammar(language), load_pack(f"customer-service-{language}").rules

    def label(sentence):
        found = first_match(rules, sentence)
        return None if found is None else rules[found].label

    for name, point in grammar.points.items():
        assert len(point.notes) >= 4, name
        assert min(len(each) for each in point.says) >= 1, name
        for note in chain.from_iterable(line.variants for line in point.notes):
            assert label(note.replace("{time}", "2019-01-01 00:00:00")) == name, note
    for name, frames in grammar.frames.items():
        assert len(frames) >= 4, name
        pools = [issue.contents.get(name, ()) for issue in grammar.issues]
        pools.append(
            {"Further question": grammar.questions, "Solution": grammar.answers}.get(name, ())
        )
        contents = {c.written.variants[0] for c in chain.from_iterable(pools)}
        for frame in chain.from_iterable(line.variants for line in frames):
            for content in contents:
                assert label(frame.replace("{}", content)) == name, (frame, content)
    details = [*grammar.more.values(), *(issue.details for issue in grammar.issues)]
    for content in chain.from_iterable(details):
        assert label(content.written.variants[0]) is None, content


@both
def test_neighbours_differ(language):
    for dialogue in corpus(language):
        points = dialogue.metadata["key_points"]
        assert all(one != other for one, other in pairwise(points))
        texts = [text for _, text in dialogue.metadata["topics"]]
        assert ("" if language == "zh" else " ").join(texts) == dialogue.references[0]


# --- values


@both
@pytest.mark.parametrize("split", SPLITS)
def test_values_of_dialogue_and_summary_are_the_same(language, split):
    """But for those that the user corrected: these are in the dialogue only."""
    for index, dialogue in enumerate(corpus(language, split)):
        said, summary = text_of(dialogue), dialogue.references[0]
        kept = {value for _, value in dialogue.metadata["entities"]}
        wrong = {value for _, value in dialogue.metadata["superseded"]}
        assert all(value in said and value in summary for value in kept), dialogue.id
        assert all(value in said and value not in summary for value in wrong), dialogue.id
        assert not kept & wrong
        unique = Unique(language, 1, 3 * index + SPLITS.index(split))
        possible = {unique.make(slot, use) for slot in UNIQUE for use in (0, 1)}
        assert {value for value in possible if value in said} <= kept | wrong, dialogue.id


@both
def test_nothing_is_left_unfilled(language):
    for dialogue in corpus(language):
        text = text_of(dialogue) + dialogue.references[0]
        assert not set("{}[]|@") & set(text.replace("@example.com", ""))
        assert " // " not in text
        assert " => " not in text


@both
def test_values_never_return(language):
    seen = Counter()
    for split in SPLITS:
        for dialogue in corpus(language, split):
            given = [*dialogue.metadata["entities"], *dialogue.metadata["superseded"]]
            seen.update({value for slot, value in given if slot in UNIQUE})
    assert len(seen) > 2 * PAIRS
    assert max(seen.values()) == 1


@both
def test_values_are_one_to_one(language):
    """Over neighbours, where a bad step would show, and at the very end of the range."""
    last = 3 * MOST_PAIRS
    for slot in UNIQUE:
        counters = chain(range(10_000), range(last - 10_000, last))
        values = Counter(
            Unique(language, 5, counter).make(slot, use)
            for counter in counters
            for use in ((0,) if slot in ("from", "to") else (0, 1))
        )
        assert max(values.values()) == 1, slot
    places = {Unique(language, 5, n).make(slot) for n in range(5_000) for slot in ("from", "to")}
    assert len(places) == 10_000


# --- twists


@both
def test_twists_are_there(language):
    pairs = corpus(language)
    points = [d.metadata["key_points"] for d in pairs]
    twice = [p for p in points if p.count("Solution") > 1]
    assert 0.1 < len(twice) / PAIRS < 0.4
    assert any(p.count("Solution") == 3 for p in points)
    for dialogue in pairs:
        solutions = [text for name, text in dialogue.metadata["topics"] if name == "Solution"]
        assert len(set(solutions)) == len(solutions)
    assert sum(bool(d.metadata["superseded"]) for d in pairs) > PAIRS // 30
    assert sum(bool(d.metadata["contradicted"]) for d in pairs) > PAIRS // 50
    written = [
        d.metadata["contradicted"][0] in p
        for d, p in zip(pairs, points, strict=True)
        if d.metadata["contradicted"]
    ]
    assert sum(written) < 0.2 * len(written)  # only where a Solution came in between


@both
def test_order_is_twisted(language):
    """The values come up in another order in the dialogue than in the summary."""
    twisted = several = 0
    for dialogue in corpus(language):
        values = [v for slot, v in dialogue.metadata["entities"] if slot in UNIQUE]
        said = text_of(dialogue)
        places = [said.rindex(value) for value in values]
        several += len(values) > 1
        twisted += places != sorted(places)
    assert twisted > 0.3 * several


def test_flips_keep_the_last_stance():
    """The exchange of the stance that was given up stands before the one that counts."""
    approval = {
        v for s in load_grammar("en").points["User approval"].says[0] for v in s.turns[-1][1]
    }
    refusal = {
        v for s in load_grammar("en").points["User disapproval"].says[0] for v in s.turns[-1][1]
    }
    seen = 0
    for dialogue in corpus("en"):
        if dialogue.metadata["contradicted"] != ["User disapproval"]:
            continue
        if dialogue.metadata["key_points"].count("User disapproval"):
            continue
        said = text_of(dialogue)
        last = max(
            (said.rfind(text), kind)
            for kind, texts in (("yes", approval), ("no", refusal))
            for text in texts
        )
        assert last[1] == "yes", dialogue.id
        seen += 1
    assert seen > 20


# --- records


@both
def test_records_are_read_back(language, tmp_path):
    path = tmp_path / "pairs.jsonl"
    made = corpus(language)[:50]
    path.write_text("".join(dialogue_to_line(d) + "\n" for d in made), encoding="utf-8")
    problems = []
    read = list(read_dialogues(path, ReadOptions(), problems.append))
    assert not problems
    assert [d.utterances for d in read] == [d.utterances for d in made]
    assert [d.references for d in read] == [d.references for d in made]
    assert [d.id for d in read] == [d.id for d in made]
    assert json.loads(json.dumps(dict(read[0].metadata))) == dict(made[0].metadata)


# --- the language of templates


def test_templates():
    assert expand("[a|b] c[ d|]") == ("a c d", "a c", "b c d", "b c")
    line = line_of("[From|It was from] {from} to {to}.")
    assert line.slots == {"from", "to"}
    exchange = exchange_of("A> [Yes|No]? // U> {phone}. // @2")
    assert (exchange.note, exchange.slots) == (2, {"phone"})
    assert [role for role, _ in exchange.turns] == ["A", "U"]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (line_of, "[{phone}|none]"),
        (line_content, "only said"),
        (line_content, "said {days} => written"),
        (exchange_of, "A> fine // and no speaker"),
    ],
)
def test_templates_at_fault_are_named(make, text):
    with pytest.raises(DataError, match="template"):
        make(text)


def test_draws():
    draw = RandomDraw(3)
    drawn = Counter(draw.choice((1.0, 0.0, 3.0)) for _ in range(4_000))
    assert drawn[1] == 0
    assert 0.7 < drawn[2] / 4_000 < 0.8
    normal = sorted(draw.normal() for _ in range(4_000))
    assert normal[2_000] == pytest.approx(0, abs=0.06)
    assert normal[3_364] == pytest.approx(1, abs=0.08)
