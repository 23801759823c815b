"""Verbs that name work which can be left to do after a conversation, and what only looks so."""

import re

from dialogist.forms.extract.turns import is_telling
from dialogist.language.porter import stem_of
from dialogist.language.tokens import word_set

_WORK = """
accept activate accompany add adjust apply approve arrange ask assign attach bake block book bring
build buy call cancel change check circulate clean close collect compile complete confirm connect
contact cook coordinate copy correct cover create deliver decrease deposit design develop discuss
dispatch distribute document draft drive drop downgrade edit e-mail email escalate evaluate
explore extend fax feed fetch file fill finalise finalize finish fix follow forward grab handle
hand help hire implement increase inform install introduce investigate invite issue join label
look mail make message modify move notify order organise organize pack paint pass pay phone pick
place plan polish post prepare prescribe present print proceed process produce provide publish
purchase put raise reach rearrange redo refer refund register remind remove renew repair replace
replenish reply report reschedule research reserve reset resend return review revise rewrite ring
run save scan schedule search select send set share ship sign sort speak store submit summarise
summarize supply switch talk taper test text tidy transfer transport translate turn type update
upgrade upload waive wash water work write
"""
_WEAK = """
arrive begin come continue do explain find get give go have keep learn leave meet
return show start stay stop study take teach tell think try use visit wait watch
"""
# What is done by saying it, before the next turn, or never was meant as work.
_IDLE = re.compile(
    r"(?:"
    r"(?:put|pass|hand|connect|transfer) (?:you|me|it|him|her) (?:through|over)|put (?:you )?down"
    r"|place (?:my|an?|the|your) order|order (?:the|a|some|two|one|that|this)\b"
    r"|(?:have|take) (?:a|the|one|two|some|that|this|it|those|these|them|mine)\b"
    r"|(?:make|call) it\b|make (?:sure|sense|do|up)|call (?:it|that|this)\b|run (?:out|away|into)"
    r"|look (?:at|forward|for(?:ward)?|like)|talk (?:about|to you)|speak (?:about|for|to you)"
    r"|turn (?:to|now)|move on|pass (?:on|away|out|the)|start (?:with|by|off)|help you(?:rself)?\b"
    r"(?! (?:with|to|clean|cook|fix|move|pack|paint|prepare|make|find|set|write|get|study|learn))"
    r"|ask (?:you|a|one|this|that)\b|discuss (?:it|this|that)\b|return to\b|come (?:to|up|back to)"
    r"|see (?:you|if|what|whether|how|about it)|check (?:it|that|this|here|for|your|"
    r"the|again|my|on)?"
    r"(?:$|[ ,.]*(?:out|now|for you|right away|please)?[ ,.]*$)|follow (?:you|me|your|the|that)"
    r"|work(?: it)? out\b|cover (?:it|that|this)\b|accept\b|proceed\b|explore\b|save (?:you|it|on)"
    r"|set (?:the|a) table|present (?:to|you|this|it|that)?\b(?! (?:it|them|this)? ?(?:next|on|at))"
    r"|pay (?:for it|in|by|with|the bill|cash|attention|it|you)\b|do (?:it|that|so|my best)\b"
    r"|(?:get|give) (?:it|that|this|up|on|off|over|used|back to (?!you))\b|introduce (?:you|myself)"
    r"|add that|make (?:a|one|my) (?:suggestion|point|guess|comment|bet|remark)|be "
    r"(?:fine|happy|glad)"
    r"|ring (?:it|you|this) up|ask for|stay with|turn it\b|print (?:it|the)\b.*\b(?:here|now)"
    r"|(?:explain|read|tell|show|say|repeat|think|wait|stop|try|use|keep|watch|learn|"
    r"go|come|start|begin"
    r"|continue|find|have|take|see|be|get|give|do|meet|leave|stay|study|teach|visit|"
    r"attend|arrive|pull)"
    r")\b",
    re.I,
)
_REPLY = re.compile(
    r"(?:get back to (?:you|him|her|them)|get in touch|give (?:you|him|her|them|"
    r"#Person\d#|[A-Z]\w+) "
    r"(?:a|another) (?:call|ring|hand)|take care of (?!your)\w|let (?:you|him|her|them|everyone|"
    r"everybody|[A-Z]\w+) know|look into|pick (?:you|him|her|them|it|up|[A-Z]\w+)|find "
    r"out (?=\w)|drop (?:off|by|"
    r"you|it|them)|meet (?:you|him|her|them|up)|tell (?!you\b|me\b|u\b|us\b|it\b|what|that\b)\w|"
    r"get (?:\S+ ){1,4}ready|get (?:the|some|us|u) (?!door|phone|point|idea|feeling|impression|"
    r"bill|check|hang|chance|message|job|picture)\w{3,}|make sure (?:he|she|they|it|the|that)|"
    r"bring (?:you|u|some|the|an?|my)|be (?:right )?there\b|keep you "
    r"(?:posted|informed|updated))\b"
)
_NEVER = re.compile(
    r"see you|have to|move (?:on|forward)|set in motion|call me (?-i:[A-Z])|talk to me|turn over|"
    r"finish up|go home|"
    r"provide an? (?:short |brief )?(?:response|"
    r"answer)|discuss what|make yourself|look forward|change (?:my|your|his|her|their) "
    r"mind|turn (?:left|right)|"
    r"\w+ (?:it |that |this )?down\b"
    r"|ask (?:\S+ ){0,4}?(?:to (?:speak|answer|share|go into|comment|come|say|talk|"
    r"tell|think|respond)|"
    r"questions?\b)|remind|talk (?!to |with )|make (?:(?:the|an?|my|"
    r"some|one|any|this) )?(?:points?|"
    r"comments?|remarks?|suggestions?|statements?|noise|sense)|move (?:it|the|an?|to|"
    r"my|amendment)|call .* to speak"
    r"|call (?:on|upon)\b|pick (?:up (?:on|where)|it up from)|pass (?:for|on|over)|"
    r"work as\b|give (?:another|an?) (?:quote|"
    r"example|idea|sense)|help (?:talk|out)$|put (?:it|that|this) (?:(?:to you|this way|"
    r"back|there)\b|(?:in|on)$)"
    r"|review the|add (?:that|to that|my|one)|quote|cover the",
    re.I,
)

# What a pronoun is enough for: "I'll send it".
_HANDLED = re.compile(
    r"(?:bring|send|call|email|e-mail|mail|order|book|buy|fix|return|ship|deliver|repair|replace|"
    r"refund|reorder|print|sign|wash|collect|fetch|cancel|post|forward|pay|text|ring|invite|"
    r"write|draft|check|ask|tell) "
    r"(?:it|them|him|her|that one|those)(?: (?:back|over|for you|to you|myself|later|then|too))?",
    re.I,
)
# What people are told to do from now on, if they agree.
_NAMES = re.compile(r"\w+ \w+ (?:is|are)\b")  # "phone number is": a noun
_BEHAVE = word_set("leave stop avoid keep rest reduce")
WORK = frozenset(_WORK.split())
WEAK = frozenset(_WEAK.split())
_STEMS = frozenset(map(stem_of, WORK | WEAK))


def is_work(clause: str, deadline: str, asked: bool = False) -> bool:
    """Whether a clause, from its verb on, names work that is left to do.

    What is often done on the spot ("go", "take") needs a deadline to be work. ``asked``: somebody
    was told to, and agrees.
    """
    verb = clause.split(maxsplit=1)[0].lower() if clause else ""
    if _REPLY.match(clause):
        return verb != "be" or bool(deadline)
    if _NEVER.match(clause) or _NAMES.match(clause):
        return False
    if deadline and (verb in WEAK or verb in WORK):
        return True
    if verb.endswith("ing") and stem_of(verb) in _STEMS:
        return is_telling(clause)
    if asked and verb in _BEHAVE:
        return is_telling(clause)
    return verb in WORK and not _IDLE.match(clause) and is_telling(clause)


def is_handled(clause: str) -> bool:
    """Whether a clause is work on what a pronoun stands for: "send it"."""
    return _HANDLED.fullmatch(clause) is not None


def starts_work(text: str) -> bool:
    """Whether an imperative may begin here: "Leave the key with Paula"."""
    words = text.lower().split(maxsplit=3)
    return len(words) > 2 and words[0] != "look" and words[0] in WORK | WEAK | _BEHAVE
