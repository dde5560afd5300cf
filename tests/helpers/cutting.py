"""Bytes as a network may cut them."""

from itertools import pairwise


def cut_at(data: bytes, cuts: list[int]) -> list[bytes]:
    """`data` in pieces, none of them empty, which end where `cuts` say (modulo the length)."""
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(edges) if start < end]
