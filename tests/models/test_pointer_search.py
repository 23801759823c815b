"""Searching with a pointer-generator: unknown words in rows, beams, samples and texts."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from bench.uncached_model import UncachedModel
from tests.models.pointer_samples import BATCH, FORMS, PAIRS, SYMBOLS, VOCABULARY, model_of

from dialogist.data.collate import collate
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.decoding import DecodingOptions
from dialogist.decoding.generation import generate
from dialogist.model_folder.bundle import Bundle, load_bundle, save_bundle
from dialogist.model_folder.options import SummaryOptions
from dialogist.pipeline.summarizer import Summarizer
from dialogist.records import Dialogue, Utterance
from dialogist.tokenizers.build import train_word
from dialogist_lab.papers.recurrent import Recurrent, RecurrentConfig


@pytest.mark.parametrize("form", FORMS)
def test_cached_is_uncached_through_every_selection(form: str) -> None:
    """Ids to be copied follow their rows: repeated, reordered, moved and dropped."""
    model = model_of(form).eval()
    plain = UncachedModel(model)
    cached, uncached = model.start(BATCH), plain.start(BATCH)
    chance = torch.Generator().manual_seed(2)
    moves = [[0, 0, 1, 1, 2, 2], [1, 0, 3, 2, 5, 5], [5, 2, 0, 0, 3, 4], [2, 3, 4, 5], [3, 0], [1]]
    with torch.inference_mode():
        for rows in map(torch.tensor, moves):
            cached, uncached = cached.select(rows), uncached.select(rows)
            tokens = torch.randint(3, VOCABULARY, (len(rows),), generator=chance)
            one, cached = model.step(tokens, cached)
            other, uncached = plain.step(tokens, uncached)
            assert one.shape == (len(rows), VOCABULARY + 3)
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_ids_move_only_between_dialogues() -> None:
    state = model_of("lstm").start(BATCH).select(torch.tensor([0, 0, 1, 1]))
    within = state.select(torch.tensor([1, 0, 3, 3]))
    assert within.copy_ids is state.copy_ids
    between = state.select(torch.tensor([0, 2]))
    assert between.copy_ids is not None
    assert torch.equal(between.copy_ids, BATCH.copy_ids[[0, 1]])
    assert (within.extra, between.extra) == (3, 3)
    without = RecurrentConfig(embedding=6, hidden=4).build(VOCABULARY).start(BATCH)
    assert (without.copy_ids, without.extra) == (None, 0)


OPTIONS: dict[str, dict[str, object]] = {
    "greedy": {"strategy": "greedy"},
    "beam": {"strategy": "beam", "beam_size": 3},
    "sample": {"strategy": "sample", "temperature": 1.5, "top_k": 10, "top_p": 0.95, "seed": 4},
    "no repetition": {"strategy": "beam", "beam_size": 2, "no_repeat_ngram": 1},
}


def eager(form: str, odds: float) -> Recurrent:
    """A model that generates with these odds, whatever it reads."""
    model = model_of(form).eval()
    assert model.gate is not None
    with torch.no_grad():
        model.gate.gate.weight.zero_()
        model.gate.gate.bias.fill_(odds)
    return model


@pytest.mark.parametrize("strategy", OPTIONS)
@pytest.mark.parametrize("form", FORMS)
def test_search_is_the_same_without_the_cache_and_alone(form: str, strategy: str) -> None:
    """Beside whom a dialogue is searched decides how many columns there are, and nothing else."""
    model = eager(form, -2.0)
    options = DecodingOptions.parse({**OPTIONS[strategy], "min_tokens": 3, "max_tokens": 7})
    found = generate(model, BATCH, options, SYMBOLS)
    plain = generate(UncachedModel(model), BATCH, options, SYMBOLS)
    for row, pair in enumerate(PAIRS):
        (alone,) = generate(model, collate([pair], SYMBOLS), options, SYMBOLS)
        said = [h.tokens for h in found[row]]
        assert said == [h.tokens for h in plain[row]] == [h.tokens for h in alone]
        assert max(said[0]) < VOCABULARY + (3, 1, 0)[row]  # its own words only
    assert any(max(hypotheses[0].tokens) >= VOCABULARY for hypotheses in found)


@pytest.mark.parametrize("strategy", OPTIONS)
def test_what_search_says_has_the_probability_of_teacher_forcing(strategy: str) -> None:
    """A copied unknown word is fed as the unknown token, in both."""
    model = eager("coverage", -2.0)
    options = DecodingOptions.parse({**OPTIONS[strategy], "min_tokens": 3, "max_tokens": 5})
    for pair, (best, *_) in zip(PAIRS, generate(model, BATCH, options, SYMBOLS), strict=True):
        end = (SYMBOLS.eos,) if best.finished else ()
        said = replace(pair, target=(SYMBOLS.bos, *best.tokens, *end))
        outputs = model.forward(collate([said], SYMBOLS))
        log_prob = outputs.log_probs.of(outputs.targets).target.sum()
        assert best.log_prob == pytest.approx(log_prob.item(), rel=1e-4)


def test_a_beam_of_full_width_finds_the_best_copy() -> None:
    """All sequences of two tokens, unknown words among them, by brute force."""
    model = eager("lstm", -1.0)
    (rich, *_) = PAIRS
    size = VOCABULARY + 3
    batch = collate([rich], SYMBOLS)
    options = DecodingOptions(beam_size=size, min_tokens=2, max_tokens=2, length_penalty=0.0)
    (best, *_) = generate(model, batch, options, SYMBOLS)[0]
    says = [i for i in range(size) if i not in (SYMBOLS.pad, SYMBOLS.bos, SYMBOLS.eos)]
    sequences = [(a, b) for a in says for b in says]
    scores = {}
    for said in sequences:
        outputs = model.forward(collate([replace(rich, target=(1, *said))], SYMBOLS))
        scores[said] = outputs.log_probs.of(outputs.targets).target.sum().item()
    expected = max(scores, key=lambda said: scores[said])
    assert best.tokens == expected
    assert max(expected) >= VOCABULARY


# --- from text to text ---


WORDS = train_word(["hello order is late", "a b"], speakers=True)
TALKS = [
    Dialogue((Utterance("user", "hello"), Utterance("agent", "order X1 Y2 Z3")), "first"),
    Dialogue((Utterance("user", "Q7 late"),), "second"),
    Dialogue((Utterance("agent", "is"), Utterance("user", "a b")), "third"),
]


def copier(folder: Path) -> Summarizer:
    """A model of random weights that always copies, through a model folder."""
    torch.manual_seed(0)
    options = {"embedding": 8, "hidden": 8, "pointer": True, "coverage": True}
    model = RecurrentConfig.parse(options).build(len(WORDS))
    assert model.gate is not None
    with torch.no_grad():
        model.gate.gate.bias.fill_(-60.0)
    preparation = Preparation(PreparationConfig(speakers="role", unknown="copied"))
    decoding = SummaryOptions(strategy="greedy", max_tokens=20, safe=False)
    bundle = Bundle(model, WORDS, preparation, decoding)
    save_bundle(folder, bundle, "", torch.float32)
    again = load_bundle(folder, torch.device("cpu"))
    assert again.model.config == model.config
    for name, weight in model.state_dict().items():
        assert torch.equal(again.model.state_dict()[name], weight)
    return Summarizer(again)


def words_said(summarizer: Summarizer, temperature: float) -> list[set[str]]:
    """What thirty samples of each dialogue hold."""
    said: list[set[str]] = [set() for _ in TALKS]
    for seed in range(30):
        options = DecodingOptions(
            strategy="sample", temperature=temperature, max_tokens=20, seed=seed
        )
        for row, summary in enumerate(summarizer.summarize(TALKS, options)):
            said[row] |= set(summary.text.split())
    return said


def test_text_has_the_dialogues_words(tmp_path: Path) -> None:
    """Sampled often enough all of them; nothing else, and no role."""
    said = words_said(copier(tmp_path / "m"), temperature=3.0)
    assert said == [{w for u in talk.utterances for w in u.text.split()} for talk in TALKS]


def test_no_chance_makes_it_say_a_neighbours_word(tmp_path: Path) -> None:
    """So hot that it says whatever it may."""
    said = words_said(copier(tmp_path / "m"), temperature=1e5)
    known = {"hello", "order", "is", "late", "a", "b", "[UNK]"}
    assert said == [known | own for own in ({"X1", "Y2", "Z3"}, {"Q7"}, set())]


@pytest.mark.parametrize("strategy", ["greedy", "beam"])
def test_texts_do_not_depend_on_neighbours(strategy: str, tmp_path: Path) -> None:
    summarizer = copier(tmp_path / "m")
    options = DecodingOptions.parse({"strategy": strategy, "max_tokens": 9, "min_tokens": 4})
    together = summarizer.summarize(TALKS, options)
    alone = [summarizer.summarize([talk], options)[0] for talk in TALKS]
    assert [summary.text for summary in together] == [summary.text for summary in alone]
    words = {word for summary in together for word in summary.text.split()}
    assert words & {"X1", "Y2", "Z3", "Q7"}
