"""The made-up corpus: repeatable, its parts apart, its lengths the paper's, its labels true."""

from collections import Counter
from functools import cache
from hashlib import sha256
from itertools import chain, pairwise

import pytest

from dialogist.errors import UsageError
from dialogist.formats.fields import dialogue_to_line
from dialogist.forms.key_points import first_match, load_pack
from dialogist.language.tokens import count_words
from dialogist_lab.synth import script_grammar as grammar
from dialogist_lab.synth.script_dialogue import MOST_PAIRS, PARTS, generate_pairs, part_of
from dialogist_lab.synth.script_plan import TRAITS

PAIRS = 2_500
SPLITS = pytest.mark.parametrize("part", PARTS)


@cache
def corpus(part="train"):
    """Made once for all tests."""
    return tuple(generate_pairs(PAIRS, 1, part))


def text_of(dialogue):
    return "\n".join(utterance.text for utterance in dialogue.utterances)


def share(counts, limit):
    return sum(count > limit for count in counts) / len(counts)


def test_prefix_and_start():
    long = [dialogue_to_line(d) for d in generate_pairs(60, 7, "dev")]
    assert [dialogue_to_line(d) for d in generate_pairs(10, 7, "dev")] == long[:10]
    assert [dialogue_to_line(d) for d in generate_pairs(20, 7, "dev", start=40)] == long[40:]


def test_these_very_pairs():
    """Another sequence of draws is another corpus: then VERSION must go up, and this changes."""
    lines = "".join(dialogue_to_line(d) + "\n" for d in corpus()[:100])
    assert sha256(lines.encode()).hexdigest()[:16] == "29ed1ae6d3fb3192"


def test_it_is_a_stream():
    assert next(generate_pairs(MOST_PAIRS)).id == "synth-en-1-train-0"


@pytest.mark.parametrize(
    "bad",
    [
        {"pairs": -1},
        {"pairs": 1, "start": -1},
        {"pairs": MOST_PAIRS + 1},
        {"pairs": 1, "start": MOST_PAIRS},
        {"pairs": 1, "seed": -1},
    ],
)
def test_bad_calls(bad):
    with pytest.raises(UsageError):
        generate_pairs(**bad)


def test_parts_share_no_combination():
    """And not for lack of repetition: within a part combinations do return."""
    combinations = {
        part: Counter(d.metadata["combination"] for d in corpus(part)) for part in PARTS
    }
    for part, counts in combinations.items():
        assert all(part_of(int(combination, 16)) == part for combination in counts)
        assert max(counts.values()) > 3
    for one, other in pairwise((*PARTS, PARTS[0])):
        assert not set(combinations[one]) & set(combinations[other])
        texts = [{text_of(d) for d in corpus(part)} for part in (one, other)]
        assert not texts[0] & texts[1]


def test_lengths():
    """As in Figure 2 and section 4.1, two points more or less."""
    pairs = corpus()
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


@SPLITS
def test_labels_come_back(part):
    """The rule pack finds the true key points, all 51 of them."""
    pack = load_pack("customer-service-en")
    assert set(pack.labels) == set(TRAITS)
    assert len(pack.labels) == 51
    for dialogue in corpus(part):
        topics = dialogue.metadata["topics"]
        analysed = pack.analyse(dialogue.references[0])
        assert [[sub.label, sub.text.strip()] for sub in analysed] == topics, dialogue.id
        assert all(one != other for one, other in pairwise(dialogue.metadata["key_points"]))
        solutions = [text for label, text in topics if label == "Solution"]
        assert len(set(solutions)) == len(solutions)
    seen = chain.from_iterable(d.metadata["key_points"] for d in corpus(part))
    assert set(seen) == set(TRAITS)


def test_every_note_has_its_label():
    """Not only those that the samples above happened to hold; each comes up in some exchange."""
    rules = load_pack("customer-service-en").rules

    def label_of(sentence):
        match = first_match(rules, sentence)
        return None if match is None else match.label

    for label, point in grammar.POINTS.items():
        for i, text in enumerate(point["note"]):
            assert grammar.exchanges_for(label, i), text
            for note in grammar.line_of(text).variants:
                assert label_of(note.replace("{time}", "2019-01-01 00:00:00")) == label, note
    for content in chain.from_iterable(grammar.FRAMES["more"].values()):
        assert label_of(grammar.written_of(content).variants[0]) is None, content


@SPLITS
def test_values_of_dialogue_and_summary_are_the_same(part):
    """But for those that the user corrected: these are in the dialogue only."""
    for index, dialogue in enumerate(corpus(part)):
        said, summary = text_of(dialogue), dialogue.references[0]
        kept = {value for _, value in dialogue.metadata["entities"]}
        wrong = {value for _, value in dialogue.metadata["superseded"]}
        assert all(value in said and value in summary for value in kept), dialogue.id
        assert all(value in said and value not in summary for value in wrong), dialogue.id
        assert not kept & wrong
        unique = grammar.Unique(1, 3 * index + PARTS.index(part))
        possible = {unique.make(slot, use) for slot in grammar.UNIQUE for use in (0, 1)}
        assert {value for value in possible if value in said} <= kept | wrong, dialogue.id
        text = said + summary
        assert not set("{}[]|@") & set(text.replace("@example.com", ""))
        assert " // " not in text
        assert " => " not in text


def test_values_never_return():
    seen = Counter()
    for dialogue in chain.from_iterable(map(corpus, PARTS)):
        given = [*dialogue.metadata["entities"], *dialogue.metadata["superseded"]]
        seen.update({value for slot, value in given if slot in grammar.UNIQUE})
    assert len(seen) > 2 * PAIRS
    assert max(seen.values()) == 1


@pytest.mark.parametrize("slot", grammar.UNIQUE)
def test_values_are_one_to_one(slot):
    """Over neighbours, where a bad step would show, and at the very end of the range."""
    last = 3 * MOST_PAIRS
    values = Counter(
        grammar.Unique(5, counter).make(slot, use)
        for counter in chain(range(5_000), range(last - 5_000, last))
        for use in ((0,) if slot in ("from", "to") else (0, 1))
    )
    assert max(values.values()) == 1


def test_twists_are_there():
    """Two solutions, corrected values, stances given up, values in another order."""
    pairs = corpus()
    points = [d.metadata["key_points"] for d in pairs]
    assert 0.1 < sum(p.count("Solution") > 1 for p in points) / PAIRS < 0.4
    assert sum(bool(d.metadata["superseded"]) for d in pairs) > PAIRS // 30
    flipped = [d for d in pairs if d.metadata["contradicted"]]
    assert len(flipped) > PAIRS // 50
    written = [d.metadata["contradicted"][0] in d.metadata["key_points"] for d in flipped]
    assert sum(written) < 0.2 * len(written)  # only where a Solution came in between
    places = [
        [text_of(d).rindex(v) for slot, v in d.metadata["entities"] if slot in grammar.UNIQUE]
        for d in pairs
    ]
    several = [place for place in places if len(place) > 1]
    assert sum(place != sorted(place) for place in several) > 0.3 * len(several)


def test_templates():
    assert grammar.expand("[a|b] c[ d|]") == ("a c d", "a c", "b c d", "b c")
    exchange = grammar.exchange_of("A> [Yes|No]? // U> {phone}. // @2")
    assert exchange.slots == {"phone"}
    assert exchange.turns == (("A", ("Yes?", "No?")), ("U", ("{phone}.",)))
    with pytest.raises(ValueError, match="values to unpack"):
        grammar.line_of("[{phone}|none]")
