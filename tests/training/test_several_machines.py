"""One model trained by several processes, and what they refuse. See `machine_checks.py`."""

import inspect
import re
import signal
import subprocess
import sys

import keras
import pytest
import tensorflow as tf

import machines
from kerascompact.optimizers import Proximal, lazy
from kerascompact.optimizers.replicas import check_strategy
from kerascompact.training import MultiWorkerStrategy


@pytest.mark.slow
def test_two_processes_train_as_one(tmp_path):
    for found in machines.together(2, "core", tmp_path):
        assert found["difference"] < 1e-5 and found["replicas"] == 2
        assert found["zeros"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 4])
def test_every_optimizer_trains_as_on_one_device(count):
    for found in machines.together(count, "optimizers"):
        assert found["difference"] < 1e-5


@pytest.mark.slow
def test_what_cannot_work_on_several_machines_says_so():
    for said in machines.together(2, "refused"):
        assert all(f"`{name}` must be" in said.pop(name) for name in [*said][:4])
        assert "must not be a `LossScaleOptimizer`" in said.pop("LossScaleOptimizer")
        assert "`logits_dtype` must be 'float32'" in said.pop("logits_dtype")
        assert "'perplexity/total' was made outside of `strategy.scope()`" in said.pop("outside")
        # 16 bits round a sum of parts differently; float32 weights move by 0.05 in a step
        assert max(said.pop("instead")) < 0.01
        assert not said


@pytest.mark.slow
def test_tied_and_sampled_softmax():
    for found in machines.together(2, "words"):
        assert max(found.values()) < 1e-5


@pytest.mark.slow
def test_layers_with_state_and_callbacks():
    found = machines.together(2, "state")
    for one in found:
        assert one["exact"] < 1e-5 and one["uneven"] < 1e-5
        assert one["charges"] == 0 and one["counted"] == 4
    assert found[0]["sums"] == found[1]["sums"]


@pytest.mark.slow
def test_a_killed_job_goes_on_as_if_nothing_had_happened(tmp_path):
    undisturbed, _ = machines.together(2, "resume", tmp_path / "undisturbed")
    folder = tmp_path / "killed"
    # in the midst of the second epoch; then after the third, which only the other one writes
    for victim, epoch, step in [(1, 1, 2), (0, 2, -1)]:
        processes = machines.start(2, "resume", folder, victim, epoch, step)
        try:
            assert processes[victim].wait(200) == -signal.SIGKILL
            assert processes[1 - victim].wait(200) != 0  # it notices, and does not wait forever
        finally:
            machines.stop(processes)
    found, other = machines.together(2, "resume", folder)
    assert found["begin"] == other["begin"] == 2 and undisturbed["begin"] == 0
    assert found["iterations"] == undisturbed["iterations"] == 16
    assert found["weights"] == other["weights"] == undisturbed["weights"]


@pytest.mark.slow
def test_the_script_of_the_page_runs_as_it_is(tmp_path):
    page = (machines.TESTS.parent / "docs" / "several_devices.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "train.py").write_text(code, "utf-8")
    addresses = machines.addresses(2)
    commands = [[sys.executable, "train.py", str(number), *addresses] for number in range(2)]
    pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    processes = [subprocess.Popen(command, **pipes) for command in commands]
    output, _ = machines.outputs(processes)
    accuracy = [float(found) for found in re.findall(r"accuracy: ([\d.]+)", output)]
    assert len(accuracy) == 3 and accuracy[-1] > 0.8 > accuracy[0]
    assert (tmp_path / "model.keras").exists()


def test_a_machine_alone():
    strategy = MultiWorkerStrategy()
    assert strategy.num_replicas_in_sync == 1
    assert float(strategy.reduce("MEAN", tf.constant(3.0), axis=0)) == 3
    assert float(strategy.reduce("SUM", tf.constant([3.0, 4.0]), axis=0)) == 7


def test_keras_still_asks_for_means_that_tensorflow_refuses():
    """If this fails, Keras may work with TensorFlow's own strategy: see keras#20585."""
    trainer = inspect.getsource(inspect.getmodule(inspect.unwrap(keras.Model.fit)))
    assert 'strategy.reduce("MEAN", v, axis=0)' in trainer
    assert '"MEAN",\n                        maybe_distributed_data_batch,' in trainer


@pytest.mark.parametrize("make", [lazy, Proximal])
@pytest.mark.parametrize("kind", ["ParameterServerStrategy", "TPUStrategy"])
def test_other_strategies_are_refused(monkeypatch, make, kind):
    """Neither can be made here: one needs servers, the other a TPU."""
    strategy = object.__new__(getattr(tf.distribute, kind))
    monkeypatch.setattr(tf.distribute, "get_strategy", lambda: strategy)
    with pytest.raises(ValueError, match=f"{kind}`.*training.MultiWorkerStrategy"):
        make("adam")


def test_keras_distribution_is_refused():
    devices = [f"cpu:{i}" for i in range(2)]
    keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))
    try:
        with pytest.raises(ValueError, match="does nothing on the TensorFlow backend"):
            lazy("adam")
    finally:
        keras.distribution.set_distribution(None)
    check_strategy()
