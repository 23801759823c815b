"""The reports' Keras network, and what it computes: tests/lab_engine/keras_parity.npz.

    .venv-keras/bin/python bench/keras_parity.py

Three Bilkent EEE 486/586 assignment reports, "Implementing Transformer Architecture for Dialogue
Summarization": 000 (A. Iskit), 001 (E. I. Esendemir), 003 (B. Altintas). Layers, loss and training
step are 000's Listings 2 to 9; sizes are 000's abstract and section III and 001's section 3.1; the
parts that are named but not printed follow the prose (001 equation 4, 003 section 2.2). Where the
reports differ or do not run under Keras 3: the decoder's third block has its own `layernorm3`
(000), and masks are passed by name. The recipe `dialogsum-report-1` has the network at full size.

Stored are random weights, a padded batch, the probabilities, the masked loss (Listing 7) and its
gradients without dropout, and the greedy tokens (Listing 9). Shapes: B batch, S source tokens, T
target tokens, D width, V vocabulary.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import tensorflow as tf

keras, layers = tf.keras, tf.keras.layers
FILE = Path(__file__).resolve().parents[1] / "tests" / "lab_engine" / "keras_parity.npz"
GREEDY = 8
"""Tokens that are written."""


@dataclass(frozen=True)
class Size:
    """The sizes of the reports' network."""

    vocab: int = 22901
    blocks: int = 2
    width: int = 128
    heads: int = 2
    inner: int = 128
    positions: int = 256
    dropout: float = 0.1

    def attention(self) -> layers.MultiHeadAttention:
        """`key_dim` is the whole model width, per head."""
        return layers.MultiHeadAttention(self.heads, self.width, dropout=self.dropout)

    def norms(self, count: int) -> list[layers.LayerNormalization]:
        """Post-norm layer normalisations."""
        return [layers.LayerNormalization(epsilon=1e-6) for _ in range(count)]


class FeedForward(layers.Layer):
    """001 equation 4, and the dropout behind it."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.inner = layers.Dense(size.inner, activation="relu")
        self.outer, self.dropout = layers.Dense(size.width), layers.Dropout(size.dropout)

    def call(self, x: tf.Tensor, training: bool) -> tf.Tensor:
        return self.dropout(self.outer(self.inner(x)), training=training)


class EncoderLayer(layers.Layer):
    """000 Listing 2."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.attention, self.feed_forward = size.attention(), FeedForward(size)
        self.norms = size.norms(2)

    def call(self, x: tf.Tensor, real: tf.Tensor, training: bool) -> tf.Tensor:
        x = self.norms[0](x + self.attention(x, x, x, attention_mask=real, training=training))
        return self.norms[1](x + self.feed_forward(x, training=training))


class DecoderLayer(layers.Layer):
    """000 Listing 4."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.own, self.cross = size.attention(), size.attention()
        self.feed_forward, self.norms = FeedForward(size), size.norms(3)

    def call(
        self, x: tf.Tensor, memory: tf.Tensor, before: tf.Tensor, real: tf.Tensor, training: bool
    ) -> tf.Tensor:
        x = self.norms[0](x + self.own(x, x, x, attention_mask=before, training=training))
        attended = self.cross(x, memory, memory, attention_mask=real, training=training)
        x = self.norms[1](x + attended)
        return self.norms[2](x + self.feed_forward(x, training=training))


class Embedded(layers.Layer):
    """The first lines of 000 Listings 3 and 5: embed, scale by sqrt(D), add sinusoids, drop."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.table, self.dropout = (
            layers.Embedding(size.vocab, size.width),
            layers.Dropout(size.dropout),
        )
        angles = np.arange(size.positions)[:, None] / np.power(
            10000.0, 2 * (np.arange(size.width)[None] // 2) / size.width
        )
        angles[:, 0::2], angles[:, 1::2] = np.sin(angles[:, 0::2]), np.cos(angles[:, 1::2])
        self.positions, self.scale = tf.constant(angles[None], tf.float32), size.width**0.5

    def call(self, ids: tf.Tensor, training: bool) -> tf.Tensor:
        x = self.table(ids) * self.scale + self.positions[:, : tf.shape(ids)[1]]
        return self.dropout(x, training=training)


class Transformer(keras.Model):
    """000 Listing 6: separate embeddings, an untied softmax layer."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.source = Embedded(size)
        self.encoder = [EncoderLayer(size) for _ in range(size.blocks)]
        self.target = Embedded(size)
        self.decoder = [DecoderLayer(size) for _ in range(size.blocks)]
        self.output_layer = layers.Dense(size.vocab, activation="softmax")

    def call(self, source: tf.Tensor, target: tf.Tensor, training: bool) -> tf.Tensor:
        """(B, S) and (B, T) ids -> probabilities (B, T, V)."""
        real = tf.cast(tf.not_equal(source, 0), tf.float32)[:, None, :]
        length = tf.shape(target)[1]
        before = tf.linalg.band_part(tf.ones((1, length, length)), -1, 0)
        memory, x = self.source(source, training=training), self.target(target, training=training)
        for layer in self.encoder:
            memory = layer(memory, real, training=training)
        for layer in self.decoder:
            x = layer(x, memory, before, real, training=training)
        return self.output_layer(x)


def masked_loss(real: tf.Tensor, predicted: tf.Tensor) -> tf.Tensor:
    """The mean cross-entropy over real tokens, 000 Listing 7."""
    entropy = keras.losses.sparse_categorical_crossentropy(real, predicted, from_logits=False)
    mask = tf.cast(tf.not_equal(real, 0), predicted.dtype)
    return tf.reduce_sum(entropy * mask) / tf.reduce_sum(mask)


def build_train_step(
    model: Transformer, source_shape: tuple[int, int], target_shape: tuple[int, int]
) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
    """000 Listing 8 as one graph; it returns the loss. Adam at the rate that gives its losses."""
    optimizer = keras.optimizers.Adam(2e-4, beta_1=0.9, beta_2=0.98, epsilon=1e-9)
    model(tf.ones((1, 2), tf.int32), tf.ones((1, 2), tf.int32), training=False)
    optimizer.build(model.trainable_variables)
    shapes = [tf.TensorSpec(shape, tf.int32) for shape in (source_shape, target_shape)]

    @tf.function(input_signature=shapes)
    def train_step(source: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            predicted = model(source, target[:, :-1], training=True)
            loss = masked_loss(target[:, 1:], predicted)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return train_step


def main() -> None:
    model = Transformer(Size(vocab=40, width=8, inner=12, positions=16))
    model(tf.ones((1, 2), tf.int32), tf.ones((1, 2), tf.int32), training=False)
    drawn = np.random.default_rng(3)
    for weight in model.trainable_variables:
        middle = 1.0 if weight.path.endswith("gamma") else 0.0
        # so large that what is written depends on the source
        spread = 0.1 if len(weight.shape) == 1 else 0.3 if "embedding" in weight.path else 1.0
        weight.assign(drawn.normal(middle, spread, weight.shape).astype(np.float32))
    source, target = ids(drawn, (9, 6, 4)), ids(drawn, (7, 7, 3))
    with tf.GradientTape() as tape:
        predicted = model(source, target[:, :-1], training=False)
        loss = masked_loss(target[:, 1:], predicted)
    gradients = tape.gradient(loss, model.trainable_variables)
    written = tf.ones((len(source), 1), tf.int32)
    for _ in range(GREEDY):  # 000 Listing 9: one full pass for each token
        predicted_next = model(source, written, training=False)[:, -1:]
        written = tf.concat([written, tf.argmax(predicted_next, axis=-1, output_type=tf.int32)], 1)
    stored = {"probabilities": predicted, "loss": loss, "source": source, "target": target}
    np.savez_compressed(
        FILE,
        **{name: value.numpy() for name, value in stored.items()},
        greedy=written.numpy(),
        versions=np.array([f"tensorflow {tf.__version__}", f"keras {keras.__version__}"]),
        weights=flat(model.trainable_variables),
        gradients=flat(gradients),
    )
    print(f"{FILE}: {FILE.stat().st_size} bytes, loss {float(loss):.7f}")


def ids(drawn: np.random.Generator, lengths: tuple[int, ...]) -> tf.Tensor:
    """Random ids (B, T), each row of its length; 1 begins, 0 is padding."""
    rows = drawn.integers(3, 40, (len(lengths), max(lengths)))
    rows[:, 0] = 1
    kept = np.arange(max(lengths)) < np.array(lengths)[:, None]
    return tf.constant(np.where(kept, rows, 0), tf.int32)


def flat(values: Sequence[tf.Tensor]) -> np.ndarray:
    """All numbers in the order of ``trainable_variables``; sparse gradients with their zeros."""
    return np.concatenate([tf.convert_to_tensor(value).numpy().ravel() for value in values])


if __name__ == "__main__":
    main()
