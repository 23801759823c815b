"""What a model looked at as it wrote a summary: probabilities, copying, all attention."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import resources
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dialogist.errors import DataError
from dialogist.records import Dialogue
from dialogist_lab.data.batching import EncodedPair, collate
from dialogist_lab.data.vocabulary import SPEAKER_CHARACTERS
from dialogist_lab.models.generator import FIRST_KEY_POINT, Outputs
from dialogist_lab.models.vocabulary_output import PointerLogProbs
from dialogist_lab.train_run import TrainedModel, Written

CANDIDATES = 5
"""How many alternatives, and places of a copied token, are told for each token at most."""

BEGIN, END, CUT = "‹begin›", "‹end›", "‹cut›"

Weights = NDArray[np.float32]


class TracedToken(NamedTuple):
    """A token (or key point) that the model wrote; the end of each text is one."""

    text: str  # as it is spelled, the space before it in
    part: int  # the sub-summary it belongs to, 0 where there is one text
    probability: float
    alternatives: tuple[tuple[str, float], ...]  # the likeliest there, before search rules any out
    p_gen: float | None = None  # of generating it, of models with a pointer
    copied: float | None = None  # how much of its probability is due to copying
    origins: tuple[tuple[int, float], ...] = ()  # places in the source, the pointer's weight there


class AttentionMap(NamedTuple):
    """The weights of one layer, (H, rows, columns), each row summing to one (or 0: padding).

    ``rows``, ``columns``: ``source`` (tokens read), ``target`` (tokens written; as a column, what
    the decoder was given when it wrote each), ``utterances`` or ``key points``.
    """

    name: str
    rows: str
    columns: str
    weights: Weights

    def to_json(self) -> dict[str, Any]:
        """Weights are bytes of 0 to 255 in base64, head by head, row by row."""
        coded = base64.b64encode(np.rint(self.weights * 255).astype(np.uint8).tobytes()).decode()
        return self._asdict() | {"shape": list(self.weights.shape), "weights": coded}


class Trace(NamedTuple):
    """How one summary came about."""

    id: str
    model: str
    summary: str
    source: tuple[str, ...]
    utterance: tuple[int, ...]  # that of each source token, -1 outside
    speakers: tuple[str, ...]
    target: tuple[TracedToken, ...]
    key_points: tuple[TracedToken, ...]
    maps: tuple[AttentionMap, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return self._asdict() | {
            "target": [token._asdict() for token in self.target],
            "key_points": [token._asdict() for token in self.key_points],
            "maps": [attention.to_json() for attention in self.maps],
        }


def trace_page(trace: Trace) -> str:
    """One HTML page that loads nothing and sends nothing."""
    page = resources.files("dialogist_lab") / "assets" / "pages" / "explain.html"
    # A text that holds "</script>" must not end the element it stands in.
    data = json.dumps(trace.to_json(), ensure_ascii=False).replace("<", "\\u003c")
    return page.read_text("utf-8").replace(">TRACE<", f">{data}<")


@torch.no_grad()
def trace_dialogue(trained: TrainedModel, dialogue: Dialogue) -> Trace:
    """Have the model write about a dialogue, then force it to write the same and tell how.

    Raises DataError: the model reads no token of the dialogue.
    """
    [written] = trained.write([dialogue])
    if not written.encoded.tokens_read:
        raise DataError(f"dialogue '{dialogue.id}': holds no text: there is nothing to explain")
    hypothesis, symbols = written.hypothesis, trained.tokenizer.symbols
    pair = written.encoded.pairs[0]
    forced = EncodedPair(
        pair.source,
        (symbols.bos, *hypothesis.tokens, symbols.eos),
        pair.starts,
        tuple(FIRST_KEY_POINT + label for label in hypothesis.key_points),
        tuple(end + 1 for end in hypothesis.ends),
    )
    batch = collate([forced], symbols).to(trained.device)
    outputs = trained.model(batch, need_weights=True)
    spell = partial(_spelled, trained, written)
    labels = () if trained.preparation.pack is None else trained.preparation.pack.labels
    plan = batch.plan if outputs.plan is not None else None
    mask = (batch.target if plan is None else plan.texts).mask
    key_points: tuple[TracedToken, ...] = ()
    utterance = batch.utterance[0].cpu().numpy()
    maps = list(_encoder_maps(outputs.attention, utterance))
    if outputs.plan is not None:

        def label(index: int) -> str:
            number = index - FIRST_KEY_POINT
            return labels[number] if 0 <= number < len(labels) else END

        key_points = _tokens(outputs.plan, label, [len(hypothesis.key_points) + 1])
        led = torch.ones(1, len(key_points))
        axes = "key points", "utterances"
        maps += _decoder_maps("leader_", outputs.plan.attention, led, axes)
    over = "utterances" if "pooling" in outputs.attention else "source"
    maps += _decoder_maps("", outputs.attention, mask, ("target", over))
    if isinstance(outputs.log_probs, PointerLogProbs):
        copies = _array(outputs.log_probs.copies.weights[None])
        maps.append(AttentionMap("pointer", "target", "source", copies))
    target = _tokens(outputs, spell, mask.sum(dim=1).tolist(), len(utterance))
    if not hypothesis.finished:  # what was forced at the end of a cut text was not written
        target = tuple(t._replace(text=CUT) if t.text == END else t for t in target)
    return Trace(
        dialogue.id,
        trained.recipe.name,
        written.text,
        tuple(map(spell, batch.copy_ids[0].tolist())),
        tuple(batch.utterance[0].tolist()),
        tuple(
            dialogue.utterances[numbers[0]].speaker
            for numbers in written.example.origins[: len(pair.starts)]
        ),
        target,
        key_points,
        tuple(_fitted(attention, len(utterance)) for attention in maps),
    )


def _fitted(attention: AttentionMap, length: int) -> AttentionMap:
    """Over the ``length`` tokens of the source: a model may put a prefix before it, or leave its
    begin symbol out."""
    weights = attention.weights
    for axis, kind in ((1, attention.rows), (2, attention.columns)):
        missing = length - weights.shape[axis] if kind == "source" else 0
        if missing < 0:
            weights = np.delete(weights, range(-missing), axis=axis)
        widths = [(0, 0), (0, 0), (0, 0)]
        widths[axis] = (max(0, missing), 0)
        weights = np.pad(weights, widths)
    return attention._replace(weights=weights)


def _spelled(trained: TrainedModel, written: Written, index: int) -> str:
    """What a token adds to the text, as a person reads it: names and values, not their masks."""
    tokenizer, unknown = trained.tokenizer, written.encoded.unknown
    if index in (tokenizer.symbols.bos, tokenizer.symbols.eos):
        return BEGIN if index == tokenizer.symbols.bos else END
    beyond = index - tokenizer.symbols.size
    if beyond >= 0:
        return unknown[beyond] if beyond < len(unknown) else tokenizer.token(tokenizer.symbols.unk)
    text = tokenizer.decode([index])
    restored = trained.preparation.restore(text, written.example)
    if restored.strip() or text.strip() not in SPEAKER_CHARACTERS:
        return restored if restored.strip() else text or tokenizer.token(index)
    return f"‹speaker {SPEAKER_CHARACTERS.index(text.strip()) + 1}›"  # of roles, or not here


def _tokens(
    outputs: Outputs, spell: Callable[[int], str], lengths: list[int], source: int = 0
) -> tuple[TracedToken, ...]:
    """The M tokens written, in parts of such lengths, from ``source`` tokens."""
    table = outputs.log_probs.all().cpu()  # (M, X)
    ids = outputs.targets.cpu()
    probabilities = table.gather(1, ids[:, None])[:, 0].exp()
    best, places = table.exp().topk(min(CANDIDATES, table.shape[1]), dim=1)
    ends = list(accumulate(lengths))
    copying = _copying(outputs, ids, probabilities, source)
    return tuple(
        TracedToken(
            spell(index),
            sum(end <= i for end in ends),
            float(probabilities[i]),
            tuple(zip(map(spell, places[i].tolist()), best[i].tolist(), strict=True)),
            **copying[i],
        )
        for i, index in enumerate(ids.tolist())
    )


def _copying(
    outputs: Outputs, ids: Tensor, probabilities: Tensor, length: int
) -> list[dict[str, Any]]:
    """What a `TracedToken` has of the pointer."""
    if not isinstance(outputs.log_probs, PointerLogProbs):
        return [{}] * len(ids)
    gate, weights, source = (part.cpu() for part in outputs.log_probs.copies[:3])
    copied = weights * (source == ids[:, None])  # (M, S) where that very token stands
    shift = length - copied.shape[1]  # as in `_fitted`
    p_gen = torch.sigmoid(gate)
    shares = ((1 - p_gen) * copied.sum(dim=1) / probabilities.clamp(min=1e-30)).clamp(max=1)
    best, places = copied.topk(min(CANDIDATES, copied.shape[1]), dim=1)
    return [
        {
            "p_gen": float(p_gen[i]),
            "copied": float(shares[i]),
            "origins": tuple(
                (place + shift, weight)
                for place, weight in zip(places[i].tolist(), best[i].tolist(), strict=True)
                if weight > 0 and place + shift >= 0
            ),
        }
        for i in range(len(ids))
    ]


def _encoder_maps(attention: Mapping[str, Tensor], number: Any) -> Iterator[AttentionMap]:
    """Of a batch of one dialogue; ``number``: (S,) the utterance of each position, -1 outside.

    What tokens of one utterance attend to among themselves, in a hierarchical encoder, is left out.
    """
    for name, weights in attention.items():
        if name.startswith("encoder_"):
            yield AttentionMap(name, "source", "source", _array(weights[0]))
        elif name.startswith("utterance_encoder_"):
            yield AttentionMap(name, "utterances", "utterances", _array(weights[0]))
        elif name == "pooling":  # (U, 1, 1, longest) -> the share of each token of the source
            grid = np.zeros((1, len(weights), len(number)), dtype=np.float32)
            for row, shares in enumerate(_array(weights[:, 0, 0])):
                places = np.flatnonzero(number == row)
                grid[0, row, places] = shares[: len(places)]
            yield AttentionMap(name, "utterances", "source", grid)


def _decoder_maps(
    prefix: str, attention: Mapping[str, Tensor], mask: Tensor, axes: tuple[str, str]
) -> Iterator[AttentionMap]:
    """Of R texts (R, T), each what is real of it; they stand below one another."""
    lengths = [int(n) for n in mask.sum(dim=1).tolist()]
    for name, weights in attention.items():
        if not name.startswith("decoder"):
            continue
        texts = _array(weights if weights.ndim == 4 else weights[:, None])  # (R, H, T, ...)
        parts = [text[:, :length] for text, length in zip(texts, lengths, strict=True)]
        rows, columns = axes
        if "self_att" in name:  # a text sees nothing of the others
            columns, whole = rows, np.zeros((texts.shape[1], *[sum(lengths)] * 2), dtype=np.float32)
            for part, end in zip(parts, accumulate(lengths), strict=True):
                place = slice(end - part.shape[1], end)
                whole[:, place, place] = part[:, :, : part.shape[1]]
            parts = [whole]
        yield AttentionMap(prefix + name, rows, columns, np.concatenate(parts, axis=1))


def _array(weights: Tensor) -> Weights:
    return np.asarray(weights.float().cpu().numpy(), dtype=np.float32)
