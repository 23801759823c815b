"""Layer norm (Ba, Kiros and Hinton 2016) whose parameters stay fp32 in a bf16 model."""

from torch import Tensor, nn


class LayerNorm(nn.LayerNorm):
    """torch's, for input of any format: the CPU kernel mixes formats, the GPU's does not."""

    def forward(self, x: Tensor) -> Tensor:
        format = x.dtype if x.is_cuda else self.weight.dtype
        weight, bias = self.weight.to(format), self.bias.to(format)
        return nn.functional.layer_norm(x, self.normalized_shape, weight, bias, self.eps)
