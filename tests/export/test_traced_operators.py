"""Operators of a traced function by layer, and what helps where a size is open."""

import tensorflow as tf

from kerascompact.export import traced_operators


def test_advice_is_for_dimensions_that_are_open():
    def advice(*shape, unknown=("StridedSlice",)):
        function = tf.function(tf.abs).get_concrete_function(tf.TensorSpec(shape))
        return traced_operators.advice(function, unknown)

    assert advice(1, 4) == "" and advice(1, None, unknown=("BesselI0",)) == ""
    assert advice(None, 4) == "; give `batch_size=` a number"
    assert "`sequence_length=`" in advice(None, None) and "`sequence_length=`" in advice(1, None)


def test_operators_are_found_once_for_a_layer_and_three_at_most():
    def inverses(squares):
        for number in range(5):
            with tf.name_scope(f"layer_{number}"):
                squares = tf.linalg.inv(tf.linalg.inv(squares))
        return squares

    function = tf.function(inverses).get_concrete_function(tf.zeros((2, 2)))
    places = [f"MatrixInverse in layer_{number}" for number in range(3)]
    assert traced_operators.found(function, "MatrixInverse".__eq__) == ", ".join(places)
    assert traced_operators.found(function, "MatMul".__eq__) == ""


def test_a_list_is_open_if_its_entries_have_the_open_batch():
    def lists(shape):
        def twice(x):
            return tf.TensorArray(tf.float32, 1, element_shape=shape(x)).write(0, x).stack()

        traced = tf.function(twice).get_concrete_function(tf.TensorSpec((None, 2)))
        return traced_operators.open_lists(traced)

    assert lists(lambda x: x.shape) and not lists(lambda x: (3, 2))


def test_a_layer_is_what_comes_before_the_operator():
    assert traced_operators.layer_of("a/b/MatMul") == "a/b"
    assert traced_operators.layer_of("alone") == "alone"
