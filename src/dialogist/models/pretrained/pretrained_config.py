"""What is saved of a pretrained model: its architecture, its prompt, how it is trained."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from dialogist.config import Config
from dialogist.errors import ConfigError
from dialogist.models.base import ModelConfig, RecipeParts
from dialogist.tokenizers import Tokenizer

if TYPE_CHECKING:  # transformers takes seconds to import
    from dialogist.models.pretrained.pretrained_network import PretrainedModel

ENCODER_DECODERS = ("t5", "mt5", "bart", "pegasus", "led", "marian")
DECODERS = ("gemma", "gemma3_text", "qwen2", "qwen3", "llama", "smollm3", "mistral")

_SOURCE_POSITIONS = ("max_encoder_position_embeddings", "max_position_embeddings")
_TARGET_POSITIONS = ("max_decoder_position_embeddings", "max_position_embeddings")


class PromptConfig(Config):
    """What stands around a dialogue; control symbols are written as the tokenizer spells them.

    ``before`` and ``after``: the text before and behind the dialogue's lines, one line a turn.
    ``decoder``: of encoder-decoders, the tokens that the decoder is given first. ``ends``: tokens
    that end a summary beside the end symbol; a base model is best stopped at the end of a line.
    """

    before: str = ""
    after: str = ""
    decoder: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()


class LoraConfig(Config):
    """Low-rank adapters on all linear layers (Hu et al. 2021); the other weights stay as they are.

    An adapter adds ``alpha / rank`` times B A x, with A (``rank``, in) and B (out, ``rank``).

    ``rank``: of the adapters. ``alpha``: their strength. ``dropout``: on their input.
    """

    rank: int = Field(8, ge=1, le=1024)
    alpha: float = Field(16.0, gt=0)
    dropout: float = Field(0.0, ge=0, lt=1)


class PretrainedConfig(ModelConfig):
    """Options of a pretrained model.

    ``source``: a local folder with ``config.json`` and safetensors, a GGUF file, or a name on the
    Hugging Face hub. ``prompt`` None takes the one that suits the model: its chat template, or the
    prefix of its family; ``instruction``, or the text of ``prompt_file``, is what it asks for.
    ``prune``: keep only those entries of the vocabulary that the training texts need, and all that
    can spell any text (see `dialogist.models.pretrained.pruning`). ``checkpointing`` computes
    activations twice instead of keeping them. ``architecture`` and ``tied`` are filled in at
    loading: transformers' own configuration, and whether the output layer shares the embedding.

    ``prompt``: the text around a dialogue. ``instruction``: what the model is asked for.
    ``prompt_file``: a file with that text. ``lora``: train adapters instead of all weights.
    ``checkpointing``: less memory, more time. ``architecture``: filled in at loading. ``tied``:
    filled in at loading.
    """

    kind: Literal["pretrained"] = "pretrained"
    source: str = Field(min_length=1)
    prompt: PromptConfig | None = None
    instruction: str | None = None
    prompt_file: str | None = None
    prune: bool = False
    lora: LoraConfig | None = None
    checkpointing: bool = False
    architecture: dict[str, Any] | None = None
    tied: bool = True

    default_objective: ClassVar[Mapping[str, object]] = {}

    @property
    def is_unread(self) -> bool:
        """Whether ``source`` was not read yet."""
        return self.architecture is None

    @property
    def is_encoder_decoder(self) -> bool:
        """Whether an encoder reads the dialogue; else it is a part of the decoder's own text."""
        return (self.architecture or {}).get("model_type") in ENCODER_DECODERS

    @property
    def longest_source(self) -> int | None:
        """Tokens that an encoder with a table of positions reads at most, its prompt counted."""
        return self._positions(_SOURCE_POSITIONS)

    @property
    def longest_target(self) -> int | None:
        """Tokens that a decoder with a table of positions can be fed at most."""
        return self._positions(_TARGET_POSITIONS)

    def _positions(self, names: tuple[str, ...]) -> int | None:
        """None of decoders alone: source and target share their positions there."""
        known = self.architecture or {}
        if known.get("model_type") not in ENCODER_DECODERS:
            return None
        return next((int(known[name]) for name in names if known.get(name)), None)

    def check(self, recipe: RecipeParts) -> Iterator[str]:
        """It reads and writes text as it is: names and numbers are no symbols of its vocabulary."""
        preparation = recipe.preparation
        wanted = {"speakers": "inline", "entities": "none", "plan": "none", "unknown": "token"}
        for name, value in wanted.items():
            if getattr(preparation, name) != value:
                yield f"model.kind pretrained needs preparation.{name}: {value}"
        if recipe.objective.kind != "cross-entropy":
            yield "model.kind pretrained needs objective.kind cross-entropy"
        yield from super().check(recipe)

    def load(self, texts: Callable[[], Iterable[str]]) -> "tuple[PretrainedModel, Tokenizer]":
        """Read ``source``; the configuration of what is returned has all that is filled in.

        Raises:
            MissingExtraError, ModelError, ConfigError: as `import_pretrained`.
        """
        from dialogist.models.pretrained.pretrained_sources import require_transformers

        require_transformers(f"{self.source}: a pretrained model")
        from dialogist.models.pretrained.importing import import_pretrained

        imported = import_pretrained(self, texts)
        return imported.model, imported.tokenizer

    def build(self, vocabulary: int) -> "PretrainedModel":
        """The network without weights: they come from ``source``, or from a model folder.

        Raises:
            ConfigError: the architecture is not known yet: the source was not read.
            MissingExtraError: the extra ``pretrained`` is not installed.
        """
        from dialogist.models.pretrained.pretrained_sources import require_transformers

        if self.architecture is None:
            raise ConfigError(f"model.source {self.source}: was not read; train loads it first")
        require_transformers("a pretrained model")
        from dialogist.models.pretrained.pretrained_network import empty_model

        return empty_model(self, vocabulary)
