"""The parser: every program survives its own text, and every wrong text gets a place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ark.program import (
    SIGNATURES,
    Assign,
    Call,
    Constant,
    End,
    Name,
    Program,
    ProgramError,
    parse,
    parse_statement,
)
from ark.program.parser import MAX_DEPTH, MAX_STATEMENTS
from ark.program.tokens import MAX_CHARACTERS

_names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True).filter(
    lambda n: n not in ("end", "true", "false")
)
_constants = st.builds(
    Constant,
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
        st.booleans(),
        st.integers(-(10**20), 10**20),
        st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: len(repr(x)) <= 25),
    ),
)


def _calls(inner: st.SearchStrategy) -> st.SearchStrategy:
    functions = st.one_of(st.sampled_from(sorted(SIGNATURES)), _names)
    return st.builds(Call, functions, st.lists(inner, max_size=4).map(tuple))


_arguments = st.recursive(st.one_of(_constants, st.builds(Name, _names)), _calls, max_leaves=8)
_expressions = st.one_of(st.builds(Name, _names), _calls(_arguments))
_programs = st.builds(
    Program,
    st.lists(st.builds(Assign, _names, _expressions), max_size=4).map(tuple),
    st.builds(End, _expressions),
)


@given(_programs)
def test_text_round_trip(program: Program) -> None:
    text = str(program)
    again = parse(text)
    assert again == program
    assert str(again) == text


def parse_or_refuse(text: str) -> Program | None:
    try:
        return parse(text)
    except ProgramError:
        return None  # any other exception fails the test


@given(st.text(max_size=60))
def test_any_text_parses_or_is_a_program_error(text: str) -> None:
    program = parse_or_refuse(text)
    assert program is None or parse(str(program)) == program


@given(st.text('abend=(),;"\\ \n19-.eE', max_size=40))
@settings(max_examples=300)
def test_text_of_the_alphabet_parses_or_is_a_program_error(text: str) -> None:
    program = parse_or_refuse(text)
    assert program is None or str(parse(str(program))) == str(program)


def test_layout_does_not_matter() -> None:
    canonical = 'a = type("disease")\nend(count(a))'
    for text in (
        'a=type("disease");end(count(a))',
        '\n\n a = type(\n  "disease"\n)\n;\n end ( count( a ) ) ;\n',
        'a = type("disease")\r\nend(count(a))',
    ):
        assert str(parse(text)) == canonical


def test_strings_keep_everything() -> None:
    value = 'quote " backslash \\ line \n tab \t ü 😀 \u2028 ; ) # end('
    program = Program((), End(Call("node", (Constant(value),))))
    assert parse(str(program)) == program
    assert parse(r'end(node("\u00fc"))').end.value == Call("node", (Constant("ü"),))


def test_numbers_keep_their_kind() -> None:
    values = [c.value for c in parse("end(f(1, 1.0, -2, 1e3, true))").end.value.arguments]
    assert [(type(v), v) for v in values] == [
        (int, 1), (float, 1.0), (int, -2), (float, 1000.0), (bool, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: the last statement must be end(...)"),
        ('a = type("x")', "the last statement must be end(...)"),
        ("end(a)\nend(b)", "line 2, column 1: nothing may follow end(...)"),
        ("a = ; end(a)", "line 1, column 5: expected a function call"),
        ('a = "x"\nend(a)', "line 1, column 5: expected a function call or a name"),
        ("end(1)", "line 1, column 5: expected a function call or a name"),
        ("end(a", "line 1, column 6: expected ')'"),
        ('end(node("a" "b"))', "line 1, column 14: expected ',' or ')', found 'b'"),
        ('end(node("a",))', "expected a function call, a name or a constant, found ')'"),
        ("end(node('a'))", "line 1, column 10: strings are written in double quotes"),
        ('end(node("a))', "line 1, column 10: string is not closed"),
        (r'end(node("\q"))', "line 1, column 10: string has a wrong escape"),
        (r'end(node("\ud800"))', "string has a wrong escape"),
        ("end(f(1e999))", "line 1, column 7: number is too large"),
        ("end(f(" + "9" * 40 + "))", "number is longer"),
        ("end(f(1x))", "unexpected character '1'"),
        ("a = b c\nend(a)", "line 1, column 7: expected a new line or ';'"),
        ("end = f(a)", "expected '(' after end"),
        ("true = f(a)\nend(a)", "'true' cannot be a name"),
        ("a = end(b)\nend(a)", "line 1, column 5: 'end' cannot stand inside an expression"),
        ("a.b = c\nend(a)", "line 1, column 2: unexpected character '.'"),
        ("a = __import__\nend(a[0])", "line 2, column 6: unexpected character '['"),
        ("a\n= f(b)", "expected '=' after the name 'a', found break"),
    ],
)
def test_wrong_text_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse(text)
    assert message in str(caught.value)


def test_sizes_are_limited() -> None:
    deep = "f(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1)
    with pytest.raises(ProgramError, match="nested deeper"):
        parse(f"end({deep})")
    with pytest.raises(ProgramError, match="nested deeper"):
        parse("end(" + "f(" * 6000)
    with pytest.raises(ProgramError, match="statements"):
        parse("a = b\n" * (MAX_STATEMENTS + 1) + "end(a)")
    with pytest.raises(ProgramError, match="arguments"):
        parse(f"end(f({'a,' * 600}a))")
    with pytest.raises(ProgramError, match="longer than"):
        parse("a" * (MAX_CHARACTERS + 1))


def test_one_statement_alone() -> None:
    assert parse_statement(" v1 = count(v0)\n") == Assign("v1", Call("count", (Name("v0"),)))
    assert parse_statement("end(v1)") == End(Name("v1"))
    with pytest.raises(ProgramError, match="one statement only"):
        parse_statement("end(v1)\nend(v2)")
