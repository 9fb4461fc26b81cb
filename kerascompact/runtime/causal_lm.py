"""Reader of files that generate text, `export.convert_causal_lm`, with NumPy and LiteRT only."""

import time
from collections.abc import Collection, Sequence
from numbers import Integral
from pathlib import Path

import numpy as np

from kerascompact.core import checks
from kerascompact.runtime.interpreter import Interpreter

TOKENS, POSITION, LOGITS, CACHE = "token_ids", "position", "logits", "cache_{:03}"


class CausalLM:
    """Generates text from a `.tflite` file with the signatures `prefill` and `decode`.

    Args:
        file: Path or bytes of a file of `export.convert_causal_lm`.
        num_threads: Threads that the runtime may use.

    Attributes:
        tokens_per_second: Speed of the last `generate`, without reading the prompt; `None` before.

    Raises: ValueError, if the file is damaged, or has no such signatures.

    Example:
    >>> from keras_hub.models import GPT2Backbone, GPT2CausalLM
    >>> lm = GPT2CausalLM(GPT2Backbone(50, 1, 2, 8, 16, max_sequence_length=9), None)
    >>> reader = CausalLM(kerascompact.export.convert_causal_lm(lm, max_length=8))
    >>> tokens = reader.generate([3, 1, 4], max_tokens=2)
    >>> tokens[:3], len(tokens)
    ([3, 1, 4], 5)
    """

    def __init__(self, file: bytes | str | Path, num_threads: int = 1) -> None:
        self._decode = Interpreter(file, num_threads, "decode")
        self._prefill = Interpreter(self._decode.data, num_threads, "prefill")
        self._empty = {
            name: np.zeros(details["shape"], details["dtype"])
            for name, details in self._decode.inputs.items()
            if name not in (TOKENS, POSITION)
        }
        if LOGITS not in self._decode.outputs or not self._empty:
            checks.fail("file", "one of `export.convert_causal_lm`", [*self._decode.inputs])
        self._chunk = int(self._prefill.inputs[TOKENS]["shape"][1])
        self.tokens_per_second: float | None = None

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens in the vocabulary."""
        return int(self._decode.outputs[LOGITS]["shape"][-1])

    @property
    def max_length(self) -> int:
        """Most tokens of a text, prompt and continuation."""
        return int(next(iter(self._empty.values())).shape[-3])

    def generate(
        self,
        ids: Sequence[int] | np.ndarray,
        max_tokens: int | None = None,
        *,
        stop: Collection[int] = (),
        temperature: float = 0.0,
        top_k: int | None = None,
        seed: int | None = None,
        verbose: bool = False,
    ) -> list[int]:
        """Continues a text.

        Args:
            ids: Tokens of the prompt, at least one.
            max_tokens: Most tokens to add. Default: until the text has `max_length`.
            stop: Tokens that end the text, and are its last one.
            temperature: 0 takes the likeliest token; above 0, one is drawn from
                `softmax(logits / temperature)`.
            top_k: Draws from the `k` likeliest tokens only. Default: from all.
            seed: Seed of the draws. Default: another in each call.
            verbose: Whether a progress bar is shown.

        Returns: The prompt and its continuation.

        Raises: ValueError, if the prompt is empty, too long, or has tokens outside the vocabulary.
        """
        from rich.progress import Progress  # slow to import, and `predict` shows no progress

        tokens = self._prompt(ids)
        room = self.max_length - len(tokens)
        if max_tokens is not None:
            room = min(room, checks.integer_in("max_tokens", max_tokens, 0))
        checks.number("temperature", temperature, at_least=0)
        if top_k is not None:
            checks.integer_in("top_k", top_k, 1)
        whole = isinstance(stop, Collection) and all(isinstance(one, Integral) for one in stop)
        if not whole or isinstance(stop, str):
            checks.fail("stop", "a list of tokens, integers", stop)
        if seed is not None:
            checks.integer_in("seed", seed, 0)
        random, prompt = np.random.default_rng(seed), len(tokens)
        cache = self._read(tokens[:-1]) if room else {}
        start = time.perf_counter()
        with Progress(disable=not verbose, transient=True) as progress:
            for _ in progress.track(range(room), description="tokens"):
                logits, cache = self._next(tokens[-1], len(tokens) - 1, cache)
                tokens.append(_drawn(logits, temperature, top_k, random))
                if tokens[-1] in stop:
                    break
        if len(tokens) > prompt:
            self.tokens_per_second = (len(tokens) - prompt) / (time.perf_counter() - start)
        return tokens

    def logits(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        """The logits of the next token after each token of a text, float32 `(n, V)`.

        Args:
            ids: Tokens, at least one and `max_length` at most.

        Raises: ValueError, as for `generate`.
        """
        tokens, cache, found = self._prompt(ids), self._empty, []
        for place, token in enumerate(tokens):
            logits, cache = self._next(token, place, cache)
            found.append(logits)
        return np.stack(found)

    def _prompt(self, ids: Sequence[int] | np.ndarray) -> list[int]:
        array = np.asarray(ids)
        if array.ndim != 1 or not len(array) or not np.issubdtype(array.dtype, np.integer):
            checks.fail("ids", "a list of at least one token, integers", ids)
        if len(array) > self.max_length:
            checks.fail("ids", f"1 to {self.max_length} tokens", len(array))
        return [int(one) for one in checks.ids_below("ids", array, self.vocabulary_size)]

    def _read(self, tokens: list[int]) -> dict[str, np.ndarray]:
        """The cache after some tokens."""
        if not tokens:
            return self._empty
        first = np.zeros((1, self._chunk), np.int32)
        count = min(len(tokens), self._chunk)
        first[0, :count] = tokens[:count]
        # What is behind the text is written over before it is read.
        cache = self._prefill.run({TOKENS: first, **self._empty})
        for place in range(count, len(tokens)):
            cache = self._next(tokens[place], place, cache)[1]
        return cache

    def _next(
        self, token: int, place: int, cache: dict[str, np.ndarray]
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The logits after a token at a place, and the cache with it."""
        given = {TOKENS: np.array([[token]], np.int32), POSITION: np.array([place], np.int32)}
        outputs = self._decode.run({**given, **cache})
        return outputs.pop(LOGITS)[0], outputs


def _drawn(
    logits: np.ndarray, temperature: float, top_k: int | None, random: np.random.Generator
) -> int:
    """The likeliest token, or one that is drawn from the softmax of the logits.

    >>> _drawn(np.array([0.0, 9.0, 1.0]), 0.0, None, np.random.default_rng(0))
    1
    """
    if not temperature:
        return int(np.argmax(logits))
    below = logits.astype(np.float64) - logits.max()
    if top_k is not None:
        below[np.argsort(-below, kind="stable")[top_k:]] = -np.inf  # of equal ones the first
    with np.errstate(over="ignore"):  # at a very low temperature only the likeliest are left
        shares = np.exp(np.where(below < 0, below / temperature, 0.0))
    return int(random.choice(len(logits), p=shares / shares.sum()))
