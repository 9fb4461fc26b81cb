"""Hostile texts: all kinds are there, and the same seed draws the same."""

import numpy as np

from benchmarks.product.fuzz_texts import hostile_texts


def is_utf8(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_every_kind_is_there():
    texts = hostile_texts(1200, ["turn", "caf\u00e9"], seed=3)
    assert texts == hostile_texts(1200, ["turn", "caf\u00e9"], seed=3) != hostile_texts(1200)
    assert 0.2 < np.mean([not is_utf8(text) for text in texts]) < 0.6
    assert any(len(text) > 500 for text in texts) and b"" in texts
    assert any(b"\x00" in text for text in texts) and any(text.endswith(b"\0") for text in texts)
    known = sum(b"turn" in text for text in texts)
    assert known > 100
    scripts = {text.decode()[:1] for text in texts if is_utf8(text) and text}
    assert len(scripts) > 200
