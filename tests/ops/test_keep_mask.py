import numpy as np
import tensorflow as tf

from kerascompact.ops.keep_mask import keep_mask


def test_keeps_the_share_and_the_mean():
    for jit_compile in (False, True):
        mask = tf.function(
            lambda: keep_mask((200, 300), 0.2, 3), jit_compile=jit_compile, autograph=False
        )().numpy()
        np.testing.assert_allclose(np.unique(mask), [0, 1.25])
        # 60,000 draws: a deviation of the share is 0.0016
        assert abs(np.mean(mask == 0) - 0.2) < 0.008
    np.testing.assert_array_equal(keep_mask((5,), 0.0, 1), 1.0)
