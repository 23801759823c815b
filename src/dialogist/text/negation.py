"""Words that deny, and those that come near it."""

import re

NEGATION = re.compile(
    r"\b(?:(?<!\bor )(?<!\bwhy )not(?! only)|no|never|none|nobody|nothing|nowhere|neither|nor"
    r"|cannot(?! wait)|without|hardly|barely|dont|doesnt|didnt|cant(?! wait)|wont|isnt|arent"
    r"|wasnt|werent|havent|hasnt|wouldnt|couldnt|shouldnt)\b|n['’]t\b(?! wait)",
    re.I,
)
"""Plain denial, with and without apostrophe."""

RELUCTANCE = re.compile(
    r"\b(?:unable|fail\w*|refus\w*|declin\w*|reject\w*|impossible|unfortunately|sorry|only|stop\w*"
    r"|hate\w*|forg[eo]\w+|nope|nah|unless|too(?= ?\w)|instead|miss\w*|busy|rather"
    r"|un(?!der|til|i)\w{4,}|dis(?!c)\w{4,})\b",
    re.I,
)
"""What a summary may well sum up as a denial: "I'm busy", "too expensive", "unhappy"."""
