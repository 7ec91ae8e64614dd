# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import rules

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.__name__)
def test_the_repository_keeps(rule):
    assert rules.violations(ROOT, [rule]) == []


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (rules.license_named, "src/fluvial/base/clock.hpp", "#pragma once\n"),
        (rules.file_named, "src/fluvial/base/utils.hpp", ""),
        (rules.file_named, "python/fluvial/Series.py", ""),
        (rules.floors_kept, "src/fluvial/base/clock.hpp", '#include "fluvial/mpi/comm.hpp"\n'),
        (rules.floors_kept, "src/fluvial/compute/sum.cpp", "#include <fluvial/mpi/comm.hpp>\n"),
        (rules.floors_kept, "src/fluvial/cellar/wine.hpp", ""),
        (rules.mpi_at_home, "src/fluvial/stage/writer.cpp", "# include <mpi.h>\n"),
        (rules.mpi_at_home, "src/fluvial/compute/sum_test.cpp", "#include <mpi.h>\n"),
        (rules.mpi_at_home, "src/fluvial/c/object_io.cpp", "#include <mpi.h>\n"),
        (rules.floors_kept, "src/fluvial/scan/scan.cpp", '#include "fluvial/c/fluvial.h"\n'),
        (rules.file_short, "run", "\n" * 401),
        (rules.function_short, "demo/launch.py", "def f():\n" + "    pass\n" * 70),
    ],
)
def test_what_breaks_a_rule_is_found(rule, path, text):
    assert list(rule(pathlib.Path(path), text))


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (rules.license_named, "run", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n"),
        (rules.floors_kept, "src/fluvial/stage/a.cpp", '#include "fluvial/compute/operator.hpp"\n'),
        (rules.mpi_at_home, "src/fluvial/stage/writer_test.cpp", "#include <mpi.h>\n"),
        (rules.mpi_at_home, "src/fluvial/mpi/comm.hpp", "#include <mpi.h>\n"),
        (rules.mpi_at_home, "src/fluvial/c/fluvial.h", "#include <mpi.h>\n"),
        (rules.function_short, "demo/launch.py", "def f():\n" + "    pass\n" * 69),
    ],
)
def test_what_keeps_a_rule_is_left_alone(rule, path, text):
    assert not list(rule(pathlib.Path(path), text))
