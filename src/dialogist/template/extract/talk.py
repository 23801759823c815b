"""What is proposed only to carry on the conversation, or done at once: no decision."""

import re

TALK = re.compile(
    r"(?:see|say|talk|start|begin|continue|go(?: on| around| right| out and enjoy| let|"
    r" ahead| back| through| over| in| inside| now| then|$|[.!?]| and (?:see|look|"
    r"have))|move|look|hear|get "
    r"(?:started|going|down|back|on|to|into|this|in)|take (?:a look|a seat|the|it|this|"
    r"that)|turn|think|face|hope|try (?:and|to|this|that|it)|check|find|just|have a "
    r"(?:look|seat|chat|talk|try|drink)|"
    r"not|be|assume|suppose|imagine|pretend|put it|know|make (?:sure|it (?:quick|"
    r"short))|wait|stop|keep(?! (?:it|them|the|him|her) \w)|leave it|do (?:it|that|this)|discuss|"
    r"figure|work (?:it|this) out|ask|call it|give|hurry|sit|relax|forget|pray|"
    r"remember|consider|review|read|run|come|walk|step|order|eat|"
    r"listen|close|stand|change the subject|skip|eval|show|focus|decide|leave(?! (?:him|her|them|"
    r"it|the|that|out)\b)|get "
    r"(?:some|a|something)|first|next|now|well|do|hit|finish)\b",
    re.I,
)
