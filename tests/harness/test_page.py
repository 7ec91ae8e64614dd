# SPDX-License-Identifier: Apache-2.0
import os

import pytest

from harness.page import Page

PAGE = """\
# Title

First comes `one.txt`:

```text
a word
```

```console
$ cat one.txt
$ echo ./a/long/path \\
> and more; echo end
a word
./a/.../path and more
...
$ true
```

A block `between` sentences:

```python
print("nobody can run this")
```

```console
$ exit 3
```
"""


@pytest.fixture
def page(tmp_path):
    (tmp_path / "page.md").write_text(PAGE)
    return Page.read(tmp_path / "page.md")


def test_a_page_has_files_sessions_and_blocks_without_a_name(page):
    assert page.files == {"one.txt": "a word\n"}
    assert [session.commands for session in page.sessions] == [
        "cat one.txt\necho ./a/long/path \\\nand more; echo end\ntrue\n",
        "exit 3\n",
    ]
    assert page.unnamed == ['print("nobody can run this")']


def test_sessions_run_in_a_shell_and_a_failure_is_told(page, tmp_path):
    with pytest.raises(AssertionError, match="exit 3"):
        page.run(tmp_path, dict(os.environ), timeout=20)
    (printed,) = Page(page.files, page.sessions[:1], []).run(tmp_path, dict(os.environ), timeout=20)
    assert printed == "a word\n./a/long/path and more\nend\n"
    assert page.sessions[0].pattern.fullmatch(printed)


@pytest.mark.parametrize("printed", ["", "a word\n", "a word\nb\n./a/x/path and more\n"])
def test_other_output_does_not_match(page, printed):
    assert not page.sessions[0].pattern.fullmatch(printed)


def test_a_session_that_does_not_end_is_killed(tmp_path):
    (tmp_path / "page.md").write_text("```console\n$ sleep 60 & echo on; sleep 60\n```\n")
    with pytest.raises(AssertionError, match="on"):
        Page.read(tmp_path / "page.md").run(tmp_path, dict(os.environ), timeout=1)


def test_a_background_command_that_fails_is_a_failure(tmp_path):
    (tmp_path / "page.md").write_text("```console\n$ (exit 4) &\n$ true\n```\n")
    with pytest.raises(AssertionError, match="exit 4"):
        Page.read(tmp_path / "page.md").run(tmp_path, dict(os.environ), timeout=20)
