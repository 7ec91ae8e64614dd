# SPDX-License-Identifier: Apache-2.0
"""Colours of scripts (docs/guide/swift.md), by Pygments."""

from typing import ClassVar

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

_KEYWORDS = (
    *(
        "app",
        "case",
        "const",
        "deep",
        "default",
        "else",
        "for",
        "foreach",
        "global",
        "if",
        "import",
    ),
    *("in", "iterate", "main", "switch", "until", "wait"),
)
_TYPES = ("blob", "boolean", "file", "float", "int", "string", "void")


class SwiftTLexer(RegexLexer):
    """The language of Swift/T. Pygments' own `swift` is Apple's."""

    name = "Swift/T"
    aliases: ClassVar[list[str]] = ["swift_t"]
    tokens: ClassVar = {
        "root": [
            (r"//[^\n]*|/\*(.|\n)*?\*/", Comment),
            (r"#include[^\n]*", Comment.Preproc),
            (r"#[^\n]*", Comment),
            (r'"""(.|\n)*?"""|"(\\.|[^"\\\n])*"', String),
            (words(_TYPES, suffix=r"\b"), Keyword.Type),
            (words(_KEYWORDS, suffix=r"\b"), Keyword),
            (r"(true|false|NaN|inf)\b", Keyword.Constant),
            (r"@\w+", Name.Decorator),
            (r"\d+\.\d*([eE][-+]?\d+)?|\d+[eE][-+]?\d+", Number.Float),
            (r"0[xX][0-9a-fA-F]+|\d+", Number.Integer),
            (r"[A-Za-z_]\w*(?=\s*\()", Name.Function),
            (r"[A-Za-z_]\w*", Name),
            (r"=>|[-+*/%<>=!&|]+", Operator),
            (r"[\[\](){},;:]", Punctuation),
            (r"\s+", Text),
        ]
    }
