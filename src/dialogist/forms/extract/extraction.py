"""Everything that a dialogue itself says for a template, in the dialogue's language."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from dialogist.metrics.speaker_mentions import Speakers
from dialogist.records import Dialogue, EvidenceSpan
from dialogist.forms.extract.actions import actions_in
from dialogist.forms.extract.decisions import decisions_in
from dialogist.forms.extract.done import done_in
from dialogist.forms.extract.open_questions import questions_in
from dialogist.forms.extract.outcomes import issues_in, outcomes_in
from dialogist.forms.extract.superseded import corrected, standing, values_of
from dialogist.forms.extract.turns import Found, Turns, quoted, turns_of
from dialogist.language.patterns import language_of
from dialogist.language.people import DAYS, MONTHS
from dialogist.language.porter import stem_of
from dialogist.language.quantities import deadline_in
from dialogist.language.replies import agrees
from dialogist.language.tokens import FUNCTION_WORDS, IRREGULAR, OPENERS, REPORTING, bases_of, word_set

# Actions, decisions and open questions in Chinese dialogues, as far as fixed phrases tell them.


_VERBS = (
    "发(?:给|送|您|你|到|一|个|过去|邮件|短信)?|寄|邮寄|打(?:给|电话)|致电|"
    "回电|联系|处理|提交|安排|反馈|上报|回复|通知|准备|整理|"
    "确认|更新|修改|补发|补寄|退款|退还|登记|申请|转告|转给|跟进|催促|催|核实|预订|"
    "预定|订|买|带|送|交|完成|写|做完|修|换"
)
_PROMISE = re.compile(
    r"(?<![您你])(?:我|我们|咱们|小妹|这边|我这边|我们这边)(?:这边)?(?:会|"
    r"就|来|去|再|也|马上|立即|立刻|尽快|稍后|今天|今晚|明天|明早|后天|"
    r"下周[一二三四五六日天]?|"
    r"周[一二三四五六日]|[上下]午|晚上|早上|\d+[点日号](?:前|之前)?|"
    r"[一二两三四五六七八九十]+点(?:前|之前)?|负责|帮[您你]|给[您你]|为[您你]|"
    rf"把[^，。！？]{{1,12}}){{1,6}}(?:{_VERBS})(?!了)[^，。！？；,.!?;]{{1,30}}"
)
_FIRM = re.compile("会|马上|立即|立刻|尽快|稍后|今天|今晚|明|后天|周|点|负责|[日号]")
_MAYBE = re.compile(
    "如果|要是|可能|也许|是不是|吗|怎么|万一|假如|不会|没有|刚才|已经|之前会|可以|需要您|[了过]$"
)
_ASKED = re.compile(
    rf"(?:请|麻烦|能不能|可以|能)(?:您|你|帮我|帮忙|再)*(?:{_VERBS})[^，。！？；,.!?;]{{2,30}}"
)
_DECIDED = re.compile(
    "(?:我们|大家|咱们)(?:最后|最终|一致|已经)?(?:决定|商定|确定|同意|"
    "约定)(?!吗)[^，。！？；]{3,40}"
    "|(?:那就|就)(?:这么|这样)(?:定|办|说定)了?[^，。！？；]{0,20}"
)
_PROPOSED = re.compile("(?:那?我们|咱们?)(?!是|的|不)[^，。！？；]{2,30}(?:吧|怎么样|好吗|好不好)")
_QUESTION = re.compile("[？?]$|(?:吗|呢|多少|什么时候|几点|为什么|怎么办|哪里)[？?。]?$")
_POLITE = re.compile(
    "在吗|您好|你好|对吗|是吗|好吗|可以吗|行吗|还有(?:什么|其他|别的)|帮到?您|"
    "请问有什么|方便|满意|请稍等"
)
_UNKNOWN = re.compile(
    "^[嗯哦呃这个，, ]*(?:我|我们|这边)?(?:也|还|暂时|目前)?(?:不知道|不清楚|"
    "不确定|不太清楚|没法确定|无法确定|说不准|不好说)"
)

_DONE = re.compile(
    "(?<![没未不])(?:已经?|刚刚|刚才)(?:成功)?(?:为|帮|给|替|跟|向|把|将)?[^，。！？；,.!?;]{0,14}?"
    "(?:退款|退还|退回|取消|登记|提交|反馈|发送|发给|补发|补寄|修改|处理|催促|催|备注|上报|申请|安排|联系|寄出|"
    "发货|预订|预约|更换|核实|转告|下单|开通|关闭)(?:了|好了|成功|完成)?[^，。！？；,.!?;]{0,20}"
)
_OWN = re.compile(
    "(?:我们?|咱们?|小妹|这边|那?您[的这]?|你[的这]?|[帮为给替跟向把将]|"
    "[亲也都就则现在目前刚才嗯好的啊呢哦是因为由于 ])*"
)
_COMPLAINT = re.compile(
    "没|不|坏|错|漏|少|丢|问题|故障|投诉|退|取消|怎么|为什么|什么时候|想|要|帮|查|改|多扣|重复|慢"
)
_SERVING = re.compile("客服|商家|卖家|店|坐席|agent|system", re.I)
_REFUSED = re.compile(
    "(?:很?抱歉|不好意思|非常抱歉)[^。！？]*(?:不能|无法|没办法|不支持|不可以)[^。！？]*"
)
_GREETING = 6  # characters of a greeting at most


def chinese_actions(turns: Turns) -> Iterator[Found]:
    """Promises with a time or a firm word, and requests that are agreed to."""
    for sentence in turns.all():
        if _MAYBE.search(sentence.text):
            continue
        said = _PROMISE.search(sentence.text)
        if said is not None and _FIRM.search(said[0]):
            yield Found(said[0], (sentence.span(),), sentence.speaker, deadline_in(said[0]))
            continue
        asked, reply = _ASKED.search(sentence.text), turns.reply(sentence.utterance)
        if asked is not None and reply and deadline_in(asked[0]) and agrees(reply[0].text):
            evidence = (sentence.span(), reply[0].span())
            yield Found(asked[0], evidence, reply[0].speaker, deadline_in(asked[0]))


def chinese_decisions(turns: Turns) -> Iterator[Found]:
    """What is said to be decided, and what is proposed and agreed to."""
    for sentence in turns.all():
        if said := _DECIDED.search(sentence.text):
            yield Found(said[0], (sentence.span(),), deadline=deadline_in(said[0]))
        elif said := _PROPOSED.search(sentence.text):
            reply = turns.reply(sentence.utterance)
            if reply and agrees(reply[0].text):
                evidence = (sentence.span(), reply[0].span())
                yield Found(said[0], evidence, deadline=deadline_in(said[0]))


def chinese_questions(turns: Turns) -> Iterator[Found]:
    """Questions that are answered with not knowing."""
    for sentence in turns.all():
        if not _QUESTION.search(sentence.text) or _POLITE.search(sentence.text):
            continue
        reply = turns.reply(sentence.utterance)
        is_last = turns.beside(sentence, 1) is None
        if len(reply) == 1 and is_last and _UNKNOWN.match(reply[0].text):
            yield Found(sentence.text, (sentence.span(), reply[0].span()), sentence.speaker)


def chinese_issues(turns: Turns) -> Iterator[Found]:
    """The first thing that somebody who is served asks or complains about."""
    names = turns.speakers
    roles = {u.speaker: u.role for u in turns.dialogue.utterances}
    served = [n for n in names if not _SERVING.search(f"{n} {roles[n]}")]
    if len(served) == len(names):
        return
    for sentence in turns.all():
        long = len(sentence.text) > _GREETING
        if sentence.speaker in served and long and _COMPLAINT.search(sentence.text):
            text = quoted(sentence)
            if text is not None:
                yield Found(text, (sentence.span(),), sentence.speaker)
            return


def chinese_done(turns: Turns) -> Iterator[Found]:
    """What is said to be done already."""
    for sentence in turns.all():
        said = None if _QUESTION.search(sentence.text) else _DONE.search(sentence.text)
        if said is not None:
            # "The shop has received it": who says it did not do it.
            clause = re.split("[，。！？；,.!?;]", sentence.text[: said.start()])[-1]
            text = said[0] if _OWN.fullmatch(clause) else quoted(sentence)
            if text is not None:
                yield Found(text, (sentence.span(),), sentence.speaker, words=said[0])


def chinese_outcomes(turns: Turns, done: tuple[Found, ...]) -> Iterator[Found]:
    """The last thing done, and refusals, in the order they are said."""
    refused = [
        Found(said[0], (sentence.span(),), sentence.speaker)
        for sentence in turns.all()
        if (said := _REFUSED.search(sentence.text)) is not None
    ]
    yield from sorted([*refused, *done[-1:]], key=lambda one: one.evidence[0].utterance)


_SAME = 0.6  # of the words of the shorter one: then two texts say the same


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a dialogue itself says, each kind in the order it is said.

    ``issue``: what a customer comes with; ``done``: what was done; ``outcome``: how it ended.
    """

    decisions: tuple[Found, ...] = ()
    actions: tuple[Found, ...] = ()
    questions: tuple[Found, ...] = ()
    issue: tuple[Found, ...] = ()
    done: tuple[Found, ...] = ()
    outcome: tuple[Found, ...] = ()


def extract(dialogue: Dialogue) -> Extracted:
    """Read what a dialogue says about itself; nothing in languages but English and Chinese.

    The two are told apart by what is said. What is said twice is there once, with the evidence of
    both places; what a later utterance takes back or changes is not there.
    """
    finders = {"en": _english, "zh": _chinese}
    find = finders.get(language_of("\n".join(u.text for u in dialogue.utterances)))
    return Extracted() if find is None else find(turns_of(dialogue))


def _english(turns: Turns) -> Extracted:
    done, decisions, actions = (
        tuple(corrected(find(turns), turns)) for find in (done_in, decisions_in, actions_in)
    )
    done = tuple(_distinct(standing(done, turns)))
    return Extracted(
        decisions=tuple(_distinct(standing(decisions, turns), last=True)),
        actions=tuple(_distinct(standing(actions, turns, done))),
        questions=tuple(_distinct(questions_in(turns))),
        issue=tuple(issues_in(turns)),
        done=done,
        outcome=tuple(outcomes_in(turns, done)),
    )


def _chinese(turns: Turns) -> Extracted:
    done = tuple(_distinct(chinese_done(turns)))
    return Extracted(
        decisions=tuple(_distinct(chinese_decisions(turns))),
        actions=tuple(_distinct(chinese_actions(turns))),
        questions=tuple(_distinct(chinese_questions(turns))),
        issue=tuple(chinese_issues(turns)),
        done=done,
        outcome=tuple(chinese_outcomes(turns, done)),
    )


def same(one: str, other: str) -> bool:
    """Whether two texts say the same: most content words of the shorter are in the longer."""
    return _overlap(_content(one), _content(other))


def _overlap(one: frozenset[str], other: frozenset[str]) -> bool:
    fewest = min(len(one), len(other))
    return fewest > 0 and len(one & other) >= _SAME * fewest


def _content(text: str) -> frozenset[str]:
    bases = (base for base in bases_of(text) if base not in FUNCTION_WORDS and len(base) > 1)
    words = frozenset(stem_of(base) for base in bases)
    return words or frozenset(c for c in text if c.isalnum())


def _distinct(found: Iterable[Found], last: bool = False) -> Iterator[Found]:
    """Each once; ``last``: in the words of the last time, for what is settled step by step."""
    kept: list[Found] = []
    read: list[_Read] = []  # of each that is kept
    for one in found:
        own = _read(one)
        for place, other in enumerate(kept):
            if one.owner == other.owner and _are_one(own, read[place]):
                kept[place] = _joined(one, other) if last else _joined(other, one)
                read[place] = _read(kept[place])
                break
        else:
            kept.append(one)
            read.append(own)
    yield from kept


class _Read(NamedTuple):
    """What two entries are compared by."""

    values: frozenset[str]
    names: frozenset[str]
    content: frozenset[str]


def _read(one: Found) -> _Read:
    said = one.words or one.text
    names = frozenset(re.findall(r"(?<=[a-z,] )[A-Z]\w+", said))
    return _Read(values_of(one), names, _content(said))


def _are_one(one: _Read, other: _Read) -> bool:
    """Whether two say the same, with no different times, numbers or names."""
    differ = any(a and b and a.isdisjoint(b) for a, b in zip(one[:2], other[:2], strict=True))
    return not differ and _overlap(one.content, other.content)


def _joined(first: Found, again: Found) -> Found:
    """The wording of the first, or of the other where that alone has a deadline."""
    later = bool(again.deadline) and not first.deadline
    best, other = (again, first) if later else (first, again)
    evidence = (*best.evidence, *other.evidence)
    return Found(best.text, evidence, best.owner, best.deadline, best.words)


# A title: the words that a dialogue comes back to, as it writes them. No sentence is invented.


_WORD = re.compile(r"[^\W\d_]+(?:[-_][^\W\d_]+)*")
_COMMON = """
able afraid always called care change come course day days deal easy exactly fact far feeling fine
full fun guy guys happen happy hard hear hold hour hours idea interesting job kind life line list
listen live look looking main make makes making matter mean means mind minute minutes miss moment
month months morning name necessary needs night number open opinion past place possible pretty
problem put quite ready real reason remember saying set sir madam side simple sorts special start
stuff suppose take taking talk terms thing things thinking time times tried true try trying turn
understand use used using wait wanted wants watch way week weeks weekend wonderful wondering words
working world wow wrong year years young ain mm-hmm uh-huh mm hmm huh mhm mmm kay alright get give
go sort interested available abroad cuz uh um er mister mrs afternoon evening euro euros dollar
dollars pound pounds buck bucks cent cents percent agreed
"""
_STOP = OPENERS | REPORTING | word_set(_COMMON) | {*DAYS, *MONTHS} | set(IRREGULAR)
_MOST = 3  # words or pairs in a title
_PAIRED = 0.5  # a pair of words is one topic if it makes up that part of the rarer word's uses
_OFTEN = 2  # times that a topic is spoken of at least
_ALONE = 3  # times that a word is said which is the whole title
_HAN_RUN = re.compile("[\u4e00-\u9fff]{2,}")
_MASK = re.compile(r"[\[【<][^\]】>]{1,20}[\]】>]")
_FREE = 0.6  # of a word's uses at most have the same neighbour: else it is part of a longer word
_HAN_STOP = frozenset(
    "的了吗呢吧啊哦嗯您你我他她它们是在有和就都也还这那不没个一可以会能要说看到去来上下好谢请问什么怎么样时候"
    "为被把给让对已经现在如果因为所以但是帮亲呀哈哪里几多少再很将与或及其之以后前麻烦感客服用户感谢稍等显示"
)


def title_of(dialogue: Dialogue) -> Found | None:
    """The corpus' own topic, else the most frequent topic words; None where nothing comes back."""
    topic = dialogue.metadata.get("topic")
    if isinstance(topic, str) and topic.strip():
        return Found(_capital(" ".join(topic.split())), ())
    said = "\n".join(u.text for u in dialogue.utterances)
    if language_of(said) == "zh":
        return _chinese_title(dialogue)
    return _english_title(dialogue)


def _english_title(dialogue: Dialogue) -> Found | None:
    speakers = Speakers(dialogue)
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    first: dict[str, EvidenceSpan] = {}
    counts: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for run in _runs(dialogue, speakers):
        stems = [stem_of(word.lower()) for word, _ in run]
        for stem, (word, span) in zip(stems, run, strict=True):
            forms[stem][word] += 1
            first.setdefault(stem, span)
            counts[stem] += 1
        pairs.update((a, b) for a, b in pairwise(stems) if a != b)
    topics = _topics(counts, pairs)
    if not topics or (len(topics) == 1 and len(topics[0]) == 1 and counts[topics[0][0]] < _ALONE):
        return None
    words = [" ".join(forms[stem].most_common(1)[0][0] for stem in topic) for topic in topics]
    return Found(_capital(", ".join(words)), tuple(first[topic[0]] for topic in topics))


def _runs(dialogue: Dialogue, speakers: Speakers) -> Iterator[list[tuple[str, EvidenceSpan]]]:
    """Rows of neighbouring words that may be a topic, each with its place."""
    for sentence in turns_of(dialogue).all():
        run: list[tuple[str, EvidenceSpan]] = []
        end = 0
        for match in _WORD.finditer(sentence.text):
            word, low = match[0], match[0].lower()
            known = low in _STOP or low.removesuffix("s") in _STOP or len(low) < 3
            if known or low.endswith(("ing", "ly", "n't")) or speakers.who(low) is not None:
                word = ""
            if run and (not word or sentence.text[end : match.start()] != " "):
                yield run
                run = []
            if word:
                name = word if not word[1:].islower() or match.start() else low
                run.append((name, sentence.span(match.start(), match.end())))
            end = match.end()
        if run:
            yield run


def _topics(counts: Counter[str], pairs: Counter[tuple[str, str]]) -> Sequence[tuple[str, ...]]:
    """The most frequent words, those that mostly stand side by side as one; first said first."""
    paired = {
        pair: n
        for pair, n in pairs.items()
        if n >= _OFTEN and n >= _PAIRED * min(counts[pair[0]], counts[pair[1]])
    }
    taken = {stem for pair in paired for stem in pair}
    single: dict[tuple[str, ...], float] = {
        (stem,): n for stem, n in counts.items() if n >= _OFTEN and stem not in taken
    }
    weights: dict[tuple[str, ...], float] = {**single, **{p: 1.5 * n for p, n in paired.items()}}
    best: list[tuple[str, ...]] = []
    for topic in sorted(weights, key=lambda t: -weights[t]):
        if not any(set(topic) & set(other) for other in best):
            best.append(topic)
    order = list(counts)
    return sorted(best[:_MOST], key=lambda topic: order.index(topic[0]))


def _chinese_title(dialogue: Dialogue) -> Found | None:
    """Runs of two to four characters that come back between different neighbours: words."""
    first: dict[str, EvidenceSpan] = {}
    sides: dict[str, tuple[Counter[str], Counter[str]]] = defaultdict(
        lambda: (Counter(), Counter())
    )
    for number, utterance in enumerate(dialogue.utterances):
        for piece, start, run in _pieces(utterance.text):
            end = start + len(piece)
            first.setdefault(piece, EvidenceSpan(number, start, end, 1.0))
            sides[piece][0][run[0] if start == run[1] else utterance.text[start - 1]] += 1
            sides[piece][1][run[0] if end == run[2] else utterance.text[end]] += 1
    counts = {p: sum(left.values()) for p, (left, right) in sides.items() if _free(left, right)}
    best: list[str] = []
    for piece in sorted(counts, key=lambda p: (-counts[p] * len(p), -len(p))):
        if counts[piece] >= _OFTEN and not any(piece in b or b in piece for b in best):
            best.append(piece)
    chosen = best[:_MOST]
    return Found("、".join(chosen), tuple(first[piece] for piece in chosen)) if chosen else None


def _pieces(text: str) -> Iterator[tuple[str, int, tuple[str, int, int]]]:
    """Candidate words, where they begin, and the run they stand in."""
    for run in _HAN_RUN.finditer(_MASK.sub(lambda mask: " " * len(mask[0]), text)):
        for start in range(run.start(), run.end() - 1):
            for end in range(start + 2, min(start + 4, run.end()) + 1):
                if _HAN_STOP.isdisjoint(text[start:end]):
                    yield text[start:end], start, ("", run.start(), run.end())


def _free(left: Counter[str], right: Counter[str]) -> bool:
    """Whether no one neighbour stands beside it nearly always; the end of a run is no neighbour."""
    return all(
        max((n for c, n in side.items() if c), default=0) <= _FREE * sum(side.values())
        for side in (left, right)
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
