"""Post-training compressors: a trained table in, a stored form out; no training with the task."""

from kerascompact.compress.base import Compressor
from kerascompact.compress.clusters import KMeansClusters
from kerascompact.compress.codes import codes_of
from kerascompact.compress.compositional import CompositionalCodes
from kerascompact.compress.k_svd import KSVD
from kerascompact.compress.kd_codes import KDCodes
from kerascompact.compress.models import compress_model, form_model
from kerascompact.compress.nearest_anchors import NearestAnchors
from kerascompact.compress.product import ProductQuantization
from kerascompact.compress.product_codes import ProductCodes
from kerascompact.compress.pruning import Pruning
from kerascompact.compress.report import report
from kerascompact.compress.scalar import ScalarQuantization
from kerascompact.compress.sparse_code import SparseCode
from kerascompact.compress.svd import TruncatedSVD
from kerascompact.compress.tables import read_table
from kerascompact.compress.vocabulary import trim_vocabulary

__all__ = [
    "CompositionalCodes",
    "Compressor",
    "KDCodes",
    "KMeansClusters",
    "KSVD",
    "NearestAnchors",
    "ProductCodes",
    "ProductQuantization",
    "Pruning",
    "ScalarQuantization",
    "SparseCode",
    "TruncatedSVD",
    "codes_of",
    "compress_model",
    "form_model",
    "read_table",
    "report",
    "trim_vocabulary",
]
