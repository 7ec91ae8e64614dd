# SPDX-License-Identifier: Apache-2.0
"""Leaf functions in C++ that a shared library exports for tasks."""

import pathlib
import subprocess

import pytest
from fluvial.swift.failures import ScriptFailed
from harness.fluvial_run import FluvialRun

import fluvial as fl
from fluvial import _core

ROOT = pathlib.Path(__file__).resolve().parents[3]
CODE = r"""
#include <stdexcept>
#include "fluvial/flow/exported_task.hpp"

double scaled(std::int64_t n, double by, bool negative) { return (negative ? -1.0 : 1.0) * n * by; }
std::string joined(std::string_view a, const std::string& b) { return std::string(a) + b; }
std::tuple<std::int64_t, std::vector<std::byte>> backwards(std::span<const std::byte> bytes) {
    return {bytes.size(), {bytes.rbegin(), bytes.rend()}};
}
bool negated(bool given) { return !given; }
std::int64_t add(std::int64_t a, std::int64_t b) { return a + b; }
void refuse(std::string_view why) { throw std::runtime_error(std::string(why)); }
extern "C" std::int64_t plain(std::int64_t n) { return n + 1; }

using fluvial::flow::exported;
FLUVIAL_EXPORT_TASKS(exported<scaled>("scaled"), exported<joined>("joined"),
                     exported<backwards>("backwards"), exported<negated>("negated"),
                     exported<add>("add"), exported<refuse>("refuse"))
"""
ALL = """
(float r) scaled(int n, float by, boolean negative) "tasks";
(string s) joined(string a, string b) "tasks";
(int n, blob o) backwards(blob b) "tasks";
(boolean b) negated(boolean a) "tasks";
(int r) add(int a, int b) "tasks";
() refuse(string why) "tasks";
(int r) plain(int n) "tasks";
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The library, compiled once."""
    where = tmp_path_factory.mktemp("tasks")
    (where / "tasks.cpp").write_text(CODE)
    words = ["c++", "-std=c++20", "-O0", "-shared", "-fPIC", f"-I{ROOT / 'src'}"]
    subprocess.run([*words, "-o", "libtasks.so", "tasks.cpp"], cwd=where, check=True)
    return (where / "libtasks.so").read_bytes()


@pytest.fixture(autouse=True)
def library(script, built):
    (script.where / "libtasks.so").write_bytes(built)


def test_values_of_all_types_go_there_and_come_back(script):
    printed = script.run(
        ALL
        + """
        int n; blob b;
        n, b = backwards(blob_from_string("abc"));
        trace(scaled(3, 1.5, true), joined("", "é"), negated(true), n, string_from_blob(b));
        trace(plain(add(40, 1)));
        """
    )
    assert sorted(printed) == ["trace: -4.5,é,false,3,cba", "trace: 42"]


def test_many_calls_are_in_a_window_and_in_any_order(script):
    printed = script.run(
        ALL + "int A[]; foreach i in [1:3000] { A[i] = add(add(i, 1), -1); } trace(sum(A));"
    )
    assert printed == [f"trace: {sum(range(3001))}"]


def test_a_call_that_needs_the_one_before_it_is_not_waited_for_in_vain(script):
    text = "for (int i = 0, int s = 0; i < 300; i = i + 1, s = add(s, i)) { if (i == 299) "
    assert script.run(ALL + text + "{ trace(s); } }") == [f"trace: {sum(range(299))}"]


def test_a_function_that_throws_ends_the_script(script):
    with pytest.raises(ScriptFailed) as raised:
        script.run(ALL + '(int r) f(int a) {\n  refuse("no reason") => r = a;\n}\ntrace(f(1));')
    said = str(raised.value)
    assert "refuse failed: Error: " in said and "no reason" in said
    assert "in f, called at " in said and "task: refuse(no reason) on 1 rank" in said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            '(int r) scaled(int n, float by) "tasks"; trace(scaled(1, 2));',
            "got (int) scaled(int, float); allowed: (float) scaled(int, float, boolean)",
        ),
        (
            '@par (int r) add(int a, int b) "tasks"; trace(add(1, 2));',
            "exports it as a serial function; allowed: one of exported_parallel()",
        ),
        ('(int r[]) add(int a, int b) "tasks"; trace(add(1, 2));', "got (int[]) add(int, int)"),
        ('(int r) add(int a, int b) "tasks" "" ["<<r>> = 1"]; trace(add(1, 2));', "a template"),
    ],
)
def test_what_does_not_fit_is_said_before_anything_runs(script, text, says):
    ((line, _, message),) = script.findings(text)
    assert line == 1 and says in message


def test_a_library_that_cannot_be_loaded(script):
    script.write("not a library", "libtasks.so")
    ((_, _, message),) = script.findings(ALL.splitlines()[5] + " trace(add(1, 2));")
    assert "cannot load a library of tasks" in message


def test_functions_of_a_library_in_python(script):
    tasks = fl.TaskLibrary(script.where / "libtasks.so")
    assert tasks.scaled(2, 3, False) == 6 and tasks.backwards(b"ab") == (2, b"ba")
    with fl.Pool() as pool:
        assert pool.submit(tasks.joined, "a", "b").result() == "ab"
        assert list(pool.map(tasks.add, range(3), range(3))) == [0, 2, 4]
        with pytest.raises(fl.Error, match=r"^no reason$"):
            pool.submit(tasks.refuse, "no reason").result()
        with pytest.raises(fl.InvalidArgument, match=r"'add' is a serial function: got 2 ranks"):
            pool.with_options(ranks=2).submit(tasks.add, 1, 2)
    for call, says in (
        (lambda: tasks.scale, "got 'scale'; allowed: .* Did you mean 'scaled'?"),
        (lambda: tasks.add(1), "add: got 1 inputs; allowed: 2"),
        (lambda: tasks.add(1, "2"), "an input of add has .*: got '2'; allowed: an int"),
        (lambda: tasks.add(1, 2**63), "an input of add is out of range: got 9223372036854775808"),
        (lambda: tasks.scaled(1, 10**400, True), "an input of scaled is out of range"),
        (lambda: tasks.joined(1, "a"), "an input of joined has .*: got 1; allowed: a str"),
        (lambda: tasks.joined("\ud800", "a"), "an input of joined is no text"),
        (lambda: fl.TaskLibrary("nowhere.so"), "cannot load a library of tasks"),
    ):
        with pytest.raises((fl.Error, AttributeError), match=says):
            call()


PARALLEL = r"""
#include <mpi.h>
#include "fluvial/flow/exported_task.hpp"
double summed(MPI_Comm team, double each) {
    double all = 0;
    MPI_Allreduce(&each, &all, 1, MPI_DOUBLE, MPI_SUM, team);
    return all;
}
FLUVIAL_EXPORT_TASKS(fluvial::flow::exported_parallel<summed>("summed"))
"""


@pytest.mark.any_mpi
def test_a_parallel_function_gets_its_team(tmp_path):
    with FluvialRun(tmp_path) as run:
        run.write("sums.cpp", PARALLEL)
        compiler = _core.mpiexec().replace("mpiexec", "mpicc")
        words = [compiler, "-std=c++20", f"-I{ROOT / 'src'}", "-shared", "-fPIC"]
        words += ["-DOMPI_SKIP_MPICXX"]  # linked as C is
        done = [*words, "-o", "libsums.so", "-x", "c++", "sums.cpp", "-lstdc++"]
        subprocess.run(done, cwd=run.where, check=True)
        run.write(
            "sums.swift",
            '@par (float r) summed(float each) "sums";\n'
            "foreach n in [1:3] { trace(n, @par=n @prio=n summed(0.5)); }\n"
            "foreach w in [1:3] { float r = @location=w summed(2); assertEqual(r, 2.0); }\n",
        )
        lines = run("-n", 4, "sums.swift").lines
        assert lines == ["trace: 1,0.5", "trace: 2,1.0", "trace: 3,1.5"]


def test_a_pool_that_started_its_own_workers_calls_them(script):
    library = fl.TaskLibrary(str(script.where / "libtasks.so"))
    with fl.Pool(2) as pool:
        numbers = range(300)
        assert list(pool.map(library.add, numbers, numbers)) == [2 * n for n in numbers]
        first = pool.submit(library.joined, "a", "b")
        assert pool.submit(library.joined, first, "c").result() == "abc"
        with pytest.raises(fl.Error, match="no bread"):
            pool.submit(library.refuse, "no bread").result()
