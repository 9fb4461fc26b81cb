"""Token rules as TensorFlow ops: the only file that imports tensorflow_text."""

import tensorflow as tf

from kerascompact.text import rules as token_rules

try:
    import tensorflow_text
# A build for another TensorFlow is found but cannot be loaded: that is NotFoundError.
except (ImportError, tf.errors.NotFoundError) as error:
    _minor = ".".join(tf.__version__.split(".")[:2])
    raise ImportError(
        "kerascompact.text.tokenize needs tensorflow-text of the same minor version as "
        f"tensorflow, which is {tf.__version__} here. Install it with: "
        f"pip install 'tensorflow-text=={_minor}.*' (there is none for Windows; use WSL, or "
        "kerascompact.text.rules.tokenize, which needs no TensorFlow). "
        f"The import said: {error}"
    ) from error

# tensorflow_text's splitter cuts a string off at its first NUL byte. Once white space has become
# single spaces a tab is free to stand for NUL while the splitter runs.
_NUL, _STAND_IN = "\x00", "\t"


def tokenize(texts: tf.Tensor, rules: str = "wordpunct") -> tf.RaggedTensor:
    """Cuts texts into tokens inside a TensorFlow graph, for instance in `tf.data.Dataset.map`.

    Equal to `kerascompact.text.rules.tokenize`, token by token, on any valid UTF-8.

    Args:
        texts: UTF-8 strings: a tensor, or what becomes one.
        rules: A name in `kerascompact.text.rules`, such as `"wordpunct"` or `"kim"`.
    Shapes: texts `(...)`, at least one axis -> tokens `(..., ragged)`; a single text `()` ->
        a plain tensor `(tokens,)`.
    Raises: ValueError, if no rules have that name or the texts are not strings.
    Example:
    >>> tokenize(["Turn it up!", ""]).to_list()
    [[b'turn', b'it', b'up', b'!'], []]

    Reference: [TensorFlow Text](https://www.tensorflow.org/text), `RegexSplitter`.
    """
    chosen = token_rules.named(rules)
    texts = tf.convert_to_tensor(texts, dtype_hint=tf.string)  # the hint is for []
    if texts.dtype != tf.string:
        raise ValueError(f"`texts` must be strings. Received: a tensor of {texts.dtype.name}.")
    if texts.shape.rank == 0:
        return tokenize(texts[tf.newaxis], rules)[0]
    if chosen.lower:
        texts = tf.strings.lower(texts)  # without `encoding` it changes A-Z only
    if chosen.characters:
        texts = tf.strings.regex_replace(texts, r"([^\x00-\x7f])", r" \1 ")
    for pattern, replacement in chosen.substitutions:
        texts = tf.strings.regex_replace(texts, pattern, replacement)
    texts = tf.strings.regex_replace(texts, token_rules.SPACES, " ")
    texts = tf.strings.regex_replace(texts, r"\x00", _STAND_IN)
    tokens = tensorflow_text.RegexSplitter(" +").split(texts)
    tokens = tf.ragged.map_flat_values(tf.strings.regex_replace, tokens, _STAND_IN, _NUL)
    return _with_pairs(tokens) if chosen.pairs else tokens


def _with_pairs(words: tf.RaggedTensor) -> tf.RaggedTensor:
    """Behind each word but the last of a text, the pair of it and the next one."""
    if words.ragged_rank > 1:
        return words.with_values(_with_pairs(words.values))
    after = tf.concat([words.values[1:], words.values[:1]], 0)  # as many, of no words as well
    pairs = tf.strings.join([words.values, after], " ")
    both = words.with_values(tf.stack([words.values, pairs], 1)).merge_dims(1, 2)
    return both[:, :-1]  # the last word of a text has none to pair with
