"""Actions, decisions, open questions in summary sentences: "Anna will send it by Friday".

Third person, English. The owner is a speaker of the dialogue where the subject means one, else the
subject as the summary writes it; a pronoun gives no owner.
"""

import re
from dataclasses import dataclass
from typing import Literal

from dialogist.metrics.speakers import Speakers
from dialogist.template.extract.clause import clause_end, is_broken, is_telling, tidy
from dialogist.template.extract.deadlines import deadline_in
from dialogist.text.listing import word_set
from dialogist.text.tokens import TAG

_PHRASE = (
    rf"(?:{TAG}|[Tt]he [a-z]+(?: [a-z]+)?"
    r"|(?:(?:Mr|Mrs|Ms|Miss|Dr|Prof)\.? )?(?!The\b)[A-Z][\w-]+(?: [A-Z][\w-]+)?)"
)
_SUBJECT = re.compile(rf"(?:^|[,;] |\b(?:and|but|while|so|that|then|because) )({_PHRASE})(?= |'|’)")
_DOING = re.compile(
    r"(?: will|['’]ll| (?:is|are) (?:going|supposed) to| (?:has|have) to| needs? to| "
    r"(?:promises?|promised|agrees?|agreed|"
    r"undertakes|volunteers|volunteered|commits?|intends?|plans?) to| (?:is|was) "
    r"(?:asked|tasked|told|assigned) to) "
    r"(?:(?:also|then|now|first|definitely|soon|later) )*(?!not\b|be\b|like\b|"
    r"have\b(?! (?:the|a) \w+ ready)|need\b|cost\b|take place|know\b|see\b|feel\b|"
    r"enjoy\b|"
    r"become\b|get\b|mind\b|remember\b|think\b|regret\b|love\b|hate\b|happen\b|fail\b|"
    r"miss\b|agree\b|accept\b|the\b|an?\b|[a-z]+ing\b)(?=[a-z])"
)
_DECIDING = re.compile(
    r" (?:(?:has|have) )?(?:(?:finally|also|both|all|then) )?(?:decides?|decided|"
    r"agrees?|agreed|chooses?|chose|settles?|settled|opts?|opted)"
    r" (?=(?:to|on|that|not|for|against|upon)\b)"
)
_ASKING = re.compile(
    r"\b(?:(?:is|are|remains?|was|were) (?:still )?(?:unclear|undecided|unsure|not "
    r"(?:sure|certain|clear)|open)"
    r"|(?:do|does|did)(?:n['’]t| not) know|(?:has|have) no idea|(?:still )?wonders?) "
    r"(?=(?:if|whether|what|how|when|who|which|where)\b(?! to\b))"
)
_HEDGED = re.compile(
    r"\b(?:what|how|when|why|where|who|which|if|unless|might|maybe|perhaps|whether|"
    r"would|could|thinks?|hopes?|believes?)\b",
    re.I,
)
_LATER_SUBJECT = re.compile(
    rf"(?:,| and| but)(?: then)? {_PHRASE}(?=(?: \w+s\b| will\b| has\b| is\b|['’]s\b))"
)
_PRONOUNS = word_set("he she they it we this that these those there what who everyone i you")
_GROUPS = re.compile(r"[Tt]he (?:group|team|meeting|participants|speakers|members)\b")


@dataclass(frozen=True, slots=True)
class Reported:
    """What a sentence says: ``text`` is its clause, or the sentence where that says more."""

    kind: Literal["action", "decision", "question"]
    text: str
    owner: str = ""
    deadline: str = ""


def reported_in(sentence: str, speakers: Speakers) -> Reported | None:
    """The decision, action or open question that a summary sentence is about, or None."""
    if _ASKING.search(sentence):
        return Reported("question", sentence)
    deciding = _DECIDING.search(sentence)
    doing = _DOING.search(sentence)
    if deciding is not None and (doing is None or deciding.start() <= doing.start()):
        together = _is_plural(sentence[: deciding.start()])
        if together or re.search(r"decid|ch[oe]|settle|opt", deciding[0]):
            return Reported("decision", sentence, deadline=deadline_in(sentence))
    if doing is None or _HEDGED.search(sentence[: doing.start()]):
        return None
    return _action(sentence, doing, speakers)


def _action(sentence: str, doing: re.Match[str], speakers: Speakers) -> Reported | None:
    end = clause_end(sentence, doing.end())
    if other := _LATER_SUBJECT.search(sentence, doing.end(), end):
        end = other.start()
    clause = tidy(sentence[doing.end() : end]).rstrip(",")
    if is_broken(clause) or not is_telling(clause):
        return None
    owner = _owner(sentence[: doing.start() + 1], speakers)
    if _GROUPS.fullmatch(owner):
        owner = ""
    return Reported("action", clause, owner, deadline_in(clause))


def _is_plural(before: str) -> bool:
    words = before.split()
    return bool(words) and (
        words[-1].lower() in ("they", "both", "all", "group", "team", "participants", "members")
        or " and " in before
    )


def _owner(before: str, speakers: Speakers) -> str:
    """Whose doing: the subject nearest before the verb, else the one that begins the sentence."""
    last = before.split()[-1].lower() if before.split() else ""
    if last in _PRONOUNS or _joint(before):
        return ""
    found = [match[1] for match in _SUBJECT.finditer(before)]
    subject = found[-1] if found else ""
    if not subject or subject.lower() in _PRONOUNS:
        return ""
    word = subject.split()[-1].lower() if "#" not in subject else "".join(subject.lower().split())
    number = speakers.who(word)
    return subject if number is None else speakers.names[number]


def _joint(before: str) -> bool:
    """``Anna and Bo will``: what both do has no one owner."""
    return re.search(rf"(?:^|[,;] ){_PHRASE},? and {_PHRASE}\s*$", before) is not None
