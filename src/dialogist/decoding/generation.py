"""`generate`: the one entry to search; `generate_plan` for models that plan first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dialogist.decoding import DecodingOptions
from dialogist.decoding.beam_search import BeamSearch, rerank_by_coverage
from dialogist.decoding.constraints import EndWhenStuck, Filter
from dialogist.decoding.search import (
    Greedy,
    GreedyAndSample,
    Hypothesis,
    RowSearch,
    Sampling,
    standard_filters,
)
from dialogist.models.base import GeneratorModule, PlanningModule, Stepper
from dialogist.nn.kv_cache import State
from dialogist.tensors import FIRST_KEY_POINT, PLAN_BOS, PLAN_EOS, PLAN_PAD, Batch, Plan
from dialogist.tokenizers import Symbols

# `generate_plan`: search for models that plan first: key points, then a text for each.

PLAN_SYMBOLS = Symbols(PLAN_PAD, PLAN_BOS, PLAN_EOS, unk=PLAN_PAD)


@dataclass(frozen=True, slots=True)
class PlannedText:
    """What a planning model says about one dialogue.

    ``plan`` is the hypothesis over key points; ``key_points`` are their labels' indices in the rule
    pack, and ``parts`` what was written about each.
    """

    plan: Hypothesis
    parts: tuple[Hypothesis, ...]

    @property
    def key_points(self) -> tuple[int, ...]:
        """The labels' indices."""
        return tuple(index - FIRST_KEY_POINT for index in self.plan.tokens)


@torch.inference_mode()
def generate_plan(
    model: PlanningModule,
    batch: Batch,
    options: DecodingOptions,
    symbols: Symbols,
    filters: Callable[[Tensor], Sequence[Filter]] = lambda owner: (),
) -> list[PlannedText]:
    """Search the key points of each dialogue, then the text of each key point.

    ``options`` hold for every single text; ``max_key_points`` bounds their number. ``filters`` are
    made for the texts' dialogues, (R,) indices. The model is put in evaluation mode.
    """
    model.eval()
    memory = model.encode(batch)
    rows = torch.arange(len(batch), device=batch.source.device)
    state = model.leader_state(memory)
    leads = search_from(model.leader, state, rows, plan_options(options), PLAN_SYMBOLS)
    plans = [hypotheses[0] for hypotheses in leads]
    plan = plan_of([hypothesis.tokens for hypothesis in plans], batch.source.device)
    state = model.start_writer(memory, plan)
    rows = torch.arange(len(plan.owner), device=plan.owner.device)
    found = search_from(model.writer, state, rows, options, symbols, filters(plan.owner))
    parts = iter([hypotheses[0] for hypotheses in found])
    return [PlannedText(p, tuple(next(parts) for _ in p.tokens)) for p in plans]


def plan_options(options: DecodingOptions) -> DecodingOptions:
    """How key points are searched for: at least one, at most ``max_key_points``."""
    asked = {"n_best": 1, "min_tokens": 1, "max_tokens": options.max_key_points}
    return options.model_copy(update=asked | {"no_repeat_ngram": 0})


def plan_of(sequences: Sequence[Sequence[int]], device: torch.device) -> Plan:
    """A `Plan` of key-point sequences (ids) without sub-summaries."""
    longest = max(map(len, sequences))
    padded = torch.tensor(
        [[PLAN_BOS, *ids, PLAN_EOS, *[PLAN_PAD] * (longest - len(ids))] for ids in sequences],
        device=device,
    )
    counts = torch.tensor([len(ids) for ids in sequences], device=device)
    nothing = padded.new_empty((int(counts.sum()), 0))
    return Plan(
        key_points_in=padded[:, :-1],
        key_points_out=padded[:, 1:],
        key_points_mask=torch.arange(longest + 1, device=device) <= counts[:, None],
        owner=torch.arange(len(sequences), device=device).repeat_interleave(counts),
        place=torch.cat([torch.arange(len(ids), device=device) for ids in sequences]),
        target_in=nothing,
        target_out=nothing,
        target_mask=nothing.bool(),
    )


# `generate`: the one entry to search.


@torch.inference_mode()
def generate(
    model: GeneratorModule,
    batch: Batch,
    options: DecodingOptions,
    symbols: Symbols,
    filters: Sequence[Filter] = (),
    state: State | None = None,
) -> list[list[Hypothesis]]:
    """Search a summary for each dialogue of a batch: n_best hypotheses each, best first.

    ``filters`` are applied after those the options ask for. The model is put in evaluation mode.
    ``state``: what its ``start`` gave for the batch, if it has been asked already.
    """
    model.eval()
    if state is None:
        state = model.start(batch)
    rows = torch.arange(len(batch), device=batch.source.device)
    if not options.coverage_penalty:
        return search_from(model, state, rows, options, symbols, filters)
    every = options.model_copy(update={"n_best": options.beam_size})
    found = search_from(model, state, rows, every, symbols, filters)
    return rerank_by_coverage(model, batch, state, found, options, symbols)


def search_from(
    model: Stepper,
    state: State,
    rows: Tensor,
    options: DecodingOptions,
    symbols: Symbols,
    filters: Sequence[Filter] = (),
) -> list[list[Hypothesis]]:
    """Search from a state whose rows (0, 1, 2 ...) each stand for a sequence to be written."""
    rules = [*standard_filters(options, symbols), *filters, EndWhenStuck(symbols.eos)]
    if options.strategy == "beam":
        return BeamSearch(options, symbols, rules).search(model, state, rows)
    choose = Greedy() if options.strategy == "greedy" else Sampling(options, len(rows))
    return RowSearch(options, symbols, rules, choose).search(model, state, rows)


@torch.inference_mode()
def roll_out(
    model: Stepper, state: State, rows: Tensor, options: DecodingOptions, symbols: Symbols
) -> tuple[list[Hypothesis], list[Hypothesis]]:
    """The texts of the rows (0, 1, 2 ...) greedily, and each once at random, in one search.

    The draws are those of ``options.seed``; what else the options say holds for both.
    """
    count = len(rows)
    both = torch.cat([rows, rows + count])
    rules = [*standard_filters(options, symbols), EndWhenStuck(symbols.eos)]
    choose = GreedyAndSample(options, count)
    state = state.select(rows.repeat(2))
    found = RowSearch(options, symbols, rules, choose).search(model, state, both)
    said = [hypotheses[0] for hypotheses in found]
    return said[:count], said[count:]
