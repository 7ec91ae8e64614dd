# SPDX-License-Identifier: Apache-2.0
"""Errors in a script are reported before anything runs."""

import pytest
from fluvial.swift.script import ScriptError

import fluvial as fl

LEAF = '(float t) leaf(int i) "leaves"; '
PARALLEL = '@par (float t) both(int i) "leaves"; '


@pytest.fixture(autouse=True)
def leaves(script):
    script.write("", "leaves.py")


WRONG = [
    # names
    ("trace(size_of);", 7, "no variable has this name: got 'size_of'"),
    ("int count = 1; trace(cuont);", 22, "Did you mean 'count'?"),
    ("prinft(1);", 1, "no function has this name: got 'prinft'. Did you mean 'printf'?"),
    ("int x = 1; x(2);", 12, "'x' is a variable"),
    ("{ int x = 1; } trace(x);", 22, "no variable has this name"),
    ("int x = 1; int x = 2;", 16, "declared twice: first on line 1"),
    ("() f() {} () f() {}", 14, "function 'f' is defined twice"),
    # assignments
    ("int x = 1; x = 2;", 12, "'x' is assigned twice: first on line 1"),
    ("int x; if (true) { x = 1; } x = 2; trace(x);", 29, "assigned twice"),
    ("int x; foreach i in [0:1] { x = i; }", 29, "assigned again in each iteration"),
    ("int x; for (int i = 0; i < 2; i = i + 1) { x = i; }", 44, "assigned again in each"),
    ("foreach i in [0:1] { i = 2; }", 22, "the variable of a loop"),
    ("() f(int a) { a = 2; }", 15, "is an input"),
    ("global const int N = 3; N = 4;", 25, "is a global constant"),
    ("int A[]; A[0] = 1; A = [2];", 20, "as a whole and in parts"),
    ("int A[] = [1]; A[1] = 1;", 16, "as a whole and in parts"),
    ("int x; trace(x);", 14, "'x' is read and never set"),
    ("int A[]; trace(A[0]);", 16, "never set. An empty array is []"),
    ('file f <"a">; trace(read(f));', 26, "never set. A file that is there already is input("),
    ("(int a, int b) f() { a = 1; }", 9, "output 'b' of f is never set"),
    # types
    ("int x = 2.5;", 9, "got float; allowed: int. Use round"),
    ('int x = "1";', 9, "got string; allowed: int. Use toint"),
    ("string s = 1;", 12, "Use fromint"),
    ('string s = "a" + 1;', 12, "between strings. Use strcat"),
    ("boolean b = 1 && true;", 13, "allowed: between booleans"),
    ("int x = 7 %/ 2.0;", 9, "allowed: between ints"),
    ("int x = 7 % 2;", 9, "allowed: behind a string. The remainder is %%"),
    ("boolean b = !1;", 13, "! of int: allowed: boolean"),
    ("if (1) { }", 5, "a condition: got int; allowed: boolean"),
    ("foreach i in 3 { }", 14, "foreach over int"),
    ("int A[] = [1, 2]; trace(A[true]);", 27, "a key: got boolean; allowed: int"),
    ("int x = 1; trace(x[0]);", 18, "an element of what is no array: got int"),
    ('int A[] = [1, "a"];', 15, "an element of ints: got string"),
    ("int A[string] = [1, 2];", 17, "got int[]; allowed: int[string]"),
    ("float A[] = [1, 2];", 13, "got int[]; allowed: float[]. Write 1.0, not 1"),
    ("switch (1.5) { }", 9, "switch by float: allowed: int, string, boolean"),
    ("switch (1) { case 1: case 1: }", 22, "two such cases"),
    ('switch (1) { case "a": }', 14, "a case of string: allowed: int"),
    ("int x = (1, 2);", 9, "several values in parentheses"),
    ('int x <"path">;', 5, "a path <…> of int x: allowed: of a file"),
    ("for (int i = 0; i < 3; j = 1) { }", 24, "an update of 'j': allowed: i"),
    ("for (int i = 0, int j = 0; i < 3; i = 1) { }", 17, "'j' has no update"),
    # calls
    ("trace(sqrt(1, 2));", 7, "sqrt: got 2 inputs; allowed: sqrt(float)"),
    ('trace(sqrt("a"));', 12, "input 1 of sqrt: got string; allowed: float"),
    ("(int r) f(int a) { r = a; } trace(f());", 35, "got 0 inputs; allowed: (int a)"),
    ("(int r) f(int a) { r = a; } trace(f(1.5));", 37, "input 'a' of f: got float"),
    ("(int a, int b) f() { a = 1; b = 2; } trace(f());", 44, "f has 2 outputs: allowed: one"),
    ("(int a, int b) f() { a = 1; b = 2; } int x; x, x = f();", 48, "'x' is assigned twice"),
    ("int x, y; x, y = 3;", 11, "allowed: outputs of a call"),
    ('printf("%i", "a");', 1, "%i of a format: got string; allowed: int"),
    ('printf("%i %s", 1);', 1, "a format for 2 values: got 1"),
    ('printf("%y", 1);', 8, "a conversion of a format: got '%y'"),
    ('string s = "%f" % "a";', 12, "%f of a format: got string"),
    ("() f() { } f() => trace(1);", 12, "no output that says when it is done"),
    # tasks
    (LEAF + "float t = @par=4 leaf(1);", 43, "@par of leaf, which was not declared parallel"),
    (LEAF + "float t = @par=4 leaf(1);", 43, "@par (float t) leaf(int i)"),
    (PARALLEL + "float t = @par=2.5 both(1);", 53, "@par: got float; allowed: int"),
    (LEAF + "float t = @pro=4 leaf(1);", 43, "got @pro; allowed: @par, @prio"),
    ("int x = @prio=1 size([1]);", 9, "no task of its own; allowed: leaf and app functions"),
    ("@par () f() { }", 9, "@par of a definition: allowed: of leaf functions"),
    ("@parr () f() { }", 10, "got @parr; allowed: @par, @pure. Did you mean 'par'?"),
    ('() f() "no_such_module";', 4, "no package of this name for leaf 'f'"),
    ('(int o) f() "leaves" "" [ "<<i>> = 1" ];', 9, "<<i>> of a template: allowed: o"),
    ('(int o) f() "leaves" "" [ "pass" ];', 2, "output 'o' is not set by the template"),
    ('app (int x) f() { "a" }', 6, "output 'x' of an app: got int; allowed: file, void"),
    ('app () f(blob b) { "a" b }', 24, "a word of a command: got blob"),
    ('app (file o) f(string s) { "a" @stdin=o }', 32, "@stdin: allowed: an input"),
    ('app (file o) f(file i) { "a" @stdout=i }', 30, "@stdout: allowed: an output"),
    ("import maths;", 1, "nothing to import: got 'maths'"),
    ("import maths;", 1, "Did you mean 'math'?"),
]


@pytest.mark.parametrize(("text", "column", "says"), WRONG)
def test_what_is_wrong_is_found_at_its_place(script, text, column, says):
    found = script.findings(text)
    assert any(says in message for _, _, message in found), found
    assert any(at == column and says in message for _, at, message in found), found


def test_all_that_is_wrong_is_said_at_once(script):
    found = script.findings("trace(a);\ntrace(b);\nint c = 1.5;")
    assert [(line, column) for line, column, _ in found] == [(1, 7), (2, 7), (3, 9)]


@pytest.mark.parametrize(
    "text",
    [
        "int x; if (true) { x = 1; } else { x = 2; } trace(x);",
        "int x; switch (1) { case 1: x = 1; default: x = 2; } trace(x);",
        "foreach i in [0:1] { int x = i; trace(x); }",
        "trace(x); int x = 1;",  # statements have no order
        "() f() { g(); } () g() { f(); }",  # nor have functions
        "(float r) sum(float a) { r = a; } trace(sum(1));",  # instead of the library's
        "float x = 1; float A[] = [1, 2.5]; float y = x + 1;",
        "int A[] = []; trace(size(A));",
        'string m[string] = {"a": "b"}; trace(m["a"]);',
        PARALLEL + "float t = @par=2 @prio=3 @location=1 both(1); trace(t);",
        "int x = 1; { int x = 2; trace(x); } trace(x);",
        "import io; import string; #include <builtins.swift>\n",
    ],
)
def test_what_is_right(script, text):
    script.check(text)


def test_figure_9_of_the_paper(script, figure_9):
    script.write("def mpidraw(comm, bf): ...", "mpidraw.py")
    script.check(figure_9)
    with pytest.raises(ScriptError, match=r"script\.swift:1:11: @par of mpidraw"):
        script.check('float t = @par=2 mpidraw(1); (float t) mpidraw(int bf) "mpidraw"; trace(t);')


def test_scripts_import_scripts(script):
    script.write("import other; (int r) twice(int a) { r = 2 * a + NONE; }", "mine.swift")
    script.write("import mine; global const int NONE = 0;", "other.swift")  # in a circle
    assert script.run("import mine; trace(twice(4));") == ["trace: 8"]
    script.write("int x = ;", "wrong.swift")
    with pytest.raises(ScriptError, match=r"wrong\.swift:1:9: got ';'"):
        script.check("import wrong;")


def test_a_script_that_cannot_be_read(script):
    with pytest.raises(fl.InvalidArgument, match="cannot read the script"):
        (script.where / "script.swift").mkdir()
        from fluvial.swift.loading import load
        from fluvial.swift.surroundings import Surroundings

        load(str(script.where / "script.swift"), Surroundings())
