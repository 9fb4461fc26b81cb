"""Searches within a budget of bytes: texts or a trained model in, the best file out."""

from kerascompact.search.compact import compact
from kerascompact.search.compacted import Compacted
from kerascompact.search.found import Found
from kerascompact.search.text_classifier import text_classifier

__all__ = ["Compacted", "Found", "compact", "text_classifier"]
