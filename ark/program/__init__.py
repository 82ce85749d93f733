"""A small language of node sets: composed questions carry their gold as a program in it.

    seizures = node("HP:0001250")
    shown = backward(seizures, "has phenotype")
    end(intersect(shown, backward(node("HP:0000007"), "has inheritance")))

Programs name nodes, types and relations by their strings, so they outlive a rebuilt graph.
"""

from ark.program.errors import ProgramError
from ark.program.executor import Executor, Value
from ark.program.functions import SIGNATURES, Signature
from ark.program.parser import parse, parse_statement
from ark.program.syntax import (
    Argument,
    Assign,
    Call,
    Constant,
    End,
    Expression,
    Name,
    Program,
    Statement,
)

__all__ = [
    "SIGNATURES",
    "Argument",
    "Assign",
    "Call",
    "Constant",
    "End",
    "Executor",
    "Expression",
    "Name",
    "Program",
    "ProgramError",
    "Signature",
    "Statement",
    "Value",
    "parse",
    "parse_statement",
]
