"""Code is known by its shape; data is no code.  The corpus has more, each behind a colon."""

import pytest

from mead.router.code import has_code


@pytest.mark.parametrize("before", ["", "Format this: ", "Format this:\n", "Format this:\n   "])
@pytest.mark.parametrize(
    "code",
    [
        "def f(x): return x",
        "def foo\n  1\nend",
        "class A(B):\n  pass",
        "class A { }",
        "import os.path",
        "from os import path, sep",
        'import "fmt"',
        "for a in b:\n  c",
        "function f(a) {",
        "const a = 1",
        "int x = 5",
        "#include <a>",
        "#!/bin/sh",
        "sudo ls",
        "$ ls",
        "SELECT a FROM b",
        "update a set b = 1",
    ],
)
def test_code_is_seen_where_a_line_or_given_text_begins(before: str, code: str) -> None:
    assert has_code(before + code)


@pytest.mark.parametrize(
    "code",
    [
        *("```", "~~~", "def f(x)", "lambda x, y: x", "__init__", "(x) => x", "x => {"),
        *("f(x);", "f(g(x));", "f(x) {", "print(1)", "f(x) -> int", "a.b(1)", "{ a: b; }"),
        *("a == b", "a != b", "a && b", "</b>", "<br/>", '<img src="a" />', "<a href=b>", "<p>"),
        *("<!-- a -->", "<?php", "void f(", "Traceback (most recent call last)"),
        *("select * from a", "select a from b where c", "INSERT INTO a", "DELETE FROM a WHERE b"),
    ],
)
def test_code_is_seen_anywhere(code: str) -> None:
    assert has_code(f"Fix the text {code} here")


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": [1, {"c": "d; e"}]}',
        "a,b;c,d",
        "name=Ana; age=30",
        "| a || b |",
        "Lisbon -> Porto => Faro",
        "Title\n=====\nText",
        "the class of 1999: Ana",
        "Class times: Monday",
        "select a file from the list",
        "delete the file from the folder",
        "update the calendar",
        "Ana (12); Rui (13)",
        "report.pdf (copy)",
        "see a < b and c > d",
        "I have $ 5",
        "10:30 #1",
        "`a`",
    ],
)
def test_data_and_prose_are_no_code(text: str) -> None:
    assert not has_code(text)
    assert not has_code(f"Format this: {text}")
