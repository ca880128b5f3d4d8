"""Interval arithmetic on printed digits: the lowest and the highest possible result."""

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass

SLACK_RATIO = 1e-9  # what floating point may differ by


@dataclass(frozen=True)
class Span:
    """From low to high, both included."""

    low: float
    high: float

    def __add__(self, addend: "Span") -> "Span":
        return Span(self.low + addend.low, self.high + addend.high)

    def __sub__(self, subtrahend: "Span") -> "Span":
        return Span(self.low - subtrahend.high, self.high - subtrahend.low)

    def __mul__(self, factor: "Span") -> "Span":
        # An infinite end is not a value, so 0 times it is 0.
        products = [
            a * b if a and b else 0.0 for a in (self.low, self.high) for b in (factor.low, factor.high)
        ]
        return Span(min(products), max(products))

    def __truediv__(self, divisor: "Span") -> "Span":
        if divisor.low <= 0 <= divisor.high:
            return Span(-math.inf, math.inf)
        return self * Span(1 / divisor.high, 1 / divisor.low)

    @property
    def middle(self) -> float:
        """The midpoint, or the finite end."""
        return (
            (self.low + self.high) / 2
            if math.isfinite(self.low + self.high)
            else min(self.low, self.high, key=abs)
        )

    def meets(self, span: "Span") -> bool:
        """Return whether one value can be in both."""
        return self.reaches(span) and span.reaches(self)

    def reaches(self, span: "Span") -> bool:
        """Return whether this can be as large as the other."""
        return self.high >= span.low - SLACK_RATIO * abs(span.low)


def exactly(value: float) -> Span:
    """Return the span of one value."""
    return Span(value, value)


def quadrature(*spans: Span) -> Span:
    """Return the root of the sum of squares of positive spans."""
    return Span(math.hypot(*(s.low for s in spans)), math.hypot(*(s.high for s in spans)))


def least(*spans: Span) -> Span:
    """Return the smallest."""
    return Span(min(s.low for s in spans), min(s.high for s in spans))


def most(*spans: Span) -> Span:
    """Return the largest."""
    return Span(max(s.low for s in spans), max(s.high for s in spans))


def between(*spans: Span) -> Span:
    """Return what lies anywhere between the lowest and the highest."""
    return Span(min(s.low for s in spans), max(s.high for s in spans))


def total(*spans: Span) -> Span:
    """Return the sum."""
    return Span(sum(s.low for s in spans), sum(s.high for s in spans))


def _absolute(span: Span) -> Span:
    ends = sorted((abs(span.low), abs(span.high)))
    return Span(0.0 if span.low <= 0 <= span.high else ends[0], ends[1])


Look = Callable[[str], Span]  # an id to its span
_OPERATORS: dict[type[ast.operator], Callable[[Span, Span], Span]] = {
    ast.Add: Span.__add__,
    ast.Sub: Span.__sub__,
    ast.Mult: Span.__mul__,
    ast.Div: Span.__truediv__,
}
_FUNCTIONS: dict[str, Callable[..., Span]] = {"min": least, "max": most, "abs": _absolute, "between": between}


def names(expression: str) -> tuple[str, ...]:
    """List the ids in an expression, in its order."""
    nodes = (node for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name))
    ordered = sorted(nodes, key=lambda node: node.col_offset)
    return tuple(dict.fromkeys(node.id for node in ordered if node.id not in _FUNCTIONS))


def evaluate(expression: str, look: Look) -> Span:
    """Compute an expression of + - * / min max abs between over ids. Raises ValueError at anything else."""
    return _value(ast.parse(expression, mode="eval").body, look)


def compare(expression: str, look: Look) -> tuple[Span, str, Span]:
    """Compute both sides of `left < right` or `left > right`. Raises ValueError at anything else."""
    body = ast.parse(expression, mode="eval").body
    if (
        not isinstance(body, ast.Compare)
        or len(body.ops) != 1
        or not isinstance(body.ops[0], ast.Lt | ast.Gt)
    ):
        raise ValueError(f"{expression!r} does not compare two things by < or >")
    sign = "<" if isinstance(body.ops[0], ast.Lt) else ">"
    return _value(body.left, look), sign, _value(body.comparators[0], look)


def _value(node: ast.expr, look: Look) -> Span:
    match node:
        case ast.Constant(value=int() | float() as number):
            return exactly(float(number))
        case ast.Name(id=id):
            return look(id)
        case ast.BinOp(left=first, op=op, right=second) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(first, look), _value(second, look))
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(argument, look) for argument in arguments))
        case _:
            raise ValueError(f"{ast.unparse(node)!r} is not arithmetic over ids")
