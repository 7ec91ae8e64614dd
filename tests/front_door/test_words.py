# SPDX-License-Identifier: Apache-2.0
"""The first call of each word of ``./run``, in a tree that was never built.

A stand-in for cmake notes what it is called with and fails, so each word is seen to get as far as
configuring; that a whole first call succeeds is what continuous integration begins with.
"""

import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CMAKE = """#!/bin/sh
case ${1-} in
--version) echo "cmake version 3.31.0" ;;
*) printf '%s\\n' "$*" >>"$CMAKE_CALLS"; echo "cmake: a stand-in" >&2; exit 1 ;;
esac
"""


# ./run would install them.
needs_compilers = pytest.mark.skipif(
    not all(map(shutil.which, ("clang++", "aarch64-linux-gnu-g++", "qemu-aarch64"))),
    reason="no clang++, aarch64-linux-gnu-g++ and qemu-aarch64",
)


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A copy of the tree without .build, with this checkout's .venv but for a cmake in it."""
    copy = tmp_path_factory.mktemp("bare") / "fluvial"
    listed = subprocess.check_output(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True
    )
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    venv = copy / ".venv"
    (venv / "bin").mkdir(parents=True)
    for entry in (ROOT / ".venv").iterdir():
        if entry.name != "bin":
            (venv / entry.name).symlink_to(entry)
    for entry in (ROOT / ".venv" / "bin").iterdir():
        if entry.name != "cmake":
            (venv / "bin" / entry.name).symlink_to(entry)
    return copy


def call(bare, tmp_path, *words, stderr=subprocess.PIPE):
    """Call ./run in the bare tree; return the process and the calls of cmake."""
    tools, calls = tmp_path / "bin", tmp_path / "calls"
    tools.mkdir(exist_ok=True)
    (tools / "cmake").write_text(CMAKE)
    (tools / "cmake").chmod(0o755)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("FLUVIAL_", "PYTHON"))}
    env |= {
        "HOME": str(tmp_path),
        "PATH": f"{tools}{os.pathsep}{env['PATH']}",
        "CMAKE_CALLS": str(calls),
    }
    done = subprocess.run(
        ["./run", *words],
        cwd=bare,
        env=env,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        timeout=60,
    )
    return done, calls.read_text().splitlines() if calls.exists() else []


@pytest.mark.parametrize(
    ("words", "build"),
    [
        (("demo", "--short", "--no-live"), ".build/mpich"),
        (("bench", "stage", "--quick"), ".build/mpich"),
        (("docs",), ".build/mpich"),
        (("shell", "-c", "true"), ".build/mpich"),
        (("build",), ".build/mpich"),
        (("lint",), ".build/mpich"),
        (("test", "--quick"), ".build/mpich"),
        (("cluster", "--quick"), ".build/mpich"),
        (("soak", "--minutes", "1"), ".build/mpich"),
        (("sanitize",), ".build/asan"),
        pytest.param(("portable",), ".build/clang", marks=needs_compilers),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_the_first_call_of_a_word_configures(bare, tmp_path, words, build):
    shutil.rmtree(bare / ".build", ignore_errors=True)
    done, calls = call(bare, tmp_path, *words)
    assert f"run: configuring {build}" in done.stderr, done.stderr
    assert [c for c in calls if f"-B {bare / build} " in c], (calls, done.stderr)
    assert done.returncode == 1
    assert f"configuring {build} failed" in done.stderr and "cmake: a stand-in" in done.stderr


@pytest.mark.parametrize(
    "word",
    [
        "demo",
        "bench",
        "test",
        "cluster",
        "soak",
        "sanitize",
        "portable",
        "lint",
        "docs",
        "build",
        "shell",
    ],
)
def test_help_comes_before_anything_is_installed(bare, tmp_path, word):
    shutil.rmtree(bare / ".build", ignore_errors=True)
    done, calls = call(bare, tmp_path, word, "--help")
    assert (done.returncode, done.stderr, calls) == (0, "", [])
    assert done.stdout.startswith(f"usage: ./run {word}")
    others = set(re.findall(r"\./run (\w+)", done.stdout)) - {word}
    assert others == set() and "--sanitized" not in done.stdout
    assert not (bare / ".build").exists()


def test_help_of_the_demo_has_the_options_of_its_program(bare, tmp_path):
    shutil.rmtree(bare / ".build", ignore_errors=True)
    before = call(bare, tmp_path, "demo", "--help")[0].stdout
    env = os.environ | {"COLUMNS": "120", "TERM": "dumb", "NO_COLOR": "1"}
    after = subprocess.run(
        [ROOT / "run", "demo", "--help"], env=env, capture_output=True, text=True, timeout=60
    ).stdout
    options = set(re.findall(r"--[a-z-]+", after)) - {"--help", "--live"}
    assert options and options <= set(re.findall(r"--[a-z-]+", before))
    assert "Usage: ./run demo" in after and "[default: 0]" not in after
    assert "bool" not in after


NINJA = """#!/bin/sh
case " $* " in *' -n '*) exit 0 ;; esac
echo '[3/17] Building CXX object a.o'
sleep 4
echo '[4/17] error: a stand-in'
exit 1
"""


def test_a_build_names_its_log_and_on_a_terminal_says_how_far_it_is(bare, tmp_path):
    shutil.rmtree(bare / ".build", ignore_errors=True)
    (bare / ".build" / "mpich").mkdir(parents=True)
    (bare / ".build" / "mpich" / "build.ninja").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ninja").write_text(NINJA)
    (tmp_path / "bin" / "ninja").chmod(0o755)
    terminal, end = pty.openpty()
    done, _ = call(bare, tmp_path, "demo", stderr=end)
    os.close(end)
    said = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert done.returncode == 1
    assert "building .build/mpich (log: .build/mpich/build.log)" in said
    assert "run: [3/17]" in said
    assert "error: a stand-in" in said


def test_an_interrupted_build_leaves_nothing_behind(bare, tmp_path):
    """A caller that reads what ./run prints gets to its end."""
    shutil.rmtree(bare / ".build", ignore_errors=True)
    (bare / ".build" / "mpich").mkdir(parents=True)
    (bare / ".build" / "mpich" / "build.ninja").touch()
    (tmp_path / "ninja").write_text(NINJA.replace("sleep 4", "exec sleep 100"))
    (tmp_path / "ninja").chmod(0o755)
    env = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    log = bare / ".build" / "mpich" / "build.log"
    with subprocess.Popen(
        ["./run", "demo"], cwd=bare, env=env, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        while not (log.exists() and "[3/17]" in log.read_text()):
            assert process.poll() is None
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=20)
    assert process.returncode != 0


# What the examples import of each other, and numba, of which its example says how to install it.
NOT_OF_THE_SHELL = {"fluvial", "numba"} | {path.stem for path in ROOT.glob("examples/*/*.py")}


def test_the_shell_has_what_the_documentation_imports():
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, groups = pyproject["project"], pyproject["dependency-groups"]
    extras = project["optional-dependencies"]
    listed = project["dependencies"] + extras["files"] + extras["demo"] + groups["shell"]
    names = {re.match(r"[\w-]+", line)[0].lower().replace("-", "_") for line in listed}
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/*.py")]
    imports = re.compile(r"^(?:>>> |\.\.\. )? *(?:import (\w+)|from (\w+)[\w.]* import )", re.M)
    imported = {name for page in pages for name in imports.findall(page.read_text())}
    imported = {(plain or of).lower() for plain, of in imported}
    assert imported - names - NOT_OF_THE_SHELL - sys.stdlib_module_names == set()
    # These are imported by Fluvial, for pages which use them.
    assert {"cloudpickle", "lark", "zarr", "adios2"} <= names


def test_the_shell_keeps_this_checkout_s_python_in_front(tmp_path):
    """Whatever ~/.bashrc puts there."""
    (tmp_path / "other").mkdir()
    for name in ("python", "fluvial"):
        (tmp_path / "other" / name).write_text("#!/bin/sh\necho another\n")
        (tmp_path / "other" / name).chmod(0o755)
    (tmp_path / ".bashrc").write_text(
        f"PATH={tmp_path}/other:$PATH\nunset PYTHONPATH\nPS1='$ '\nread_it=yes\n"
    )
    program = "python -c 'import fluvial; print(fluvial.__file__)'; fluvial --version"
    done = subprocess.run(
        [ROOT / "run", "shell", "-i", "-c", f'{program}; echo "$PS1$read_it"'],
        env=os.environ | {"HOME": str(tmp_path), "SHELL": "/bin/bash"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert len(done.stdout.splitlines()) == 3, done.stdout + done.stderr
    package, version, prompt = done.stdout.splitlines()
    assert package.startswith(str(ROOT / ".build" / "mpich" / "prefix"))
    assert "another" not in version
    assert prompt == "(fluvial) $ yes"


def test_no_word_lists_the_words(bare, tmp_path):
    done, calls = call(bare, tmp_path)
    assert (done.returncode, calls) == (0, [])
    words = ("demo", "test", "bench", "docs", "shell", "build", "lint", "soak", "sanitize")
    for word in (*words, "portable"):
        assert f"\n  {word} " in done.stdout, done.stdout


def test_a_word_that_does_not_exist_is_named(bare, tmp_path):
    done, calls = call(bare, tmp_path, "dmeo")
    assert (done.returncode, calls) == (1, [])
    assert "unknown word 'dmeo'" in done.stderr and "demo" in done.stderr


def test_a_second_call_goes_on_at_once(tmp_path):
    """In this checkout, which is built: nothing is installed, configured or built again.

    What is installed is not even written again as it is: a process that loads the library while
    another call begins would die of a bus error.
    """
    site = ROOT / ".build" / "mpich" / "prefix" / "site"
    libraries = [*site.glob("fluvial/*.so"), *site.glob("fluvial-*.dist-info/METADATA")]
    subprocess.run([ROOT / "run", "shell", "-c", "true"], timeout=100)  # has wheels of its own
    kept = [library.open("rb") for library in libraries]  # so that no other file gets their numbers
    done = subprocess.run(
        [ROOT / "run", "shell", "-c", "python -c 'import fluvial; print(fluvial.__file__)'"],
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"SHELL": "/bin/sh"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(str(ROOT / ".build" / "mpich" / "prefix"))
    assert len(kept) == 2
    for library, file in zip(libraries, kept, strict=True):
        with file:
            assert os.path.samestat(os.fstat(file.fileno()), library.stat()), library


def test_byte_code_is_kept_whatever_the_shell_says(tmp_path):
    done = subprocess.run(
        [ROOT / "run", "shell", "-c", "python -c 'import sys; print(sys.dont_write_bytecode)'"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "SHELL": "/bin/sh"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr
