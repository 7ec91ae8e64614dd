# SPDX-License-Identifier: Apache-2.0
"""Commands as tasks: their words, their files, and how they fail."""

import os
import sys

import pytest
from fluvial.swift.app_command import run_command
from fluvial.swift.failures import ScriptFailed


def test_files_and_streams(script):
    script.write("3\n1\n2\n", "numbers.txt")
    printed = script.run(
        """
        app (file o) sorted(file i, string flags[]) { "sort" flags i @stdout=o; }
        app (file o) first(file i, int n) { "head" "-n" n @stdin=i @stdout=o }
        app (file o, file e) both() { "sh" "-c" "echo out; echo error >&2" @stdout=o @stderr=e }
        file numbers = input("numbers.txt");
        file kept <"results/sorted.txt"> = sorted(numbers, ["-n", "-r"]);
        file top[];
        foreach n in [1:2] { top[n] = first(kept, n); }
        trace(join(file_lines(kept), ","), read(top[1]) == "3\\n", size(file_lines(top[2])));
        file o, e;  o, e = both();
        trace(trim(read(o)), trim(read(e)));
        """
    )
    assert sorted(printed) == ["trace: 3,2,1,true,2", "trace: out,error"]
    assert (script.where / "results" / "sorted.txt").read_text() == "3\n2\n1\n"
    assert sorted(os.listdir(script.where / "results")) == ["sorted.txt"]


def test_words_of_a_command(script):
    assert script.run(
        """
        app (file o) words(string s, int i, float f, boolean b, file A[], string m[string]) {
            "printf" "%s|" s i f b A m["k"] (i + 1) strcat(s, "!") @stdout=o
        }
        file A[] = [input("script.swift"), input("script.swift")];
        trace(read(words("a b", 2, 0.5, true, A, {"k": "$HOME"})));
        """
    ) == ["trace: a b|2|0.5|true|script.swift|script.swift|$HOME|3|a b!|"]


def test_what_a_command_prints_is_printed(script, capfd):
    printed = script.run('app () hello() { "echo" "hello"; } hello() => printf("after");')
    assert printed == ["hello", "after"] and capfd.readouterr().out == ""


def test_chained_commands(script):
    script.run(
        """
        app (file o) step(file i, string word) { "sh" "-c" "cat $0; echo $1" i word @stdout=o }
        file a = write("begin\\n");
        file b = step(a, "one");
        file c <"c.txt"> = step(b, "two");
        """
    )
    assert (script.where / "c.txt").read_text() == "begin\none\ntwo\n"
    assert sorted(os.listdir(script.where)) == ["c.txt", "script.swift"]


def test_a_file_is_assigned_to_another_place(script):
    script.write("s", "s.txt")
    text = 'file a = write("text"); file b <"b.txt"> = a; file c <"c.txt"> = input("s.txt");'
    script.run(text)
    assert (script.where / "b.txt").read_text() == "text"
    assert (script.where / "c.txt").read_text() == "s"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            'app (file o) f() { "sh" "-c" "echo half > $0; echo why >&2; exit 3" o } '
            'file x <"x"> = f();',
            ["ended with code 3", "output: why", "task: f() on 1 rank", "script.swift:1:"],
        ),
        ('app (file o) f() { "true" } file x <"x"> = f();', ["`true` wrote no file 'x'"]),
        ('app () f() { "no-such-command" } f();', ["no such command: got 'no-such-command'"]),
        ('app () f() { "/etc/passwd" } f();', ["is not executable"]),
        ('app () f() { "sh" "-c" "kill -9 $$" } f();', ["was killed by signal 9"]),
        ('app () f(file i) { "cat" i } f(input("none"));', ["no such file: got 'none'"]),
    ],
)
def test_commands_that_fail_leave_no_half_file(script, text, says):
    with pytest.raises(ScriptFailed) as raised:
        script.run(text)
    assert all(part in str(raised.value) for part in says), raised.value
    assert os.listdir(script.where) == ["script.swift"]


def test_a_command_does_not_take_itself_for_a_rank(script, monkeypatch):
    for name in ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"):
        monkeypatch.setenv(name, "0")
    shown = "import os; print([n for n in os.environ if n.startswith(('PMI', 'OMPI'))])"
    run_command([sys.executable, "-c", shown], {"stdout": "out"}, [], {})
    assert (script.where / "out").read_text() == "[]\n"
