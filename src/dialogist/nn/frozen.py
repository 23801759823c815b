"""Rows of an embedding table that training leaves as they are (word vectors that are kept).

The mark is a buffer of the table's module: it moves with the model, and is not saved with it.
Whoever changes weights heeds it (`dialogist.training.weights`).
"""

from torch import Tensor, nn

_MARK = "frozen_rows"


def freeze_rows(table: nn.Embedding, rows: Tensor) -> None:
    """Keep the given rows; ``rows``: (n,) ids, each once."""
    table.register_buffer(_MARK, rows.to(table.weight.device), persistent=False)


def frozen_rows(model: nn.Module) -> dict[str, Tensor]:
    """The frozen rows (n,) of every table that has some, by its weight's first name."""
    names = {id(weight): name for name, weight in model.named_parameters()}
    marked = (m for m in model.modules() if isinstance(m, nn.Embedding) and hasattr(m, _MARK))
    return {names[id(table.weight)]: table.get_buffer(_MARK) for table in marked}
