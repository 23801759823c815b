"""Marks and Chinese with spaces, and without them again: nothing may be lost on the way."""

import sys
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dialogist.data.key_points import load_pack
from dialogist.data.normalise import _jieba, join, normalise, segment
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.formats import ReadOptions, read_dialogues
from dialogist.errors import MissingExtraError
from dialogist.evaluation.metric_selection import (
    KEY_POINT_METRIC,
    MetricSelection,
    choose_metrics,
)
from dialogist.evaluation.scoring import score
from dialogist.evaluation.system_outputs import Output
from dialogist.records import Dialogue, Summary, Utterance
from dialogist.language.tokens import words_in
from dialogist.tokenizers import TokenizerConfig, build_tokenizer, placeholder
from dialogist.tokenizers.build import KERAS_FILTERS
from dialogist.tokenizers.special_tokens import entity_placeholder
from dialogist_lab.synth import CorpusConfig, generate_pairs

CHINESE = ("zh-characters", "zh-words")
PROFILES = ("words", *CHINESE)
P, Q, TIME = placeholder(0), placeholder(1), entity_placeholder("TIME", 1)

pytest.importorskip("jieba")

mixed = st.text(
    st.sampled_from("用户询问订单联系小王吗了カな。，！？：“”…—·（）《》")
    | st.sampled_from("aZé 19.,-'😀\n")
    | st.sampled_from([P, Q, TIME]),
    max_size=30,
)


def plain(text: str) -> str:
    return normalise(text, "plain")


EXPECTED = [
    ("zh-characters", "联系小王，OK吗？", "联 系 小 王 ， OK 吗 ？"),
    ("zh-characters", "订单ABC123的status。", "订 单 ABC123 的 status 。"),
    ("zh-characters", "“你好”，New York……", "“ 你 好 ” ， New York……"),
    ("zh-characters", f"{P}联系{Q}OK，{TIME}吧", f"{P} 联 系 {Q} ￭OK ， {TIME} 吧"),
    ("zh-characters", "OK, don't.", "OK ￭, don't ￭."),
    ("zh-characters", "2.50元,好", "2 ￭.￭ 50 元 ￭,￭ 好"),
    ("zh-characters", "１２（元）𠮷カ", "１２ （ 元 ） 𠮷 カ"),
    ("zh-words", "用户询问订单，OK吗？", "用户 询问 订单 ， OK 吗 ？"),
    ("zh-words", f"南京市长江大桥{P}", f"南京市 长江大桥 {P}"),
    ("zh-words", "OK, don't.", "OK ￭, don't ￭."),
    ("words", "Hello, New York.", "Hello ￭, New York ￭."),
    ("words", "It's 3.5 - (a_b)?!", "It's 3 ￭.￭ 5 - (￭ a ￭_￭ b ￭)￭ ￭?￭ ￭!"),
    ("words", f"{P}: “Yes…”", f"{P} ￭: “￭ Yes ￭…￭ ￭”"),
    ("words", f"{P}'s {P}{Q}x{TIME}.", f"{P} ￭'s {P} ￭ {Q} ￭x￭ {TIME} ￭."),
    ("words", "订单，ABC", "订单 ￭，￭ ABC"),
    ("words", "", ""),
    ("plain", "联系小王.", "联系小王."),
    ("dialogsum-keras", "联系小王.", "联系小王."),
]


def shown(text: str) -> str:
    """The private names of marks as the marks themselves."""
    return "".join(chr(ord(c) - 0xE000) if "\ue021" <= c <= "\ue07e" else c for c in text)


@pytest.mark.parametrize(("profile", "text", "expected"), EXPECTED)
def test_segment_by_hand(profile, text, expected):
    found = segment(text, profile)
    assert shown(found) == expected
    assert join(found, profile, {}) == text
    if profile in PROFILES:  # no word of it holds what the tokenizer would drop
        assert not set(found) & set(KERAS_FILTERS)


@given(st.text() | mixed)
def test_words_come_back_exactly(text):
    """All of Unicode, but for the characters that stand for marks themselves."""
    text = plain(text)
    expected = "".join("\ufffd" if is_mark(c) else "■" if c == "￭" else c for c in text)
    assert join(segment(text, "words"), "words", {}) == expected


def is_mark(character: str) -> bool:
    """Whether it is the private name of an ASCII mark."""
    return "\ue021" <= character <= "\ue07e" and not chr(ord(character) - 0xE000).isalnum()


def test_what_stands_for_a_mark_cannot_be_typed():
    assert segment("a\ue02eb￭", "words") == "a ￭\ufffd￭ b ￭■"
    assert join(segment("a\ue02eb￭", "zh-characters"), "zh-characters", {}) == "a\ufffdb■"


@pytest.mark.parametrize("profile", CHINESE)
@given(mixed)
@example("用户 A B 订单")
@example("用户, A")
def test_joined_again_it_is_the_text_less_spaces_beside_chinese(profile, text):
    text = plain(text)
    assert join(segment(text, profile), profile, {}) == join(text, profile, {})


@pytest.mark.parametrize("profile", CHINESE)
@given(mixed.map(lambda text: text.replace(" ", "").replace("\n", "")))
def test_text_without_spaces_comes_back_exactly(profile, text):
    text = plain(text)
    assert join(segment(text, profile), profile, {}) == text


@given(mixed)
def test_every_chinese_character_stands_alone(text):
    words = segment(plain(text), "zh-characters").split(" ")
    for word in words:
        assert len(word) == 1 or not any("\u4e00" <= c <= "\u9fff" or c in "。，" for c in word)
    assert words_in(join(" ".join(words), "words", {})) == words_in(plain(text))


def test_what_stands_behind_a_placeholder_decides_about_spaces():
    surfaces = {P: "小王", Q: "Ann", TIME: "5月 6日"}
    assert join(f"{P} OK {Q} OK {TIME} OK", "zh-words", surfaces) == f"{P}OK {Q} OK {TIME}OK"
    assert join(f"{Q} 说 {P} 说", "zh-characters", surfaces) == f"{Q}说{P}说"
    assert join(f"{Q} {P}", "plain", surfaces) == f"{Q} {P}"


def test_without_jieba_it_is_one_line(monkeypatch):
    _jieba.cache_clear()
    monkeypatch.setitem(sys.modules, "jieba", None)
    with pytest.raises(MissingExtraError) as caught:
        Preparation(PreparationConfig(profile="zh-words")).prepare(
            Dialogue((Utterance("", "用户询问"),))
        )
    assert str(caught.value) == (
        "profile zh-words needs optional packages: pip install 'jieba>=0.42.1'"
    )
    _jieba.cache_clear()
    assert segment("用户", "zh-characters") == "用 户"  # this one needs nothing


def test_nothing_is_left_in_the_temporary_folder(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    _jieba.cache_clear()
    assert segment("用户询问订单", "zh-words") == "用户 询问 订单"
    assert list(tmp_path.iterdir()) == []


TALK = Dialogue(
    (
        Utterance("客服小王", "您好，我是客服小王，请问有什么可以帮您？", "agent"),
        Utterance("Ann", "我的电话是13800138000。", "user"),
    ),
    "t",
    ("Ann询问客服小王订单。联系电话是13800138000。",),
)


@pytest.mark.parametrize("profile", CHINESE)
def test_names_and_entities_are_tokens_and_come_back_exactly(profile):
    preparation = Preparation(PreparationConfig(profile=profile, entities="masked"))
    example = preparation.prepare(TALK)
    [target] = example.targets
    name, user = placeholder(0), placeholder(1)
    assert target.split(" ")[0] == user
    assert name in target.split(" ")
    assert len([c for c in target.split(" ") if c in example.entities]) == 1
    assert preparation.restore(target, example) == TALK.references[0]


def test_a_name_keeps_a_space_of_its_own():
    """What was said is what comes back, though a space beside Chinese is no space elsewhere."""
    preparation = Preparation(PreparationConfig(profile="zh-characters"))
    example = preparation.prepare(
        Dialogue((Utterance("小 王", "我是小 王"), Utterance("Ann", "好")))
    )
    assert example.utterances[0].text == f"我 是 {placeholder(0)}"
    said = f"{placeholder(0)} 和 {placeholder(1)} 说 OK"
    assert preparation.restore(said, example) == "小 王和Ann说OK"


@pytest.mark.parametrize("speakers", ["atomic", "role", "inline"])
@pytest.mark.parametrize("profile", CHINESE)
def test_all_ways_of_speakers(profile, speakers):
    preparation = Preparation(PreparationConfig(profile=profile, speakers=speakers))
    example = preparation.prepare(TALK)
    text = f"{example.utterances[1].speaker} {example.utterances[1].text}"
    assert " 电话 " in text or " 电 话 " in text
    assert preparation.restore(example.targets[0], example) == TALK.references[0]


def assert_round_trip(dialogues: Sequence[Dialogue], profile: str) -> int:
    """Every reference as a target, through a word tokenizer that knows all words, and back.

    What comes back is what comes back with the profile `plain` and no tokenizer at all: an entity
    in the words of its first mention, everything else as it was written.
    """
    options = {"entities": "masked"}
    preparation = Preparation(PreparationConfig(profile=profile, **options))
    unchanged = Preparation(PreparationConfig(profile="plain", **options))
    examples = [preparation.prepare(dialogue) for dialogue in dialogues]
    texts = [text for e in examples for text in (*(u.text for u in e.utterances), *e.targets)]
    config = TokenizerConfig(kind="word", size=None)
    tokenizer = build_tokenizer(config, texts, entities=True, speakers=True)
    count = 0
    for dialogue, made in zip(dialogues, examples, strict=True):
        expected = unchanged.prepare(dialogue)
        for target, whole in zip(made.targets, expected.targets, strict=True):
            said = preparation.restore(tokenizer.decode(tokenizer.encode(target)), made)
            wanted = unchanged.restore(whole, expected)
            assert said == (join(wanted, profile, {}) if profile in CHINESE else wanted)
            count += 1
    return count


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_round_trip_of_made_up_text(profile, language):
    dialogues = list(generate_pairs(CorpusConfig(language, 1), 50))
    assert assert_round_trip(dialogues, profile) > 20


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    "file", ["csds/val.jsonl", "todsum/valid.jsonl", "dialogsum/dev.jsonl", "tweetsumm/valid.jsonl"]
)
def test_round_trip_of_real_text(corpora, profile, file):
    dialogues = list(read_dialogues(corpora / file, ReadOptions(), pytest.fail))[:200:4]
    assert assert_round_trip(dialogues, profile) > 20


def test_a_perfect_system_with_a_word_tokenizer_has_100():
    """The reason for it all: with the reports' profile the rules would see one sentence."""
    dialogues = list(generate_pairs(CorpusConfig("en", 1, "dev"), 40))
    pack = load_pack("customer-service-en")
    wanted = MetricSelection(("bleu", KEY_POINT_METRIC), pack=pack)
    found = {}
    for profile in ("words", "dialogsum-keras"):
        preparation = Preparation(PreparationConfig(profile=profile, speakers="role"))
        examples = [preparation.prepare(dialogue) for dialogue in dialogues]
        targets = [example.targets[0] for example in examples]
        tokenizer = build_tokenizer(TokenizerConfig(kind="word", size=None), targets, speakers=True)
        said = [
            preparation.restore(tokenizer.decode(tokenizer.encode(t)), e)
            for t, e in zip(targets, examples, strict=True)
        ]
        pairs = zip(said, dialogues, strict=True)
        outputs = [Output.of(Summary(text), dialogue) for text, dialogue in pairs]
        found[profile] = score("s", outputs, choose_metrics(wanted, outputs)[0], 1)
    assert found["words"].figure("key_points.rougeL.f1") == pytest.approx(100)
    assert found["words"].figure("bleu") == pytest.approx(100)
    assert found["dialogsum-keras"].figure("key_points.rougeL.f1") < 50
