"""Keras registration as `kerascompact>Name`, so that `.keras` files load by themselves."""

import keras

register = keras.saving.register_keras_serializable(package="kerascompact")
