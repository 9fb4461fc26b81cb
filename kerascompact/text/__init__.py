"""Token rules and vocabularies: from raw text to ids and to batches.

Importing this package loads no TensorFlow, so that a tool that only reads a `.tflite` file starts
fast. Modules that need TensorFlow are imported by name: `kerascompact.text.length_batches`,
`kerascompact.text.bit_pipeline`, `kerascompact.text.tokenize`.

>>> Vocabulary.build(["turn it up", "turn it down"]).encode("turn it off").tolist()
[3, 2, 1]
"""

from kerascompact.text.buckets import Buckets
from kerascompact.text.rules import RULES
from kerascompact.text.slot_vocabulary import SlotVocabulary
from kerascompact.text.vocabulary import NUM_RESERVED, Vocabulary
from kerascompact.text.word_vectors import WordVectors
from kerascompact.text.wordpiece import WordPiece

__all__ = [
    "NUM_RESERVED",
    "RULES",
    "Buckets",
    "SlotVocabulary",
    "Vocabulary",
    "WordPiece",
    "WordVectors",
]
