"""Public layers, one line per method."""

from kerascompact.layers.bit_cache import BitCache
from kerascompact.layers.embeddings.anchor_transform import AnchorTransformEmbedding
from kerascompact.layers.embeddings.cluster import ClusterEmbedding
from kerascompact.layers.embeddings.cluster_adjustment import ClusterAdjustmentEmbedding
from kerascompact.layers.embeddings.compositional_code import CompositionalCodeEmbedding
from kerascompact.layers.embeddings.dpq import DPQEmbedding
from kerascompact.layers.embeddings.group_lasso import GroupLassoEmbedding
from kerascompact.layers.embeddings.guidance import OnlineGuidance, PretrainedGuidance
from kerascompact.layers.embeddings.hashed import HashEmbedding
from kerascompact.layers.embeddings.kd_code import KDCodeEmbedding
from kerascompact.layers.embeddings.low_rank import LowRankEmbedding
from kerascompact.layers.embeddings.mixture import MixtureEmbedding
from kerascompact.layers.embeddings.plain import Embedding
from kerascompact.layers.embeddings.predefined_sparse import PredefinedSparseEmbedding
from kerascompact.layers.embeddings.projection import ProjectionEmbedding
from kerascompact.layers.embeddings.quantized import QuantizedEmbedding
from kerascompact.layers.embeddings.selected import SelectedEmbedding
from kerascompact.layers.embeddings.sparse_anchor import SparseAnchorEmbedding
from kerascompact.layers.embeddings.sparse_variational import SparseVariationalEmbedding
from kerascompact.layers.embeddings.sparse_variational_vocabulary import (
    SparseVariationalVocabularyEmbedding,
)
from kerascompact.layers.embeddings.tensor_train import TensorTrainEmbedding
from kerascompact.layers.embeddings.variational_vocabulary import VariationalVocabularyEmbedding
from kerascompact.layers.graph import constants, feature_product  # noqa: F401, for saved models
from kerascompact.layers.graph.convolution import GraphConvolution
from kerascompact.layers.heads.tied import WordBias, tied_softmax
from kerascompact.layers.heads.word_logits import WordLogits
from kerascompact.layers.masked_max import MaskedMax
from kerascompact.layers.masked_mean import MaskedMean
from kerascompact.layers.recurrent.activation_regularization import ActivationRegularization
from kerascompact.layers.recurrent.embedding_dropout import EmbeddingDropout
from kerascompact.layers.recurrent.equal_parameters import equal_parameters
from kerascompact.layers.recurrent.locked_dropout import LockedDropout
from kerascompact.layers.recurrent.sparse_gru import SparseGRU
from kerascompact.layers.recurrent.sparse_lstm import SparseLSTM
from kerascompact.layers.recurrent.sparse_simple_rnn import SparseSimpleRNN
from kerascompact.layers.recurrent.weight_drop import (
    WeightDropGRU,
    WeightDropLSTM,
    WeightDropSimpleRNN,
)
from kerascompact.layers.text_convolution import TextConvolution
from kerascompact.layers.text_to_bits import TextToBits
from kerascompact.layers.text_to_buckets import TextToBuckets
from kerascompact.layers.text_to_ids import TextToIds
from kerascompact.layers.text_to_pieces import TextToPieces
from kerascompact.layers.text_to_slots import TextToSlots
from kerascompact.layers.unknown_as_padding import UnknownAsPadding
from kerascompact.layers.weighted_mean import WeightedMean

__all__ = [
    "ActivationRegularization",
    "AnchorTransformEmbedding",
    "BitCache",
    "ClusterAdjustmentEmbedding",
    "ClusterEmbedding",
    "CompositionalCodeEmbedding",
    "DPQEmbedding",
    "Embedding",
    "EmbeddingDropout",
    "GraphConvolution",
    "GroupLassoEmbedding",
    "HashEmbedding",
    "KDCodeEmbedding",
    "LockedDropout",
    "LowRankEmbedding",
    "MaskedMax",
    "MaskedMean",
    "MixtureEmbedding",
    "OnlineGuidance",
    "PredefinedSparseEmbedding",
    "PretrainedGuidance",
    "ProjectionEmbedding",
    "QuantizedEmbedding",
    "SelectedEmbedding",
    "TextConvolution",
    "SparseAnchorEmbedding",
    "SparseGRU",
    "SparseLSTM",
    "SparseSimpleRNN",
    "SparseVariationalEmbedding",
    "SparseVariationalVocabularyEmbedding",
    "TensorTrainEmbedding",
    "TextToBits",
    "TextToBuckets",
    "TextToIds",
    "TextToPieces",
    "TextToSlots",
    "UnknownAsPadding",
    "VariationalVocabularyEmbedding",
    "WeightDropGRU",
    "WeightDropLSTM",
    "WeightDropSimpleRNN",
    "WeightedMean",
    "WordBias",
    "WordLogits",
    "equal_parameters",
    "tied_softmax",
]
