"""Several processes, one of them killed in mid-trial; several folders with one storage; Ctrl-C."""

import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kerascompact.search import text_classifier
from kerascompact.search.beyond_labels import Beyond
from kerascompact.search.preparing import prepare
from kerascompact.search.processes import Processes
from kerascompact.search.worker import Worker
from tiny_task import dataset

pytestmark = pytest.mark.slow
BUDGETS = (12 * 1024, 16 * 1024)


def prepared(folder, storage=""):
    folder.mkdir(exist_ok=True)
    prepare(
        dataset(), Beyond(), folder, False, budgets=BUDGETS, metric="accuracy", seed=0,
        distil=False, storage=storage,
    )  # fmt: skip
    return Worker(folder)


def trials(watcher):
    return [
        trial for study in watcher.studies.of.values() for trial in study.get_trials(deepcopy=False)
    ]


@pytest.mark.parametrize("count", [2, 4])
def test_one_is_killed_in_mid_trial(tmp_path, count):
    watcher, most = prepared(tmp_path / "search"), 10
    killed = None
    with Processes(tmp_path / "search", count, 600, time.time(), most) as processes:
        while processes.alive():
            for trial in trials(watcher):
                if killed is None and trial.state.name == "RUNNING":
                    killed = trial.user_attrs.get("worker")
                    if killed:
                        os.kill(int(killed.split("-")[-2]), signal.SIGKILL)
            time.sleep(0.05)
    found = trials(watcher)
    lost = [trial for trial in found if trial.user_attrs.get("worker") == killed]
    assert killed and [trial.state.name for trial in lost][-1] == "FAIL"
    ended = [trial for trial in found if trial.state.name in ("COMPLETE", "PRUNED")]
    assert most <= len(ended) <= most + count  # each may have begun its last one
    assert not any(trial.state.name == "RUNNING" for trial in found)
    # what was lost was trained by another one, and nothing twice
    failed = {trial.number for trial in lost if trial.state.name == "FAIL"}
    assert failed <= {trial.user_attrs.get("again") for trial in found}
    for study in watcher.studies.of.values():
        first = [
            json.dumps(trial.params, sort_keys=True)
            for trial in study.get_trials(deepcopy=False)
            if trial.state.name == "COMPLETE" and "repeat_of" not in trial.user_attrs
        ]
        assert len(first) == len(set(first)) > 0
    assert len({trial.user_attrs["worker"] for trial in ended}) > 1


def test_workers_end_with_a_killed_search(tmp_path):
    prepared(tmp_path / "search")
    script = (
        "import sys, time; from pathlib import Path\n"
        "from kerascompact.search.processes import Processes\n"
        "with Processes(Path(sys.argv[1]), 2, 600, time.time(), None) as processes:\n"
        "    print(*(one.pid for one in processes.running.values()), flush=True)\n"
        "    time.sleep(600)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "search")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as search:
        workers = [int(pid) for pid in search.stdout.readline().split()]
        watcher, begun = Worker(tmp_path / "search"), time.time()
        while not any(trial.state.name == "RUNNING" for trial in trials(watcher)):
            assert time.time() < begun + 120
            time.sleep(0.2)
        search.kill()
    assert len(workers) == 2
    begun = time.time()
    while any(Path(f"/proc/{pid}/cmdline").exists() for pid in workers):
        assert time.time() < begun + 30
        time.sleep(0.1)


@pytest.mark.parametrize("address", ["sqlite:///{}/both.db", "{}/both.log"])
def test_two_machines_share_a_storage(tmp_path, address):
    address = address.format(tmp_path)
    first, second = (prepared(tmp_path / name, address) for name in ("one", "two"))
    first.work(600, most=3)
    second.work(600, most=6)
    runs = {(run.budget, run.number) for run in first.studies.runs()}
    assert runs == {(run.budget, run.number) for run in second.studies.runs()}
    workers = {trial.user_attrs["worker"] for trial in trials(first) if trial.params}
    assert workers == {first.studies.worker, second.studies.worker}
    # a model that only the other machine has is trained again from its setting
    options = {"workers": 1, "trials": 6, "verbose": False, "storage": address, "resume": True}
    found = text_classifier(
        dataset(), BUDGETS, folder=tmp_path / "two", distil=False, refit=False, **options
    )
    assert all(
        len(best.file) <= budget
        for budget, best in zip(BUDGETS, found.by_budget.values(), strict=True)
    )


def test_ctrl_c_gives_the_best_so_far(tmp_path):
    data = dataset()
    rows = [f"{text},{data.label_names[label]}" for text, label in zip(*data.train, strict=True)]
    (tmp_path / "data.csv").write_text("\n".join(["text,label", *rows]))
    command = [sys.executable, "-m", "kerascompact", "train", "--data", str(tmp_path / "data.csv")]
    command += ["--budget", "12KiB", "--minutes", "9", "--workers", "2", "--out", str(tmp_path)]
    # A job that a shell has put into the background inherits that Ctrl-C is ignored.
    listening = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(
        command, start_new_session=True, stderr=subprocess.PIPE, preexec_fn=listening
    )
    journal = tmp_path / "search" / "journal.log"
    begun = time.time()
    while not (journal.exists() and '"state":1,"values"' in journal.read_text()):
        assert process.poll() is None and time.time() < begun + 120
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=120) == 0, process.stderr.read()
    assert (tmp_path / "model.tflite").stat().st_size <= 12 * 1024
    assert time.time() < begun + 300
