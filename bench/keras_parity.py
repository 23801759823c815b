"""Write tests/models/keras_parity.npz: what the reports' Keras network computes, small and exact.

    .venv-keras/bin/python bench/keras_parity.py

The network is that of `keras_reports` (Listings 2-6 of report 1) with random weights everywhere,
biases and norms too. Stored are its weights, a padded batch, the probabilities, the masked loss
(Listing 7) and its gradients without dropout, and the greedy tokens (Listing 9).
tests/models/test_keras_parity.py compares Dialogist's network with them.
"""

from collections.abc import Sequence
from pathlib import Path

import keras_reports as reports
import numpy as np
import tensorflow as tf

FILE = Path(__file__).resolve().parents[1] / "tests" / "models" / "keras_parity.npz"
SIZE = reports.Size(vocab=40, layers=2, d_model=8, heads=2, d_ff=12, positions=16)
GREEDY = 8
"""Tokens that are written."""


def main() -> None:
    reports.use_threads(1)
    model = reports.build_model(SIZE, seed=3)
    drawn = np.random.default_rng(3)
    for weight in model.trainable_variables:
        middle = 1.0 if weight.path.endswith("gamma") else 0.0
        # so large that what is written depends on the source
        spread = 0.1 if len(weight.shape) == 1 else 0.3 if "embeddings" in weight.path else 1.0
        weight.assign(drawn.normal(middle, spread, weight.shape).astype(np.float32))
    source = ids(drawn, (9, 6, 4))
    target = ids(drawn, (7, 7, 3))
    given, real = target[:, :-1], target[:, 1:]
    masks = reports.create_masks(source, given)
    entropy = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=False, reduction="none")
    with tf.GradientTape() as tape:
        predicted, _ = model(source, target=given, training=False, masks=masks)
        loss = reports.masked_loss(entropy, real, predicted)
    gradients = tape.gradient(loss, model.trainable_variables)
    step = reports.build_next_word(model, source.shape[1], "eager")
    greedy = [reports.summarize(step, source[i : i + 1], 1, GREEDY)[0] for i in range(len(source))]
    np.savez_compressed(
        FILE,
        source=source.numpy(),
        target=target.numpy(),
        probabilities=predicted.numpy(),
        loss=loss.numpy(),
        greedy=np.stack([row.numpy() for row in greedy]),
        versions=np.array([f"{name} {version}" for name, version in reports.versions().items()]),
        weights=flat(model.trainable_variables),
        gradients=flat(gradients),
    )
    print(f"{FILE}: {FILE.stat().st_size} bytes, loss {float(loss):.7f}")


def ids(drawn: np.random.Generator, lengths: tuple[int, ...]) -> tf.Tensor:
    """Random ids (B, T), each row of its length; 1 begins, 0 is padding."""
    rows = drawn.integers(3, SIZE.vocab, (len(lengths), max(lengths)))
    rows[:, 0] = 1
    kept = np.arange(max(lengths)) < np.array(lengths)[:, None]
    return tf.constant(np.where(kept, rows, reports.PAD), tf.int32)


def flat(values: Sequence[tf.Tensor]) -> np.ndarray:
    """All numbers in the order of ``trainable_variables``; sparse gradients with their zeros."""
    return np.concatenate([tf.convert_to_tensor(value).numpy().ravel() for value in values])


if __name__ == "__main__":
    main()
