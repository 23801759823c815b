"""What the words of a clause do: promise, refuse, ask, correct, name a time or a price ...

A cue is a name with words and phrases. All cues of a clause are found in one pass over its words
and kept as bits of one number. ``^`` marks phrases that count at the beginning alone, behind words
like "and" or "well".
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from dialogist.language.people import DAYS, MONTHS
from dialogist.language.quantities import NUMBER_WORDS, SCALES
from dialogist.language.tokens import word_set

_TABLE = f"""
time: {", ".join((*DAYS, *MONTHS))}, today, tomorrow, tonight, yesterday, morning, afternoon,
  evening, noon, midnight, week, weeks, weekend, month, months, year, years, o'clock, am, pm, a m,
  p m, hour, hours, minute, minutes, day, days, mon, tue, tues, wed, thu, thurs, fri, sat, sun
number: {", ".join((*NUMBER_WORDS, *SCALES))}, half, double, first, second
money: $, €, £, dollar, dollars, pound, pounds, euro, euros, bucks, quid, price, pay, paid, cost,
  costs, fee, charge, charged, refund, free, rent, bill, deposit
question: ?
exclaim: !
wh: ^who, ^what, ^where, ^when, ^why, ^how, ^which, ^what's, ^where's, ^who's, ^how's, ^whose,
  ^whats, ^wheres, ^hows, ^whos, ^wats
aux: ^do, ^does, ^did, ^is, ^are, ^was, ^were, ^can, ^could, ^will, ^would, ^shall, ^should, ^have,
  ^has, ^may, ^don't, ^didn't, ^isn't, ^can't, ^won't, ^couldn't, ^am, ^any
offer: would you like, shall i, shall we, can i, could i, may i, how about, what about, let's,
  let me, why don't, why not, i can, i could, we can, we could, you can, you could, do you want,
  want me to, what if, i'd give, we'd give, i offer, we offer, make it, call it, if you, if i get
commit: i'll, i will, we'll, we will, i'm going to, we're going to, gonna, i promise, i'd, i'm
  having, i'm taking
will: will, going to, gonna, won't
want: want, wants, need, needs, would like, i'd like, like to, looking for, hope, plan, prefer,
  rather, wish, interested
issue: problem, issue, broken, broke, doesn't, don't, didn't, isn't, wasn't, can't, cannot,
  couldn't, lost, missing, hurt, hurts, pain, trouble, wrong, error, fail, failed, fails, crash,
  crashes, late, cancel, canceled, cancelled, complain, stuck, sick, ill, stopped, leak, leaks,
  leaking
agree: ^ok, ^okay, ^okey, ^k, ^kk, ^sure, ^fine, ^agreed, ^deal, ^perfect, ^great, ^alright,
  ^all right, ^yes, ^yeah, ^yep, ^yup, ^ya, ^good, ^right, ^of course, ^no problem, ^no worries,
  ^sounds, ^that's fine, ^that works, ^works, ^done, ^absolutely, ^definitely, ^certainly, ^gladly,
  ^exactly, ^correct, ^true, ^lovely, ^brilliant, ^excellent, ^will do, ^fair enough, ^go ahead,
  ^go on, ^please do, ^why not, ^happy to, ^with pleasure, ^np, ^cool, ^settled, ^you're on,
  ^it's a deal, ^i'm in, ^count me in, ^i suppose, ^suits me, ^that's great, ^that's good,
  ^that's perfect, ^that suits, ^that will do, ^that'll do, ^that would be, ^that'd be, ^do it,
  ^do that, ^i'd love, ^you got it, ^got it, ^consider it done, ^indeed, ^please, ^pls
yes: ^yes, ^yeah, ^yep, ^yup, ^ya, ^right, ^exactly, ^correct, ^true, ^i do, ^i am, ^it is, ^it does
no: ^no, ^nope, ^nah, ^not, ^never, ^unfortunately, ^sorry, ^sry, ^don't, ^neither, ^none
negation: not, no, never, nothing, nobody, none, neither, without, cannot, cant, dont, wont, didnt,
  doesnt, isnt, hardly
refuse: can't, cannot, cant, won't, unable, unfortunately, afraid, rather not, no way, not
  possible, not allowed, decline, refuse, refused, don't want, no thanks, not interested, won't
  work, doesn't work, doesn't suit, too much, too late, too early, too expensive, too far, forget
  it, better not, no need, don't bother, out of the question, not happening, i doubt, no chance,
  leave it, keep it, no deal, not today, not tonight, not now, not yet, not really
if: if, unless, until, till, once, as long as, otherwise, in case, provided
reason: because, since, so that, due to, therefore, that's why
change: instead, actually, change, changed, rather, on second thought, on second thoughts, never
  mind, then, make it, make that, switch, move it
correct: actually, i mean, i meant, sorry, correction, wait, hold on, scratch that, on second
  thought, on second thoughts, my mistake, not that, wrong, i misread, i was wrong, turns out, it
  was, ^no, hmm, oh
else: else, other, others, another, alternative, alternatives, different, anything later, anything
  earlier, anything cheaper, later, earlier, cheaper, sooner, bigger, smaller
instead: instead, how about, what about, rather, prefer, change, make it, make that, can we, could
  we, what if
takes: that works, it works, works for me, i'll take, i'll have, we'll take, i'll go with, let's go
  with, let's do, go with, book it, book that, book me, that one, do it, do that, sounds good,
  sounds great, that's fine, that'll do, go ahead, deal, settled, agreed, please do, fine then,
  only if
confirm: confirm, confirmed, verify, just to be sure, just to be clear, to make sure, is that
  right, is that correct, is this correct, right ?, correct ?, so that's
after: after all, anymore, any more, changed my mind, never mind, cancel, cancelled, canceled,
  called off, forget, scrap, no longer, take that back, fell through, not any more, in the end,
  turned out, now it's, it's now, new, rescheduled, postponed, moved
fail: unable, unsuccessful, fail, failed, fails, unavailable, no longer, sold out, fully booked,
  taken, went wrong, not available, not possible, didn't go, didn't work, couldn't, wasn't able,
  gone, closed, full
done: done, booked, reserved, confirmed, scheduled, ordered, sent, successful, successfully,
  completed, complete, purchased, arranged, added, transferred, bought, paid, all set, on its way,
  on the way, went through
but: but, though, although, however, only
must: must, have to, has to, should, need to, needs to, ought, supposed, required, make sure
please: please, pls, plz, could you, can you, would you, will you
imperative: ^take, ^give, ^go, ^come, ^call, ^send, ^bring, ^keep, ^put, ^tell, ^ask, ^try, ^use,
  ^make, ^check, ^let, ^write, ^get, ^wait, ^stay, ^leave, ^have, ^add, ^download, ^open, ^restart,
  ^reset, ^dm, ^follow, ^visit, ^contact, ^text, ^save, ^sign, ^activate, ^meet, ^pick, ^book, ^buy,
  ^change, ^cancel, ^drop, ^stop, ^start, ^turn, ^read, ^drink, ^eat, ^ring, ^move, ^remember,
  ^just, ^please, ^don't, ^never, ^say, ^show, ^think, ^clean, ^wear, ^pay, ^ignore, ^book
i: i, i'm, i've, i'll, i'd, im, ive, my, me, mine
you: you, your, you're, you'll, you've, you'd, u, ur, yours
we: we, our, us, we'll, we've, we're, we'd, let's
third: he, she, they, him, her, them, his, their, it, it's, its, he's, she's, they're, they've
pointing: ^it, ^that, ^this, ^these, ^those, ^there, ^it's, ^that's, ^there's, ^he, ^she, ^they,
  ^it'll, ^that'll, ^one
past: was, were, did, had, went, got, said, told
perfect: have, has, i've, you've, we've
thanks: thank, thanks, thx, appreciate, welcome, pleasure, glad, cheers, ty
greet: ^hi, ^hello, ^hey, ^hiya, ^good morning, ^good afternoon, ^good evening, ^welcome, ^bye,
  ^goodbye, ^see you, ^have a, ^take care, ^dear
help: how can i help, how may i help, anything else, what can i do, help you, speaking, this is
sorry: sorry, apologise, apologize, apologies, afraid, unfortunately, regret
opinion: think, guess, believe, feel, seem, seems, sound, sounds, looks like, suppose, probably,
  maybe, perhaps, honestly
love: love, like, enjoy, hate, favourite, favorite, beautiful, nice, interesting, amazing, funny
advise: should, recommend, suggest, advise, better, why not, try
know: you know, i mean, i see, let me see, kind of, sort of, by the way, anyway
link: link, http, https, www
"""
_LEADS = word_set("and so or but then well oh ah um uh hm hmm er look listen")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+(?:[.,:]\d+)*|[?!$€£]")


def words_and_marks(text: str) -> list[str]:
    """The words of a text in small letters, numbers, and the marks that are cues."""
    found: list[str] = _WORD.findall(text.lower().replace("’", "'"))
    return found


_Phrases = dict[str, list[tuple[list[str], int]]]
"""By their first words: the words behind it, and the bit of the cue."""


def _tables() -> tuple[list[str], _Phrases, _Phrases]:
    names: list[str] = []
    anywhere: _Phrases = defaultdict(list)
    first: _Phrases = defaultdict(list)
    for line in re.split(r"\n(?! )", _TABLE.strip()):
        name, _, phrases = line.partition(": ")
        bit = 1 << len(names)
        names.append(name)
        for phrase in phrases.split(","):
            words = phrase.split()
            table = first if words[0][0] == "^" else anywhere
            table[words[0].removeprefix("^")].append((words[1:], bit))
    return names, dict(anywhere), dict(first)


CUES, _ANYWHERE, _FIRST = _tables()
"""The names of all cues, in the order of their bits."""

_BIT = {name: 1 << number for number, name in enumerate(CUES)}
_ENDINGS = (
    ("n't", _BIT["negation"]),
    ("'ll", _BIT["will"]),
    ("'ve", _BIT["perfect"]),
)
_SHORTEST_PAST = 5  # letters of "asked"


def cue_bits(names: Iterable[str]) -> int:
    """The bits of some cues."""
    return sum(_BIT[name] for name in names)


def cues_in(words: Sequence[str]) -> int:
    """The cues of a clause by its `words_and_marks`, a bit each."""
    bits = 0
    lead = next((i for i, word in enumerate(words) if word not in _LEADS), 0)
    for start in {0, lead} if words else ():
        for rest, bit in _FIRST.get(words[start], ()):
            if not rest or words[start + 1 : start + 1 + len(rest)] == rest:
                bits |= bit
    for i, word in enumerate(words):
        for rest, bit in _ANYWHERE.get(word, ()):
            if not rest or words[i + 1 : i + 1 + len(rest)] == rest:
                bits |= bit
        if word[0].isdigit():
            bits |= _BIT["number"]
        elif "'" in word:
            for ending, bit in _ENDINGS:
                bits |= bit if word.endswith(ending) else 0
        elif len(word) >= _SHORTEST_PAST and word.endswith("ed"):
            bits |= _BIT["past"]
    return bits
