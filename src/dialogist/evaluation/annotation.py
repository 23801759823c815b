"""The page on which a person writes summaries, from a model's drafts or from nothing.

The browser saves them as JSON lines that the generic reader reads: training data. Nothing leaves
the page but that file.
"""

import hashlib
import json
from collections.abc import Sequence

from dialogist.data.shingles import digest
from dialogist.data.writer import dialogue_to_json
from dialogist.evaluation.pages import asset, environment, policy, safe, script_data, source_hash
from dialogist.records import JSON, Dialogue, Statement, Summary


def draw(dialogues: Sequence[Dialogue], count: int, seed: int) -> list[Dialogue]:
    """Up to ``count`` dialogues at random; a smaller count is the head of a larger one."""
    order = sorted(range(len(dialogues)), key=lambda n: digest(f"annotate {seed} {n}"))
    return [dialogues[n] for n in order[:count]]


def make_page(dialogues: Sequence[Dialogue], drafts: Sequence[Summary] | None) -> str:
    """The whole page as HTML; ``drafts`` None: the texts begin empty.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    summaries = [Summary("")] * len(dialogues) if drafts is None else drafts
    items: list[JSON] = [_item(*pair) for pair in zip(dialogues, summaries, strict=True)]
    style = asset("style.css") + asset("rating.css") + asset("annotate.css")
    script = asset("people.js") + asset("annotate.js")
    known = hashlib.sha256(json.dumps(items).encode()).hexdigest()[:16]
    template = environment("the page for annotators").get_template("annotate.html.j2")
    return template.render(
        policy=policy(script, source_hash(style)),
        style=safe(style),
        script=safe(script),
        page=script_data({"page": known, "items": items}),
        drafts=drafts is not None,
    )


def _item(dialogue: Dialogue, draft: Summary) -> JSON:
    record = dialogue_to_json(dialogue)
    record.pop("summaries", None)
    return {
        "record": record,
        "turns": [[u.speaker, u.text] for u in dialogue.utterances],
        "draft": draft.text,
        "sentences": [_sentence(one, draft) for one in draft.sentences],
    }


def _sentence(one: Statement, draft: Summary) -> JSON:
    """A sentence of a draft, the utterances it rests on, and what is doubted about it."""
    turns = dict.fromkeys(span.utterance for span in one.evidence)
    doubts = [w.message for w in draft.warnings if one.start <= w.start < one.end]
    return {"text": one.text, "turns": list(turns), "doubts": list[JSON](doubts)}
