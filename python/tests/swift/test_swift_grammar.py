# SPDX-License-Identifier: Apache-2.0
"""Random scripts that the grammar itself makes are read, and checked without a crash."""

import random

import pytest
from fluvial.swift.checker import check
from fluvial.swift.parser import _parser, parse
from fluvial.swift.script import Script, ScriptError
from fluvial.swift.surroundings import Surroundings

WORDS = {
    "NAME": ["x", "y", "A", "count", "iff", "trace", "f"],
    "INTEGER": ["0", "7", "0x1F", "9223372036854775807"],
    "FLOAT": ["1.5", "2e3", "NaN", "inf", "4.25E-1"],
    "STRING": ['"text"', '"a\\tb\\""', '"""two\nlines"""', '""'],
    "TYPE": ["int", "float", "string", "boolean", "blob", "file", "void"],
    "BOOLEAN": ["true", "false"],
    "PRODUCT": ["*", "/", "%/", "%%", "%"],
    "EQUALITY": ["==", "!="],
    "SIGN": ["+", "-"],
    "INCLUDE": ["#include <builtins.swift>\n"],
}
"""Terminals that are patterns, or one of several words."""
BETWEEN = [" ", "  ", "\n", "\t", " /* a comment */ ", " // another\n"]


class Grammar:
    """The rules of the parser, and how deep the least tree of each is."""

    def __init__(self):
        parser = _parser()
        self.texts = {t.name: WORDS.get(t.name) or [t.pattern.value] for t in parser.terminals}
        self.rules = {}
        for rule in parser.rules:
            self.rules.setdefault(rule.origin.name, []).append(
                [(symbol.name, symbol.is_term) for symbol in rule.expansion]
            )
        self.depths = dict.fromkeys(self.rules, float("inf"))
        for _ in self.rules:
            for name, expansions in self.rules.items():
                self.depths[name] = 1 + min(map(self.depth, expansions))

    def depth(self, expansion):
        return max((0 if term else self.depths[name] for name, term in expansion), default=0)

    def words(self, chance, name, left):
        """Random words of a rule, of trees that are `left` deep, or as flat as can be."""
        expansions = self.rules[name]
        fitting = [e for e in expansions if self.depth(e) < left]
        expansion = chance.choice(fitting or [min(expansions, key=self.depth)])
        for symbol, term in expansion:
            if term:
                yield chance.choice(self.texts[symbol])
            else:
                yield from self.words(chance, symbol, left - 1)


@pytest.fixture(scope="module")
def grammar():
    return Grammar()


# What the grammar allows and the builder of the tree refuses, with its place.
REFUSED = (
    "a type of keys: got ",
    "a block with a name: got ",
    "a stream of a command: got @",
    "an annotation of a loop: got @",
)


def test_what_the_grammar_makes_is_a_script(grammar):
    chance = random.Random(15)
    used, read = set(), 0
    for _ in range(500):
        words = list(grammar.words(chance, "start", chance.randint(12, 34)))
        text = "".join(word + chance.choice(BETWEEN) for word in words)
        try:
            program = parse(Script("random.swift", text))
        except ScriptError as error:
            (finding,) = error.findings
            assert finding.message.startswith(REFUSED), f"{finding}\n{text}"
            continue
        read += 1
        used |= set(words)
        try:
            check(program, Surroundings())
        except ScriptError as error:
            assert all(f.place.line >= 1 and f.message for f in error.findings)
    assert read > 250
    assert used >= {"foreach", "if", "for", "switch", "iterate", "wait", "app", "global", "=>", "@"}


def test_a_word_that_is_left_out_or_put_in_is_an_error_or_another_script(grammar):
    chance = random.Random(16)
    refused = 0
    for _ in range(300):
        words = list(grammar.words(chance, "start", chance.randint(12, 30)))
        if not words:
            continue
        place = chance.randrange(len(words))
        words[place : place + 1] = chance.choice([[], [words[place]] * 2, ["]"], ["foreach"]])
        try:
            parse(Script("random.swift", " ".join(words)))
        except ScriptError as error:
            (finding,) = error.findings
            assert finding.place.line >= 1 and finding.place.shown()
            refused += 1
    assert refused > 100
