"""The Keras peer of the benchmarks: the network of the student reports, from their listings.

Three Bilkent EEE 486/586 assignment reports, "Implementing Transformer Architecture for Dialogue
Summarization": 000 (A. Iskit), 001 (E. I. Esendemir), 003 (B. Altintas). What is from where:

- encoder layer, encoder: 000 Listings 2-3 (001 section 2.3, 003 Listings 2-3);
- decoder layer, decoder: 000 Listings 4-5 (001 section 2.4, 003 Listings 4-5);
- transformer: 000 Listing 6 (001 section 2.5, 003 Listing 6);
- masked loss, train step, `next_word`: 000 Listings 7, 8, 9; learning rate: 000 equation 3;
- sizes: 000 abstract (2 layers, d_model 128, 2 heads), 000 section III (vocabulary 22,901, 150/50
  tokens, batch 64), 001 section 3.1 (fully_connected_dim 128, 256 positions).

`FullyConnected`, `positional_encoding` and the two mask functions are named but not printed in the
reports; they are written here from the prose (001 equation 4, 003 section 2.2, 000 section III).

Where the reports differ, or do not run under Keras 3, this file takes the reading that works:

- the decoder's third sub-layer uses its own `layernorm3` (000 Listing 4); 001 and 003 apply
  `layernorm2` twice and leave `layernorm3` unused;
- the encoder passes its mask as `attention_mask=` (000 Listing 2); the fourth positional argument
  used by 001 and 003 is `query_mask` in Keras 3;
- `training` is passed by keyword: Keras 3 takes only tensors as positional arguments; the
  encoder's `mask` is named `padding`, because Keras 3 warns at its own name `mask`;
- the three masks travel as one tuple, and the lines that Listings 3 and 5 share are one layer;
- the step number of equation 3 starts at 1 (the optimiser counts from 0);
- `train_loss` of Listing 8 (a running mean) is left out: the step returns its loss.

The loss takes probabilities (`from_logits=False`, Listing 7); inside a graph Keras finds the
softmax and runs `SparseSoftmaxCrossEntropyWithLogits` on the logits before it.

Shapes: B batch, S source tokens, T target tokens, D model width, V vocabulary.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow as tf

Masks = tuple[tf.Tensor, tf.Tensor, tf.Tensor]
PAD = 0


@dataclass(frozen=True)
class Size:
    """The sizes of the reports' network."""

    vocab: int = 22901
    layers: int = 2
    d_model: int = 128
    heads: int = 2
    d_ff: int = 128
    positions: int = 256
    dropout: float = 0.1
    eps: float = 1e-6


def use_threads(threads: int) -> None:
    """Give TensorFlow `threads` threads; call it before any other TensorFlow operation."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def versions() -> dict[str, str]:
    """Return the versions a figure belongs to."""
    return {"tensorflow": tf.__version__, "keras": tf.keras.__version__, "numpy": np.__version__}


def positional_encoding(positions: int, d_model: int) -> tf.Tensor:
    """Return the sinusoidal table (1, positions, D): sines at even, cosines at odd dimensions."""
    exponent = 2 * (np.arange(d_model)[None, :] // 2) / d_model
    angles = np.arange(positions)[:, None] / np.power(10000.0, exponent)
    angles[:, 0::2] = np.sin(angles[:, 0::2])
    angles[:, 1::2] = np.cos(angles[:, 1::2])
    return tf.constant(angles[None], tf.float32)


def create_padding_mask(tokens: tf.Tensor) -> tf.Tensor:
    """Return (B, 1, 1, S): one at real tokens, zero at padding."""
    return tf.cast(tf.not_equal(tokens, PAD), tf.float32)[:, None, None, :]


def create_look_ahead_mask(length: tf.Tensor) -> tf.Tensor:
    """Return (1, T, T): the lower triangle of ones."""
    return tf.linalg.band_part(tf.ones((1, length, length)), -1, 0)


def create_masks(source: tf.Tensor, target: tf.Tensor) -> Masks:
    """Return the encoder padding, look-ahead and decoder padding masks of 000 Listings 8 and 9."""
    look_ahead = create_look_ahead_mask(tf.shape(target)[1])
    return create_padding_mask(source), look_ahead, create_padding_mask(source)


def attention(size: Size) -> tf.keras.layers.MultiHeadAttention:
    """Return the reports' attention: `key_dim` is the whole model width, per head."""
    return tf.keras.layers.MultiHeadAttention(
        num_heads=size.heads, key_dim=size.d_model, dropout=size.dropout
    )


def layer_norm(size: Size) -> tf.keras.layers.LayerNormalization:
    """Return one of the post-norm layer normalisations."""
    return tf.keras.layers.LayerNormalization(epsilon=size.eps)


def fully_connected(size: Size) -> tf.keras.Sequential:
    """Return the position-wise feed-forward network, 001 equation 4."""
    return tf.keras.Sequential(
        [tf.keras.layers.Dense(size.d_ff, activation="relu"), tf.keras.layers.Dense(size.d_model)]
    )


class EncoderLayer(tf.keras.layers.Layer):
    """000 Listing 2."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.mha = attention(size)
        self.ffn = fully_connected(size)
        self.layernorm1 = layer_norm(size)
        self.layernorm2 = layer_norm(size)
        self.dropout_ffn = tf.keras.layers.Dropout(size.dropout)

    def call(self, x: tf.Tensor, training: bool, padding: tf.Tensor) -> tf.Tensor:
        """Map (B, S, D) to (B, S, D)."""
        attended = self.mha(query=x, value=x, key=x, attention_mask=padding, training=training)
        x = self.layernorm1(x + attended)
        return self.layernorm2(x + self.dropout_ffn(self.ffn(x), training=training))


class Embedded(tf.keras.layers.Layer):
    """The first lines of 000 Listings 3 and 5: embed, scale by sqrt(D), add positions, drop."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.scale = float(size.d_model) ** 0.5
        self.embedding = tf.keras.layers.Embedding(size.vocab, size.d_model)
        self.pos_encoding = positional_encoding(size.positions, size.d_model)
        self.dropout = tf.keras.layers.Dropout(size.dropout)

    def call(self, tokens: tf.Tensor, training: bool) -> tf.Tensor:
        """Map token ids (B, T) to (B, T, D)."""
        x = self.embedding(tokens) * self.scale
        return self.dropout(x + self.pos_encoding[:, : tf.shape(tokens)[1], :], training=training)


class Encoder(tf.keras.layers.Layer):
    """000 Listing 3."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.embedded = Embedded(size)
        self.enc_layers = [EncoderLayer(size) for _ in range(size.layers)]

    def call(self, tokens: tf.Tensor, training: bool, padding: tf.Tensor) -> tf.Tensor:
        """Map token ids (B, S) to (B, S, D)."""
        x = self.embedded(tokens, training=training)
        for layer in self.enc_layers:
            x = layer(x, training=training, padding=padding)
        return x


class DecoderLayer(tf.keras.layers.Layer):
    """000 Listing 4; the attention scores are returned, as in all three reports."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.mha1, self.mha2 = attention(size), attention(size)
        self.ffn = fully_connected(size)
        self.layernorm1 = layer_norm(size)
        self.layernorm2 = layer_norm(size)
        self.layernorm3 = layer_norm(size)
        self.dropout_ffn = tf.keras.layers.Dropout(size.dropout)

    def call(
        self, x: tf.Tensor, encoded: tf.Tensor, training: bool, masks: Masks
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Map (B, T, D) and the encoder's (B, S, D) to (B, T, D) and two score tensors."""
        _, look_ahead, padding = masks
        scores = {"return_attention_scores": True, "training": training}
        attended, w1 = self.mha1(query=x, value=x, key=x, attention_mask=look_ahead, **scores)
        x = self.layernorm1(x + attended)
        attended, w2 = self.mha2(
            query=x, value=encoded, key=encoded, attention_mask=padding, **scores
        )
        x = self.layernorm2(x + attended)
        return self.layernorm3(x + self.dropout_ffn(self.ffn(x), training=training)), w1, w2


class Decoder(tf.keras.layers.Layer):
    """000 Listing 5."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.embedded = Embedded(size)
        self.dec_layers = [DecoderLayer(size) for _ in range(size.layers)]

    def call(
        self, tokens: tf.Tensor, encoded: tf.Tensor, training: bool, masks: Masks
    ) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        """Map token ids (B, T) and the encoder's (B, S, D) to (B, T, D) and all scores."""
        x = self.embedded(tokens, training=training)
        scores = {}
        for i, layer in enumerate(self.dec_layers, 1):
            x, w1, w2 = layer(x, encoded=encoded, training=training, masks=masks)
            scores[f"dec{i}_self"], scores[f"dec{i}_enc"] = w1, w2
        return x, scores


class Transformer(tf.keras.Model):
    """000 Listing 6: separate embeddings, an untied softmax layer."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.encoder = Encoder(size)
        self.decoder = Decoder(size)
        self.final_layer = tf.keras.layers.Dense(size.vocab, activation="softmax")

    def call(
        self, source: tf.Tensor, target: tf.Tensor, training: bool, masks: Masks
    ) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        """Map token ids (B, S) and (B, T) to probabilities (B, T, V) and attention scores."""
        encoded = self.encoder(source, training=training, padding=masks[0])
        decoded, scores = self.decoder(target, encoded=encoded, training=training, masks=masks)
        return self.final_layer(decoded), scores


class WarmUp(tf.keras.optimizers.schedules.LearningRateSchedule):
    """000 equation 3: d_model^-1/2 * min(t^-1/2, t * warm^-3/2)."""

    def __init__(self, d_model: int, warm: int = 4000) -> None:
        self.d_model, self.warm = float(d_model), float(warm)

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        """Return the learning rate of the optimiser's step (counted from 0)."""
        t = tf.cast(step, tf.float32) + 1.0
        return self.d_model**-0.5 * tf.minimum(tf.math.rsqrt(t), t * self.warm**-1.5)


def build_model(size: Size, seed: int) -> Transformer:
    """Return the network with its weights created (one small forward pass)."""
    tf.keras.utils.set_random_seed(seed)
    model = Transformer(size)
    tokens = tf.ones((1, 2), tf.int32)
    model(tokens, target=tokens, training=False, masks=create_masks(tokens, tokens))
    return model


def build_optimizer(size: Size, warm: int = 4000) -> tf.keras.optimizers.Optimizer:
    """Return the reports' Adam, 000 section V."""
    return tf.keras.optimizers.Adam(
        WarmUp(size.d_model, warm), beta_1=0.9, beta_2=0.98, epsilon=1e-9
    )


def masked_loss(entropy: tf.keras.losses.Loss, real: tf.Tensor, predicted: tf.Tensor) -> tf.Tensor:
    """Return the mean cross-entropy over real tokens, 000 Listing 7."""
    mask = tf.cast(tf.not_equal(real, PAD), predicted.dtype)
    return tf.reduce_sum(entropy(real, predicted) * mask) / tf.reduce_sum(mask)


def build_train_step(
    model: Transformer,
    optimizer: tf.keras.optimizers.Optimizer,
    shapes: tuple[tuple[int, int], tuple[int, int]],
    xla: bool = False,
) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
    """Return 000 Listing 8 as one graph of fixed `shapes` (source, target); it returns the loss.

    The listing has a plain `@tf.function`; `xla` compiles it instead, which no report does.
    """
    entropy = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=False, reduction="none")
    optimizer.build(model.trainable_variables)
    signature = [tf.TensorSpec(shape, tf.int32) for shape in shapes]

    @tf.function(input_signature=signature, jit_compile=xla or None)
    def train_step(source: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        given, real = target[:, :-1], target[:, 1:]
        masks = create_masks(source, given)
        with tf.GradientTape() as tape:
            predicted, _ = model(source, target=given, training=True, masks=masks)
            loss = masked_loss(entropy, real, predicted)
        variables = model.trainable_variables
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    return train_step


def next_word(model: Transformer, source: tf.Tensor, partial: tf.Tensor) -> tf.Tensor:
    """Return the arg-max token (1, 1) after `partial`, 000 Listing 9: one full, eager pass."""
    masks = create_masks(source, partial)
    predicted, _ = model(source, target=partial, training=False, masks=masks)
    return tf.argmax(predicted[:, -1:, :], axis=-1, output_type=tf.int32)


NextWord = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


def build_next_word(model: Transformer, source_length: int, mode: str) -> NextWord:
    """Return `next_word` of `model`: "eager" as printed, "function" as one graph for any length."""

    def step(source: tf.Tensor, partial: tf.Tensor) -> tf.Tensor:
        return next_word(model, source, partial)

    if mode == "eager":
        return step
    shapes = [(1, source_length), (1, None)]
    return tf.function(step, input_signature=[tf.TensorSpec(s, tf.int32) for s in shapes])


def summarize(step: NextWord, source: tf.Tensor, start: int, tokens: int) -> tf.Tensor:
    """Return `start` and `tokens` greedy tokens (1, 1 + tokens); it never stops at [EOS].

    The encoder and the whole partial summary are computed again for each token, as in the reports.
    """
    partial = tf.constant([[start]], tf.int32)
    for _ in range(tokens):
        partial = tf.concat([partial, step(source, partial)], axis=1)
    return partial
