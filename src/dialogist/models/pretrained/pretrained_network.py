"""`PretrainedModel`: networks of transformers under our trainer and our search.

An encoder-decoder reads prompt and dialogue with its encoder. A decoder alone reads them as the
beginning of its own text, padded at the left, so what it writes begins at one place in all rows.
Either way the last T positions of the decoder are those of the target, and the first token a
summary may have is predicted by `start` already: the first `step` is given the begin symbol, which
stands for what the decoder has been fed, and costs nothing.

The output layer is ours: logits are computed at real target positions alone, in pieces.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor, nn
from transformers.cache_utils import Cache, EncoderDecoderCache
from transformers.initialization import no_init_weights

from dialogist.errors import DataError, ModelError
from dialogist.models.base import GeneratorModule, Outputs
from dialogist.models.pretrained.adapters import add_adapters, merge_adapters
from dialogist.models.pretrained.pretrained_config import PretrainedConfig, PromptConfig
from dialogist.models.pretrained.pretrained_state import (
    DecoderLayerCache,
    DecoderOnlyState,
    EncoderDecoderState,
    Prompts,
)
from dialogist.nn.attention import KeyValue, WantedWeights
from dialogist.nn.kv_cache import KVCache, State
from dialogist.nn.output_layer import LogProbs, VocabularyProjection
from dialogist.tensors import Batch
from dialogist.tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A `PromptConfig` as ids. ``ends``: all tokens that end a summary, the end symbol first."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    decoder: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, config: PromptConfig, tokenizer: Tokenizer) -> "_Prompt":
        def one(token: str) -> int:
            ids = tokenizer.encode_template(token)
            if len(ids) != 1:
                raise ModelError(f"prompt: {token!r} is {len(ids)} tokens of this model, not one")
            return ids[0]

        ends = (one(token) for token in config.ends)
        return cls(
            tuple(tokenizer.encode_template(config.before)),
            tuple(tokenizer.encode_template(config.after)),
            tuple(one(token) for token in config.decoder),
            (tokenizer.eos_id, *(index for index in ends if index != tokenizer.eos_id)),
        )


@dataclass(frozen=True, slots=True)
class _Read:
    """A batch as the network reads it: (B, S') ids, the mask, and `Prompts.places`."""

    ids: Tensor
    mask: Tensor
    places: Tensor


class PretrainedModel(GeneratorModule):
    """A network of transformers. `attach` has to be called before it is used."""

    config: PretrainedConfig
    int8_layers = True

    def __init__(self, config: PretrainedConfig, network: nn.Module) -> None:
        super().__init__()
        self.config = config
        self.network: Any = network
        architecture: Any = network.config
        self._scale = 1.0
        if getattr(architecture, "scale_decoder_outputs", False):  # T5's, where it is tied
            self._scale = float(architecture.d_model**-0.5)
        self._own_output_layer()
        self._pads = architecture.model_type == "led"
        # Whether layers differ in how far back they see, how far, and else what all of them see.
        self._kinds = hasattr(architecture, "layer_types")
        self._window: int | None = getattr(architecture, "sliding_window", None)
        self._kind = "full_attention" if self._window is None else "sliding_attention"
        self._prompt: _Prompt | None = None
        get_decoder: Any = network.get_decoder
        linear = next(m for m in get_decoder().modules() if type(m) is nn.Linear)
        _mix_formats(network, lambda: linear.weight.dtype)
        if config.checkpointing:
            older = getattr(network, "gradient_checkpointing_enable", None)  # before 5.20 or so
            enable: Any = getattr(network, "activation_checkpointing_enable", older)
            enable({"use_reentrant": False})

    def _own_output_layer(self) -> None:
        theirs = self.network.get_output_embeddings()
        rows, width = theirs.weight.shape
        with torch.device("meta"):  # its own weights are not wanted
            head = VocabularyProjection(width, rows)
        bias = getattr(self.network, "final_logits_bias", None)
        if bias is None:
            bias = theirs.weight.new_zeros(rows)
        head.weight = theirs.weight
        head.bias = nn.Parameter(bias.detach().reshape(rows).float().clone(), requires_grad=False)
        self.network.lm_head = head
        if bias.ndim == 2:
            del self.network.final_logits_bias

    @property
    def head(self) -> VocabularyProjection:
        """The output layer."""
        found: VocabularyProjection = self.network.lm_head
        return found

    @property
    def longest_target(self) -> int | None:
        """What a table of positions leaves behind the tokens that the decoder is given first."""
        longest = self.config.longest_target
        prompt = self.config.prompt
        return longest if longest is None or prompt is None else longest - len(prompt.decoder) + 1

    def fold(self) -> None:
        """Add what the adapters have learned to the weights, and take the adapters out."""
        merge_adapters(self)

    def attach(self, tokenizer: Tokenizer) -> None:
        """Learn what the prompt is in a tokenizer's ids.

        Raises:
            ModelError: a token of it is not one of the tokenizer's.
        """
        self._prompt = _Prompt.of(self.config.prompt or PromptConfig(), tokenizer)

    @property
    def longest_source(self) -> int | None:
        """What the model's positions leave for a source, its begin and end symbols counted.

        They are not fed; the prompt is. A decoder alone shares its positions with the summary.
        """
        longest = self.config.longest_source
        if not self.config.is_encoder_decoder:
            longest = getattr(self.network.config, "max_position_embeddings", None)
        return None if longest is None else longest - self.prompt_tokens + 2

    @property
    def prompt_tokens(self) -> int:
        """How many tokens stand around a dialogue."""
        return len(self._ids().before) + len(self._ids().after)

    # What the network is fed.

    def _ids(self) -> _Prompt:
        assert self._prompt is not None, "`attach` was not called"
        return self._prompt

    def _read(self, batch: Batch) -> _Read:
        """Prompt, dialogue, prompt; padded at the right, or at the left for decoders alone."""
        prompt = self._ids()
        assert batch.utterance is not None  # `collate` always tells
        source, spoken = batch.source.cpu().numpy(), batch.utterance.cpu().numpy() >= 0
        rows = [
            [*prompt.before, *line[own], *prompt.after]
            for line, own in zip(source, spoken, strict=True)
        ]
        longest = max(map(len, rows))
        self._require(longest)
        ids = np.zeros((len(rows), longest), dtype=np.int64)
        mask = np.zeros((len(rows), longest), dtype=bool)
        places = np.full(source.shape, -1, dtype=np.int64)
        for number, row in enumerate(rows):
            start = 0 if self.config.is_encoder_decoder else longest - len(row)
            ids[number, start : start + len(row)] = row
            mask[number, start : start + len(row)] = True
            first = start + len(prompt.before)
            count = int(spoken[number].sum())
            places[number, spoken[number]] = np.arange(first, first + count)
        device = batch.source.device
        return _Read(*(torch.from_numpy(values).to(device) for values in (ids, mask, places)))

    def _require(self, length: int) -> None:
        longest = self.config.longest_source
        if longest is not None and length > longest:
            raise DataError(
                f"a dialogue of {length} tokens, its prompt counted: this model reads at most "
                f"{longest}; lower preparation.limits.source_tokens"
            )

    def _encode(self, read: _Read, attentions: bool = False) -> Any:
        more: dict[str, Any] = {"output_attentions": True} if attentions else {}
        if self._pads:  # LED: its first token sees all, as its authors do for summaries
            everywhere = torch.zeros_like(read.ids)
            everywhere[:, 0] = 1
            more["global_attention_mask"] = everywhere
        return self.network.get_encoder()(
            input_ids=read.ids, attention_mask=read.mask.long(), return_dict=True, **more
        )

    def _decode(self, ids: Tensor, mask: Tensor, encoded: Tensor | None, **more: Any) -> Any:
        """One pass of the decoder over (N, T'); ``mask``: of what is read."""
        more = {"return_dict": True, "use_cache": more.get("past_key_values") is not None, **more}
        if encoded is not None:
            return self.network.get_decoder()(
                input_ids=ids,
                encoder_hidden_states=encoded,
                encoder_attention_mask=mask.long(),
                **more,
            )
        past = mask.shape[1]
        count = self._seen(more.get("past_key_values")) + ids.shape[1]
        whole = torch.cat([mask, mask.new_ones((len(mask), count - past))], dim=1)
        places = (whole.cumsum(dim=1) - 1).clamp_(min=0)[:, -ids.shape[1] :]
        return self.network.get_decoder()(
            input_ids=ids, attention_mask=whole.long(), position_ids=places, **more
        )

    @staticmethod
    def _seen(cache: Any) -> int:
        return 0 if cache is None else int(cache.get_seq_length())

    # Teacher forcing.

    def forward(self, batch: Batch, need_weights: WantedWeights = False) -> Outputs:
        """Teacher forcing: one pass over prompt and targets, without a cache."""
        read = self._read(batch)
        fed = self._fed(batch.target_in)
        with _Eager(self.network, bool(need_weights)):
            more = {"output_attentions": True} if need_weights else {}
            if self.config.is_encoder_decoder:
                found = self._encode(read, need_weights is True)
                output = self._decode(fed, read.mask, found.last_hidden_state, **more)
                maps = self._encoder_maps(found, read.places) if need_weights is True else {}
            else:
                both = torch.cat([read.ids, fed], dim=1)
                output, maps = self._decode(both, read.mask, None, **more), {}
        maps |= self._maps(output, read.places, batch, need_weights)
        return self._outputs(batch, output.last_hidden_state, maps)

    def force(self, batch: Batch, state: State, need_weights: WantedWeights = False) -> Outputs:
        """As `forward`, from what `start` gave for the batch."""
        fed = self._fed(batch.target_in)
        more: dict[str, Any] = {"output_attentions": True} if need_weights else {}
        with _Eager(self.network, bool(need_weights)):
            if isinstance(state, EncoderDecoderState):
                assert state.position == 0
                output, places = self._decode(fed, state.mask, state.encoded, **more), state.places
            else:
                assert isinstance(state, DecoderOnlyState)
                output, places = self._force_behind(fed, state, more)
        maps = self._maps(output, places, batch, need_weights)
        return self._outputs(batch, output.last_hidden_state, maps)

    def _force_behind(
        self, fed: Tensor, state: DecoderOnlyState, more: Mapping[str, Any]
    ) -> tuple[Any, Tensor]:
        """A decoder alone, behind a prompt whose keys and values are known but for the last token.

        The prompt's last token predicts the first of the target: it is fed again.
        """
        past, prompts = state.apart()
        layers = [DecoderLayerCache(_without_last(layer)) for layer in past]
        last = self._ids().after[-1:]
        if not last:
            raise ModelError("prompt.after: a decoder needs something behind the dialogue")
        ids = torch.cat([fed.new_tensor(last).expand(len(fed), -1), fed], dim=1)
        cache = Cache(layers=layers)
        return self._decode(ids, prompts.mask, None, past_key_values=cache, **more), prompts.places

    def _fed(self, target_in: Tensor) -> Tensor:
        """(N, T) with the begin symbol -> what the decoder is fed; its last T places predict."""
        first = self._ids().decoder
        if not self.config.is_encoder_decoder:
            return target_in[:, 1:]
        start = target_in.new_tensor(first).expand(len(target_in), -1)
        return torch.cat([start, target_in[:, 1:]], dim=1)

    def _outputs(self, batch: Batch, hidden: Tensor, maps: dict[str, Tensor]) -> Outputs:
        real = batch.target_mask
        rows = hidden[:, -real.shape[1] :][real] * self._scale  # (M, D)
        return Outputs(LogProbs(self.head, rows), batch.target_out[real], maps)

    # Search.

    def start(self, batch: Batch) -> State:
        """Encode, feed the decoder what comes first, and predict the first token; B rows."""
        read = self._read(batch)
        own = [DecoderLayerCache() for _ in range(self._layers())]
        if not self.config.is_encoder_decoder:
            output = self._decode(read.ids, read.mask, None, past_key_values=Cache(layers=own))
            ready = self._log_probs(output.last_hidden_state[:, -1])
            return DecoderOnlyState.of(_pasts(own), Prompts(read.mask, read.places, ready))
        encoded = self._encode(read).last_hidden_state
        cross = [DecoderLayerCache() for _ in own]
        cache = EncoderDecoderCache(Cache(layers=own), Cache(layers=cross))
        ids = read.ids.new_tensor(self._ids().decoder).expand(len(batch), -1)
        output = self._decode(ids, read.mask, encoded, past_key_values=cache)
        memory = tuple(KeyValue(layer.keys, layer.values) for layer in cross)
        owner = torch.arange(len(batch), device=read.ids.device)
        ready = self._log_probs(output.last_hidden_state[:, -1])
        return EncoderDecoderState(
            _pasts(own), memory, encoded, read.mask, read.places, owner, ready
        )

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """One token per row (N,) -> log-probabilities (N, V) of the next one, and the new state.

        The first one is the begin symbol, whose successor `start` has predicted.
        """
        if isinstance(state, DecoderOnlyState):
            return self._step_alone(tokens, state)
        assert isinstance(state, EncoderDecoderState)
        if state.ready is not None:
            return state.ready.clone(), replace(state, ready=None)  # filters write into it
        cache = state.cache()
        output = self._decode(tokens[:, None], state.mask, state.encoded, past_key_values=cache)
        past = _pasts(cache.self_attention_cache.layers)
        found = self._log_probs(output.last_hidden_state[:, -1])
        return found, replace(state, past=past, position=state.position + 1)

    def _step_alone(
        self, tokens: Tensor, state: DecoderOnlyState
    ) -> tuple[Tensor, DecoderOnlyState]:
        """The same of a decoder alone: K positions of M sequences."""
        rows, prompts = state.rows, state.prompts
        if prompts.ready is not None:
            found = prompts.ready.repeat_interleave(rows.each, dim=0)
            known = replace(rows, copies=replace(prompts, ready=None))
            return found, replace(state, rows=known)
        masks, positions, seen = state.seen(self._window)
        cache = state.cache()
        output = self.network.get_decoder()(
            input_ids=tokens.view(-1, rows.each),
            position_ids=positions,
            attention_mask=seen if seen is None or self._kinds else seen[self._kind],
            past_key_values=cache,
            use_cache=True,
            return_dict=True,
        )
        found = self._log_probs(output.last_hidden_state.flatten(0, 1))
        return found, state.after(cache.layers, masks)

    def _log_probs(self, hidden: Tensor) -> Tensor:
        """(N, D) -> (N, V); all that ends a summary counts as the end symbol."""
        found = self.head.log_probs(hidden * self._scale)
        end, *others = self._ids().ends
        if others:
            found[:, end] = found[:, [end, *others]].logsumexp(dim=1)
            found[:, others] = float("-inf")
        return found

    def _layers(self) -> int:
        config = self.network.config
        return int(
            getattr(config, "num_decoder_layers", 0)
            or getattr(config, "decoder_layers", 0)
            or config.num_hidden_layers
        )

    # Attention maps, over the positions of the batch's source.

    def _maps(
        self, output: Any, places: Tensor, batch: Batch, wanted: WantedWeights
    ) -> dict[str, Tensor]:
        """The decoder's weights: (N, H, T, S) over the dialogue, and (N, H, T, T) over the target.

        A decoder alone attends to the dialogue as to a part of its own text.
        """
        if not wanted:
            return {}
        t = batch.target_mask.shape[1]
        crossed = self.config.is_encoder_decoder
        found = output.cross_attentions if crossed else output.attentions
        numbers = range(1, len(found) + 1) if wanted is True else [len(found)]
        maps: dict[str, Tensor] = {}
        for i in numbers:
            own = output.attentions[i - 1][:, :, -t:, -t:]
            if wanted is True:
                maps[f"decoder_layer{i}_block1_self_att"] = own
            weights = found[i - 1][:, :, -t:]
            maps[f"decoder_layer{i}_block2_decenc_att"] = _at(weights, places)
        return maps

    def _encoder_maps(self, found: Any, places: Tensor) -> dict[str, Tensor]:
        maps = {}
        for i, weights in enumerate(found.attentions, 1):
            if weights.shape[-1] == weights.shape[-2]:  # not those of LED's windows
                rows = places.clamp(min=0)[:, None, :, None].expand(
                    -1, weights.shape[1], -1, weights.shape[3]
                )
                maps[f"encoder_layer{i}_self_att"] = _at(weights.gather(2, rows), places)
        return maps


def _pasts(layers: Sequence[DecoderLayerCache]) -> tuple[KVCache, ...]:
    return tuple(layer.past for layer in layers if layer.past is not None)


def _without_last(layer: KVCache) -> KVCache:
    """A cache without its last position; what is appended then takes room of its own."""
    return KVCache(KeyValue(layer.key[:, :, :-1], layer.value[:, :, :-1]))


def _at(weights: Tensor, places: Tensor) -> Tensor:
    """(N, H, T, S') at the places (N, S) -> (N, H, T, S), zero where a place is -1."""
    columns = places.clamp(min=0)[:, None, None, :].expand(*weights.shape[:3], -1)
    return weights.gather(3, columns) * (places >= 0)[:, None, None, :]


class _Eager:
    """While it is entered, attention is computed in the way that has weights to show."""

    def __init__(self, network: Any, wanted: bool) -> None:
        self._network, self._wanted = network, wanted
        self._before = network.config._attn_implementation

    def __enter__(self) -> None:
        if self._wanted:
            self._network.set_attn_implementation("eager")

    def __exit__(self, *_: object) -> None:
        if self._wanted:
            self._network.set_attn_implementation(self._before)


def _mix_formats(network: nn.Module, working: Callable[[], torch.dtype]) -> None:
    """Let linear layers compute in bf16 while embeddings and norms keep their fp32 weights.

    So does `dialogist.training.master_weights` have it: what passes between layers is of the linear
    layers' format.
    """
    for module in network.modules():
        if isinstance(module, nn.Embedding):
            module.register_forward_hook(lambda _, __, made: made.to(working()))
        elif isinstance(module, nn.Linear):
            module.register_forward_pre_hook(
                lambda layer, given: (given[0].to(layer.weight.dtype), *given[1:])
            )
        elif list(module.parameters(recurse=False)):
            module.register_forward_hook(
                lambda _, given, made: made.to(given[0].dtype) if _is_float(given, made) else made
            )


def _is_float(given: tuple[Any, ...], made: object) -> bool:
    return (
        bool(given)
        and isinstance(given[0], Tensor)
        and given[0].is_floating_point()
        and isinstance(made, Tensor)
    )


# Building it.


def empty_model(config: PretrainedConfig, vocabulary: int) -> PretrainedModel:
    """A network of ``config.architecture`` whose weights are still to be filled in."""
    values = dict(config.architecture or {})
    kind = values.pop("model_type")
    values["vocab_size"] = vocabulary
    architecture = transformers.AutoConfig.for_model(kind, **values)
    for name in ("scale_decoder_outputs",):  # derived at loading from what is not saved any more
        if name in values:
            setattr(architecture, name, values[name])
    # On the CPU whatever device is asked for: what is computed when a module is made (rotary
    # frequencies) is not in weights files. Memory for weights is not touched before they come.
    with torch.device("cpu"), no_init_weights():
        network = auto_class(config).from_config(architecture)
    network.tie_weights()
    if not config.tied:
        theirs = network.get_output_embeddings()
        theirs.weight = nn.Parameter(torch.empty_like(theirs.weight))
    model = PretrainedModel(config, network)
    if config.lora is not None:
        add_adapters(model)
    return model


def auto_class(config: PretrainedConfig) -> Any:
    """What of transformers loads networks of this kind."""
    return (
        transformers.AutoModelForSeq2SeqLM
        if config.is_encoder_decoder
        else transformers.AutoModelForCausalLM
    )
