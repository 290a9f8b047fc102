"""What each intrinsic of `intent.language` means: which calls of the builder it becomes."""

from __future__ import annotations

from . import operations_aggregate, operations_contract, operations_memory, operations_values

MEANINGS = {
    **operations_values.MEANINGS,
    **operations_memory.MEANINGS,
    **operations_aggregate.MEANINGS,
    **operations_contract.MEANINGS,
}


_WRITES = {"scatter_unique", "scatter_reduce"} | {n for n in MEANINGS if n.startswith("atomic.")}


def call(state, node, intrinsic, arguments, keywords):
    """The value of a call of an intrinsic."""
    try:
        bound = intrinsic.__signature__.bind(*arguments, **keywords)
    except TypeError as error:
        state.fail("E0803", _misfit(intrinsic, keywords, error), node)
    bound.apply_defaults()
    return MEANINGS[intrinsic.name](state, node, *bound.args, **bound.kwargs)


def _misfit(intrinsic, keywords, error) -> str:
    name = f"I.{intrinsic.name}"
    parameters = intrinsic.__signature__.parameters
    for key in keywords:
        if key not in parameters:
            hint = ""
            if key in ("keepdim", "keepdims"):
                hint = "; reduced axes are deleted, and I.reshape puts an axis of extent 1 back"
            if key in ("mask", "valid", "where") and intrinsic.name in _WRITES:
                hint = "; a write has no mask: I.select makes a value that changes nothing, and a scalar `if` leaves it out"
            return f"{name} has no parameter {key!r}{hint}; its signature is {name}{intrinsic.__signature__}"
    return f"{name}: {error}; its signature is {name}{intrinsic.__signature__}"
