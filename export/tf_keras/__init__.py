"""Import of tf_keras (Keras 2) models, such as those of tensorflow-model-optimization."""
