"""Runtime: runs `.tflite` files on LiteRT, as a phone does. Imports no TensorFlow, no Keras."""

from kerascompact.runtime.causal_lm import CausalLM
from kerascompact.runtime.classifier import TextClassifier
from kerascompact.runtime.tagger import TextTagger

__all__ = ["CausalLM", "TextClassifier", "TextTagger"]
