"""The benchmark of several machines counts the bytes that a gradient of rows needs."""

import subprocess

import pytest

from benchmarks.product import several_machines

CAN = ["unshare", "--map-root-user", "--net", "ip", "link", "set", "lo", "up"]


@pytest.mark.slow
def test_counts_the_bytes_of_rows():
    try:
        subprocess.run(CAN, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("network namespaces are not allowed here")
    row = several_machines.measure("lazy Adam", 500)
    rows = 2 * row["unique"] * (4 * several_machines.WIDTH + 8)
    assert rows < row["bytes"] < 1.2 * rows + 20_000
    line = several_machines.table([row | {"ratio": 1.0, "times_slower": 1.0}])
    assert len(line.splitlines()) == 3
