"""Models of the papers: functions that take an embedding *instance* and return a `keras.Model`."""

from kerascompact.models.lstm_classifier import lstm_classifier
from kerascompact.models.mean_classifier import mean_classifier

__all__ = ["lstm_classifier", "mean_classifier"]
