"""One sentence of one speaker to another, told in the third person by the first rule that fits."""

import re

from dialogist.language.reported_speech.framing import Frame
from dialogist.language.reported_speech.morphology import AUXILIARIES
from dialogist.language.reported_speech.orders import order, request
from dialogist.language.reported_speech.proposals import proposal
from dialogist.language.reported_speech.questions import question
from dialogist.language.reported_speech.stating import statement
from dialogist.language.reported_speech.trimming import Trimmed

_MOST_WORDS = 45
# Quotations, asides, several people, clauses without a joint.
_UNTOLD = re.compile(
    r"[\"“”«»„?*~^\\{}|=\n]|\.\.|…|--|—|\s['‘’]\s?(?=\w)|: |[.!]\s|[a-z]\.[A-Z]|\w,[a-z]"
    r"|\[[A-Z]?[a-z]|![^\s]| - "
    r"|[({\[](?![^)\]]*[)\]])"
    r"|(?i:\byou (?:all|both|two|guys|yourself)\b|, (?:thank you|excuse me)\b"
    r"|\w what if |, what (?:do )?you think\b"
    r"|\bknow about you\b|\band you$|\band note that\b|\bthat,)"
)
_VERB = "|".join(sorted(AUXILIARIES))
# A question joined to a statement, or a second sentence without a full stop before it.
_TWO = re.compile(
    r"(?i:(?:,|;|\b(?:and|but|so|or)) (?:(?:what|when|where|why|how|who|which)(?: \w+)? )?"
    rf"(?!(?:have|do) (?:it|that|there)\b)(?:{_VERB}) (?:not )?"
    r"(?:i|you|we|he|she|they|it|there|your|my|their|this|that)\b)"
    r"|\w, (?:It|He|She|They|You|We|The|This|That|But|And)\b"
    r"|(?i:\band (?:what|where|when|how) (?:is|are|was|were) )"
    r"|\w (?:What|Why|How|When|Where|Is|Are|Do|Does|Did|But|Yeah|Yes|No|Okay)\b"
    r"|[a-z] (?:It|He|She|They|We|You|This|That|There)"
    r" (?:is|are|was|were|will|has|have|can|would)\b"
)
# What is said of people in general: "it depends on how you look at it".
_OF_ANYBODY = re.compile(
    r"(?i)\b(?:how you (?:look at|see|put|define|count)|what you (?:call|pay for|mean by)"
    r"|(?:once|when|before) you (?:know it|get used to)|you (?:never|always) know|if you ask me"
    r"|(?:as|when) you (?:go|get old(?:er)?)|you get used to|you know (?:how|what) it"
    r"|(?:\w+est|only|most) (?:\w+ ){1,2}you can|you (?:often|usually|always|sometimes) end up"
    r"|you\b.* (?:each other|one another))\b"
)
# A rule gets a frame and a `Trimmed`, and gives a `Verdict`: `NOT_MINE` leaves the sentence to the
# next rule, `QUOTE` ends the search, (True, report) tells it. `Trimmed.text` is not what was said
# but its usual spelling, without courtesy, calls and the final mark. Patterns match full words:
#     "Well, why don't you ask him?"   why do not you ask him   (question)
#     "Thanks, I can't come."          I cannot come
#     "Let's go, Ann!"                 Let's go                 (called: Ann; exclaimed)
# `tell` and `Conversation._told` refuse some sentences before; `Conversation._finished` refuses
# reports in which "I" or "you" is left; selection may still prefer a shorter quotation.
_RULES = (proposal, request, question, order, statement)


def tell(frame: Frame, said: Trimmed) -> str | None:
    """The sentence in the third person, without its full stop; None where no rule is sure."""
    text = said.text
    if _OF_ANYBODY.search(text):
        return None
    if _UNTOLD.search(text) or _TWO.search(text) or len(text.split()) > _MOST_WORDS:
        return None
    for rule in _RULES:
        fits, told = rule(frame, said)
        if fits:
            return told
    return None
