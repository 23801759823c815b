"""Closed classes of English words: grammar, not content; and the words that begin sentences."""

from dialogist.text.listing import word_set

_PRONOUNS = """
i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it
its itself we us our ours ourselves they them their theirs themselves who whom whose which what
this that these those one ones someone somebody something anyone anybody anything everyone
everybody everything nobody noone nothing none each other another both either neither all some any
many much few several most more less least enough such own same
"""
_AUXILIARIES = """
be am is are was were been being have has had having do does did doing done will would shall should
can could may might must ought cannot let lets
"""
_PREPOSITIONS = """
a an the of in on at by for with about against between into through during before after above below
to from up down out off over under again further then once here there when where why how as until
while because since although though unless whether if and but or nor so than too very just only also
even still yet already ever not no never s t d ll m re ve don didn doesn isn aren wasn weren won
wouldn couldn shouldn can't without within along across behind beside besides beyond near onto upon
toward towards around among amongst despite per via like unlike instead due ago away back together
"""
_SPOKEN = """
yes yeah yep yup no nope nah ok okay oh ah hi hey hello hallo hullo bye
well please thanks thank sure right
really maybe perhaps
"""

FUNCTION_WORDS = frozenset(" ".join((_PRONOUNS, _AUXILIARIES, _PREPOSITIONS, _SPOKEN)).split())
"""Pronouns, auxiliaries, prepositions, conjunctions, particles and interjections, lower-cased."""

_OPENERS = """
according actually additionally afterwards afterward altogether anyway apart apparently
approximately based basically certainly clearly concerning confused consequently considering
currently daily definitely depending earlier else elsewhere eventually every except excluding
failing finally first firstly following fortunately furthermore given hence hopefully however
including indeed initially last lastly lately later likewise little long lots luckily mainly
meanwhile moreover mostly naturally nevertheless next nonetheless normally notably now nowadays
obviously occasionally often originally otherwise overall particularly plus presumably previously
probably provided rather recently regarding regardless scared second secondly seemingly seeing
shortly similarly simply sometimes somehow soon subsequently suddenly supposedly surprisingly than
third thirdly therefore thus today together tomorrow tonight twice two three four five six seven
eight nine ten ultimately unfortunately usually yesterday worried excited annoyed surprised
disappointed asked please sorry let seems sounds says told good great nice new old bad better best
big small high low early late different various certain whole half lot part thanks until whenever
wherever whatever whichever whoever whose looks turns maybe people person everyone man woman men
women boy girl boys girls kid kids child children baby friend friends family parents mother father
mom mum dad brother sister wife husband son daughter customer customers agent agents user users
client clients caller speaker speakers patient patients doctor doctors nurse teacher teachers
student students employee employees employer manager boss staff guest guests visitor visitors host
hostess passenger passengers driver interviewer interviewee interviewees candidate candidates
applicant participants participant members member colleagues neighbours neighbors police officer
assistant system waiter waitress clerk salesman shopkeeper receptionist librarian professor
reporter work school dinner lunch breakfast tickets ticket weather food price prices money traffic
"""
OPENERS = FUNCTION_WORDS | word_set(_OPENERS)
"""Words that begin a sentence without being anybody's name."""
