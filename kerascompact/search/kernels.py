"""Kernels of a setting's model: their shapes, from which their bytes follow."""

from typing import NamedTuple

from kerascompact.search.setting import Setting


class Kernel(NamedTuple):
    """Shape of a kernel, whether its outputs are the model's, and whether it has a bias."""

    shape: tuple[int, ...]
    last: bool = False
    bias: bool = True


def kernels_of(setting: Setting, classes: int) -> list[Kernel]:
    """The kernels behind the embedding.

    >>> [kernel.shape for kernel in kernels_of(Setting(100, 8, model="hidden", units=16), 3)]
    [(8, 16), (16, 3)]
    """
    width = setting.width
    found: list[Kernel] = []
    if setting.model == "cnn":
        found = [Kernel((size, width, setting.units)) for size in setting.filter_sizes]
        width = setting.units * len(setting.filter_sizes)
    elif setting.model == "hidden":
        found, width = [Kernel((width, setting.units))], setting.units
    elif setting.model == "mean_and_max":
        width *= 2
    elif setting.model == "weighted":
        width -= 1
    if setting.head_rank:
        found.append(Kernel((width, setting.head_rank), bias=False))
        width = setting.head_rank
    return [*found, Kernel((width, classes), last=True)]
