# SPDX-License-Identifier: Apache-2.0
import pytest

from bench.machine import caption, describe_machine, name_cpu

MACHINE = {"cpu": "A CPU (family 25, model 1)", "cores": 2, "kernel": "6.1"}


@pytest.mark.parametrize(
    ("info", "name"),
    [
        (
            ["processor\t: 0", "cpu family\t: 25", "model\t\t: 1", "model name\t: AMD EPYC", ""],
            "AMD EPYC (family 25, model 1)",
        ),
        (["model name\t: AMD EPYC", "cpu family : 25", "model : 1", "model : 2"], None),
        (["model name\t: Neoverse: N1"], "Neoverse: N1"),
    ],
)
def test_a_cpu_is_named_with_its_family_and_model(info, name):
    assert name_cpu(info) == (name or "AMD EPYC (family 25, model 1)")


def test_a_picture_names_the_cpu_the_last_cache_and_the_kernel():
    caches = {"L1": 32768, "L2": 2**19, "L3": 2**25}
    assert caption(MACHINE | {"caches": caches}) == (
        "A CPU (family 25, model 1), 2 cores, L3 32 MiB, Linux 6.1"
    )
    assert caption(MACHINE | {"caches": {}}) == "A CPU (family 25, model 1), 2 cores, Linux 6.1"


def test_this_machine_can_be_described():
    described = describe_machine()
    assert described["cpu"] in caption(described) and described["cores"] >= 1
