"""Models of tf_keras (Keras 2), as tensorflow-model-optimization leaves them."""
