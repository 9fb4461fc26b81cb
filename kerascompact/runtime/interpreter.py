"""Interpreter of `.tflite` files: LiteRT, the runtime of phones, with checks before each run."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ai_edge_litert import interpreter as litert

from kerascompact.core import checks
from kerascompact.runtime import encoding
from kerascompact.runtime.primary import Primary
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.mediapipe_metadata import UNUSED
from kerascompact.tflite.metadata import metadata_of, of_signature


class Interpreter:
    """Loads a file and runs it: named arrays in, named arrays out.

    The runtime trusts a file, and a damaged one may crash the process; so it is checked first, see
    `flatbuffer.read`. In a file of kerascompact, the checksum detects any damage. In other files,
    every kind of damage is refused that crashed the runtime in thousands of trials; run a file that
    may have been made to do harm in a process of its own. Threads may share an interpreter: one
    runs after the other.

    Args:
        file: Path or bytes of a `.tflite` file.
        num_threads: Threads that the runtime may use.
        signature: Name of the model to run, if the file has several. Default: the first.

    Raises: ValueError, if the file is damaged, needs operators that the plain runtime lacks, or has
        no such signature.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> ids = keras.Input((4,), dtype="int32", name="ids")
    >>> model = keras.Model(ids, ClusterEmbedding(9, 2, num_clusters=3, name="vectors")(ids))
    >>> file = Interpreter(kerascompact.export.convert(model))
    >>> file.run({"ids": np.array([[1, 2, 3, 4]])})["vectors"].shape
    (1, 4, 2)
    """

    def __init__(
        self, file: bytes | str | Path, num_threads: int = 1, signature: str | None = None
    ) -> None:
        checks.integer_in("num_threads", num_threads, 1)
        self.data, parsed = flatbuffer.read(file)
        custom = sorted({n for n in flatbuffer.operator_names(parsed) if n.startswith("CUSTOM:")})
        if custom:
            raise ValueError(
                "The file must run on built-in operators. "
                f"Received: a file that needs {', '.join(name[7:] for name in custom)}."
            )
        self.metadata = metadata_of(parsed)
        try:
            self._runtime = litert.Interpreter(model_content=self.data, num_threads=num_threads)
            signatures = self._runtime.get_signature_list()
            if not signatures:
                raise ValueError("it has no signature, which names the inputs")
            name = signature or _first(signatures)
            if name not in signatures:
                raise ValueError(f"it has no signature {name!r}, but {', '.join(signatures)}")
            if self.metadata is not None:
                self.metadata = of_signature(self.metadata, name)
            runner = self._runtime.get_signature_runner(name)
        except (ValueError, RuntimeError, MemoryError) as error:
            raise _cannot_run(error) from error
        found: dict[str, dict[str, Any]] = runner.get_input_details()
        # MediaPipe gives inputs that no operator reads.
        self._unread = {name: np.zeros(found.pop(name)["shape"], np.int32) for name in UNUSED
                        if name in found}  # fmt: skip
        self.inputs = found
        self.outputs: dict[str, dict[str, Any]] = runner.get_output_details()
        defined = [one for one in parsed.signatureDefs or [] if one.signatureKey == name.encode()]
        self._call: Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]
        self._call = lambda inputs: runner(**inputs, **self._unread)
        self._only: Callable[[np.ndarray], np.ndarray]
        self._only = lambda value: self._call({next(iter(found)): value})[next(iter(self.outputs))]
        if [one.subgraphIndex for one in defined] == [0] and not self._unread:
            self._call = primary = Primary(self._runtime, self.inputs, self.outputs)
            self._only = primary.only
        self._one_at_a_time = threading.Lock()  # a run sets inputs, runs and reads outputs
        self._ports = {name: _Port.of(details) for name, details in found.items()}
        computed = (self.metadata or {}).get("computed_ids")  # as of `ids % 100`: inputs are free
        size = self.vocabulary_size if len(found) == 1 and not computed else None
        self._id_bound = 256 if self.text is not None else size  # bytes, or ids

    @property
    def text(self) -> dict[str, Any] | None:
        """Metadata of the text input: its limits and token rules; `None` if the input is ids."""
        return (self.metadata or {}).get("text")

    @property
    def input_order(self) -> list[str]:
        """Names of the inputs, in the order of the model if the metadata have it."""
        told = (self.metadata or {}).get("inputs", [])
        return told if {*told} == {*self.inputs} else [*self.inputs]

    def run_text(self, text: str | bytes) -> dict[str, np.ndarray]:
        """Runs a file with text input on one text.

        Args:
            text: A `str` or UTF-8 bytes; bytes beyond the file's limit are cut.

        Returns: The outputs by name.

        Raises: ValueError, if the file does not take text.

        >>> from kerascompact import models, text
        >>> words = text.Vocabulary(["good", "bad"])
        >>> model = models.mean_classifier(keras.layers.Embedding(4, 2, mask_zero=True), 2)
        >>> file = Interpreter(kerascompact.export.convert(model, text=words))
        >>> file.run_text("good or bad")["probabilities"].shape
        (1, 2)
        """
        if self.text is None:
            checks.fail("file", "one that takes text", [*self.inputs])
        if not isinstance(text, str | bytes):
            checks.fail("text", "a str or bytes", text)
        encoded = encoding.encode(text, self.text["max_bytes"] or encoding.open_length(text))
        return self.run({self.text["input"]: encoded.numbers})

    @property
    def vocabulary_size(self) -> int | None:
        """Vocabulary size of the file's embeddings; `None` if the metadata do not have it.

        Tables of positions and segments may be smaller: these do not count where the metadata tell
        which tables read the inputs, and otherwise the largest table counts.
        """
        facts = self.metadata or {}
        if told := facts.get("num_ids"):
            return told
        tables = facts.get("embeddings")
        if tables == []:  # a model without a table, in a file of several
            return None
        sizes = [e["input_dim"] for e in tables or [] if e["input_dim"] is not None]
        return max(sizes) if sizes else (facts.get("vocabulary") or {}).get("size")

    @property
    def batch_size(self) -> int | None:
        """Examples per run, the first dimension of every input; `None`: any number."""
        shapes = [details["shape_signature"] for details in self.inputs.values()]
        sizes = {int(shape[0]) for shape in shapes if len(shape)}
        size = sizes.pop() if len(sizes) == 1 else 1
        return None if size == -1 else size

    def run(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Runs one batch of `batch_size` examples, which is 1 in most files.

        Args:
            inputs: An array for each input, by name.

        Returns: The outputs by name.

        Raises: ValueError, if a name, a shape or an id does not fit, or the runtime fails.
        """
        if inputs.keys() != self.inputs.keys():
            checks.fail("inputs", f"a dictionary with the keys {sorted(self.inputs)}", inputs)
        fitted = {name: self._fitted(name, value) for name, value in inputs.items()}
        try:
            with self._one_at_a_time:
                return self._call(fitted)
        except (RuntimeError, MemoryError) as error:  # the file is damaged: ids are checked above
            raise _cannot_run(error) from error

    def run_fitting(self, value: np.ndarray) -> np.ndarray:
        """`run` of a file with one input and one output, without its checks.

        These take longer than a small model does.

        Args:
            value: The input, of its type and a shape that it can have; ids below
                `vocabulary_size`. The runtime may crash on others.

        Returns: The output.
        """
        try:
            with self._one_at_a_time:
                return self._only(value)
        except (RuntimeError, MemoryError) as error:
            raise _cannot_run(error) from error

    def _fitted(self, name: str, value: np.ndarray) -> np.ndarray:
        port, value = self._ports[name], np.asarray(value)
        if not port.fits(value.shape):
            raise ValueError(
                f"`{name}` must have the shape {list(port.shape)}. "
                f"Received: the shape {list(value.shape)}."
            )
        # One pass over what most calls give; negative numbers are large without a sign.
        both = value.dtype == port.dtype == np.int32 and self._id_bound is not None
        if both and value.view(np.uint32).max() < self._id_bound:
            return value
        if self.text is not None:
            if not np.issubdtype(value.dtype, np.integer):
                checks.fail(name, "bytes as an array of integers", value)
            value = np.where((value < 0) | (value > 255), encoding.SHIELD, value)
        elif np.issubdtype(port.dtype, np.integer) and self._id_bound is not None:
            checks.ids_below(name, value, self._id_bound)
        elif np.issubdtype(port.dtype, np.integer):
            _check_fits(name, value, port.dtype)  # ids, or numbers, which may be negative
        return value.astype(port.dtype)


class _Port(NamedTuple):
    """Type of an input, and its shape, `None` for a dimension that is open."""

    dtype: Any
    shape: tuple[int | None, ...]

    @classmethod
    def of(cls, details: dict[str, Any]) -> "_Port":
        shape = tuple(None if n == -1 else int(n) for n in details["shape_signature"])
        return cls(np.dtype(details["dtype"]), shape)

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Whether an array of this shape can be given; an empty one cannot."""
        if shape == self.shape:
            return True
        fits = len(self.shape) == len(shape) and all(
            wanted in (None, got) for wanted, got in zip(self.shape, shape, strict=True)
        )
        return fits and 0 not in shape


def _check_fits(name: str, value: np.ndarray, dtype: np.dtype) -> None:
    """Raises a `ValueError` for what are no integers, or too large for an integer type."""
    if not np.issubdtype(value.dtype, np.integer):
        checks.fail(name, "an array of integers", value)
    limits = np.iinfo(dtype)
    if value.size and (value.min() < limits.min or value.max() > limits.max):
        checks.fail(name, f"integers of type {dtype}", value)


def _cannot_run(error: Exception) -> ValueError:
    return ValueError(f"The file cannot be run: {(str(error) or 'no memory').splitlines()[0]}")


def bare(file: str | bytes, num_threads: int = 1, keep_all: bool = False) -> litert.Interpreter:
    """LiteRT's own interpreter of a file, without any checks.

    Args:
        file: Path of a file, which is mapped into memory; or its bytes.
        num_threads: Threads that the runtime may use.
        keep_all: Whether tensors between operators can be read after a run.
    """
    source: dict[str, Any] = {"model_path" if isinstance(file, str) else "model_content": file}
    if keep_all:  # XNNPACK would keep tensors of its own
        kinds = litert.OpResolverType
        source["experimental_op_resolver_type"] = kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        source["experimental_preserve_all_tensors"] = True
    return litert.Interpreter(num_threads=num_threads, **source)


def _first(signatures: Any) -> str:
    """The signature that TensorFlow calls the default, or the first."""
    return "serving_default" if "serving_default" in signatures else next(iter(signatures))
