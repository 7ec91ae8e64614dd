# SPDX-License-Identifier: Apache-2.0
"""What notebooks show of an object: a title and a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def html_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as HTML, every cell as plain text.

    >>> html_table("<x>", ["a"], [[1]])
    '<p><code>&lt;x&gt;</code></p><table><tr><th>a</th></tr><tr><td>1</td></tr></table>'
    """
    import html  # has the names of all characters: only notebooks need them

    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<p><code>{html.escape(title)}</code></p><table><tr>{head}</tr>{body}</table>"
