"""What goes into search, and what comes out of it: records without behaviour."""

from dataclasses import dataclass

from dialogist.data.encode import Encoded
from dialogist.engine.drafts import Draft
from dialogist.engine.looks import Looks
from dialogist.records import Dialogue, Example


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a dialogue that the model reads at once, and the dialogue it is checked against."""

    example: Example
    encoded: Encoded
    dialogue: Dialogue


@dataclass(frozen=True, slots=True)
class Written:
    """What was said of one window; ``drafts``, best first, are none where it holds no text.

    ``looks`` is None where no evidence was asked for.
    """

    example: Example
    encoded: Encoded
    drafts: tuple[Draft, ...] = ()
    looks: Looks | None = None
