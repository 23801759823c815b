"""Teacher forcing on what search found: a dialogue with a draft as its target."""

from dialogist.batch import FIRST_KEY_POINT
from dialogist.data.collate import Pair
from dialogist.data.encode import Encoded
from dialogist.engine.drafts import Draft
from dialogist.tokenizers import Symbols


def forced_pair(encoded: Encoded, draft: Draft, symbols: Symbols) -> Pair:
    """The dialogue with a draft as its target, each part (and its key point) a sub-summary.

    Every part has an end symbol in the target, whether search came to it or not. A plan prefix is
    said again as it was: to the model it is a part of the text.
    """
    tokens = [token for text in draft.texts for token in text.tokens]
    target = (symbols.bos, *tokens, symbols.eos)
    ends: list[int] = []
    planned = draft.labels if draft.whole is None else ()
    for part in draft.parts if planned else ():
        ends.append((ends[-1] if ends else 1) + len(part.tokens))
    key_points = tuple(FIRST_KEY_POINT + label for label in planned)
    return Pair(encoded.source, target, encoded.id, encoded.starts, key_points, tuple(ends))
