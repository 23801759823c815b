"""Short spellings of English chats, and what they are written out as."""

from dialogist.text.listing import word_set

_SHORT = """
u=you | urs=yours | urself=yourself | r=are | n=and | pls=please | plz=please | plse=please
| thx=thanks | thnx=thanks | tnx=thanks | thks=thanks | ty=thanks | tysm=thanks | np=no problem
| yw=you're welcome | tmrw=tomorrow | tmr=tomorrow | tmw=tomorrow | tomo=tomorrow
| tmmrw=tomorrow | 2moro=tomorrow | 2morrow=tomorrow | 2mrw=tomorrow | 2day=today | 2nite=tonight
| 2night=tonight | tonite=tonight | nite=night | gonna=going to | wanna=want to | gotta=have to
| hafta=have to | gimme=give me | lemme=let me | kinda=kind of | sorta=sort of | dunno=don't know
| idk=I don't know | idc=I don't care | ik=I know | ikr=I know | iirc=if I remember
| omw=on my way | btw=by the way | tbh=to be honest | imo=in my opinion | imho=in my opinion
| lmk=let me know | nvm=never mind | gtg=I have to go | g2g=I have to go | brb=I'll be right back
| ttyl=talk to you later | cya=see you | cu=see you | l8r=later | l8=late | gr8=great | m8=mate
| w8=wait | b4=before | 4u=for you | bc=because | bcs=because | bcoz=because | coz=because
| cuz=because | becuz=because | tho=though | thru=through | abt=about | ppl=people
| msg=message | msgs=messages | txt=text | bday=birthday | wknd=weekend | ofc=of course
| prolly=probably | probs=probably | prob=probably | def=definitely | rly=really | srsly=seriously
| sth=something | smth=something | sry=sorry | soz=sorry | wat=what | wut=what | hru=how are you
| hbu=what about you | wbu=what about you | wyd=what are you doing | rn=right now
| bf=boyfriend | gf=girlfriend | bff=best friend | nah=no | yea=yeah | yeh=yeah | ye=yes | kk=ok
| em=them | thurs=Thursday | tues=Tuesday | weds=Wednesday | fri=Friday | aint=isn't | yall=you all
| i=I | im=I'm | ive=I've | dont=don't | doesnt=doesn't | didnt=didn't | cant=can't | wont=won't
| isnt=isn't | arent=aren't | wasnt=wasn't | werent=weren't | havent=haven't | hasnt=hasn't
| hadnt=hadn't | couldnt=couldn't | wouldnt=wouldn't | shouldnt=shouldn't | thats=that's
| whats=what's | hes=he's | shes=she's | theres=there's | heres=here's | wheres=where's
| whos=who's | hows=how's | youre=you're | theyre=they're | weve=we've | youve=you've
| theyve=they've | youll=you'll | theyll=they'll | itll=it'll
"""


def _pairs() -> dict[str, str]:
    entries = (entry.strip() for entry in _SHORT.replace("\n", " ").split("|"))
    return {short: full for short, _, full in (entry.partition("=") for entry in entries)}


WRITTEN_OUT = _pairs()
"""A word in small letters -> the words that it stands for."""

LAUGHTER = word_set("lol lool lmao lmfao rofl xd haha hahaha hahahaha hehe hehehe jk")
"""Words that end a sentence in a chat as a full stop would, and say nothing else."""

DOUBLED = word_set("""
good too cool see need soon food look book school room free week sleep three sweet meet feel keep
been tell will well all call ball hell hello still full bill pizza coffee happy sorry tomorrow
really pass miss less class dress guess off stuff moon noon
""")
"""Words in which a letter stands twice."""
