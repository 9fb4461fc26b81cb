"""Optimizers in NumPy from their papers, lazy by rows, followed by a dense proximal step."""

import numpy as np


class Table:
    """A table, the slots of an optimizer and a penalty, everything in float64.

    `step(grad, rows)` updates the given rows by the optimizer's formula, then takes the proximal
    step on *all* rows, as the papers do: no catching up.
    """

    def __init__(self, start, rate=0.1, strength=0.0, prox=None, adaptive=False):
        self.x = np.array(start, np.float64)
        self.rate, self.strength, self.prox, self.adaptive = rate, strength, prox, adaptive
        self.t = 0
        self.slots = np.zeros((3, *self.x.shape))

    def step(self, grad, rows):
        self.t += 1
        g = np.asarray(grad, np.float64)[rows]
        self.update(g, rows)
        if self.prox is not None:
            threshold = self.rate * self.strength
            if self.adaptive:
                threshold = threshold / self.divisors()
            self.x = self.prox(self.x, threshold)

    def update(self, g, rows):
        raise NotImplementedError

    def divisors(self):
        """What the formula divides the rate by, for every entry."""
        raise NotImplementedError


class GradientDescent(Table):
    momentum = 0.0

    def update(self, g, rows):
        u = self.momentum * self.slots[0][rows] - self.rate * g
        self.slots[0][rows] = u
        self.x[rows] += u


class Momentum(GradientDescent):
    momentum = 0.9


class Adam(Table):
    """Kingma & Ba, algorithm 1, with the epsilon of section 2 ("epsilon hat")."""

    def update(self, g, rows):
        m, v = self.slots[0], self.slots[1]
        m[rows] = 0.9 * m[rows] + 0.1 * g
        v[rows] = 0.999 * v[rows] + 0.001 * g**2
        correction = np.sqrt(1 - 0.999**self.t)
        alpha = self.rate * correction / (1 - 0.9**self.t)
        self.x[rows] -= alpha * m[rows] / (np.sqrt(v[rows]) + 1e-7)

    def divisors(self):
        correction = np.sqrt(1 - 0.999**self.t)
        return np.sqrt(self.slots[1]) / correction + 1e-7 / correction


class Adagrad(Table):
    """Duchi et al., figure 1, starting from 0.1 as Keras does."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.slots[0] += 0.1

    def update(self, g, rows):
        self.slots[0][rows] += g**2
        self.x[rows] -= self.rate * g / np.sqrt(self.slots[0][rows] + 1e-7)

    def divisors(self):
        return np.sqrt(self.slots[0] + 1e-7)


class RMSprop(Table):
    """Tieleman & Hinton, lecture 6.5, slide 29."""

    def update(self, g, rows):
        v = self.slots[0]
        v[rows] = 0.9 * v[rows] + 0.1 * g**2
        self.x[rows] -= self.rate * g / np.sqrt(v[rows] + 1e-7)

    def divisors(self):
        return np.sqrt(self.slots[0] + 1e-7)


def soft(x, t):
    return np.sign(x) * np.maximum(np.abs(x) - t, 0)


def nonnegative(x, t):
    return np.where(x > t, x - t, 0)


def group(x, t):
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.where(norms > t, x - t * x / np.where(norms > 0, norms, 1), 0)
