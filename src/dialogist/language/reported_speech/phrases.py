"""Fixed phrases of conversations that say nothing of the matter, as patterns."""

import re


def alternatives(block: str) -> str:
    """The phrases of a block, parted by bars, as one pattern; white space may be any there."""
    return r"(?:" + re.sub(r" ?\| ?", "|", " ".join(block.split())) + ")"


_BEFORE_A_MARK = alternatives(r"""
(?:hi|hey|hello) there | sure thing | to tell (?:you )?the truth | well | oh+ | ah+ | aw+ | hm+
| um+ | uh+ | er+ | wow | gosh | hey+ | hi+ | hello+ | hiya | bonjour | hola | ciao | namaste
| salut | yes | yeah | yep | yup | ya | yo | no | nope
| nah | okay | ok | k | sure | actually | basically | honestly | seriously | frankly
| thank you(?: (?:so|very) much)? | thanks(?: a lot| so much)?
| (?:i am )?(?:(?:so|very|really|terribly) )?sorry(?: (?:about|to hear) that)? | all right | alright
| of course | certainly | absolutely | exactly | great | good | perfect | fine | cool | nice
| wonderful | excellent | fantastic | lovely | awesome | brilliant | really | right | true | look
| listen | see | i see | you see | you know | i know | i mean | to be honest | tbh | by the way
| btw
| come on | excuse me | pardon | oh dear | oh no | morning | afternoon | evening | (?:oh )?my god
| god | damn | no problem
| no worries | fair enough | fair point | understood | got it | good (?:morning|afternoon|evening)
| anyways? | unfortunately | i am afraid | as you know | you are right
| that is (?:right|true|great|good) | deal | congratulations | welcome | i was wondering | now | so
| and | but | then | also | plus | as i said | like i said | as i say | obviously | first of all
| to start with | to begin with | for your information | fyi | one (?:more|last|other) thing
| (?:the|one) thing is | you know what | let us see | let me see | no offen[cs]e | guess what
| i understand | no,? wait | tell you what | i tell you what | mind you | in fact
""")
_BEFORE_A_WORD = alternatives(r"""
wait no,? | and | but | so | well | oh | ah | hey | hi | hello | okay | ok | yeah | i mean
| or(?= (?:i|you) (?:can|could)\b) | i know (?:and|but) | of course | you know(?= i )
| (?:sure|yes|yeah|right|nice|wow)(?= (?:i|we|that|it|you)\b) | then | also
| i am afraid(?: that)? | to be honest | yo | um | uh | hm+ | unfortunately | actually
| sorry,?(?= (?:i|we|my|it|but|that)\b)
| (?:god|gosh|man|dude|damn|no)(?= (?:i|it|that|we|do not)\b)
| (?:dude|bro|mate|man)(?= you\b)
| the thing is(?: that)?(?= (?:i|you|we|he|she|it|they|the|my|our|your|there)\b)
| (?:i (?:just )?(?:wanted|want|would like|have|need) to (?:say|tell you|let you know|inform you
|mention|add)|just to (?:say|let you know)|i must (?:say|admit)|let me tell you) that
| i am (?:just )?(?:calling|writing|ringing|phoning|messaging)(?: you)?(?: today)? because
| i am here(?: today)? because | just to (?:make sure|be clear|be sure)(?: that)? | just so you know
| thanks(?= (?:what|how|where|when|why|who|which|can|could|is|are|do|does)\b)
| i am (?:happy|glad|pleased|sorry) to (?:say|tell you|inform you)(?: that)?
| i regret to (?:say|tell you|inform you)(?: that)? | (?:it|it just) so happens that
| it turns out(?: that)? | turns out(?: that)? | as it turns out,?
""")
LEADING = re.compile(
    rf"(?i)(?:{_BEFORE_A_MARK}(?:\s*[,.!;:…-]+\s*|$)|{_BEFORE_A_WORD}\s+(?=\S)|[-–—,;:.…!*\s]+)"
)
"""What a sentence may begin with and say nothing."""
NO_LEADING = re.compile(r"(?i)(?:so (?:far|much|many|do|did|am|is|long)\b|but for|ok with)")

SO_TOO = (
    r"so (?:do|does|did|am|is|are|was|were|have|has|had|will|would|can|could|should|must) "
    r"(?:i|you|we|he|she|it|they)\b"
)
"""What says the same of somebody else: "So do I"."""

YOU_DO = (
    r"you (?:come|go|bring|take|cook|drive|call|ring|ask|tell|pay|pick|get|stay|wait|make|do"
    r"|buy|book)\b"
)
"""What the listener is to do, said as if it were so: "You come too"."""

_AFTER_A_WORD = alternatives(r"""
please | thanks | thank you(?: (?:so|very) much)? | you know | i(?: a|['’])m afraid | sorry | i mean
| if you do not mind | if you please | sorry (?:mate|bro|dude|man|guys)
| by the way | to be honest | unfortunately
| ma'am | actually | (?<!\bas )(?<!\beven )though | anyways? | (?:<\w+>\s*)+
| (?<=you )(?:man|dude|bro|mate) | (?<=know )(?:man|dude|bro|mate) | (?<=it )(?:man|dude|bro|mate)
""")
_AFTER_A_COMMA = alternatives(r"""
though | anyway | actually | honestly | sir | madam | ma'am | dear | honey | darling | mate | bro
| man | dude | buddy | guys | doctor | officer | too bad | of course | right | okay | ok | yes | no
| then | so | and | but | hm | huh | eh | yeah | um+ | uh+ | obviously | mind you | mind | you see
| as i said | like i said | i promise | promised? | i swear | trust me | believe me
| just so you know
| for your information | fyi | if you (?:like|want|wish|prefer|would like) | as you know | really
| i am (?:(?:so|very|really) )?sorry | bummer | damn | sadly | amazing
| wow
| i know | (?:please )?drive (?:carefully|safely) | thanks(?: a lot| so much)? | bye(?: \w+)?
| i (?:would|'d) say | thank god | god help us | for the record
""")
TRAILING = re.compile(rf"(?i)(?:(?:,\s*|\s+){_AFTER_A_WORD}$|,\s*{_AFTER_A_COMMA}$)")
"""What a sentence may end in and say nothing."""
_AUXILIARY = "(?:is|are|was|were|do|does|did|have|has|had|can|could|will|would|should|cannot|am)"
_TAGS = alternatives(rf"""
{_AUXILIARY}(?: not)? (?:i|you|he|she|it|we|they|there)(?: not)? | right | okay | ok | correct | no
| yes | yeah | huh | eh | agreed | is that (?:right|correct) | do (?:not )?you think | you know
| remember
""")
TAG = re.compile(
    rf"(?i)(?:,\s*{_TAGS}| {_AUXILIARY} not (?:it|you|ya|he|she|they)"
    r"|(?<!\bthe)(?<!\bturn)(?<!\bam i)(?<!\ball)(?<!\bis)(?<!\bgo)(?<!\bmy)(?<!\byour) right)$"
)
"""What makes a question of the statement before it: "isn't it"."""
POLITE = re.compile(
    r"(?i)^please\b,?\s*|\bplease\b\s*|\bkindly\b\s*"
    r"|\b(?:just|simply) (?=(?:let|call|send|give|tell)\b)"
)
ASIDE = re.compile(
    r"(?i),\s*(?:then(?=, and\b)|you know|i mean|you see|like|of course|well|um+|uh+|er|honestly"
    r"|to be honest|actually|sorry|i am afraid|let us say|unfortunately|obviously|by the way|please"
    r"|though|as i said|mind you|really|yes|yeah),(?=\s)"
)
_BEGINS = r"(?:i|the|an?|and|or|to|of|my|your|his|our|their|if|because)"
_SMALL = (
    r"(?:at|for|with|from|about|is|are|was|this|can|could|will|would|there|who"
    rf"|which|{_BEGINS})"
)
STARTED_AGAIN = re.compile(
    rf"(?i)(?<![\w'’])(?:({_SMALL} \w+),? \1|({_SMALL}|^\w+) \2|({_BEGINS}), \3)(?![\w'’])"
)
"""Words with which somebody begins again: "I saw the, the card"."""
HESITATION = re.compile(r"(?i)(?<=\s)(?:um+|uh+|er+|erm+|uhm+),?\s+")

_GREETINGS = r"""
(?:hi|hey|hello|yo) (?:man|guys|all|mate|bro|there|everyone)|howdy.* |
(?:good )?(?:morning|afternoon|evening|night)(?: \w+)? | how are (?:you|things)\b.* | how do you do
| how is it going | how (?:have|are) you (?:been|doing)\b.*
| (?:it is )?(?:nice|good|great) to (?:meet|see) you.*
| what is up | wh?at is new | long time no see | take care.* | bye.* | good ?bye.* | see ya.*
| (?:[\w'’&-]+,? ){0,7}\w+ speaking | see you(?: (?:later|soon|then|there|around))?
| you have reached .* | welcome\b.*
| (?:have|enjoy|hope you have) (?:a|your|the) .*(?:day|evening|night|weekend|trip|stay|time|one|rest
|flight|journey|meal)\b.*
| you (?:have|enjoy) (?:a|your) (?:very )?(?:good|great|nice|lovely|wonderful|pleasant|safe)
\w+(?: (?:there|too|ahead))? | good luck.* | congrat.*
| happy (?:birthday|new year|anniversary|easter|christmas|holidays|to help)\b.*
"""
_THANKS = r"""
(?:thank|thanks|thankyou|cheers)\b.* | (?:it (?:is|was) )?(?:my|a) pleasure.* | do not mention it
| you are (?:(?:very|most|always) )?welcome.* | not at all | no problem.* | no worries
| i am (?:(?:so|very|really|terribly) )?sorry(?: (?:about|for|to hear) (?:that|this|it|the .*))?
| that is (?:too bad|(?:(?:so|very|really) )?(?:tragic|terrible|awful|horrible|sad|a shame))
| i am (?:so|very|really) sorry \w+ | sorry about that | my apologies.* | i apologi[sz]e.*
| (?:i am )?glad to hear.*
| glad i could help.* | never mind | do not worry(?: about it)?
"""
_SERVICE = r"""
(?:how|what) (?:can|may|could) (?:i|we) (?:(?:help|assist)\b.*|do(?: for you\b.*| today)?)
| (?:can|may|could|shall) (?:i|we) (?:help|assist) (?:you|with)\b.*
| (?:do you need |is there )?anything else\b.*
| anything else i can.* | what else can i.* | may i have your attention.*
| let me (?:see|check|think|look|have a look|take a look)(?: .*)? | hold on | hang on.*
| one (?:moment|second|sec) | just a (?:moment|minute|second)
| (?:give me |it will (?:just )?(?:be|take) )?(?:just )?(?:a|one) (?:moment|second|minute)
| wait(?: a (?:minute|moment|second))?
"""
_REPLIES = r"""
of course | i (?:see|agree|understand|know|do|did|am|will|can) | got it | will do | you bet
| (?:that|it) (?:is|sounds|looks|would be) (?:great|good|fine|perfect|nice|wonderful|lovely|awesome
|ok|okay|cool|right|true|all|it|correct|unusual|interesting
|excellent|fantastic|amazing)
| sounds? (?:great|good|fine|perfect|nice)(?: to me)? | you are right | really | excuse me
| pardon(?: me)? | sorry | yes | no | okay | ok | yeah | go ahead | come on | come in
| (?:here|there) you (?:are|go) | guess what | you know what | sure thing | (?:i )?promise | look
| that (?:is|will be) (?:it|all)(?: (?:for (?:now|today)|i need))?
| that (?:will|works?)(?: work| do)? | speak(?:ing)? | listen | let us see
| please do | fair enough | fair point | (?:my )?god | i (?:hope|think|guess) so
| (?:do )?you think so | thank god | (?:it|that) depends | all right | i (?:love|like) it
| i do not think so | i am (?:fine|good) | me too | same here | deal | agreed | done | why not
| (?:i )?get your point | i will try | hard to say | (?:always )?happy to help | good to know
| keep (?:us|me) in the loop | let (?:us|me) know(?: (?:if|how) (?:this|that|it) \w+)?
| one more thing
| that (?:is|sounds) (?:acceptable|reasonable|odd) | (?:definitely )?odd | i like that
| not (?:sure|really)
| that makes sense | (?:you are |we are )?all set | you know what i mean | i know what you mean
| i give up | i forgot | let me know | what | who | where | when | why | how | how come
| am i (?:right|wrong|correct) | i (?:guess|bet|reckon) | good question | take your time
| is (?:that|this|it|everything) (?:right|correct|true|okay|ok|alright|all right)
| guys | everyone | everybody | folks | team | mate | bro | dude | man | mister
| good for you(?:, .*)? | keep it up
| (?:do you have|have you got|have you|got) a (?:second|sec|minute|moment)
| hold on (?:a|one) (?:second|sec|minute|moment) | i am sorry to (?:have kept|keep) you .*
| oh dear | what an? \w+ | what do you (?:say|think) | i get it | let us go
| (?:that is|you are|it is|how) (?:(?:so|very|really|too|such) )?(?:kind|nice|sweet|thoughtful
|generous|good|lovely)(?: of you)? | this must be \w+ | young (?:man|lady)
| you are an? (?:\w+ )?(?:love|star|angel|gem|hero|legend|life ?saver|treasure|genius|darling|dear)
| bless (?:you|her|him|them) | poor (?:old )?(?:thing|you|lad|boy|girl|man|woman)
| for (?:heaven|god|goodness)(?:['’]s|s)? sakes? | my goodness | luv u | love you
| do not be (?:mad|angry|cross) | you are the best | i will bet | that reminds me
| hang in there | tell me about it | i see it(?: here)?
| (?:i|you)(?: have)? got it
"""
COURTESY = re.compile("(?i)" + alternatives("|".join((_GREETINGS, _THANKS, _SERVICE, _REPLIES))))
"""Whole sentences, after trimming, that say nothing of the matter."""

HOLLOW = re.compile(
    r"(?i)(?:i(?: would|['’]d| must| should| have to| dare)? say|i mean|(?:as )?it turns out"
    r"|it (?:seems|appears))\W*$"
)
"""A clause that says nothing without the one that it is put into or behind."""

YES = re.compile(
    r"(?i)(?:(?:oh|well|ah|okay|ok),? )?"
    + alternatives("""
    yes | yeah | yep | yup | ya | sure | of course | certainly | absolutely | definitely | ok | okay
    | exactly | all right | alright | no problem | deal | gladly
    """)
    + r"\b"
)
NO = re.compile(
    r"(?i)(?:(?:oh|well|ah|sorry|i am sorry|i am afraid),? )?"
    r"(?:no|nope|nah|not really|certainly not|of course not|no way)\b"
    r"(?! (?:problem|worries|doubt|one|\w+(?! ?,)))"
)
ASSENT = re.compile(
    "(?i)"
    + alternatives(r"""
    okay | ok | all right | alright | deal | gladly | no problem | will do | agreed
    | fine(?: (?:by|with) me)? | (?:that|it)? ?(?:is|sounds|would be) (?:good|great|fine|perfect
    |nice)(?: (?:to|for|with|by) me)? | sounds? (?:good|great|fine|perfect|nice)(?: to me)?
    | great(?: idea)? | good idea | perfect | i would love to | i would like that | why not
    | let us do (?:that|it)
    """)
)
"""A proposal or a request taken up."""
CONFIRMED = re.compile(
    "(?i)"
    + alternatives("""
    yes | yeah | yep | yup | sure | of course | certainly | absolutely | definitely | exactly
    | correct | you bet | (?:yes )?that is (?:right|correct) | right
    """)
)
ECHO = re.compile(
    r"(?i)(?:(?:i|we|you|he|she|it|they|there|that) )?(?:(?:certainly|really|definitely|sure) )?"
    r"(?:do|did|does|have|has|had|am|is|are|was|were|can|could|will|would|should|cannot)( not)?"
    r"(?: (?:so|yet))?"
)
"""An answer that says the auxiliary of the question again: "I did not"."""
