"""What ships: inference-only Keras layers that hold their arrays as the file will hold them."""

from kerascompact.forms.base import Form
from kerascompact.forms.codebook import CodebookForm
from kerascompact.forms.composed import ConcatForm, SplitForm
from kerascompact.forms.dense import DenseForm
from kerascompact.forms.factored import FactoredForm
from kerascompact.forms.hashed import HashedForm
from kerascompact.forms.latent import LatentForm
from kerascompact.forms.projected import ProjectedForm
from kerascompact.forms.ragged import RaggedForm
from kerascompact.forms.recurrent import RecurrentForm
from kerascompact.forms.remapped import RemappedForm
from kerascompact.forms.rows import RowsForm
from kerascompact.forms.scalar import ScalarForm
from kerascompact.forms.scaled import ScaledForm
from kerascompact.forms.segmented import SegmentedForm
from kerascompact.forms.sparse import SparseForm
from kerascompact.forms.sparse_rows import SparseRowsForm
from kerascompact.forms.tensor_train import TensorTrainForm

__all__ = [
    "CodebookForm",
    "ConcatForm",
    "DenseForm",
    "FactoredForm",
    "Form",
    "HashedForm",
    "LatentForm",
    "ProjectedForm",
    "RaggedForm",
    "RecurrentForm",
    "RemappedForm",
    "RowsForm",
    "ScalarForm",
    "ScaledForm",
    "SegmentedForm",
    "SparseForm",
    "SparseRowsForm",
    "SplitForm",
    "TensorTrainForm",
]
