"""The three networks that are trained in the benchmark, as plain numbers for every peer.

`report` is the network of the student reports (see `keras_reports`), `small` a modern one of about
10 M parameters, `bert` one with an encoder of MiniLM's shape, about 32 M. This file imports
neither torch nor TensorFlow: each peer builds the network with its own means.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True, slots=True)
class Net:
    """An encoder-decoder Transformer and the batches it is trained on.

    Attributes:
        title: what it is, for people.
        width: D. heads, key_width: attention heads and the width of each.
        feed_forward: inner width of the position-wise network.
        encoder_layers, decoder_layers: how many.
        vocabulary: V.
        norm: ``post`` or ``pre``. activation: ``relu`` or ``gelu``.
        learned_positions: a table that is trained, else sinusoids.
        tied: one matrix embeds source and target and makes the output.
        source_tokens, target_tokens: the longest source and target.
        batch_tokens: padded tokens of a batch of like lengths; None: 64 rows of full length.
    """

    title: str
    width: int
    heads: int
    key_width: int
    feed_forward: int
    encoder_layers: int
    decoder_layers: int
    vocabulary: int
    norm: str
    activation: str
    learned_positions: bool
    tied: bool
    source_tokens: int
    target_tokens: int
    batch_tokens: int | None

    def with_usual_keys(self) -> "Net":
        """The same with width / heads per head, the only choice of ``nn.MultiheadAttention``."""
        return replace(self, key_width=self.width // self.heads)


ROWS = 64
"""Examples of a batch where ``batch_tokens`` is None, as in the reports."""

DROPOUT = 0.1

NETS = {
    "report": Net(
        title="the reports' network (2 x 128 x 2), batches of 64",
        width=128,
        heads=2,
        key_width=128,
        feed_forward=128,
        encoder_layers=2,
        decoder_layers=2,
        vocabulary=22_901,
        norm="post",
        activation="relu",
        learned_positions=False,
        tied=False,
        source_tokens=150,
        target_tokens=50,
        batch_tokens=None,
    ),
    "small": Net(
        title="4+4 x 256, pre-norm, BPE 8k, 6,000 tokens a batch",
        width=256,
        heads=4,
        key_width=64,
        feed_forward=1024,
        encoder_layers=4,
        decoder_layers=4,
        vocabulary=8_192,
        norm="pre",
        activation="relu",
        learned_positions=False,
        tied=True,
        source_tokens=512,
        target_tokens=128,
        batch_tokens=6_000,
    ),
    "bert": Net(
        title="6+4 x 384, post-norm, GELU, BPE 30,522, 6,000 tokens a batch",
        width=384,
        heads=12,
        key_width=32,
        feed_forward=1536,
        encoder_layers=6,
        decoder_layers=4,
        vocabulary=30_522,
        norm="post",
        activation="gelu",
        learned_positions=True,
        tied=True,
        source_tokens=512,
        target_tokens=128,
        batch_tokens=6_000,
    ),
}
