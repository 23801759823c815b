"""Reported speech: what people say to each other, told in the third person by rules.

    Ann to Bo: I'll bring you a new one.    Ann will bring Bo a new one.
               Could you call me?           Ann asks Bo to call Ann.
               The bus leaves at nine.      Ann says the bus leaves at nine.

Names are said again where people would say she or he: who is meant is the point of it. Where the
rules are not sure, the words are quoted.
"""

from dialogist.text.reported_speech.conversation import Conversation, Reported
from dialogist.text.reported_speech.participants import written_name

__all__ = ["Conversation", "Reported", "written_name"]
