"""Master weights in flat fp32 buffers, their moving average, and the working precision."""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

import torch
from torch import Tensor, nn

from dialogist.errors import UsageError
from dialogist.models.model_weights import copy_weights
from dialogist.nn.autograd import GradientSink
from dialogist.nn.layers import MappedEmbedding, Positions, frozen_rows
from dialogist.nn.output_layer import VocabularyProjection
from dialogist.nn.quantization import has_bf16

# Which number format training computes in (`dialogist.training.master_weights` does it).

TrainingPrecision = Literal["auto", "fp32", "bf16"]


def resolve_training_precision(
    wanted: TrainingPrecision, device: torch.device
) -> Literal["fp32", "bf16"]:
    """``auto`` takes bf16 where the hardware has it.

    Raises:
        UsageError: bf16 was asked for and the hardware lacks it (it would be slow, not wrong).
    """
    if wanted == "auto":
        return "bf16" if has_bf16(device) else "fp32"
    if wanted == "bf16" and not has_bf16(device):
        raise UsageError(f"precision bf16: this {device.type} has no bf16 units; use fp32 or auto")
    return wanted


def working_dtype(precision: Literal["fp32", "bf16"]) -> torch.dtype:
    """The format the linear layers compute in; master weights and sums stay fp32."""
    return torch.bfloat16 if precision == "bf16" else torch.float32


# `MasterWeights`: weights and gradient of a model as two flat fp32 buffers.
#
# In bf16 training the layers compute with bf16 copies, cast once per update from the fp32 master
# that the optimizer changes: an update smaller than bf16 can hold still counts. Autocast casts each
# weight at each use instead. Flat buffers make the cast, the clipping, the optimizer and the sum
# over processes one long vectorised operation each
# (docs/notes/2026-11-24-training-speed.md has the gains).

_ALIGN = 32
"""Every weight starts at a multiple of this many elements: whole cache lines, in bf16 too."""


class MasterWeights:
    """Takes over a model's parameters: they become views of flat buffers until `release`.

    Those that need no gradient when it is made (the weights below adapters) are left alone.

    Frozen rows (`dialogist.nn.layers`) keep the values they have now: `clip` takes their gradient
    out, and `refresh` takes back what weight decay did to them.

    Attributes:
        master, gradient: (n,) fp32; gaps between weights stay zero.
        decayed: how many leading elements weight decay applies to.
    """

    def __init__(self, model: nn.Module, working: torch.dtype) -> None:
        """``working``: the number format the linear layers compute in."""
        names = {id(parameter): name for name, parameter in model.named_parameters()}
        kept, tables = _kept_in_fp32(model), _position_tables(model)
        parameters = sorted(
            (parameter for parameter in model.parameters() if parameter.requires_grad),
            key=lambda p: (p.ndim < 2 or id(p) in tables, id(p) in kept),
        )
        sizes = [-(-p.numel() // _ALIGN) * _ALIGN for p in parameters]
        starts = list(itertools.accumulate(sizes, initial=0))
        device = parameters[0].device
        self.master = torch.zeros(starts[-1], device=device)
        self.gradient = torch.zeros_like(self.master)
        self.decayed = sum(
            size
            for p, size in zip(parameters, sizes, strict=True)
            if p.ndim >= 2 and id(p) not in tables
        )
        self._parameters = parameters
        self._names = [names[id(p)] for p in parameters]
        self._spans = [slice(a, a + p.numel()) for a, p in zip(starts, parameters, strict=False)]
        for parameter, view in zip(parameters, self._views(self.master), strict=True):
            view.copy_(parameter.detach())
            parameter.data = view
        self._sinks = self._make_sinks(model)
        self._frozen = self._find_frozen(model)
        self._casts = self._make_working(kept, starts, working)
        self.refresh()

    def _make_working(
        self, kept: set[int], starts: list[int], working: torch.dtype
    ) -> list[tuple[Tensor, Tensor]]:
        """Point the linear layers' parameters at copies; (master, copy) of each unbroken run."""
        if working == torch.float32:
            return []
        casts = []
        numbered = enumerate(self._parameters)
        for cast, run in itertools.groupby(numbered, key=lambda entry: id(entry[1]) not in kept):
            if not cast:
                continue
            members = list(run)
            begin, end = starts[members[0][0]], starts[members[-1][0] + 1]
            copy = self.master[begin:end].to(working)
            for i, parameter in members:
                span = self._spans[i]
                parameter.data = copy[span.start - begin : span.stop - begin].view(parameter.shape)
            casts.append((self.master[begin:end], copy))
        return casts

    def _make_sinks(self, model: nn.Module) -> dict[int, GradientSink]:
        """Tables whose users add to the gradient themselves, by their number."""
        tables = {
            id(module.weight)
            for module in model.modules()
            if isinstance(module, MappedEmbedding | VocabularyProjection)
        }
        views = zip(self._parameters, self._views(self.gradient), strict=True)
        return {
            i: GradientSink.of(parameter, view)
            for i, (parameter, view) in enumerate(views)
            if id(parameter) in tables
        }

    def _find_frozen(self, model: nn.Module) -> list[tuple[Tensor, Tensor, Tensor, Tensor]]:
        """Of each table with frozen rows: its master, its gradient, the rows, what they hold."""
        rows = frozen_rows(model)
        gradients = dict(zip(self._names, self._views(self.gradient), strict=True))
        return [
            (master, gradients[name], rows[name], master.index_select(0, rows[name]))
            for name, master in self.named().items()
            if name in rows
        ]

    def _views(self, flat: Tensor) -> list[Tensor]:
        pairs = zip(self._spans, self._parameters, strict=True)
        return [flat[span].view(parameter.shape) for span, parameter in pairs]

    def named(self, flat: Tensor | None = None) -> dict[str, Tensor]:
        """The master of every weight, by the model's names; call `refresh` after changing one.

        Or the parts of another buffer that is laid out like the master.
        """
        views = self._views(self.master if flat is None else flat)
        return dict(zip(self._names, views, strict=True))

    def begin(self) -> None:
        """Call before the first batch of an update: what `gradient` holds counts no more."""
        for sink in self._sinks.values():
            sink.empty = True

    def collect(self, add: bool) -> None:
        """Move the parameters' gradients into `gradient`, added to what is there or replacing it.

        So the batches of one update are added up in fp32, whatever the layers compute in. What
        went to a `GradientSink` is there already.
        """
        for i, view in enumerate(self._views(self.gradient)):
            parameter = self._parameters[i]
            given = i in self._sinks and not self._sinks[i].empty
            if parameter.grad is not None:
                view.add_(parameter.grad) if add or given else view.copy_(parameter.grad)
            elif not (add or given):
                view.zero_()
            parameter.grad = None

    def clip(self, limit: float | None) -> float:
        """The gradient's norm; beyond ``limit`` the gradient is scaled down to it."""
        for _, gradient, rows, _ in self._frozen:
            gradient.index_fill_(0, rows, 0)
        norm = float(torch.linalg.vector_norm(self.gradient))
        if limit is not None and norm > limit:
            self.gradient.mul_(limit / norm)
        return norm

    def refresh(self) -> None:
        """Cast the master to the working copies; frozen rows become what they were."""
        for master, _, rows, held in self._frozen:
            master.index_copy_(0, rows, held)
        for master, copy in self._casts:
            copy.copy_(master)

    def release(self) -> None:
        """Give the model its weights in fp32; what is called before has no say any more."""
        for parameter, view in zip(self._parameters, self._views(self.master), strict=True):
            parameter.data = view
        self._casts = []
        for i in self._sinks:
            GradientSink.end(self._parameters[i])
        self._sinks = {}


def _kept_in_fp32(model: nn.Module) -> set[int]:
    """Ids of what is not a plain linear layer's: embeddings, the vocabulary's projection, norms.

    They are summed up over many tokens or are few, and their modules cast at use.
    """
    return {
        id(parameter)
        for module in model.modules()
        if type(module) is not nn.Linear
        for parameter in module.parameters(recurse=False)
    }


def _position_tables(model: nn.Module) -> set[int]:
    return {id(m.table) for m in model.modules() if isinstance(m, Positions)}


# `MovingAverage`: an exponential moving average of the weights while they are trained.
#
# a <- d a + (1 - d) w after every update, with d = min(decay, (1 + t) / (10 + t)) at update t, so
# that the first random weights are soon forgotten (TensorFlow's ``ExponentialMovingAverage``).
# Validations see the average, checkpoints rank by it, and the finished model is it.

GOING_ON = "training"
"""The tensors of a checkpoint that training goes on from, where ``weights`` are an average."""


def decay_at(update: int, decay: float) -> float:
    """How much of the average is kept at update ``update``, which counts from 1."""
    return min(decay, (1 + update) / (10 + update))


class MovingAverage:
    """The average of ``weights``; with ``decay`` None there is none: the weights stand for it."""

    def __init__(self, weights: MasterWeights, decay: float | None) -> None:
        self.weights = weights
        self.decay = decay
        self.flat = weights.master if decay is None else weights.master.clone()

    def update(self, update: int) -> None:
        """Take in the weights after update ``update``."""
        if self.decay is not None:
            self.flat.lerp_(self.weights.master, 1 - decay_at(update, self.decay))

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The model computes with the average; afterwards with its own weights again."""
        if self.decay is None:
            yield
            return
        own = self.weights.master.clone()
        self._set(self.flat)
        try:
            yield
        finally:
            self._set(own)

    def _set(self, values: Tensor) -> None:
        self.weights.master.copy_(values)
        self.weights.refresh()

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """What a checkpoint holds: the weights to use, and those to go on from if they differ."""
        own = self.weights.named()
        if self.decay is None:
            return {"weights": own}
        return {"weights": self.weights.named(self.flat), GOING_ON: own}

    def restore(self, tensors: Mapping[str, Mapping[str, Tensor]], source: str) -> None:
        """Put back what `tensors` gave.

        Raises:
            ModelError: it is of another model.
        """
        own = tensors.get(GOING_ON, tensors["weights"])
        copy_weights(self.weights.named(), own, source)
        if self.decay is not None:
            copy_weights(self.weights.named(self.flat), tensors["weights"], source)
