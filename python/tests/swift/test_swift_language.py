# SPDX-License-Identifier: Apache-2.0
"""What scripts do, construct by construct; one thread runs their tasks."""

import math
import pathlib
import re

import pytest
from fluvial.swift.failures import ScriptFailed
from fluvial.swift.standard_library import standard_library
from fluvial.swift.surroundings import Surroundings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def test_statements_execute_when_their_inputs_are_there(script):
    assert script.run(
        """
        int z1, z2;  int y;
        int x = f(y);
        z1 = h(x, y, 1);  z2 = h(x, y, 2);
        trace(z1 + z2);
        y = f(2);
        (int r) f(int a) { r = a + 1; }
        (int r) h(int a, int b, int c) { r = a * b * c; }
        """
    ) == ["trace: 36"]


def test_functions_with_several_outputs_and_recursion(script):
    assert script.run(
        """
        (int q, int r) divide(int a, int b) { q = a %/ b; r = a %% b; }
        (int f) fibonacci(int n) {
            if (n < 2) { f = n; } else { f = fibonacci(n - 1) + fibonacci(n - 2); }
        }
        (int c) count(int n, int so_far) {
            if (n == 0) { c = so_far; } else { c = count(n - 1, so_far + 1); }
        }
        int a, b;
        (a, b) = divide(17, 5);
        float x, y;
        x, y = divide(9, 2);
        trace(a, b, x, y, fibonacci(12), count(5000, 0));
        """
    ) == ["trace: 3,2,4.0,1.0,144,5000"]


def test_arrays_are_sparse_nested_and_keyed(script):
    printed = script.run(
        """
        int A[];  A[10] = 1;  A[-3] = 2;
        string m[string];  m["x"] = "1";  m["y"] = m["x"] + "2";
        float N[][string];
        foreach i in [0:1] { foreach k in ["a", "b"] { N[i][k] = i + 0.5; } }
        int triangle[][];
        foreach i in [1:3] { foreach j in [1:i] { triangle[i][j] = i * j; } }
        trace(A);  trace(m);  trace(N);  trace(triangle[3]);
        trace(size(A), contains(A, 10), contains(A, 0), size(triangle), size(triangle[2]));
        int w[][] = [[], [1, 2], [3]];  trace(w[2][0], w[1], size(w[0]));
        """
    )
    assert set(printed) == {
        "trace: {-3: 2,10: 1}",
        "trace: {x: 1,y: 12}",
        "trace: [{a: 0.5,b: 0.5},{a: 1.5,b: 1.5}]",
        "trace: {1: 3,2: 6,3: 9}",
        "trace: 2,true,false,3,2",
        "trace: 3,[1,2],0",
    }


def test_elements_may_need_elements_that_come_later(script):
    assert script.run(
        """
        int A[];
        A[0] = 1;
        foreach i in [1:20] { A[i] = A[i - 1] * 2; }
        int B[];
        foreach i in [0:19] { B[i] = B[i + 1] + 1; }
        B[20] = 0;
        trace(A[20], B[0]);
        """,
        window=2,
    ) == ["trace: 1048576,20"]


def test_functions_return_arrays(script):
    assert script.run(
        """
        (int A[]) squares(int n) { foreach i in [0:n] { A[i] = i * i; } }
        (int B[]) alias(int A[]) { B = A; }
        (int B[][]) rows(int n) { foreach i in [0:n] { B[i] = squares(i); } }
        trace(alias(squares(3)), rows(2));
        """
    ) == ["trace: [0,1,4,9],[[0],[0,1],[0,1,4]]"]


def test_foreach(script):
    printed = script.run(
        """
        foreach i in [3:1:-1] { printf("down %i", i); }
        foreach i in [0:9:4] { printf("by four %i", i); }
        foreach v, k in {"b": 2, "a": 1} { printf("%s=%i", k, v); }
        foreach v, k in [7:8] { printf("%i. %i", k, v); }
        foreach i in [1:0] { printf("never"); }
        """
    )
    assert sorted(printed) == sorted(
        [f"down {i}" for i in (3, 2, 1)]
        + [f"by four {i}" for i in (0, 4, 8)]
        + ["a=1", "b=2", "0. 7", "1. 8"]
    )


def test_for_and_iterate(script):
    assert script.run(
        """
        for (int i = 0, int sum = 0; i < 4; i = i + 1, sum = sum + square) {
            int square = i * i;
            printf("%i: %i", i, sum);
        }
        """
    ) == ["0: 0", "1: 0", "2: 1", "3: 5"]
    assert script.run(
        """
        (float r) half(float x) { r = x / 2; }
        for (float x = 16, int n = 0; x > 1; x = half(x), n = n + 1) { trace(n, x); }
        """
    ) == ["trace: 0,16.0", "trace: 1,8.0", "trace: 2,4.0", "trace: 3,2.0"]
    assert script.run("int A[]; iterate i { A[i] = i; } until (A[i] >= 3); trace(size(A));") == [
        "trace: 4"
    ]
    assert script.run("for (int i = 0; i < 0; i = i + 1) { trace(i); }") == []


def test_branches(script):
    text = """
    (string s) sign(int i) {
        if (i < 0) { s = "negative"; } else if (i == 0) { s = "zero"; } else { s = "positive"; }
    }
    (string s) named(int i) {
        switch (i) { case 1: s = "one"; case -2: s = "minus two"; default: s = "other"; }
    }
    string A[];
    if (sign(1) == "zero") { A[0] = "no"; } else { A[1] = "yes"; }
    foreach i in [-2:1] { printf("%i %s %s", i, sign(i), named(i)); }
    switch ("b") { case "a": trace(1); case "b": trace(2); }
    switch (3) { case 1: trace("no"); }
    trace(A);
    """
    assert sorted(script.run(text)) == [
        "-1 negative other",
        "-2 negative minus two",
        "0 zero other",
        "1 positive one",
        "trace: 2",
        "trace: {1: yes}",
    ]


def test_wait_and_chains(script):
    text = """
    int x = 1;
    wait (x) { printf("x is %i", x) => printf("and then") => { printf("last"); } }
    int A[];  foreach i in [0:2] { A[i] = i; }
    wait (A) { printf("%i elements", size(A)); }
    wait deep (A) { printf("whole"); }
    string s = python("", "'task'") => printf("done: %s", s);
    """
    printed = script.run(text)
    assert [line for line in printed if line in ("x is 1", "and then", "last")] == [
        "x is 1",
        "and then",
        "last",
    ]
    assert {"3 elements", "whole", "done: task"} < set(printed)


def test_operators(script):
    assert script.run(
        """
        trace(7 %/ 2, -7 %/ 2, 7 %% 3, -7 %% 3, 7 / 2, 1 / 0, 2**10, 2.0**-1, 2**0.5 > 1.41);
        trace(-2**2, (-2)**2, 2**3**2, 1 - 2 - 3, 2 * 3 %/ 4, !true || true && false);
        trace("a" + "b" == "ab", "a" < "b", 1 == 1.0, true != false, 1 <= 1 && 2 >= 3);
        trace("%05.2f|%3i|%-3s|%x" % (3.14159, 7, "a", 255), "%s" % 2.5, "100%%" % 1 == "") ;
        """.replace(', "100%%" % 1 == ""', "")
    ) == [
        "trace: 3,-3,1,-1,3.5,inf,1024,0.5,true",
        "trace: -4,4,512,-4,1,false",
        "trace: true,true,true,true,false",
        "trace: 03.14|  7|a  |ff,2.5",
    ]


def test_the_least_whole_number(script):
    printed = script.run(
        """
        int x = -9223372036854775808;
        trace(x, x + 1, - 0x8000000000000000 == x, [-(9223372036854775808)]);
        switch (x) { case -9223372036854775808: trace("least"); default: trace("other"); }
        switch (-7) { case -07: trace("seven"); }
        """
    )
    least = -(2**63)
    assert sorted(printed) == [
        f"trace: {least},{least + 1},true,[{least}]", "trace: least", "trace: seven"
    ]  # fmt: skip


def test_the_library(script):
    assert script.run(
        """
        trace(strcat("a", 1, 2.5, true), strlen("abc"), substring("abcdef", 2, 3));
        trace(split("a,b", ","), join(["x", "y"], "-"), toupper("a"), trim(" a "));
        trace(find("abc", "c"), count("abab", "b"), replace_all("abab", "b", "c"));
        trace(round(2.5), round(-2.5), floor(-0.5), ceil(0.5), round(7));
        trace(sqrt(4.0), exp(0), log(1), pow(2, 3), is_nan(sqrt(-1)), abs(-2), abs(-2.5));
        trace(max(1, 2), max(1, 2.5), min(3, 2), sum([1, 2]), sum([0.5]), avg([1, 2]), std([1, 1]));
        trace(toint("12"), tofloat("1.5"), fromint(3), int("4"), string(5), float("2"), int(2.9));
        trace(floats_from_blob(blob_from_floats([1.5, 2.5])), blob_size(blob_from_string("abc")));
        float r = random();  trace(r >= 0 && r < 1);  int i = randint(5, 6);  trace(i);
        assert(true, "never");  assertEqual(1, 1);  assertLT(1, 2, "less");
        """
    ) == [
        "trace: a12.5true,3,cde",
        "trace: [a,b],x-y,A,a",
        "trace: 2,2,acac",
        "trace: 3,-3,-1,1,7",
        "trace: 2.0,1.0,0.0,8.0,true,2,2.5",
        "trace: 2,2.5,2,3,0.5,1.5,0.0",
        "trace: 12,1.5,3,4,5,2.0,2",
        "trace: [1.5,2.5],3",
        "trace: true",
        "trace: 5",
    ]


def test_arguments(script):
    text = """
    argv_accept("n", "name", "v");
    trace(argv("n"), toint(argv("n")) + 1, argv("name", "none"), argv(1), argc());
    trace(argv_contains("v"), argv_contains("w"), args(), turbine_workers());
    """
    assert script.run(text, ["-n=3", "file.txt", "--v"]) == [
        "trace: 3,4,none,file.txt,1",
        "trace: true,false,-n=3 file.txt --v,1",
    ]
    with pytest.raises(ScriptFailed, match=r"got -x; allowed: -n, -name, -v"):
        script.run(text, ["-x=3"])
    with pytest.raises(ScriptFailed, match=r"missing: got none; allowed: -n=VALUE"):
        script.run('trace(argv("n"));')


def test_ways_to_write_it_that_older_scripts_have(script):
    script.write("abc", "a.txt")
    printed = script.run(
        """
        (int z) f(int x) { (z) = x + 1; }
        app (file o) copied(file inp) { "cat" @inp @stdout=o }
        trace(f(1), read(copied(input("a.txt"))));
        @unroll=4 @splitdegree=16 foreach i in [7:7] { trace(i); }
        """
    )
    assert sorted(printed) == ["trace: 2,abc", "trace: 7"]
    ((_, _, message),) = script.findings("@unrol=4 foreach i in [0:1] { }")
    assert "an annotation of a loop: got @unrol; allowed: @splitdegree" in message


def test_constants_are_seen_in_functions(script):
    assert script.run(
        """
        global const int N = 3;
        global const float HALF = 1 / 2;
        (float r) f() { r = N * HALF; }
        trace(f());
        """
    ) == ["trace: 1.5"]


_NUMBERS = st.integers(0, 9).map(str) | st.floats(0, 9).map(lambda x: repr(round(x, 2)))


def _larger(smaller):
    signs = st.sampled_from([" + ", " - ", " * ", " / "])
    return st.one_of(
        st.tuples(smaller, signs, smaller).map("".join),
        smaller.map(lambda text: f"({text})"),
        smaller.map(lambda text: f"-{text}"),
    )


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(texts=st.lists(st.recursive(_NUMBERS, _larger, max_leaves=6), min_size=5, max_size=15))
def test_arithmetic_is_that_of_python(script, texts):
    def expected(text):
        try:
            return float(eval(text))
        except ZeroDivisionError:
            return None

    known = [(text, value) for text in texts if (value := expected(text)) is not None]
    # As floats: only there a division by zero is no error in both.
    lines = script.run("".join(f"trace(1.0 * ({text}));\n" for text, _ in known))
    found = [float(line.removeprefix("trace: ")) for line in lines]
    assert all(
        a == b or math.isclose(a, b, rel_tol=1e-12) for a, (_, b) in zip(found, known, strict=True)
    )


def test_the_guide_names_every_function_of_the_library():
    page = (pathlib.Path(__file__).parents[3] / "docs" / "guide" / "swift.md").read_text()
    named = set(re.findall(r"`(\w+)(?:\(x\))?`", page))
    assert standard_library(Surroundings()).keys() <= named
