# SPDX-License-Identifier: Apache-2.0
"""Programs of README, of the tutorials and of the guide run as they stand."""

import math
import os
import pathlib
import re
import sys

import numpy as np
import pytest
import xarray as xr
from harness.example_programs import run_on, run_pair, run_serial
from harness.page import Page

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
LINES_MAX = 12


README = Page.read(ROOT / "README.md")
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "guide" / "running.md",
    ROOT / "docs" / "guide" / "pipe.md",
    ROOT / "docs" / "guide" / "flow.md",
    ROOT / "docs" / "guide" / "swift.md",
    ROOT / "docs" / "guide" / "routes.md",
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
]


def body(path):
    """The code of an example, without licence and docstring."""
    return re.sub(r'^# SPDX.*\n""".*?"""\n+', "", path.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_a_page_shows_is_what_its_commands_print(launcher, prefix, tmp_path, path):
    page = Page.read(path)
    assert page.sessions and page.unnamed == [], "every block of Python follows its file's name"
    (tmp_path / "examples").symlink_to(EXAMPLES)
    env = launcher.environment() | {
        "FLUVIAL_DIRECTORY": str(tmp_path),
        "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig"),
        "PATH": os.pathsep.join(
            [
                str(prefix / "bin"),
                str(pathlib.Path(sys.executable).parent),
                str(pathlib.Path(launcher.mpiexec).parent),
                os.environ["PATH"],
            ]
        ),
    }
    for session, printed in zip(page.sessions, page.run(tmp_path, env, timeout=100), strict=True):
        assert session.pattern.fullmatch(printed) or not session.printed, (
            f"{session.commands}shown:\n{session.printed}printed:\n{printed}"
        )


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("02_writer_and_reader", "writer.py"),
        ("02_writer_and_reader", "reader.py"),
        ("05_climate_file", "tropics.py"),
        ("08_mpistream", "listing1.py"),
    ],
)
def test_readme_shows_the_examples_in_few_lines(folder, name):
    program = README.files[name]
    assert program == body(EXAMPLES / folder / name)
    assert len([line for line in program.splitlines() if line.strip()]) <= LINES_MAX


def test_readme_shows_each_verb_and_says_little_of_tasks_and_routes():
    text = (ROOT / "README.md").read_text()
    sections = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE))
    verbs = [
        "A writer and a reader",
        "A file, reduced while it is read",
        "A stream inside a job",
        "Tasks",
        "Routes",
    ]
    first = list(sections).index(verbs[0])
    assert list(sections)[first : first + len(verbs)] == verbs
    assert all("\n```console\n" in sections[verb] for verb in verbs)
    for verb in ("Tasks", "Routes"):
        prose = re.sub(r"^```.*?^```$", "", sections[verb], flags=re.DOTALL | re.MULTILINE)
        assert len([line for line in prose.splitlines() if line.strip()]) <= LINES_MAX
    assert len([line for line in README.files["pi.py"].splitlines() if line]) <= LINES_MAX


@pytest.mark.any_mpi
@pytest.mark.parametrize("ranks", [None, 1, 5])
def test_readme_tasks(launcher, tmp_path, ranks):
    (tmp_path / "pi.py").write_text(README.files["pi.py"])
    if ranks is None:
        printed = run_serial(sys.executable, tmp_path / "pi.py")
    else:
        printed = run_on(launcher, ranks, sys.executable, tmp_path / "pi.py")
    assert printed == f"{math.pi:.8f}\n"


@pytest.mark.any_mpi
def test_readme_writer_and_reader(launcher, tmp_path):
    for name, program in README.files.items():
        (tmp_path / name).write_text(program)
    printed = run_pair(
        launcher, tmp_path, [sys.executable, "writer.py"], [sys.executable, "reader.py"]
    )
    assert printed == what_the_reader_prints()


def what_the_reader_prints():
    """What README's reader prints of a writer on 2 ranks."""
    n, rngs = 100_000, [np.random.default_rng(rank) for rank in range(2)]
    expected = []
    for i in range(10):
        v = np.concatenate([rng.normal(scale=1 + i, size=n) for rng in rngs])
        expected.append(
            f"t={0.1 * i:.1f}: {2 * n} atoms, mean {v.mean():.3f}, spread {v.std():.3f}"
        )
    return expected


@pytest.mark.parametrize("path", ["gas2.h5", "gas%T.h5"])
def test_readme_writer_and_reader_go_through_a_file_by_an_options_file(launcher, tmp_path, path):
    for name in ("writer.py", "reader.py"):
        (tmp_path / name).write_text(README.files[name])
    (tmp_path / "gas.toml").write_text(f'[series.gas]\nengine = "hdf5"\npath = "{path}"\n')
    env = {"FLUVIAL_OPTIONS": str(tmp_path / "gas.toml")}
    run_on(launcher, 2, sys.executable, "writer.py", cwd=tmp_path, env=env)
    printed = run_on(launcher, 3, sys.executable, "reader.py", cwd=tmp_path, env=env)
    assert printed.splitlines() == what_the_reader_prints()


def test_readme_reduction_of_a_file(launcher, tmp_path):
    make = EXAMPLES / "05_climate_file" / "make_climate_file.py"
    run_serial(sys.executable, make, tmp_path, "--size", "8Mi", "--lat", 60, "--lon", 90)
    (tmp_path / "tropics.py").write_text(README.files["tropics.py"])
    path = tmp_path / "temperature.cdf5.nc"
    with xr.open_dataset(path) as file:
        t = file["temperature"].sel(lat=slice(-30, 30)).isel(level=0)
        mean = t.astype("float64").weighted(np.cos(np.deg2rad(t.lat))).mean(("lat", "lon"))
        frame = xr.Dataset({"mean": mean, "max": t.max(("lat", "lon"))}).to_dataframe()
    expected = str(frame[["mean", "max"]].round(3)) + "\n"
    assert run_serial(sys.executable, tmp_path / "tropics.py", path) == expected
    for name in ("temperature.cdf5.nc", "temperature.netcdf4.nc"):
        printed = run_on(launcher, 2, sys.executable, tmp_path / "tropics.py", tmp_path / name)
        assert printed == expected


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
