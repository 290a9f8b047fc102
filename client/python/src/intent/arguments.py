"""Arguments of a call: those that are given, and arrays for the Out views that are not."""

from __future__ import annotations

from . import marshal


def complete(parameters, args, outputs=()) -> list:
    """Every runtime argument, with arrays for the Out views that `args` leaves out."""
    is_out = [p.kind == "view" and p.access == "Out" for p in parameters]
    marshal.check_counts(parameters, args, outputs)
    supply = iter(args)
    full = [None if out else next(supply) for out in is_out]
    arrays = [
        marshal.as_array(p, value) if p.kind == "view" and not out else None
        for p, value, out in zip(parameters, full, is_out)
    ]
    symbols = marshal.bind_shapes(parameters, arrays)
    full = [value if array is None else array for value, array in zip(full, arrays)]
    given = iter(outputs)
    for position, out in enumerate(is_out):
        if out:
            full[position] = next(given) if outputs else marshal.output_array(parameters[position], symbols)
    return full


def results(parameters, arguments):
    """The Out arrays: None, the one, or a tuple in declaration order."""
    outs = [a for p, a in zip(parameters, arguments) if p.kind == "view" and p.access == "Out"]
    return None if not outs else outs[0] if len(outs) == 1 else tuple(outs)
