"""Files in MediaPipe Tasks itself: its tokenizers, classifier and embedder against ours."""

import json
import random
import subprocess
from pathlib import Path

import keras
import numpy as np
import pytest

from kerascompact import datasets, export, layers, models, tools
from kerascompact.text import Vocabulary
from kerascompact.text.rules import RULES

tasks = pytest.importorskip("mediapipe.tasks.python", reason="pip install mediapipe")
text = pytest.importorskip("mediapipe.tasks.python.text")
pytestmark = pytest.mark.slow

WEB = Path(__file__).parents[2] / "export" / "web"
NAMES = ["mediapipe", "mediapipe_bert"]
ALPHABET = [*"abcXYZ019_'\"-.,!? \t\n\v\f\r\x00\x01\x1c\x7f<>[]{}|~`@#$%^&*()+=/\\:;"]
ALPHABET += [*"\u00e9\u00df\u0130\u0131\u00c0\u00a0\u2014\u201c\u3000\u4e00\u5b57\u65e5\U0001f600"]
ALPHABET += [*"\u0301\u1b4e\ufe0f\u200b"]


def options(kind, data, **more):
    return getattr(text, kind)(base_options=tasks.BaseOptions(model_asset_buffer=data), **more)


def embedder(data):
    return text.TextEmbedder.create_from_options(options("TextEmbedderOptions", data))


def classifier(data, **more):
    return text.TextClassifier.create_from_options(options("TextClassifierOptions", data, **more))


@pytest.mark.parametrize("rules", NAMES)
def test_ids_are_those_of_its_tokenizer_on_3000_hostile_texts(rules):
    """A file whose output is its ids shows what MediaPipe cut and looked up."""
    draw, length = random.Random(0), 80
    texts = [
        "".join(draw.choice(ALPHABET if draw.random() < 0.7 else "ab ") for _ in range(size))
        for size in (draw.randrange(60) for _ in range(3000))
    ]
    found = {token for one in texts for token in RULES[rules].tokens(one) if "\x00" not in token}
    words = Vocabulary(sorted(found)[::2], rules)
    size, padded = len(words), length + 2 * (rules == "mediapipe_bert")
    # A mask of its own, since BERT's tokenizer puts a padding id first: sums of one-hot rows.
    ids = keras.Input((None,), dtype="int32", name="ids")
    places = keras.layers.Lambda(
        lambda x: keras.ops.cast(
            keras.ops.cumsum(keras.ops.cast(x > 0, "int32"), axis=1)
            * keras.ops.cast(x > 0, "int32"),
            "int32",
        )
    )(ids)
    slots = keras.ops.one_hot(places, length + 1)[..., 1:]
    rows = keras.ops.sum(slots * keras.ops.cast(ids, "float32")[..., None], axis=1)
    model = keras.Model(ids, rows)
    data = export.convert(
        model, "float32", vocabulary=words, sequence_length=length, mediapipe=True
    )
    assert tools.inspect(data).inputs[0].endswith(f"[1, {padded}]") and size > 100
    run = embedder(data)
    for one in texts:
        got = np.rint(run.embed(one).embeddings[0].embedding).astype(int)
        np.testing.assert_array_equal(got, words.encode(one, length), err_msg=repr(one))


@pytest.mark.parametrize("rules", NAMES)
def test_classes_and_probabilities_are_those_of_keras(rules):
    data = datasets.load("clinc150")
    words = Vocabulary.build(data.train.texts, size=2000, rules=rules)
    keras.utils.set_random_seed(0)
    table = layers.ClusterEmbedding(len(words), 16, 200, mask_zero=True)
    model = models.mean_classifier(table, len(data.label_names))
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(words.encode_all(data.train.texts, 32), data.train.labels, epochs=2, verbose=0)
    frozen = export.freeze(model, "int8")
    file = frozen.convert(
        vocabulary=words, labels=data.label_names, sequence_length=32, mediapipe=True
    )
    wanted = frozen.model.predict(words.encode_all(data.test.texts, 32), verbose=0)
    run = classifier(file, max_results=1)
    for one, row in zip(data.test.texts, wanted, strict=True):
        (best,) = run.classify(one).classifications[0].categories
        assert best.category_name == data.label_names[int(row.argmax())]
        assert best.score == pytest.approx(row.max(), abs=1e-5)


@pytest.mark.parametrize("rules", NAMES)
def test_in_a_browser_too(rules, tmp_path):
    """MediaPipe's runtime for the web, which its apps for Android and iOS share the C++ with."""
    if not (WEB / "node_modules" / "@mediapipe").is_dir() or not Path("/usr/bin/chromium").exists():
        pytest.skip("needs Chromium and the packages of export/web: make web")
    data = datasets.load("clinc150")
    words = Vocabulary.build(data.train.texts, size=2000, rules=rules)
    keras.utils.set_random_seed(0)
    table = keras.layers.Embedding(len(words), 16, mask_zero=True)
    model = models.mean_classifier(table, len(data.label_names))
    path = tmp_path / "model.tflite"
    export.save(model, path, vocabulary=words, labels=data.label_names, sequence_length=32,
                recipe="int4", mediapipe=True)  # fmt: skip
    texts = [*data.test.texts[:500], "\u201cCaf\u00e9\u201d \u4e00\u4e8c!", ""]
    (tmp_path / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    done = subprocess.run(["node", "mediapipe.mjs", path, tmp_path / "texts.json"], cwd=WEB,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = classifier(path.read_bytes(), max_results=1)
    for one, (label, score) in zip(texts, json.loads(done.stdout.splitlines()[-1]), strict=True):
        (best,) = run.classify(one).classifications[0].categories
        assert best.category_name == label and score == pytest.approx(best.score, abs=1e-5)


def test_an_encoder_is_an_embedder_and_smaller_files_still_run():
    words = Vocabulary([f"w{number}" for number in range(2998)], "mediapipe")
    ids = keras.Input((16,), dtype="int32", name="ids")
    vectors = keras.layers.Embedding(3000, 8, mask_zero=True)(ids)
    model = keras.Model(ids, layers.MaskedMean()(vectors))
    file = export.convert(model, "float32", vocabulary=words, mediapipe=True)
    small = tools.shrink(file, "int8").data
    assert len(small) < len(file) - 60_000
    one = "w1 w2, w77!"
    wanted = model.predict(words.encode_all([one], 16), verbose=0)[0]
    for data, apart in ((file, 1e-6), (small, 0.001)):
        found = embedder(data).embed(one).embeddings[0].embedding
        np.testing.assert_allclose(found, wanted, atol=apart)
