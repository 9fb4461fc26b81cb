"""Forms: layers whose arrays are stored exactly as in the file; all but one are not trained."""

from kerascompact.forms.affine_table import AffineTableForm
from kerascompact.forms.base import Form
from kerascompact.forms.code_lstm import CodeLSTMForm
from kerascompact.forms.codebook import CodebookForm
from kerascompact.forms.composed import ConcatForm, SplitForm
from kerascompact.forms.dense import DenseForm
from kerascompact.forms.direction_norm import DirectionNormForm
from kerascompact.forms.einsum import EinsumForm
from kerascompact.forms.factored import FactoredForm
from kerascompact.forms.hashed import HashedForm
from kerascompact.forms.logits import LogitsForm
from kerascompact.forms.packed_table import PackedTableForm
from kerascompact.forms.prefix_table import PrefixTableForm
from kerascompact.forms.product_codes import ProductCodesForm
from kerascompact.forms.projected import ProjectedForm
from kerascompact.forms.remapped import RemappedForm
from kerascompact.forms.reversible import ReversibleForm
from kerascompact.forms.row_scaled_table import RowScaledForm
from kerascompact.forms.sparse import SparseForm
from kerascompact.forms.sparse_rnn import FrozenRNN
from kerascompact.forms.sparse_table import SparseTableForm
from kerascompact.forms.tensor_train import TensorTrainForm
from kerascompact.forms.trainable_form import TrainableForm

__all__ = [
    "AffineTableForm",
    "EinsumForm",
    "CodebookForm",
    "ConcatForm",
    "DenseForm",
    "FactoredForm",
    "Form",
    "HashedForm",
    "LogitsForm",
    "ProductCodesForm",
    "ProjectedForm",
    "PrefixTableForm",
    "CodeLSTMForm",
    "RemappedForm",
    "ReversibleForm",
    "RowScaledForm",
    "PackedTableForm",
    "DirectionNormForm",
    "FrozenRNN",
    "SparseForm",
    "SparseTableForm",
    "SplitForm",
    "TensorTrainForm",
    "TrainableForm",
]
