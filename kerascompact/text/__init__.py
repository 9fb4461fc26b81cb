"""From raw text to ids: the token rules, the vocabulary, and both as `tf.data` steps.

Importing this room loads no TensorFlow, so that a tool that only reads a `.tflite` file stays
light. The TensorFlow side is imported by name, `kerascompact.text.tokenize` and
`kerascompact.text.pipeline`; the pure-Python twin of the first is `kerascompact.text.rules`, which
is why no function `tokenize` is exposed here (the module of that name would replace it).

>>> Vocabulary.build(["turn it up", "turn it down"]).encode("turn it off").tolist()
[3, 2, 1]
"""

from kerascompact.text.rules import RULES, Rules
from kerascompact.text.vocabulary import NUM_RESERVED, PAD, UNK, Vocabulary

__all__ = ["NUM_RESERVED", "PAD", "RULES", "UNK", "Rules", "Vocabulary"]
