"""Four numbers at a time: vector registers for kernels that work on rows of label scores.

The compiler does not by itself see that short loops over labels could use vector registers (for all it
knows, the arrays may overlap). So the kernels here say it: a :class:`Four` lives in one register, is
loaded from four neighbouring numbers, and every operation on it is one instruction on whatever machine
this runs.
Places in arrays are counted flat, from the first number, in C order. Eight tags at a time are a plain
64-bit word, or four of two bytes (:func:`load_word`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

_DOUBLES, _LONGS = ir.VectorType(ir.DoubleType(), 4), ir.VectorType(ir.IntType(64), 4)


#: Numba's decorator, with a type; what it makes can be called inside kernels only.
_operation = cast(Callable[[Callable[..., Any]], Callable[..., Any]], intrinsic)


class Four(types.Type):
    """Four float64 in one vector register; exists inside kernels only."""

    def __init__(self) -> None:
        super().__init__("Four")


_four = Four()


@register_model(Four)
class _FourModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Four) -> None:
        super().__init__(manager, kind, _DOUBLES)  # type: ignore[no-untyped-call]


def _pointer(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), _DOUBLES.as_pointer())


def _all(value: int) -> Any:
    """A whole number in all four."""
    return ir.Constant(_LONGS, [value] * 4)


@_operation
def load(typing: Any, array: Any, place: Any) -> Any:
    """Four neighbours of a float64 array."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], *args)
        return builder.load(pointer, align=8)

    return _four(array, types.int64), build


@_operation
def store(typing: Any, array: Any, place: Any, value: Any) -> Any:
    """Write four neighbours of a float64 array."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], *args[:2])
        builder.store(args[2], pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, _four), build


@_operation
def fill(typing: Any, value: Any) -> Any:
    """The same number four times."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        one = builder.insert_element(
            ir.Constant(_DOUBLES, ir.Undefined), args[0], ir.IntType(32)(0)
        )
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4)
        return builder.shuffle_vector(one, one, zeros)

    return _four(types.float64), build


@_operation
def pick(typing: Any, a: Any, place: Any) -> Any:
    """One of the four."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.extract_element(args[0], args[1])

    return types.float64(_four, types.int64), build


@_operation
def add(typing: Any, a: Any, b: Any) -> Any:
    """a + b."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fadd(*args)

    return _four(_four, _four), build


@_operation
def multiply(typing: Any, a: Any, b: Any) -> Any:
    """a · b."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fmul(*args)

    return _four(_four, _four), build


@_operation
def multiply_add(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a · b + c, in one instruction where the machine has it."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(_DOUBLES, [_DOUBLES] * 3)
        declare = cast(Callable[..., Any], cgutils.get_or_insert_function)
        return builder.call(declare(builder.module, kind, "llvm.fmuladd.v4f64"), args)

    return _four(_four, _four, _four), build


@_operation
def where_greater(typing: Any, a: Any, b: Any, yes: Any, no: Any) -> Any:
    """yes where a > b, no elsewhere (also where either is nan)."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", args[0], args[1]), args[2], args[3])

    return _four(_four, _four, _four, _four), build


@_operation
def power_of_two(typing: Any, shifted: Any) -> Any:
    """2^k, where ``shifted`` is k + :data:`~seqtruth.kernels.padded_rows.ROUNDING_SHIFT`:
    k put where a number has its exponent."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = builder.add(builder.bitcast(args[0], _LONGS), _all(1023))
        return builder.bitcast(builder.shl(bits, _all(52)), _DOUBLES)

    return _four(_four), build


@_operation
def load_word(typing: Any, array: Any, place: Any) -> Any:
    """A 64-bit word's worth of neighbours of an array of tags."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        pointer = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(64).as_pointer())
        return builder.load(pointer, align=1)

    return types.uint64(array, types.int64), build


@_operation
def store_word(typing: Any, array: Any, place: Any, value: Any) -> Any:
    """Write a 64-bit word's worth of neighbours of an array of tags."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        pointer = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(64).as_pointer())
        builder.store(args[2], pointer, align=1)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64), build
