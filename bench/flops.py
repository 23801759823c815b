"""How much arithmetic an example needs: the one formula behind every "share of the peak"."""

import numpy as np
import numpy.typing as npt
from nets import Net

Lengths = npt.NDArray[np.int64]


def training_flops(net: Net, source: Lengths, target: Lengths) -> npt.NDArray[np.int64]:
    """Floating-point operations of forward and backward pass, example by example (N,).

    Only what a result depends on is counted, in matrix products over *real* tokens: a peer that
    computes padding, or the same thing twice, gains nothing by it. With S source tokens, T target
    positions, D = width, W = heads x key_width, F = feed_forward, V = vocabulary:

    * a matrix of P parameters costs 6 P per token that passes it (2 P forward, 4 P backward).
      Encoder layer, per source token: 4 D W + 2 D F. Decoder layer, per target position:
      6 D W + 2 D F (self-attention, query and output of the cross-attention, feed-forward), and
      per source token 2 D W (keys and values of the cross-attention). Output: D V per position.
    * attention has two products per layer, each 2 Q K W forward and twice that backward, so
      12 Q K W for Q queries and K keys: S x S, T x T (whole, though half of it is masked), T x S.

    Embedding look-ups, norms, softmax, dropout, biases and the optimizer count as nothing.

    Args:
        source: (N,) real tokens of each source, begin and end in.
        target: (N,) real target *positions*: the tokens to predict, one less than the ids.
    """
    attention_width = net.heads * net.key_width
    projection = net.width * attention_width
    feed_forward = 2 * net.width * net.feed_forward
    encoder, decoder = net.encoder_layers, net.decoder_layers
    per_source = encoder * (4 * projection + feed_forward) + decoder * 2 * projection
    per_target = decoder * (6 * projection + feed_forward) + net.width * net.vocabulary
    products = encoder * source**2 + decoder * (target**2 + target * source)
    flops: npt.NDArray[np.int64] = (
        6 * (per_source * source + per_target * target) + 12 * attention_width * products
    )
    return flops
