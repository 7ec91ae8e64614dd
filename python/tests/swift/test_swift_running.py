# SPDX-License-Identifier: Apache-2.0
"""What a script needs while it runs, and how it fails."""

import gc

import pytest
from fluvial.swift.compiler import run_program
from fluvial.swift.engine import Engine
from fluvial.swift.failures import ScriptFailed
from fluvial.swift.frames import Frame
from fluvial.swift.loading import load
from fluvial.swift.surroundings import Surroundings
from fluvial.swift.variables import Variable

import fluvial as fl


class Answered:
    """A future whose task is done when the engine has nothing else to do."""

    def __init__(self, result):
        self._result = result

    def add_done_callback(self, call):
        call(self)

    def exception(self):
        return None

    def result(self):
        return self._result


class Counting:
    """Stands for a pool: returns results at once, and counts the frames and variables that live."""

    def __init__(self, every):
        self.every = every
        self.tasks = 0
        self.before = _living()
        self.most = dict.fromkeys(self.before, 0)

    def submit(self, function, *arguments, **options):
        self.tasks += 1
        if self.tasks % self.every == 0:
            for kind, count in _living().items():
                self.most[kind] = max(self.most[kind], count - self.before[kind])
        return Answered(1.0)


def _living():
    gc.collect()
    living = gc.get_objects()
    return {kind: sum(type(thing) is kind for thing in living) for kind in (Frame, Variable)}


def run_counted(script, text, every, window):
    script.write("", "leaves.py")
    program = load(script.write(text), Surroundings())
    counting = Counting(every)
    engine = Engine(counting, 4, window)
    run_program(program, engine)
    assert engine.live == 0
    return counting


LEAF = '(float t) leaf(int i) "leaves"; '


def test_many_iterations_do_not_fill_memory(script):
    """What is left behind adds up: one frame in 20,000 iterations would be too many."""
    text = LEAF + "foreach i in [1:200000] { float t = leaf(i); float u = t + i; }"
    counting = run_counted(script, text, every=20_000, window=100)
    assert counting.tasks == 200_000
    assert counting.most[Frame] < 110
    assert counting.most[Variable] < 500


def test_a_nest_of_loops_is_one_window(script):
    text = LEAF + "foreach i in [1:100] { foreach j in [1:100] { float t = leaf(i * j); } }"
    counting = run_counted(script, text, every=2000, window=50)
    assert counting.tasks == 10_000
    assert counting.most[Frame] < 50 + 100


def test_iterations_that_follow_each_other_do_not_pile_up(script):
    text = LEAF + "for (int i = 0; i < 20000; i = i + 1) { float t = leaf(i); }"
    counting = run_counted(script, text, every=2000, window=50)
    assert counting.tasks == 20_000
    assert counting.most[Frame] < 60
    text = LEAF + "iterate i { float t = leaf(i); } until (t * i > 9998);"
    counting = run_counted(script, text, every=2000, window=50)
    assert counting.tasks == 10_000
    assert counting.most[Frame] < 60


def test_elements_that_are_written_late_do_not_stop_a_window(script):
    text = "int A[]; foreach i in [1:2000] { A[i] = A[i + 1] + 1; } A[2001] = 0; trace(A[1]);"
    assert script.run(text, window=5) == ["trace: 2000"]


def failure(script, text, **options):
    with pytest.raises(ScriptFailed) as raised:
        script.run(text, **options)
    return str(raised.value)


def test_a_failure_tells_the_stack_of_the_script(script):
    script.write("def leaf(i):\n    raise LookupError(f'no {i} here')\n", "leaves.py")
    text = (
        LEAF
        + """
    (float r) inner(int i) {
        r = leaf(i);
    }
    (float r) outer(int i) {
        r = inner(i + 1);
    }
    trace(outer(6));
    """
    )
    said = failure(script, text)
    lines = said.splitlines()
    assert lines[0].endswith("script.swift:3:13: leaf failed: LookupError: no 7 here")
    assert lines[1].strip() == "r = leaf(i);"
    assert lines[2].index("^") == lines[1].index("leaf")
    assert lines[3].startswith("in inner, called at ") and lines[3].endswith("script.swift:6")
    assert lines[4].startswith("in outer, called at ") and lines[4].endswith("script.swift:8")
    assert lines[5] == "task: leaf(7) on 1 rank"
    assert "leaves.py" in said and "line 2, in leaf" in said
    assert said.count('File "') == 1  # none of what called it


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('assert(1 > 2, "one is less");', "1:1: assertion failed: one is less"),
        ('assertEqual(1, 2, "x");', "assertion failed: x: got 1 and 2; allowed: left == right"),
        ("int x = 0; int y = 1 %/ x; trace(y);", "1:16: 1 is divided by 0"),
        ("int x = 2**62; trace(x * 2);", "more than 64 bits"),
        ('trace(toint("9223372036854775808"));', "more than 64 bits: got 9223372036854775808"),
        ("trace(float2int(1e19));", "more than 64 bits"),
        ("trace(ceil(1e300));", "more than 64 bits"),
        ("trace(sum([2**62, 2**62]));", "more than 64 bits"),
        ("int x = -2**62 * 2; trace(-x);", "more than 64 bits"),
        ("int x = -2**62 * 2; trace(abs(x));", "more than 64 bits"),
        ("int x = -1; trace(2**x);", "got the exponent -1; allowed: 0 or more"),
        ('trace(toint("a"));', "toint: got 'a'; allowed: a whole number"),
        ("trace(round(sqrt(-1.0)));", "round: got nan; allowed: a finite number"),
        ("trace(float2int(-log(0.0)));", "got inf; allowed: a finite number"),
        ("trace(int(log(0.0)));", "got -inf; allowed: a finite number"),
        ("trace(randint(5, 5));", "randint: got 5 and 5; allowed: a second number above the first"),
        ("sleep(-1.0);", "sleep: got -1; allowed: 0 s or more"),
        ("int A[]; A[1] = 1; trace(A[2]);", "A[2] is not set: got an array with 1 elements"),
        ("int A[]; foreach i in [0:1] { A[3] = i; }", "A[3] is set twice"),
        ("int A[] = []; trace(avg(A));", "an array without elements"),
        ("int s = 0; foreach i in [0:9:s] { }", "the step of a range: got 0"),
        ('file f = input("none.txt"); trace(read(f));', "no such file: got 'none.txt'"),
        ("(int r) f(int a) { int x; if (a > 0) { x = 1; } r = x; } trace(f(0));", "waits for 'x'"),
        ("int A[]; A[0] = A[1]; A[1] = A[0]; trace(A);", "which is never set"),
        ("int x; int y = x + 1; x = y;", "2 statements wait for what nothing will set"),
    ],
)
def test_failures_of_steps(script, text, says):
    said = failure(script, text)
    assert says in said
    assert "script.swift:1:" in said and "    " + text in said


def test_a_task_that_fails_ends_the_script_at_once(script):
    script.write("def leaf(i):\n    return 1 / (i - 3)\n", "leaves.py")
    said = failure(script, LEAF + "foreach i in [1:100000] { float t = leaf(i); }", window=10)
    assert "leaf failed: ZeroDivisionError" in said and "task: leaf(3) on 1 rank" in said


def test_too_many_ranks_for_the_pool(script):
    script.write("", "leaves.py")
    text = '@par (float t) leaf(int i) "leaves"; float t = @par=2 leaf(1); trace(t);'
    assert "@par=2 of leaf: allowed: 1 to 1, the ranks" in failure(script, text)


def test_nothing_is_left_in_the_working_directory(script):
    script.run('file f = write("abc"); trace(read(f));')
    with pytest.raises(ScriptFailed):
        script.run('file f = write("abc"); assert(read(f) == "", "no");')
    assert [path.name for path in script.where.iterdir()] == ["script.swift"]


def test_the_pool_can_be_used_again_after_a_script(script):
    with fl.Pool() as pool:
        from fluvial.swift.running import run_script

        with pytest.raises(ScriptFailed):
            run_script(script.write("assert(false);"), pool)
        run_script(script.write("sleep(0.01);"), pool)
        assert pool.submit(pow, 2, 2).result() == 4
