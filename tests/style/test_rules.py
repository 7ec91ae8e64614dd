# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import public_types
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
        (rules.words_of_the_field, "src/fluvial/stage/writer.cpp", "distrust_(peer);\n"),
        (rules.words_of_the_field, "python/fluvial/scan/view.py", "# the Courier sends it\n"),
        (rules.one_clock, "src/fluvial/scan/lane.cpp", "std::this_thread::sleep_for(1ms);\n"),
        (
            rules.one_clock,
            "src/fluvial/scan/lane.hpp",
            "chrono::steady_clock::time_point a;\n",
        ),
        (rules.words_of_the_field, "bench/flow/question.py", "crowded = ranks > cores\n"),
        (
            rules.words_of_the_field,
            "src/fluvial/stage/seat.hpp",
            "/// Until the answer has come.\n",
        ),
        (rules.words_of_the_field, "src/fluvial/stage/seat.hpp", "const Bytes answer = take();\n"),
        (rules.words_of_the_field, "src/fluvial/stage/seat.hpp", "// who waits is woken\n"),
        (rules.mpi_at_home, "src/fluvial/compute/sum_test.cpp", "#include <mpi.h>\n"),
        (rules.mpi_at_home, "src/fluvial/c/object_io.cpp", "#include <mpi.h>\n"),
        (rules.floors_kept, "src/fluvial/scan/scan.cpp", '#include "fluvial/c/fluvial.h"\n'),
        (rules.python_floors_kept, "python/fluvial/base/clock.py", "from ..mpi import comm\n"),
        (rules.python_floors_kept, "python/fluvial/scan/view.py", "from .. import ops\n"),
        (
            rules.python_floors_kept,
            "python/fluvial/scan/view.py",
            "import fluvial.stream.stream\n",
        ),
        (rules.python_floors_kept, "python/fluvial/scan/view.py", "from fluvial import open\n"),
        (
            rules.python_floors_kept,
            "python/fluvial/scan/view.py",
            "def f():\n    from ..base.messages import shown\n",
        ),
        (rules.python_floors_kept, "python/fluvial/cellar/wine.py", ""),
        (rules.public_types_said, "python/fluvial/ops.py", "def f(x: Any) -> int: ...\n"),
        (rules.public_types_said, "python/fluvial/ops.py", "def f(*x: list[Any]) -> int: ...\n"),
        (rules.public_types_said, "python/fluvial/ops.py", "async def f() -> Any: ...\n"),
        (rules.public_types_said, "python/fluvial/ops.py", "class A(dict[str, Any]): ...\n"),
        (
            rules.public_types_said,
            "python/fluvial/ops.py",
            "class A:\n    def __eq__(self, x) -> Any: ...\n",
        ),
        (rules.public_types_said, "python/fluvial/ops.py", "if X:\n    Options = dict[str, Any]\n"),
        (rules.public_types_said, "python/fluvial/ops.py", "A: TypeAlias = list[Any]\n"),
        (rules.public_types_said, "python/fluvial/ops.py", "def unpacked() -> Any: ...\n"),
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
        (rules.one_clock, "src/fluvial/base/clock.cpp", "nanosleep(&t, nullptr);\n"),
        (rules.one_clock, "src/fluvial/scan/lane_test.cpp", "::usleep(1000);\n"),
        (rules.words_of_the_field, "src/fluvial/stage/a.cpp", "// A rank that waits answers.\n"),
        (rules.words_of_the_field, "src/fluvial/stage/a.cpp", "const auto who = name_of(rank);\n"),
        (rules.words_of_the_field, "bench/child.py", "answer = handle(line)\n"),
        (rules.floors_kept, "src/fluvial/stage/a.cpp", '#include "fluvial/compute/operator.hpp"\n'),
        (rules.python_floors_kept, "python/fluvial/scan/a.py", "from ..base import messages\n"),
        (rules.python_floors_kept, "python/fluvial/scan/a.py", "from .. import _core\n"),
        (rules.python_floors_kept, "python/fluvial/opening.py", "from .scan import file\n"),
        (
            rules.python_floors_kept,
            "python/fluvial/cli/look_words.py",
            "def f():\n    from ..base.messages import shown\n",
        ),
        (rules.mpi_at_home, "src/fluvial/stage/writer_test.cpp", "#include <mpi.h>\n"),
        (rules.mpi_at_home, "src/fluvial/mpi/comm.hpp", "#include <mpi.h>\n"),
        (rules.mpi_at_home, "src/fluvial/c/fluvial.h", "#include <mpi.h>\n"),
        (rules.public_types_said, "python/fluvial/ops.py", "def _f(x: Any) -> int: ...\n"),
        (rules.public_types_said, "python/fluvial/ops.py", "class _A(list[Any]): ...\n"),
        (rules.public_types_said, "python/fluvial/ops.py", "def f() -> int:\n    x: Any = 1\n"),
        (rules.public_types_said, "python/fluvial/ops.py", "class AnyOf: ...\nf: AnyOf\n"),
        (rules.public_types_said, "tests/harness/jobs.py", "def f(x: Any) -> int: ...\n"),
        (
            rules.public_types_said,
            "python/fluvial/flow/payload.py",
            "def unpacked() -> Any: ...\n",
        ),
        (rules.function_short, "demo/launch.py", "def f():\n" + "    pass\n" * 69),
    ],
)
def test_what_keeps_a_rule_is_left_alone(rule, path, text):
    assert not list(rule(pathlib.Path(path), text))


def test_the_package_imports_in_no_circle():
    assert rules.python_circles(ROOT) == []


@pytest.mark.parametrize(
    "back",
    [
        "from .a import x\n",
        "from . import a\n",
        "def f():\n    from .a import x\n",
        "if TYPE_CHECKING:\n    from fluvial.scan.a import x\n",
    ],
)
def test_a_circle_is_found(back):
    texts = {"a": "from .b import y\n", "b": "from ..base import c\nfrom .d import z\n", "d": back}
    modules = {pathlib.Path(f"python/fluvial/scan/{name}.py"): text for name, text in texts.items()}
    (found,) = rules.circles(modules)
    assert "fluvial.scan.a → fluvial.scan.b → fluvial.scan.d → fluvial.scan.a" in found


def test_a_diamond_is_no_circle():
    texts = {
        "a": "from . import b, c\n",
        "b": "from . import d\n",
        "c": "from . import d\n",
        "d": "",
    }
    modules = {pathlib.Path(f"python/fluvial/scan/{name}.py"): text for name, text in texts.items()}
    assert rules.circles(modules) == []


def test_what_may_be_anything_is_there():
    found = set()
    for path in rules.sources(ROOT):
        if path.parts[:2] == ("python", "fluvial") and path.suffix == ".py":
            text = (ROOT / path).read_text(encoding="utf-8")
            found |= {f"{path.as_posix()}:{name}" for _, name in public_types.any_in(path, text)}
    assert found == public_types.ALLOWED
