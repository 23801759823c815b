"""Reported speech: what people say to each other, told in the third person by rules.

    Ann to Bo: I'll bring you a new one.    Ann will bring Bo a new one.
               Could you lock the door?     Ann asks Bo to lock the door.
               The bus leaves at nine.      The bus leaves at nine.
               The bus is never late.       Ann: the bus is never late.
               We should hurry.             Ann: “We should hurry.”

A label and a colon say whose claim it is; the words themselves stand between quotation marks. Where
the rules are not sure, the words are quoted.
"""

from dialogist.language.reported_speech.conversation import Conversation, Reported
from dialogist.language.roles import written_name

__all__ = ["Conversation", "Reported", "written_name"]
