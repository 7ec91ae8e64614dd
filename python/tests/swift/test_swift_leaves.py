# SPDX-License-Identifier: Apache-2.0
"""Leaf functions of Python modules and shared libraries."""

import subprocess

import pytest
from fluvial.swift.failures import ScriptFailed

MODULE = """
import numpy as np

__version__ = "1.4.2"


def add(a, b):
    return a + b


def minmax(values):
    return min(values), max(values)


def describe(flag, name, keyed):
    return f"{flag!r} {name!r} {keyed!r}"


def doubled(blob):
    return np.frombuffer(blob) * 2


def steps(n):
    return np.arange(n) / 2


def table():
    return {"a": [1, 2], "b": []}


def pieces(n):
    return [save(f"{i}", f"{i}.txt") for i in range(n)]


def save(text, path):
    open(path, "w").write(text)
    return path


def nothing():
    return None


def huge():
    return 2**1100


def how_many(comm, values):
    return comm.size + len(values)
"""


@pytest.fixture(autouse=True)
def module(script):
    script.write(MODULE, "leaves.py")
    script.write("def count():\n    pass\n", "unversioned.py")


def test_functions_of_a_module(script):
    printed = script.run(
        """
        (float r) add(float a, float b) "leaves";
        (int low, int high) extremes(int values[]) "leaves" "1.4" "minmax";
        (string s) describe(boolean flag, string name, int keyed[string]) "leaves";
        () nothing() "leaves";
        int l, h;  l, h = extremes([3, 1, 2]);
        trace(add(1, 2.5), l, h, describe(true, "x", {"k": 1}));
        nothing() => printf("done");
        """
    )
    assert sorted(printed) == ["done", "trace: 3.5,1,3,True 'x' {'k': 1}"]


def test_numpy_arrays_files_and_blobs(script):
    printed = script.run(
        """
        (blob b) doubled(blob a) "leaves";
        (float A[]) steps(int n) "leaves";
        (int A[string][]) table() "leaves";
        (file f) save(string text) "leaves";
        file kept <"kept.txt"> = save("text");
        trace(floats_from_blob(doubled(blob_from_floats([1.5, 2]))), steps(3), table());
        (file parts[]) pieces(int n) "leaves";
        foreach part in pieces(2) { printf("part %s", read(part)); }
        trace(read(kept), filename(kept), read(save("other")));
        """
    )
    assert sorted(printed) == [
        "part 0",
        "part 1",
        "trace: [3.0,4.0],[0.0,0.5,1.0],{a: [1,2],b: []}",
        "trace: text,kept.txt,other",
    ]


def test_templates(script):
    printed = script.run(
        """
        (float o, string s) hypotenuse(float a, float b) "math" "" [
            "<<o>> = hypot(<<a>>, <<b>>); <<s>> = type(<<a>>).__name__"
        ];
        float o; string s;
        o, s = hypotenuse(3, 4);
        trace(o, s);
        trace(python("import math", "math.factorial(5)"));
        """
    )
    assert sorted(printed) == ["trace: 120", "trace: 5.0,float"]


def test_versions_that_a_module_has(script):
    script.write("__version__ = '2'\n", "whole/__init__.py")
    script.write("def part():\n    return 7\n", "whole/parts.py")
    printed = script.run(
        """
        () nothing() "leaves" "1.4.2.0";
        () count() "unversioned" "0.0";
        (int r) part() "whole.parts" "2.0";
        (int r) parsed(string text) "lark.lexer" "1" [ "<<r>> = len(<<text>>)" ];
        nothing();  count();  trace(part(), parsed("abc"));
        """
    )
    assert printed == ["trace: 7,3"]


def test_a_parallel_leaf_on_one_rank(script):
    text = '@par (int n) how_many(int values[]) "leaves"; trace(how_many([1, 2]));'
    assert script.run(text) == ["trace: 3"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('(int r) add(int a, float b) "leaves"; trace(add(1, 2.5));', "is no int: it returned 3.5"),
        ('(int a, int b) add(int x, int y) "leaves"; int p, q; p, q = add(1, 2);', "a tuple of"),
        ('() subtract() "leaves"; subtract();', "has no function 'subtract'"),
        ('() nothing() "leaves" "2.0"; nothing();', "has version 1.4.2; allowed: 2.0 or later"),
        ('() nothing() "leaves" "1.4.2.1"; nothing();', "has version 1.4.2; allowed: 1.4.2.1 or"),
        (
            '() count() "unversioned" "1.0"; count();',
            "module 'unversioned' does not say which version it is: got no __version__; "
            'allowed: 1.0 or later. Give it one, or ask for no version ("")',
        ),
        ('(int r) nothing() "leaves"; trace(nothing());', "output 'r' is no int: it returned None"),
        (
            '(int r) huge() "leaves"; trace(huge());',
            "output 'r' is too large for int: it returned 1358",
        ),
        (
            '(float r) huge() "leaves"; trace(huge());',
            "output 'r' is no float: it returned 13582985",
        ),
        (
            'string f = strcat("%", "d"); printf(f, 2.5);',
            "%d of a format: got 2.5; allowed: a whole",
        ),
        ('string f = strcat("%", "f"); printf(f, "a");', "%f of a format: got 'a'; allowed: a num"),
        ('(int r[]) nothing() "leaves"; trace(nothing());', "output 'r' is no int[]"),
        ('(int o) f() "leaves" "" [ "<<o>> = 1 +" ]; trace(f());', "SyntaxError"),
    ],
)
def test_leaves_that_fail(script, text, says):
    with pytest.raises(ScriptFailed) as raised:
        script.run(text)
    assert says in str(raised.value) and "script.swift:1:" in str(raised.value)


C_CODE = r"""
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

double scaled(int64_t n, double by, bool negative) { return (negative ? -1 : 1) * n * by; }
int64_t length(const char* text) { return (int64_t)strlen(text); }
void divide(int64_t a, int64_t b, int64_t* quotient, int64_t* rest) {
    *quotient = a / b;
    *rest = a % b;
}
void reversed(const unsigned char* bytes, int64_t count, void** result, int64_t* result_count) {
    unsigned char* made = malloc(count);
    for (int64_t i = 0; i < count; ++i) made[i] = bytes[count - 1 - i];
    *result = made;
    *result_count = count;
}
void named(int64_t number, char** name) {
    *name = malloc(16);
    strcpy(*name, number == 1 ? "one" : "many");
}
void nothing(void** result, int64_t* count) { *result = NULL; *count = 0; }
"""


@pytest.fixture
def library(script):
    script.write(C_CODE, "numbers.c")
    command = ["cc", "-shared", "-fPIC", "-o", "libnumbers.so", "numbers.c"]
    subprocess.run(command, cwd=script.where, check=True)


def test_functions_of_a_shared_library(script, library):
    printed = script.run(
        """
        (float r) scaled(int n, float by, boolean negative) "numbers";
        (int n) count(string text) "libnumbers.so" "" "length";
        (int q, int r) divide(int a, int b) "numbers";
        (blob b) reversed(blob a) "numbers";
        (string s) named(int n) "numbers";
        int q, r;  q, r = divide(17, 5);
        trace(scaled(3, 1.5, true), count("four"), q, r, named(1), named(2));
        trace(string_from_blob(reversed(blob_from_string("abc"))));
        """
    )
    assert sorted(printed) == ["trace: -4.5,4,3,2,one,many", "trace: cba"]


def test_what_a_shared_library_cannot_take(script, library):
    found = script.findings('(int r) sum(int values[]) "numbers"; trace(sum([1]));')
    assert "'values' of a leaf in C: got int[]; allowed: int, float" in found[0][2]
    found = script.findings('(int r) f() "numbers" "" [ "<<r>> = 1" ]; trace(f());')
    assert "a template of a leaf in a shared library" in found[0][2]
    for text, says in (
        ('() missing() "numbers"; missing();', "has no function 'missing'"),
        ('(blob b) nothing() "numbers"; trace(nothing());', "a null pointer"),
    ):
        with pytest.raises(ScriptFailed, match=says):
            script.run(text)
