"""Models of the papers: functions that take an embedding *instance* and return a `keras.Model`."""

from kerascompact.models.awd_lstm import Dropouts, awd_lstm, sparse_sizes
from kerascompact.models.bit_input import with_bit_input
from kerascompact.models.fit_projection import fit_projection
from kerascompact.models.graph_network import graph_network
from kerascompact.models.language_model import language_model
from kerascompact.models.lstm_classifier import lstm_classifier
from kerascompact.models.matrix_factorization import matrix_factorization
from kerascompact.models.mean_classifier import mean_classifier
from kerascompact.models.projection_lstm import projection_lstm
from kerascompact.models.sgnn import sgnn
from kerascompact.models.skip_gram import SkipGram
from kerascompact.models.tagger import tagger
from kerascompact.models.text_cnn import text_cnn

__all__ = [
    "Dropouts",
    "SkipGram",
    "awd_lstm",
    "fit_projection",
    "graph_network",
    "language_model",
    "lstm_classifier",
    "matrix_factorization",
    "mean_classifier",
    "projection_lstm",
    "sgnn",
    "tagger",
    "sparse_sizes",
    "text_cnn",
    "with_bit_input",
]
