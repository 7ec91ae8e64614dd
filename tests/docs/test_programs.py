# SPDX-License-Identifier: Apache-2.0
"""README's programs and the examples run as they stand, and print what they should."""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
LINES_MAX = 12


def readme_programs():
    """The Python blocks of README.md by the file name that the sentence before each gives."""
    text = (ROOT / "README.md").read_text()
    found = re.findall(r"`(\w+\.py)`:\n+```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(found) == text.count("```python"), "every Python block follows its file's name"
    return dict(found)


def body(path):
    """The code of an example, without licence and docstring."""
    return re.sub(r'^# SPDX.*\n""".*?"""\n+', "", path.read_text(), flags=re.DOTALL)


def run_pair(launcher, where, writer, reader):
    """Start two jobs, the reader first; return what the reader printed."""
    env = {"FLUVIAL_DIRECTORY": str(where)}
    with (
        launcher.start(
            3, reader, timeout=60, cwd=where, env=env, stdout=subprocess.PIPE
        ) as reading,
        launcher.start(2, writer, timeout=60, cwd=where, env=env) as writing,
    ):
        printed = reading.process.communicate(timeout=75)[0].decode()
        assert (writing.wait(), reading.wait()) == (0, 0), printed
    assert not list(where.glob("*.fluvial")), "the contact file went with the writer"
    return printed.splitlines()


@pytest.mark.parametrize("name", ["writer.py", "reader.py"])
def test_readme_shows_the_examples_in_few_lines(name):
    program = readme_programs()[name]
    assert program == body(EXAMPLES / "02_writer_and_reader" / name)
    assert len([line for line in program.splitlines() if line.strip()]) <= LINES_MAX


@pytest.mark.any_mpi
def test_readme_writer_and_reader(launcher, tmp_path):
    for name, program in readme_programs().items():
        (tmp_path / name).write_text(program)
    printed = run_pair(
        launcher, tmp_path, [sys.executable, "writer.py"], [sys.executable, "reader.py"]
    )
    # The writer's ranks are 2 here, so this is what they wrote:
    n, rngs = 100_000, [np.random.default_rng(rank) for rank in range(2)]
    expected = []
    for i in range(10):
        v = np.concatenate([rng.normal(scale=1 + i, size=n) for rng in rngs])
        expected.append(
            f"t={0.1 * i:.1f}: {2 * n} atoms, mean {v.mean():.3f}, spread {v.std():.3f}"
        )
    assert printed == expected


@pytest.fixture
def build(prefix, tmp_path):
    """Return a function that builds the CMake project of an example with the installed library."""

    def built(example):
        for command in (
            [
                "-G",
                "Ninja",
                "-S",
                EXAMPLES / example,
                "-B",
                tmp_path / "b",
                f"-DCMAKE_PREFIX_PATH={prefix}",
            ],
            ["--build", tmp_path / "b"],
        ):
            result = subprocess.run(
                ["cmake", *command], capture_output=True, text=True, check=False
            )
            assert result.returncode == 0, result.stdout + result.stderr
        return tmp_path / "b"

    return built


@pytest.mark.any_mpi
@pytest.mark.slow
def test_cpp_writer_and_reader(build, launcher, tmp_path):
    programs = build("03_cpp_writer_and_reader")
    printed = run_pair(launcher, tmp_path, [str(programs / "writer")], [str(programs / "reader")])
    assert printed == [
        f"step {i}: mean {300 + i + 59.5}, max {300 + i + 119}, row 7 {300 + i + 7}"
        for i in range(10)
    ]


def run_serial(*command):
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.check_output([str(word) for word in command], text=True, env=env, timeout=60)


@pytest.mark.slow
def test_cpp_operator(build):
    program = build("04_operators") / "geometric_mean"
    assert run_serial(program) == "geometric 11.3137, arithmetic 31.875\n"


def test_python_operator():
    assert run_serial(sys.executable, EXAMPLES / "04_operators" / "geometric_mean.py") == (
        "geometric 11.3137, arithmetic 31.875\nof each row: [ 2.82842712 45.254834  ]\n"
    )


def test_numba_operator():
    assert run_serial(sys.executable, EXAMPLES / "04_operators" / "numba_cfunc.py") == (
        "all: 21.400934559032695\nof each row: [13. 17.]\n"
    )
