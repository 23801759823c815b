"""Words that tell what an utterance does: time, money, promises, refusals, problems ..."""

import re

from dialogist.language.tokens import word_set

SPOKEN = word_set("""
yes yeah yep yup no nope nah ok okay oh ah um uh hi hey hello bye well please thanks thank sure
right really maybe perhaps great fine perfect good nice wow sorry welcome goodbye morning
evening afternoon hmm hm mm huh haha lol alright cool yo k wonderful lovely excellent absolutely
exactly indeed course understood welcome dear sir madam ma'am sry thx pls omg
""")
"""Words of conversation that say nothing about its subject."""

_DAYS = (
    r"(?:mon|tues?|wednes|wed|thurs?|fri|satur|sat|sun)(?:day)?s?|today|tomorrow|tonight|"
    r"yesterday|morning|afternoon|evening|noon|midnight|week(?:end|s)?|month|year|jan(?:uary)?|"
    r"feb(?:ruary)?|march|april|may|june|july|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?|o'clock|a\.?m|p\.?m|hours?|minutes?|days?"
)
_NUMBERS = (
    r"\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|"
    r"forty|fifty|hundred|thousand|half|double|first|second|third"
)
_CUES = {
    "time": rf"\b(?:{_DAYS})\b",
    "number": rf"\b(?:{_NUMBERS})\b",
    "digit": r"\d",
    "money": (
        r"[$€£]|\b(?:dollars?|pounds?|euros?|bucks|price|pay|paid|cost|costs|fee|charge|charged|"
        r"refund|free|rent|bill|deposit)\b"
    ),
    "question": r"\?",
    "wh": (r"^(?:(?:and|so|but|then|well|ok|okay)\W+)?(?:who|what|where|when|why|how|which)\b"),
    "aux": (
        r"^(?:(?:and|so|but|then|well|ok|okay)\W+)?(?:do|does|did|is|are|was|were|can|could|will|"
        r"would|shall|should|have|has|may)\b"
    ),
    "offer": (
        r"\b(?:would you like|shall (?:i|we)|can i|could i|may i|how about|what about|let's|"
        r"why don't|i can|i could|we can|we could|you can|you could|do you want)\b"
    ),
    "commit": (
        r"\b(?:i'?ll|i will|we'?ll|we will|i'?m going to|we'?re going to|gonna|i promise|i'?d)\b"
    ),
    "will": r"\b(?:will|'ll|going to|gonna|won't)\b",
    "want": (
        r"\b(?:want|wants|need|needs|would like|i'd like|like to|looking for|hope|plan|prefer|"
        r"rather|wish|interested)\b"
    ),
    "issue": (
        r"\b(?:problem|issue|broken|broke|doesn't|don't|didn't|isn't|wasn't|can't|cannot|"
        r"couldn't|lost|missing|hurts?|pain|trouble|wrong|error|fail(?:ed|s)?|crash(?:es|ed)?|"
        r"late|cancel(?:led|ed)?|complain|stuck|sick|ill|stopped|leak(?:s|ing)?)\b"
    ),
    "agree": (
        r"^(?:ok|okay|k|sure|fine|agreed|deal|perfect|great|alright|all right|yes|yeah|yep|good|"
        r"right|of course|no problem|sounds good|that'?s fine|works)\b"
    ),
    "yes": r"^(?:yes|yeah|yep|yup|ya|right|exactly|correct|true)\b",
    "no": r"^(?:no|nope|nah|not|never|unfortunately|sorry|sry)\b",
    "negation": (
        r"\b(?:not|no|never|nothing|nobody|none|neither|without|cannot|cant|dont|wont)\b|n't\b"
    ),
    "refuse": (
        r"\b(?:can't|cannot|cant|won't|unable|unfortunately|afraid|rather not|no way|"
        r"not possible|not allowed|decline|refuse|don't want|instead)\b"
    ),
    "if": (r"\b(?:if|unless|until|till|once|only if|as long as|otherwise|in case)\b"),
    "reason": r"\b(?:because|since|so that|due to|therefore|that's why)\b",
    "change": (r"\b(?:instead|actually|changed?|rather|on second thought|never mind|then)\b"),
    "but": r"\b(?:but|though|although|however)\b",
    "must": (
        r"\b(?:must|have to|has to|should|need to|needs to|ought|supposed|required|make sure)\b"
    ),
    "please": r"\b(?:please|pls|could you|can you|would you|will you)\b",
    "imperative": (
        r"^(?:please |just |then |and |but |so )?(?:take|give|go|come|call|send|bring|keep|put|"
        r"tell|ask|try|use|make|check|let|write|get|wait|stay|leave|have|add|download|open|"
        r"restart|reset|dm|follow|visit|contact|text|save|sign|activate|cool|swim|meet)\b"
    ),
    "i": r"\b(?:i|i'm|i've|i'll|i'd|im|ive|my|me)\b",
    "you": r"\b(?:you|your|you're|you'll|you've|u|ur)\b",
    "we": r"\b(?:we|our|us|we'll|we've|we're|let's)\b",
    "third": r"\b(?:he|she|they|him|her|them|his|their|it|it's|its)\b",
    "it_start": r"^(?:it|that|this|these|those|there)\b",
    "past": r"\b(?:was|were|did|had|went|got|said|told|[a-z]{3,}ed)\b",
    "perfect": r"\b(?:have|has|'ve|i've|you've|we've)\b",
    "thanks": r"\b(?:thank|thanks|thx|appreciate|welcome|pleasure|glad)\b",
    "greet": (
        r"^(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening)|welcome|bye|goodbye|see you|"
        r"have a (?:nice|good|great)|take care)\b"
    ),
    "help": (
        r"\b(?:how (?:can|may) i help|anything else|what can i do|help you|speaking|this is)\b"
    ),
    "sorry": r"\b(?:sorry|apologi[sz]e|afraid|unfortunately|regret)\b",
    "opinion": (
        r"\b(?:think|guess|believe|feel|seems?|sounds?|looks? like|suppose|probably|maybe|"
        r"perhaps|honestly)\b"
    ),
    "love": (r"\b(?:love|like|enjoy|hate|favou?rite|beautiful|nice|interesting|amazing|funny)\b"),
    "advise": r"\b(?:should|recommend|suggest|advise|better|why not|try|had better)\b",
    "done": (
        r"\b(?:done|booked|reserved|confirmed|scheduled|ordered|sent|successful(?:ly)?|completed|"
        r"purchased|arranged|added|transferred)\b"
    ),
    "exclaim": r"!",
    "know": (r"\b(?:you know|i mean|i see|let me see|kind of|sort of|by the way|anyway)\b"),
    "link": r"<link>|http|www\.|@",
}
CUES = {name: re.compile(cue, re.IGNORECASE) for name, cue in _CUES.items()}
AGENTS = re.compile(
    r"(?i)(?<![a-z])(?:agent|support|system|doctor|dr|clerk|assistant|service|desk|staff|shop|operator"
    r"|optician|coach|teacher|manager)s?(?![a-z])"
)
"""Labels of those who are asked for help."""
NUMBERISH = re.compile(rf"(?i)\b(?:{_NUMBERS}|{_DAYS})\b|\d")
