"""Models that begin with somebody's weights: encoder-decoders, or encoders, of `transformers`.

An encoder (BERT, RoBERTa ...) becomes both halves of an encoder-decoder (Rothe et al. 2020,
BERT2BERT): its layers are the decoder's, too, whose attention over the source begins at random, and
one table of embeddings serves encoder, decoder and output. A pointer can be put on top of any.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
import transformers
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

from dialogist.errors import ModelError
from dialogist.files import network_allowed
from dialogist.writers.language_model import LanguageModelWriter
from dialogist_lab.models.generator import (
    AttentionMaps,
    Batch,
    Decoded,
    Generator,
    ModelConfig,
    RecipeLimits,
)
from dialogist_lab.models.transformer_blocks import Dropout, initialise_module
from dialogist_lab.models.vocabulary_output import (
    CopyMemory,
    DenseLogProbs,
    Pointer,
    PointerLogProbs,
)


@contextmanager
def loading(what: str) -> Iterator[None]:
    """One line for what `transformers` raises: ModelError, ``what`` and the reason."""
    try:
        yield
    except (OSError, ValueError, KeyError, RuntimeError, TypeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(f"{what}: {reason}") from None


class PretrainedConfig(ModelConfig):
    """Options of a model that begins with somebody's weights.

    ``path``: the folder they are in (config.json, model.safetensors); nothing in it is run.
    ``architecture``: what `transformers` builds the network from where that folder is gone
    (`with_architecture`). ``pointer``: words of the source can be copied. ``prefix``: the ids of
    what stands before each source (T5's "summarize: ").
    """

    kind: Literal["pretrained"] = "pretrained"
    path: str | None = None
    architecture: dict[str, Any] | None = None
    pointer: bool = False
    prefix: tuple[int, ...] = ()

    def with_architecture(self) -> "PretrainedConfig":
        """With what the folder's config.json says: a trained model does not need the folder.

        Raises ModelError: ``path`` is no folder of a model.
        """
        return self.model_copy(update={"architecture": self._network_config().to_dict()})

    def check(self, limits: RecipeLimits) -> Iterator[str]:
        """What its positions hold, where the folder is at hand."""
        if self.architecture is None and not Path(self.path or "").is_dir():
            return
        network = self._network_config()
        encoder = getattr(network, "encoder", network)
        most = getattr(encoder, "max_position_embeddings", None)
        most = most and most - len(self.prefix)
        if most and (limits.longest_source is None or limits.longest_source > most):
            yield f"preparation.limits.source_tokens must be at most {most}: the model's positions"

    def build(self, vocabulary: int) -> "Pretrained":
        """The model, with a row for each of ``vocabulary`` tokens; new ones are drawn at random.

        Raises ModelError: ``path`` has no usable weights, and no architecture is known.
        """
        quiet = transformers.logging
        quiet.set_verbosity_error()
        quiet.disable_progress_bar()
        if self.architecture is not None and not Path(self.path or "").is_dir():
            network = transformers.AutoModelForSeq2SeqLM.from_config(self._network_config())
        else:
            network = self._read()
        return Pretrained(self, network, vocabulary)

    def _network_config(self) -> Any:
        """The network's configuration; of an encoder, that of the encoder-decoder it becomes."""
        if self.architecture is not None:
            given = {k: v for k, v in self.architecture.items() if k != "model_type"}
            return transformers.AutoConfig.for_model(self.architecture["model_type"], **given)
        with loading(f"{self.path}: is no model that can be trained here"):
            config = transformers.AutoConfig.from_pretrained(self.path, local_files_only=True)
            if config.is_encoder_decoder:
                return config
            decoder = deepcopy(config)  # it becomes a decoder's
            return transformers.EncoderDecoderConfig.from_encoder_decoder_configs(config, decoder)

    def _read(self) -> Any:
        """The network with the weights of ``path``."""
        config = self._network_config()
        with loading(f"{self.path}: is no model that can be trained here"):
            if not (Path(self.path or "") / "model.safetensors").is_file():
                raise OSError("it has no model.safetensors (convert its pytorch_model.bin)")
            options: dict[str, Any] = {"local_files_only": True, "use_safetensors": True}
            if config.model_type != "encoder-decoder":
                return transformers.AutoModelForSeq2SeqLM.from_pretrained(self.path, **options)
            halves = [f"{half}_{key}" for half in ("encoder", "decoder") for key in options]
            return transformers.EncoderDecoderModel.from_encoder_decoder_pretrained(
                self.path, self.path, **dict.fromkeys(halves, True)
            )


@dataclass(frozen=True, slots=True)
class PretrainedState:
    """N rows: the encoder's output (N, S, D), real (N, S), what can be copied, and a cache.

    The cache changes in place: a state that was selected from or stepped on is used up.
    """

    memory: Tensor
    real: Tensor
    copies: CopyMemory | None
    cache: Any = None

    def select(self, rows: Tensor) -> "PretrainedState":
        if self.cache is not None:
            self.cache.batch_select_indices(rows)
        copies = None if self.copies is None else self.copies.select(rows)
        return PretrainedState(self.memory[rows], self.real[rows], copies, self.cache)


class FastDropout(Dropout):
    """Ours in place of torch's: with it an update takes three quarters of the time on a CPU.

    Attention asks for ``p``: its weights are not dropped.
    """

    p = 0.0


class Pretrained(Generator):
    """An encoder-decoder of `transformers`, with or without a pointer."""

    config: PretrainedConfig

    def __init__(self, config: PretrainedConfig, network: Any, vocabulary: int) -> None:
        super().__init__()
        joined = isinstance(network, transformers.EncoderDecoderModel)
        for part in (network.encoder, network.decoder) if joined else (network,):
            if part.get_input_embeddings().num_embeddings < vocabulary:
                part.resize_token_embeddings(vocabulary)
        if joined:
            table = network.encoder.get_input_embeddings()
            network.decoder.set_input_embeddings(table)
            network.decoder.get_output_embeddings().weight = table.weight
            network.encoder.pooler = None  # nothing reads it
        for module in list(network.modules()):
            for name, child in list(module.named_children()):
                if type(child) is nn.Dropout:
                    setattr(module, name, FastDropout(child.p))
        self.network = network
        self.config = config
        width = network.get_input_embeddings().embedding_dim
        self.pointer = Pointer(width) if config.pointer else None
        for module in () if self.pointer is None else self.pointer.modules():
            initialise_module(module, "scaled")
        self._begin = getattr(network.config, "decoder_start_token_id", None)
        # T5 and its kin have no begin symbol: ours, the first of each source, is none of theirs.
        self._skipped = int(not joined and getattr(network.config, "bos_token_id", None) is None)

    def encode(
        self, batch: Batch, need_weights: bool = False
    ) -> tuple[PretrainedState, AttentionMaps]:
        if need_weights:  # fused kernels have none
            for network in (self.network, self.network.get_encoder()):
                network.set_attn_implementation("eager")
        prefix = torch.tensor(self.config.prefix, device=batch.source.device).expand(len(batch), -1)

        def led(part: Tensor, before: Tensor) -> Tensor:
            return torch.cat([before.to(part.dtype), part[:, self._skipped :]], dim=1)

        batch = replace(
            batch,
            source=led(batch.source, prefix),
            source_mask=led(batch.source_mask, torch.ones_like(prefix)),
            copied=None if batch.copied is None else led(batch.copied, prefix),
        )
        encoded = self.network.get_encoder()(
            input_ids=batch.source,
            attention_mask=batch.source_mask.long(),
            output_attentions=need_weights,
        )
        memory = encoded.last_hidden_state
        copies = None if self.pointer is None else self.pointer.memory(memory, batch)
        state = PretrainedState(memory, batch.source_mask, copies)
        return state, _maps("encoder_layer{}_self_att", encoded.attentions)

    def decode(
        self, tokens: Tensor, state: PretrainedState, real: Tensor, need_weights: bool = False
    ) -> Decoded:
        if state.cache is None and self._begin is not None:
            first = torch.full_like(tokens[:, :1], self._begin)
            tokens = torch.cat([first, tokens[:, 1:]], dim=1)
        decoded = self.network(
            encoder_outputs=BaseModelOutput(last_hidden_state=state.memory),
            attention_mask=state.real.long(),
            decoder_input_ids=tokens,
            past_key_values=state.cache,
            use_cache=not torch.is_grad_enabled(),
            output_attentions=need_weights,
            output_hidden_states=self.pointer is not None,
        )
        after = replace(state, cache=decoded.past_key_values)
        attention = _maps("decoder_layer{}_block1_self_att", decoded.decoder_attentions)
        attention |= _maps("decoder_layer{}_block2_decenc_att", decoded.cross_attentions)
        generated = DenseLogProbs(decoded.logits[real])
        if self.pointer is None:
            return Decoded(generated, after, attention)
        copies = self.pointer(decoded.decoder_hidden_states[-1], state.copies, real)
        return Decoded(PointerLogProbs(generated, copies), after, attention)


def _maps(name: str, weights: Sequence[Tensor] | None) -> AttentionMaps:
    """The weights of every layer, if they were asked for, under a name with its number."""
    return {name.format(i): layer for i, layer in enumerate(weights or (), 1)}


def base_folder(name: str, data: Path, made: Path) -> Path:
    """``data``/NAME, or ``made``/NAME, made of that or of the hub's; ModelError: there is none."""
    given, place = data / name, (made / name).resolve()
    if all((given / file).is_file() for file in ("model.safetensors", "tokenizer.json")):
        return given.resolve()
    if not (place / "tokenizer.json").is_file():
        transformers.logging.disable_progress_bar()
        source = given if given.is_dir() else name
        options = {"local_files_only": not network_allowed()}
        with loading(f"{name}: no model in {given} or here; --allow-network loads it"):
            model = transformers.AutoModelForSeq2SeqLM.from_pretrained(source, **options)
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, **options)
        model.save_pretrained(place)
        tokenizer.save_pretrained(place)
    return place


class HubModel:
    """A model of the hub, or of a folder, in this process: what writers and verifiers ask."""

    masks = False

    def __init__(self, path: str, max_tokens: int = 300) -> None:
        """``path``: a folder, or a name on the hub (downloaded where the network is allowed).

        Raises:
            ModelError: there is no such model here.
        """
        self.name, self._max_tokens = f"hf:{path}", max_tokens
        options = {"local_files_only": not network_allowed()}
        with loading(f"hf:{path}: no model (--allow-network loads one)"):
            config = transformers.AutoConfig.from_pretrained(path, **options)
            self._writes_anew = bool(config.is_encoder_decoder)
            kind = "AutoModelForSeq2SeqLM" if self._writes_anew else "AutoModelForCausalLM"
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(path, **options)
            self._model = getattr(transformers, kind).from_pretrained(path, **options).eval()
        positions = getattr(config, "max_position_embeddings", None) or 512
        self.context = int(positions) if positions < 1 << 20 else 8192

    def complete(
        self, system: str, user: str, schema: object, on_text: object = None
    ) -> tuple[str, bool]:
        """The answer; a summarizer (T5, BART, Pegasus) reads the lines alone and writes text."""
        if self._writes_anew:
            text = "summarize: " + re.sub(r"^\[\d+\] ", "", user, flags=re.MULTILINE)
        elif self._tokenizer.chat_template:
            messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
            text = self._tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True
            )
        else:
            text = f"{system}\n\n{user}\n\n"
        encoded = self._tokenizer(text, return_tensors="pt")
        size = encoded["input_ids"].shape[1]
        with torch.inference_mode():
            tokens = self._model.generate(
                **encoded, max_new_tokens=self._max_tokens, do_sample=False
            )[0]
        written = tokens if self._writes_anew else tokens[size:]
        content = self._tokenizer.decode(written, skip_special_tokens=True)
        return content, len(written) >= self._max_tokens


def open_hub(path: str) -> LanguageModelWriter:
    """``hf:FOLDER-OR-NAME``, a model of `transformers`; raises as `HubModel`."""
    return LanguageModelWriter(HubModel(path))
