# SPDX-License-Identifier: Apache-2.0
"""From text to a syntax tree, and the errors for text that is no script."""

import dataclasses

import pytest
from fluvial.swift import syntax
from fluvial.swift.parser import parse
from fluvial.swift.script import Script, ScriptError
from hypothesis import given, settings
from hypothesis import strategies as st

import fluvial as fl


def parsed(text):
    return parse(Script("s.swift", text))


def value_of(text):
    """The syntax tree of an expression."""
    return parsed(f"x = {text};").main.statements[0].value


def finding(text):
    with pytest.raises(ScriptError) as raised:
        parsed(text)
    (found,) = raised.value.findings
    return found


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("x = ;", 1, 5, "got ';'"),
        ("main {\n  int y = 3\n}", 3, 1, "got '}'; allowed here: ',', ';', '=>'"),
        ("f(", 1, 3, "ends too early"),
        ("main {", 1, 7, "ends too early"),
        ('x = "abc;\n', 1, 5, "no end on this line"),
        ("x = 3;\n/* abc", 2, 1, "got '/*': the comment has no end"),
        ("x = 3 /* abc", 1, 7, "got '/*': the comment has no end"),
        ("\n\tx = $3;", 2, 6, "got '$'"),
        ("x = 9999999999999999999;", 1, 5, "2**63 - 1"),
        ("x = 9223372036854775808;", 1, 5, "allowed: -2**63 to 2**63 - 1"),
        ("x = 1 - 9223372036854775808;", 1, 9, "2**63 - 1"),
        ("x = +9223372036854775808;", 1, 6, "2**63 - 1"),
        ("x = -9223372036854775808 ** 1;", 1, 6, "2**63 - 1"),
        ("x = -9223372036854775809;", 1, 6, "2**63 - 1"),
        ("switch (x) { case 9223372036854775808: }", 1, 19, "2**63 - 1"),
        ('x = "a\\q";', 1, 5, "got \\q"),
        ("int A[float];", 1, 6, "a type of keys: got 'float'"),
        ("start { }", 1, 1, "got 'start'; allowed: main"),
        ("main { } main { }", 1, 10, "two main"),
        ("main { int x; } }", 1, 17, "got '}'"),
        ('app (file o) f() { "c" @stdut=o }', 1, 24, "@stdin, @stdout, @stderr"),
        ("foreach x in A { trace(x) }", 1, 27, "got '}'"),
        ("if (x) y = 1;", 1, 8, "got 'y'; allowed here: '{'"),
    ],
)
def test_errors_have_line_column_and_the_line(text, line, column, says):
    found = finding(text)
    assert (found.place.line, found.place.column) == (line, column)
    assert says in found.message
    shown, mark = str(found).splitlines()[1:]
    assert shown.strip() == (text.splitlines() or [""])[line - 1].strip()
    assert mark.index("^") - 4 == column - 1


def test_an_error_is_one_of_the_library():
    with pytest.raises(fl.InvalidArgument, match=r"s\.swift:1:5: got ';'"):
        parsed("x = ;")


def test_what_stands_at_the_top_is_sorted():
    program = parsed(
        """#!/usr/bin/env swift-t
        #include <builtins.swift>
        import io; import my.own;
        global const float G = 9.81;
        (int a, float b[]) f(string s, int A[string][]) { a = 1; }
        @par @pure (blob b) g() "module" "0.1" "name";
        (float o) h(float i) "math" "" [ "<<o>> = cos(<<i>>)" ];
        app (file o) sort(file i) { "sort" "-k" 3 i @stdout=o @stderr=o; }
        int x = 1;
        main { int y = 2; }
        /* a comment
           of two lines */
        """
    )
    assert [i.name for i in program.imports] == ["builtins", "io", "my.own"]
    assert [c.name for c in program.constants] == ["G"]
    f, g, h, sort = program.functions
    assert [str(p.kind) for p in [*f.outputs, *f.inputs]] == [
        "int",
        "float[]",
        "string",
        "int[string][]",
    ]
    assert (g.parallel, g.marks, g.package, g.version, g.function) == (
        True,
        ["par", "pure"],
        "module",
        "0.1",
        "name",
    )
    assert (h.template, h.function) == ("<<o>> = cos(<<i>>)", "h")
    assert [r.stream for r in sort.redirections] == ["stdout", "stderr"]
    assert len(sort.words) == 4
    assert len(program.main.statements) == 2


def test_statements():
    text = """
    int a, b[] = [1, 2], c[string][]; file f <"x" + 1>=g(2); float[] q;
    a, b[1][2] = f(1); (a, b) = f(1);
    if (a) { } else if (b) { } else { x = 1; }
    foreach v, k in A[1] { } foreach i in [0:9:2] { }
    for (int i = 0, float x = 1.0; i < 3; i = i + 1, x = f(x)) { }
    iterate i { } until (i > 3);
    switch (a) { case 1: x = 1; y = 2; case -2: default: z = 3; case "s": case true: }
    wait (a, b) { } wait deep (A) { }
    f() => g() => { h(); }
    @prio=5 @par=2*n f(x);
    { int inner; };
    """
    kinds = [type(statement).__name__ for statement in parsed(text).main.statements]
    assert kinds[:6] == ["Declaration"] * 3 + ["Assignment"] * 2 + ["If"]
    assert kinds[6:10] == ["Foreach", "Foreach", "For", "Iterate"]
    assert kinds[10:] == ["Switch", "Wait", "Wait", "Chain", "CallStatement", "Block"]


def test_literals():
    assert value_of("0x1F") == syntax.Literal(None, 31)
    assert value_of("1e3").value == 1000.0
    assert value_of("2.5E-1").value == 0.25
    assert value_of("inf").value == float("inf")
    assert value_of("NaN").value != value_of("NaN").value
    assert value_of("true").value is True
    assert value_of(r'"a\tb\\\"\x41\n"').value == 'a\tb\\"A\n'
    assert value_of('"""two\nlines "quoted" \\n"""').value == 'two\nlines "quoted" \\n'


def test_words_that_begin_like_keywords_are_names():
    program = parsed("int iff = 1, inn = 2, forx = 3, floaty = 4, truely = 5, info = 6;")
    assert len(program.main.statements[0].declarators) == 6


def test_figure_9_of_the_paper_is_a_script(figure_9):
    program = parsed(figure_9)
    (leaf,) = program.functions
    assert (leaf.name, leaf.parallel) == ("mpidraw", True)


# --- random trees: what is written from a tree reads as that tree

_NAMES = st.sampled_from(["x", "y", "count", "iff", "A"])
_BINARY = [["||"], ["&&"], ["==", "!="], ["<", "<=", ">", ">="], ["+", "-"], ["*", "/", "%/", "%%"]]
_PRECEDENCE = {sign: level for level, signs in enumerate(_BINARY) for sign in signs}
_UNARY, _POWER, _ATOM = 6, 7, 8


def _atoms():
    return st.one_of(
        st.builds(syntax.Literal, st.none(), st.integers(0, 2**63 - 1)),
        st.builds(syntax.Literal, st.none(), st.booleans()),
        st.builds(syntax.Literal, st.none(), st.text('ab \\"\n\t%é', max_size=5)),
        st.builds(syntax.Literal, st.none(), st.floats(0, 1e300, allow_subnormal=False)),
        st.builds(syntax.Name, st.none(), _NAMES),
    )


def _larger(smaller):
    some = st.lists(smaller, min_size=1, max_size=3)
    return st.one_of(
        st.builds(
            syntax.Binary, st.none(), st.sampled_from([*_PRECEDENCE, "**"]), smaller, smaller
        ),
        st.builds(syntax.Unary, st.none(), st.sampled_from("+-!"), smaller),
        st.builds(syntax.Element, st.none(), smaller, smaller),
        st.builds(syntax.Array, st.none(), st.lists(smaller, max_size=3)),
        st.builds(syntax.Map, st.none(), st.lists(st.tuples(smaller, smaller), min_size=1)),
        st.builds(syntax.Range, st.none(), smaller, smaller, st.none() | smaller),
        st.builds(syntax.Call, st.none(), _NAMES, some, st.just([])),
        st.builds(
            syntax.Call,
            st.none(),
            _NAMES,
            some,
            st.lists(st.builds(syntax.Annotation, st.none(), _NAMES, smaller), min_size=1),
        ),
    )


def _level(node):
    if isinstance(node, syntax.Binary):
        return _POWER if node.operator == "**" else _PRECEDENCE[node.operator]
    return _UNARY if isinstance(node, syntax.Unary) else _ATOM


def _written(node, least=0):
    """The text of a tree, with no more parentheses than it needs."""
    text = _plain(node)
    return text if _level(node) >= least else f"({text})"


def _plain(node):
    listed = lambda nodes: ", ".join(map(_written, nodes))  # noqa: E731
    match node:
        case syntax.Literal(value=bool(value)):
            return "true" if value else "false"
        case syntax.Literal(value=str(value)):
            escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
            return '"' + "".join(escapes.get(c, c) for c in value) + '"'
        case syntax.Literal(value=value):
            return repr(value)
        case syntax.Name(name=name):
            return name
        case syntax.Unary(operator=sign, operand=operand):
            return f"{sign}{_written(operand, _UNARY)}"
        case syntax.Binary(operator="**", left=left, right=right):
            return f"{_written(left, _ATOM)}**{_written(right, _UNARY)}"
        case syntax.Binary(operator=sign, left=left, right=right):
            level = _PRECEDENCE[sign]
            return f"{_written(left, level)} {sign} {_written(right, level + 1)}"
        case syntax.Element(array=array, key=key):
            return f"{_written(array, _ATOM)}[{_written(key)}]"
        case syntax.Array(items=items):
            return f"[{listed(items)}]"
        case syntax.Map(pairs=pairs):
            return "{" + ", ".join(f"{_written(k)}: {_written(v)}" for k, v in pairs) + "}"
        case syntax.Range(first=first, last=last, step=step):
            return "[" + ":".join(_written(part) for part in (first, last, step) if part) + "]"
        case syntax.Call(function=function, arguments=arguments, annotations=notes):
            before = "".join(f"@{note.name}={_written(note.value)} " for note in notes)
            return f"{before}{function}({listed(arguments)})"
    raise AssertionError(node)


@settings(deadline=None)
@given(st.recursive(_atoms(), _larger, max_leaves=12))
def test_what_is_written_from_a_tree_reads_as_that_tree(tree):
    assert value_of(_written(tree)) == tree


@settings(deadline=None)
@given(st.text(alphabet='ab12.+-*/%=<>!&|()[]{};:,"\\@# \n', max_size=40))
def test_any_text_is_a_script_or_an_error_of_one(text):
    try:
        parsed(text)
    except ScriptError as error:
        assert all(finding.place.line >= 1 for finding in error.findings)


def test_deep_nesting_is_no_crash():
    deep = value_of("(" * 1000 + "1" + ")" * 1000)
    assert deep.value == 1
    with pytest.raises(ScriptError):
        parsed("x = " + "-" * 30_000 + "1;")


def test_nodes_are_compared_without_their_places():
    assert value_of("1 + 2") == value_of("1   +  2")
    fields = {field.name for field in dataclasses.fields(syntax.Name)}
    assert {"place", "name", "kind", "symbol"} == fields
