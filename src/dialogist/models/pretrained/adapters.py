"""Low-rank adapters (Hu et al. 2021) on a pretrained network, by the library peft."""

from importlib import util
from typing import TYPE_CHECKING

from torch import nn

from dialogist.errors import MissingExtraError

if TYPE_CHECKING:
    from dialogist.models.pretrained.pretrained_network import PretrainedModel


def add_adapters(model: "PretrainedModel") -> None:
    """Add LoRA adapters to all linear layers but the output's; only these are trained then.

    Raises:
        MissingExtraError: ``peft`` is not installed.
    """
    if util.find_spec("peft") is None:
        raise MissingExtraError("model.lora", "pretrained")
    from peft import LoraConfig as TheirConfig
    from peft import inject_adapter_in_model

    wanted = model.config.lora
    assert wanted is not None
    names = {
        name.rsplit(".", 1)[-1]
        for name, module in model.network.named_modules()
        if type(module) is nn.Linear
    }
    settings = TheirConfig(
        r=wanted.rank,
        lora_alpha=wanted.alpha,
        lora_dropout=wanted.dropout,
        target_modules=sorted(names),
    )
    model.requires_grad_(False)
    inject_adapter_in_model(settings, model.network)


def merge_adapters(model: "PretrainedModel") -> None:
    """Add what the adapters have learned to the weights below, and take them out of the model."""
    if model.config.lora is None:
        return
    for name, module in list(model.network.named_modules()):
        if hasattr(module, "merge") and hasattr(module, "base_layer"):
            module.merge()
            parent, _, own = name.rpartition(".")
            setattr(model.network.get_submodule(parent), own, module.get_base_layer())
    model.config = model.config.model_copy(update={"lora": None})
