"""Table 6 of the KD paper on made-up vectors: words of a code, and how alike they are."""

import argparse

import numpy as np
import pytest

from benchmarks.kd_codes import code_words

WORDS = [*code_words.SHOWN, *(f"word{n}" for n in range(116))]
TABLE = np.random.default_rng(0).normal(size=(120, 6)).astype(np.float32)


def test_cosines_are_those_of_all_pairs():
    codes = np.random.default_rng(1).integers(0, 3, (120, 2))
    unit = TABLE / np.linalg.norm(TABLE, axis=1, keepdims=True)
    expected = {"same code": [], "another last letter": [], "any": []}
    for i in range(120):
        for j in range(i):
            expected["any"].append(unit[i] @ unit[j])
            if codes[i, 0] == codes[j, 0]:
                same = codes[i, 1] == codes[j, 1]
                expected["same code" if same else "another last letter"].append(unit[i] @ unit[j])
    found = code_words.cosines(codes, TABLE)
    assert found == pytest.approx({kind: np.mean(pairs) for kind, pairs in expected.items()})


def test_rows_and_their_table(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(code_words, "glove", lambda count: (WORDS, TABLE))
    whole = code_words.Spec

    def spec(method, learning_rate):
        return whole(method, epochs=5, batch_size=40, learning_rate=learning_rate)

    monkeypatch.setattr(code_words, "Spec", spec)
    rows = code_words.benchmark("code_words", argparse.Namespace(seeds=None, epochs=None))
    additive, begun, trained = (row["relative_error"] for row in rows)
    assert additive <= begun + 1e-3 and begun < trained < 1.05
    for row in rows:
        assert all(any(word in listed for listed in row["shown"].values()) for word in WORDS[:4])
    text = code_words.table(rows)
    assert "| additive, then trained |" in text and "| code (additive) | words |" in text
    kinds = ("same code", "another last letter", "any")  # as in the header
    shown = " | ".join(f"{rows[0]['cosines'][kind]:.2f}" for kind in kinds)
    assert text.splitlines()[2].endswith(f" | {shown} |")
