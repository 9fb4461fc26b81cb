import json

import numpy as np
import pytest

from kerascompact.core.projection import Projection


def test_has_the_papers_size():
    assert Projection().num_bits == 1120 == 80 * 14


def test_keeps_its_config():
    projection = Projection(3, 5, ngrams=(2, 4), max_gap=1, lower=False, seed=2**40)
    again = Projection(**json.loads(json.dumps(projection.get_config())))
    assert again == projection and hash(again) == hash(projection)


@pytest.mark.parametrize(
    "projections, bits, sides", [(80, 14, (35, 32)), (3, 5, (5, 3)), (1, 7, (7, 1)), (1, 1, (1, 1))]
)
def test_sides_are_the_factors_nearest_each_other(projections, bits, sides):
    projection = Projection(projections, bits)
    assert projection.sides == sides
    assert tuple(map(len, projection.multipliers())) == sides


def test_multipliers_differ_with_the_seed():
    some = [np.concatenate(Projection(seed=seed).multipliers()) for seed in range(20)]
    assert np.all(np.array(some) % 512 == 256)  # 256 times an odd number
    assert len(np.unique(some)) == 20 * 67
    first, second = Projection(2, 3).multipliers()
    np.testing.assert_array_equal([*first, *second], some[0][:5])


@pytest.mark.parametrize(
    "name, bad, message",
    [
        ("num_projections", 0, r"`num_projections` must be an integer in \[1, 65536\]"),
        ("projection_dim", True, r"`projection_dim` must be an integer"),
        ("ngrams", 3, "`ngrams` must be two lengths"),
        ("ngrams", (1, 2, 3), "`ngrams` must be two lengths"),
        ("ngrams", (0, 2), r"`ngrams\[0\]` must be an integer in \[1, 16\]"),
        ("ngrams", (3, 2), r"`ngrams\[1\]` must be an integer in \[3, 16\]"),
        ("max_gap", 17, r"`max_gap` must be an integer in \[0, 16\]"),
        ("lower", 1, "`lower` must be True or False"),
        ("boundaries", None, "`boundaries` must be True or False"),
        ("max_word_bytes", 256, r"`max_word_bytes` must be an integer in \[1, 255\]"),
        ("seed", -1, "`seed` must be an integer >= 0"),
    ],
)
def test_rejects(name, bad, message):
    with pytest.raises(ValueError, match=message):
        Projection(**{name: bad})
