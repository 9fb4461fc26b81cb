"""Optimizers that treat an embedding's gradient as rows, and take proximal steps.

For users: `model.compile(lazy("rmsprop"), ...)` updates only the rows that the batch has touched;
`model.compile(Proximal("adam"), ...)` also takes the proximal step of every weight that
has a rule. Both take the name of a Keras optimizer or an instance.

For layers with a penalty that must make exact zeros:

```python
from kerascompact.optimizers.pending import caught_up, caught_up_rows, proximal_rule
from kerascompact.optimizers.rules import L1Rule

def build(self, input_shape=None):
    self.transform = self.add_weight((V, A), ..., name="transform")  # without `constraint`
    proximal_rule(self, self.transform, L1Rule(1e-5, nonnegative=True, unpenalised=pairs))

def lookup(self, ids, training):
    rows = caught_up_rows(self.transform, ids)  # never `tf.gather`: rows may be behind
    ...  # or `caught_up(self.transform)`: all rows, for a softmax over all words

def to_form(self):
    table = caught_up(self.transform).numpy()
```

A row that was away from the batch for some steps owes their thresholds. They are added up, applied
whenever the row is read, and written when it is next updated, so that it always has the value that
a proximal step on the whole table would have given it. `fit` ends by writing them all;
`catch_up(model)` does so at any time.
"""

from kerascompact.optimizers.lazy import LazyAdam, LazySGD, lazy
from kerascompact.optimizers.pending import catch_up
from kerascompact.optimizers.proximal import Proximal

__all__ = [
    "LazyAdam",
    "LazySGD",
    "Proximal",
    "catch_up",
    "lazy",
]
