import numpy as np
import pytest

from kerascompact.compress import Compressor


def test_a_compressor_must_define_compress():
    with pytest.raises(NotImplementedError, match="Compressor must define `compress`"):
        Compressor().fit(np.ones((2, 2)))
