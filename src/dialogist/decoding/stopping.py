"""Searches that nobody waits for any more end at their next step."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_IS_OVER: ContextVar[Callable[[], bool] | None] = ContextVar("dialogist_search_is_over")


class SearchStopped(BaseException):
    """Nobody waits for the result.

    No `Exception`: what tries a failed search again, or makes a record of it, must not see it.
    """


@contextmanager
def stopping_when(is_over: Callable[[], bool]) -> Iterator[None]:
    """Have `check_stopped` raise in this thread once ``is_over()`` is true; ask it at each step."""
    token = _IS_OVER.set(is_over)
    try:
        yield
    finally:
        _IS_OVER.reset(token)


def check_stopped() -> None:
    """Called before each step of a search.

    Raises:
        SearchStopped: nobody waits for its result.
    """
    is_over = _IS_OVER.get(None)
    if is_over is not None and is_over():
        raise SearchStopped
