"""Process that classifies texts one by one in one way, on command, and measures each call.

Reads JSON lines from stdin: `["answers"]` gives the class of every text, `["run", n]` the seconds
of the next `n` calls. It imports what its way needs and nothing else: MediaPipe's runs in an
environment without this package.
"""

import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Call = Callable[[bytes], str]


def ours(folder: Path, name: str) -> Call:
    """Our runtime: a file that takes text, or one of ids and its list of words."""
    from kerascompact.runtime import TextClassifier

    classifier = TextClassifier(folder / f"{name}.tflite")
    return lambda text: classifier.predict(text).label


def mediapipe(folder: Path, name: str) -> Call:
    """MediaPipe Tasks' classifier."""
    from mediapipe.tasks import python
    from mediapipe.tasks.python import text as tasks

    base = python.BaseOptions(model_asset_path=str(folder / f"{name}.tflite"))
    options = tasks.TextClassifierOptions(base_options=base, max_results=1)
    run = tasks.TextClassifier.create_from_options(options)

    def call(text: bytes) -> str:
        return run.classify(text.decode()).classifications[0].categories[0].category_name

    return call


def fasttext(folder: Path, name: str) -> Call:
    """fastText, which splits at white space."""
    import fasttext as library

    # Its compiled part: the Python around it asks for an array that NumPy 2 refuses.
    run = library.FastText._FastText(str(folder / name)).f.predict
    labels = json.loads((folder / "labels.json").read_text("utf-8"))
    return lambda text: labels[int(run(text.decode() + "\n", 1, 0.0, "strict")[0][1][9:])]


def plain(folder: Path, name: str) -> Call:
    """A file of Keras on LiteRT: tokens by a pattern, ids by a dictionary."""
    row_of, run = _in_parts(folder, name)
    return lambda text: run(row_of(text))


def ids(folder: Path, name: str) -> Call:
    """What a file on LiteRT takes from Python if ids cost nothing: they are looked up before."""
    row_of, run = _in_parts(folder, name)
    texts = json.loads((folder / "texts.json").read_text("utf-8"))
    rows = {text.encode(): row_of(text.encode()) for text in texts}
    return lambda text: run(rows[text])


def _in_parts(folder: Path, name: str) -> tuple[Callable[[bytes], Any], Callable[[Any], str]]:
    """What makes a row of ids of a text, and what makes a class of it."""
    import numpy as np

    from kerascompact.runtime.interpreter import bare

    file = bare(str(folder / f"{name}.tflite"))
    file.allocate_tensors()
    (given,), (found,) = file.get_input_details(), file.get_output_details()
    labels = json.loads((folder / "labels.json").read_text("utf-8"))
    words = json.loads((folder / "words.json").read_text("utf-8"))
    numbers = {word: number for number, word in enumerate(words)}
    pattern, length = re.compile(r"\w+|[^\w\s]+"), int(given["shape"][1])

    def row_of(text: bytes) -> np.ndarray:
        tokens = pattern.findall(text.decode().lower())[:length]
        row = np.zeros((1, length), given["dtype"])
        row[0, : len(tokens)] = [numbers.get(token, 1) for token in tokens]
        return row

    def run(row: np.ndarray) -> str:
        file.set_tensor(given["index"], row)
        file.invoke()
        label: str = labels[int(file.get_tensor(found["index"]).argmax())]
        return label

    return row_of, run


WAYS = {one.__name__: one for one in (ours, mediapipe, fasttext, plain, ids)}


def main(way: str, folder: str, name: str) -> None:
    """Answers commands until stdin ends."""
    texts = [text.encode() for text in json.loads((Path(folder) / "texts.json").read_text("utf-8"))]
    call, place = WAYS[way](Path(folder), name), 0
    for line in sys.stdin:
        command, *numbers = json.loads(line)
        if command == "answers":
            found: list[object] = [call(text) for text in texts]
        else:
            found = []
            for _ in range(numbers[0]):
                text, place = texts[place % len(texts)], place + 1
                start = time.perf_counter()
                call(text)
                found.append(time.perf_counter() - start)
        print("answer " + json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
