"""Tables of a model as product codes: what the recipes of two to four bits a number store."""

import math

from kerascompact.compress.product_codes import ProductCodes
from kerascompact.forms.base import Form
from kerascompact.forms.composed import Composed
from kerascompact.forms.dense import DenseForm
from kerascompact.forms.factored import FactoredForm
from kerascompact.forms.logits import LogitsForm
from kerascompact.forms.product_codes import ProductCodesForm
from kerascompact.forms.remapped import RemappedForm
from kerascompact.forms.reversible import ReversibleForm


def in_codes(form: Form, bits: int) -> Form:
    """The form with product codes for its tables of float32 rows.

    These are plain tables, the narrow one of a low-rank table, and those of the words that have
    vectors of their own. All else that a form stores as numbers is small and gets four bits, or
    eight as in the recipe "int4".

    Args:
        form: Form of an embedding, or of a kernel.
        bits: Bits of a number, 2 to 4.
    """
    if type(form) is DenseForm:
        if form.precision == "float32":
            return _coded(form, bits)
        if not codes_pay(form.input_dim, form.output_dim, bits):
            return form  # the int8 numbers that this function has chosen before
    if isinstance(form, FactoredForm):
        part = in_codes(form.part, bits)
        return form if part is form.part else form.with_part(part).stored_as("int8")
    if type(form) is ReversibleForm:
        head = None if form.head is None else in_codes(form.head, bits)
        return form.with_parts(in_codes(form.part, bits), head)
    if isinstance(form, RemappedForm | LogitsForm):
        part = in_codes(form.part, bits)
        return form if part is form.part else form.with_part(part)
    if isinstance(form, Composed):
        return form.with_parts([in_codes(part, bits) for part in form.parts])
    return form.stored_as("int4")


def codes_pay(rows: int, width: int, bits: int) -> bool:
    """Whether codes with their codebook are smaller than numbers of eight bits.

    >>> codes_pay(20, 8, 4), codes_pay(2000, 8, 4)
    (False, True)
    """
    made = ProductCodes(bits).form_of(rows, width)
    stored = sum(math.ceil(one.total_bits / 8) for one in made.storage())
    return stored < rows * width + 4 * width


def form_of_table(rows: int, width: int, bits: int) -> Form:
    """The form of a plain table of this size, without numbers, for its bytes."""
    if codes_pay(rows, width, bits):
        return ProductCodes(bits).form_of(rows, width)
    form = DenseForm(rows, width, precision="int8")
    form.build()
    return form


def _coded(form: DenseForm, bits: int) -> DenseForm | ProductCodesForm:
    """A table's codes, or int8 numbers, if the codebook would be larger than what it saves."""
    if not codes_pay(form.input_dim, form.output_dim, bits):
        return form.quantized("int8")
    config = {key: getattr(form, key) for key in ("mask_zero", "paper_bits", "name")}
    made = ProductCodes(bits).fit(form.table_values("table"), **config)
    assert isinstance(made, ProductCodesForm)
    return made
