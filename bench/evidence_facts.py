"""Facts to plant into real dialogues, each with the sentence that reports it.

Half of the wordings (``fit``) are for choosing weights, the other half (``report``) for
the figures.
"""

from dataclasses import dataclass
from random import Random

from dialogist.records import Dialogue, Utterance
from dialogist.language.tokens import listed


@dataclass(frozen=True)
class Fact:
    """``turns`` as ``A: ...``; ``report`` as a summary says it.

    ``right``: the turns that support the report. ``needed``: of each group one must be found.
    ``value``: what of it can be looked for in a model's own words. ``echo``: a turn that shares
    words with the report and does not support it.
    """

    kind: str
    turns: tuple[str, ...]
    report: str
    right: tuple[int, ...] = (0,)
    needed: tuple[tuple[int, ...], ...] = ((0,),)
    value: str = ""
    echo: str = ""


_SECOND = ((1,),)
_BOTH = (0, 1)

FIT = (
    Fact("name", ("A: By the way, my sister {name} is moving to {place} next month.",),
         "{A}'s sister {name} will move to {place}.", value="{place}",
         echo="B: I have always wanted to see {place}, my sister was there once."),
    Fact("number", ("A: My train gets in at {time}, so don't wait for me.",),
         "{A}'s train arrives at {time}.", value="{time}",
         echo="B: My train was an hour late yesterday."),
    Fact("number", ("A: I only have {n} dollars left on that card.",),
         "There are {n} dollars left on {A}'s card.", value="{n}",
         echo="B: I spent 200 dollars on shoes, my card is glowing."),
    Fact("event", ("A: The washing machine broke again and there was water all over the kitchen.",),
         "{A}'s kitchen got flooded.",
         echo="B: I painted my kitchen last summer."),
    Fact("question", ("A: Do you know where the nearest pharmacy is?",),
         "{A} wants to know where to find a pharmacy.",
         echo="B: My cousin works in a pharmacy."),
    Fact("denial", ("A: I never learned how to swim, honestly.",), "{A} can't swim.",
         echo="B: My brother loves to swim."),
    Fact("answer", ("A: How long have you had that cat?", "B: Oh, about {n} years."),
         "{B} has had a cat for {n} years.", _BOTH, _SECOND, "{n}",
         echo="A: Cats are so much easier than dogs."),
    Fact("answer", ("A: Could you feed the fish while I'm away?", "B: Of course, no problem."),
         "{B} agrees to feed {A}'s fish.", _BOTH, ((0,), (1,)),
         echo="A: I had fish for lunch."),
    Fact("name", ("A: {name} from accounting got promoted, can you believe it?",),
         "{name} was promoted.", value="{name}",
         echo="B: {name} borrowed my stapler again."),
    Fact("two alike", ("A: I paid {n} dollars for my ticket.", "B: Mine was {n2}."),
         "{B}'s ticket cost {n2} dollars.", (1,), _SECOND, "{n2}",
         echo="A: They checked my ticket twice."),
    Fact("two alike", ("A: I had a terrible cold last week.", "B: I had one, too, in {month}."),
         "{A} had a cold last week.", (0,),
         echo="B: It is so cold in here."),
    Fact("number", ("A: The plumber comes on {day}, finally.",),
         "A plumber will visit {A} on {day}.", value="{day}",
         echo="B: I'm off on {day}, luckily."),
    Fact("event", ("A: I'm so nervous about the driving test, I can't sleep.",),
         "{A} is worried about a test.",
         echo="B: They test the alarm every week."),
    Fact("event", ("A: I'm thinking of quitting and opening a bakery.",),
         "{A} plans to leave the job and start a bakery.",
         echo="B: The bakery at the corner has the best rolls."),
    Fact("event", ("A: The dentist says two of my teeth have to come out.",),
         "{A} will have teeth removed.",
         echo="B: I brush my teeth three times a day."),
    Fact("question", ("A: Is there a discount for students, by any chance?",),
         "{A} asks about reduced prices for students.",
         echo="B: There were students everywhere."),
)  # fmt: skip
REPORT = (
    Fact("name", ("A: Before I forget, {name} found your umbrella in the {place} office.",),
         "{name} found {B}'s umbrella in {place}.", value="{place}",
         echo="A: Take an umbrella, it looks like rain."),
    Fact("number", ("A: The library closes at {time} today, I checked.",),
         "According to {A}, the library shuts at {time}.", value="{time}",
         echo="B: I got three books from the library."),
    Fact("number", ("A: We sold {n} copies of the calendar, not bad.",),
         "{n} calendars were sold.", value="{n}",
         echo="B: I need a new calendar."),
    Fact("event", ("A: Somebody smashed the window of my car last night and took the radio.",),
         "{A}'s car was broken into.",
         echo="B: I washed the car on Sunday."),
    Fact("question", ("A: Have you seen my glasses anywhere?",), "{A} is looking for glasses.",
         echo="B: We need more wine glasses."),
    Fact("denial", ("A: I don't eat meat any more, you know.",), "{A} has stopped eating meat.",
         echo="B: The meat at that place is excellent."),
    Fact("answer", ("A: What's your landlord called?", "B: {name}, why?"),
         "{B}'s landlord is {name}.", _BOTH, _SECOND, "{name}",
         echo="A: My landlord never repairs anything."),
    Fact("answer", ("A: Do you want my old bike?", "B: No thanks, I have nowhere to keep it."),
         "{B} refuses {A}'s bike for lack of space.", _BOTH, ((0,), (1,)),
         echo="A: I ride my bike every day."),
    Fact("name", ("A: Guess what, {name} had her baby this morning!",),
         "{name} gave birth to a baby.", value="{name}",
         echo="B: My sister wants a baby."),
    Fact("two alike", ("A: My rent is {n} a month.", "B: I pay {n2}."),
         "{B} pays a rent of {n2}.", (1,), _SECOND, "{n2}",
         echo="A: Rent is crazy these days."),
    Fact("two alike", ("A: I broke my arm when I was six.", "B: I broke mine in {month}."),
         "{A} had a broken arm as a child.", (0,),
         echo="B: My arm hurts from the vaccination."),
    Fact("number", ("A: My grandparents are visiting on {day}.",),
         "{A} expects the grandparents on {day}.", value="{day}",
         echo="B: I have to work on {day}."),
    Fact("event", ("A: This coat is way too tight, I can hardly breathe in it.",),
         "{A} finds the coat too small.",
         echo="B: I found your coat in the hall."),
    Fact("event", ("A: I'd love to learn the violin one day.",), "{A} wishes to play the violin.",
         echo="B: The violin in that song is lovely."),
    Fact("event", ("A: They turned me down for the loan because of my old debts.",),
         "{A} did not get a loan.",
         echo="B: My brother got a loan easily."),
    Fact("question", ("A: Any idea who could repair a piano?",),
         "{A} needs somebody to fix a piano.",
         echo="B: There is a piano in our school."),
)  # fmt: skip
FIT_CHINESE = (
    Fact("name", ("A: 我的收货地址写错了，应该是{place}。",),
         "{A}表示收货地址填写错误，正确的是{place}。",
         echo="B: 请核对一下您的收货地址。"),
    Fact("number", ("B: 这款手机今天晚上{time}开始降价。",), "{B}告知手机{time}降价。",
         echo="A: 我想买手机。"),
    Fact("number", ("A: 我买的{n}个杯子碎了。",), "{A}反映有{n}个杯子破损。",
         echo="A: 杯子是送人的。"),
    Fact("question", ("A: 发票能开公司抬头吗?",), "{A}询问发票是否可以写公司名称。",
         echo="A: 发票寄到哪里了。"),
    Fact("denial", ("B: 抱歉，这个商品不支持货到付款。",), "{B}回答该商品不能货到付款。",
         echo="A: 这个商品有货吗?"),
    Fact("answer", ("A: 退货运费谁出啊?", "B: 由我们这边承担。"),
         "{B}回答退货运费由商家承担。", _BOTH, _SECOND,
         echo="A: 我要退货。"),
    Fact("event", ("A: 快递员把包裹放门口就走了。",), "{A}称包裹被放在门口。",
         echo="B: 快递员会提前联系您。"),
    Fact("number", ("B: 我已经为您申请了{n}元优惠券。",), "{B}为{A}申请{n}元优惠券。",
         echo="A: 优惠券怎么用?"),
)  # fmt: skip
REPORT_CHINESE = (
    Fact("name", ("A: 我搬家了，新家在{place}。",), "{A}的新住址是{place}。",
         echo="B: 新家需要什么家电可以看看我们的活动。"),
    Fact("number", ("B: 师傅最晚{time}上门安装空调。",), "{B}告知空调{time}前安装。",
         echo="A: 空调是白色的吗?"),
    Fact("number", ("A: 少发了{n}本书。",), "{A}反映缺少{n}本书。",
         echo="A: 这本书好看吗?"),
    Fact("question", ("A: 这个电饭煲保修几年?",), "{A}询问电饭煲的保修期。",
         echo="B: 电饭煲今天有优惠。"),
    Fact("denial", ("B: 不好意思，已经出库的订单是改不了颜色的。",),
         "{B}回答出库后无法更换颜色。",
         echo="A: 订单什么时候出库?"),
    Fact("answer", ("A: 赠品什么时候寄?", "B: 和主商品一起寄出的。"),
         "{B}回答赠品与主商品一同寄送。", _BOTH, _SECOND,
         echo="B: 赠品以页面显示为准。"),
    Fact("event", ("A: 冰箱噪音太大了，晚上睡不着。",), "{A}抱怨冰箱声音大。",
         echo="B: 冰箱建议放在通风的地方。"),
    Fact("number", ("B: 补偿您{n}个京豆可以吗?",), "{B}提出补偿{n}个京豆。",
         echo="A: 京豆怎么用?"),
)  # fmt: skip
FACTS = {("en", "fit"): FIT, ("en", "report"): REPORT,
         ("zh", "fit"): FIT_CHINESE, ("zh", "report"): REPORT_CHINESE}  # fmt: skip

_NAMES = listed("Walter Ingrid Salma Piotr Naomi Duncan Beatrix Omar Yuki Leander")
_PLACES = listed("Lisbon Toronto Geneva Naples Glasgow Utrecht Denver Osaka")
_CHINESE_PLACES = listed("朝阳区幸福路 海淀区学院路 浦东新区花木镇 天河区体育西路")
_DAYS = listed("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
_MONTHS = listed("January February April June August October December")


ECHOES = 0.5
"""Of so many facts the echo is planted, too, anywhere else."""


@dataclass(frozen=True)
class Sown:
    """A dialogue with a fact in it: its turns begin at utterance ``place``."""

    dialogue: Dialogue
    fact: Fact
    report: str
    value: str
    place: int

    @property
    def right(self) -> frozenset[int]:
        """The utterances that support the report."""
        return frozenset(self.place + turn for turn in self.fact.right)

    @property
    def needed(self) -> tuple[frozenset[int], ...]:
        """Of each group one must be found."""
        return tuple(frozenset(self.place + t for t in group) for group in self.fact.needed)


def sow(dialogue: Dialogue, fact: Fact, random: Random) -> Sown | None:
    """Plant a fact at a random place; none into a dialogue of one speaker alone."""
    if len(dialogue.speakers) < 2:
        return None
    first, second = random.sample(dialogue.speakers, 2)
    if dialogue.utterances[0].role in ("user", "agent"):  # of customer service who says what is set
        first = next((u.speaker for u in dialogue.utterances if u.role == "user"), first)
        second = next((u.speaker for u in dialogue.utterances if u.role == "agent"), second)
    chinese = not fact.report.isascii()
    words = {
        "A": first, "B": second, "name": random.choice(_NAMES),
        "place": random.choice(_CHINESE_PLACES if chinese else _PLACES),
        "time": f"{random.randint(1, 12)}:{random.randrange(5, 60, 5):02}",
        "n": str(random.randint(11, 89)), "n2": str(random.randint(90, 190)),
        "day": random.choice(_DAYS), "month": random.choice(_MONTHS),
    }  # fmt: skip
    roles = {u.speaker: u.role for u in dialogue.utterances}

    def spoken(turn: str) -> Utterance:
        who, _, text = turn.partition(": ")
        return Utterance(words[who], text.format(**words), roles[words[who]])

    place = random.randint(0, len(dialogue.utterances))
    said = list(dialogue.utterances)
    said[place:place] = map(spoken, fact.turns)
    if random.random() < ECHOES:
        before, behind = range(place + 1), range(place + len(fact.turns), len(said) + 1)
        echo = random.choice([*before, *behind])
        said.insert(echo, spoken(fact.echo))
        place += echo <= place
    planted = Dialogue(tuple(said), dialogue.id, dialogue.references)
    return Sown(planted, fact, fact.report.format(**words), fact.value.format(**words), place)
