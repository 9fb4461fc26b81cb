"""Texts as the numbers of a file's input."""

import numpy as np
import pytest

from kerascompact.runtime.encoding import encode


@pytest.mark.parametrize("text", ["", "a", "caf\u00e9 \U0001f600", "\0", "a\0\0", "x" * 9])
@pytest.mark.parametrize("size", [None, 1, 2, 8, 20])
def test_holds_the_bytes_of_the_text(text, size):
    data = text.encode()
    numbers, used = encode(text, size)
    assert numbers.dtype == np.int32 and numbers.shape[0] == 1
    assert numbers.shape[1] == (size or max(1, len(data) + data.endswith(b"\0")))
    assert bytes(numbers[0, :used].astype(np.uint8)) == data[:used]
    # the file drops what is no byte, and zeros at the end
    assert set(numbers[0, used:]) <= {0, -1}
    assert not data[:used].endswith(b"\0") or numbers[0, used] == -1
    if size is None or len(data) < size:
        assert used == len(data)
    else:
        assert used >= size - 1


def test_bytes_that_are_no_utf8():
    assert encode(b"a\xff").numbers.tolist() == encode("a\udcff").numbers.tolist() == [[97, 255]]
    with pytest.raises(ValueError, match="`text` must be a str or bytes"):
        encode(3)
