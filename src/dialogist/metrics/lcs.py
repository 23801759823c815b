"""ROUGE-L of many pairs of id sequences at once: fast enough to be a reward in training.

Lin 2004, section 3; the longest common subsequence by rows: L[i, j] is the running maximum over j
of max(L[i - 1, j], L[i - 1, j - 1] + [a_i = b_j]), so one row is one vector operation.
"""

import torch
from torch import Tensor


def lcs_lengths(one: Tensor, other: Tensor) -> Tensor:
    """Lengths of the longest common subsequences.

    Args:
        one: (N, S) ids, other: (N, T) ids; each padded with a number that the other never holds.

    Returns:
        (N,) int64.
    """
    before = torch.zeros(other.shape[0], other.shape[1] + 1, dtype=torch.int64, device=other.device)
    for column in one.unbind(1):
        found = torch.maximum(before[:, 1:], before[:, :-1] + (other == column[:, None]))
        before[:, 1:] = found.cummax(dim=1).values
    return before[:, -1]


def rouge_l(candidates: list[list[int]], references: list[list[int]]) -> Tensor:
    """ROUGE-L F1 of each candidate against its reference: (N,) in 0 .. 1.

    The harmonic mean of precision and recall; 0 where either is empty.
    """
    common = lcs_lengths(_padded(candidates, -1), _padded(references, -2)).double()
    sizes = torch.tensor(
        [len(c) + len(r) for c, r in zip(candidates, references, strict=True)],
        dtype=torch.float64,
    )
    return (2 * common / sizes.clamp(min=1)).float()


def _padded(rows: list[list[int]], padding: int) -> Tensor:
    longest = max(map(len, rows), default=0)
    return torch.tensor(
        [[*row, *[padding] * (longest - len(row))] for row in rows], dtype=torch.int64
    ).reshape(len(rows), longest)
