"""Loops: which names are carried from one iteration to the next, and how a loop that can be left
early becomes a `while`."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from .. import _core as core
from . import branches, expressions, hints, statements, syntax
from .state import Failure, Loop, State
from .values import (
    POISON,
    Domain,
    Iteration,
    Unbound,
    has_poison,
    is_leaf,
    is_literal,
    is_poison,
    leaves,
    rebuild,
    same,
    same_structure,
)

INDEX = core.scalar_type("index")


def trace(state, node):
    """Traces a `for` or `while` and binds what it carries."""
    if node.orelse:
        state.fail("E0802", "not part of the language: else behind a loop", node.orelse[0])
    _prepare_return(state, node)
    if isinstance(node, ast.While):
        _while(state, node)
        return
    run_over = expressions.evaluate(state, node.iter)
    if is_poison(run_over):
        _poison_loop(state, node)
        return
    iteration = as_iteration(state, run_over, node.iter)
    if iteration.parallel:
        _parallel(state, node, iteration)
    elif _may_leave(node):
        _leaving_for(state, node, iteration)
    else:
        _for(state, node, iteration)


def as_iteration(state: State, value, node) -> Iteration:
    if isinstance(value, Iteration):
        return value
    if isinstance(value, Domain):
        return Iteration((value,), single=True)
    if isinstance(value, tuple) and value and all(isinstance(item, Domain) for item in value):
        return Iteration(value, single=False)
    kind = state.kind(value) if is_leaf(value) else ""
    hint = ""
    if kind in ("view", "buffer", "tensor"):
        hint = "; I.domain(0, x.shape[0]) has the coordinates of its first axis"
    elif kind in ("scalar", "literal", "constexpr"):
        hint = "; I.domain(0, n) has the coordinates below n"
    state.fail(
        "E0204",
        f"a loop runs over range, I.domain, a subregion, a tuple of domains, enumerate or I.parallel of these, not "
        f"{state.describe(value)}{hint}",
        node,
    )


def type_or_literal(state, leaf):
    """What a leaf would be as a value: its type, or itself if it is a literal."""
    if is_literal(leaf) or leaf.is_poison:
        return leaf
    return state.builder.type_of(state.builder.materialize(leaf) if leaf.is_constexpr else leaf)


def _may_leave(node) -> bool:
    return syntax.breaks(node.body) or syntax.returns(node.body)


def _target_names(node) -> list:
    return list(syntax.assigned([node.target])) if isinstance(node, ast.For) else []


# Carries.


@dataclass
class _Carry:
    name: str
    value: Any  # before the loop
    positions: list  # of the leaves that are carried; views and buffers stay what they are
    types: list


class _Carries:
    """The names that an ordered loop carries and their operands."""

    def __init__(self, state, node, hints):
        self.state, self.node = state, node
        self.items: list[_Carry] = []
        self.inits: list = []
        frame = state.frame
        bound_by_loops = set(_target_names(node))
        names = [n for n in syntax.carried(node.body) if n not in bound_by_loops]
        names += [statements.BROKE] if syntax.breaks(node.body) else []
        names += [statements.RETURNED, statements.RETURN_VALUE] if syntax.returns(node.body) else []
        for name in names:
            value = frame.env.get(name)
            if value is None or isinstance(value, Unbound) or has_poison(value):
                continue
            self._add(name, value, hints)

    def _add(self, name, value, hints):
        state = self.state
        carry = _Carry(name, value, [], [])
        for position, leaf in enumerate(leaves(value)):
            if state.is_resource(leaf):
                continue
            if state.is_static(leaf):
                state.at(self.node)
                hint = hints.get((name, position))
                leaf = (
                    state.builder.materialize(leaf) if hint is None else state.builder.instantiate(leaf, hint)
                )
            carry.positions.append(position)
            carry.types.append(state.builder.type_of(leaf))
            self.inits.append(leaf)
        self.items.append(carry)

    @property
    def names(self) -> tuple:
        return tuple(carry.name for carry in self.items)

    @property
    def types(self) -> list:
        return [t for carry in self.items for t in carry.types]

    def bind(self, env, operands):
        """Binds the names to region arguments or results."""
        supply = iter(operands)
        for carry in self.items:
            new = leaves(carry.value)
            for position in carry.positions:
                new[position] = next(supply)
            env[carry.name] = rebuild(carry.value, iter(new))

    def yields(self, env, arguments, hints):
        """The operands that carry the names on; None if some cannot be carried: reported, or a hint made."""
        state, result, ok = self.state, [], True
        supply = iter(arguments)
        for carry in self.items:
            own = [next(supply) for _ in carry.positions]
            value = env.get(carry.name, Unbound(""))
            if not isinstance(value, Unbound) and has_poison(value):
                result += own  # reported where it arose
                env[carry.name] = POISON
                continue
            if isinstance(value, Unbound) or not same_structure(carry.value, value):
                ok = self._mismatch(carry, state.describe(carry.value), state.describe(value))
                continue
            old, new = leaves(carry.value), leaves(value)
            for position, (x, y) in enumerate(zip(old, new)):
                if position not in carry.positions:
                    if not same(x, y):
                        ok = self._mismatch(carry, state.describe(x), state.describe(y))
                    continue
                before = carry.types[carry.positions.index(position)]
                if state.is_static(y):
                    state.at(self.node)
                    y = (
                        state.builder.instantiate(y, before.dtype)
                        if before.kind == "scalar"
                        else state.builder.materialize(y)
                    )
                after = state.builder.type_of(y)
                if before == after:
                    result.append(y)
                elif state.is_static(x) and after.kind == "scalar" and (carry.name, position) not in hints:
                    hints[carry.name, position] = after.dtype
                    ok = False
                elif not is_poison(y):
                    ok = self._mismatch(
                        carry, state.builder.describe_type(before), state.builder.describe_type(after)
                    )
                else:
                    ok = False
        return result if ok else None

    def _mismatch(self, carry, before, after) -> bool:
        name = "what is returned" if carry.name.startswith("$") else repr(carry.name)
        self.state.error(
            "E0402",
            f"{name} is carried through the loop and changes its type: {before} before it, {after} after one "
            f"iteration; cast or shape it once, before the loop{hints.bare(before, after)}",
            self.node,
        )
        return False


def _body(state, node, slots, parallel, bind):
    """Traces a loop's body in a scope of its own; gives the names as they are at its end."""
    frame = state.frame
    saved = frame.env, frame.loop, frame.slots
    outer = frame.loop is not None and frame.loop.in_parallel
    frame.env = dict(frame.env)
    frame.loop, frame.slots = Loop(parallel, parallel or outer), tuple(slots)
    try:
        bind(frame.env)
        statements.run(state, node.body)
        return frame.env
    finally:
        frame.env, frame.loop, frame.slots = saved


def _forget(state, node, carried):
    """What an iteration made is gone behind the loop."""
    for name in syntax.assigned(node.body):
        if name not in carried:
            state.frame.env[name] = Unbound(f"it belongs to one iteration of the loop in line {node.lineno}")
    for name in _target_names(node):
        state.frame.env[name] = Unbound(
            f"it is the variable of the loop in line {node.lineno}, which has ended"
        )


def _settle(state, node, carries, env, results):
    """Binds the names behind a loop."""
    frame = state.frame
    carries.bind(frame.env, results)
    for name in carries.names:
        if is_poison(env.get(name)):
            frame.env[name] = POISON
    _forget(state, node, carries.names)


def _poison_loop(state, node):
    """A loop over something wrong: its body is traced for its errors only."""

    def bind(env):
        env.update({name: POISON for name in _target_names(node)})

    branches.discard(state, lambda: _body(state, node, (), False, bind))
    _spoil(state, node)


def _spoil(state, node):
    """Poisons everything that a loop with a mistake would have bound."""
    state.frame.env.update({name: POISON for name in [*syntax.assigned(node.body), *_target_names(node)]})
    if syntax.returns(node.body) and statements.RETURNED in state.frame.env:
        state.frame.env[statements.RETURNED] = POISON


# Loops over domains.


def _domain_operand(state, node, iteration):
    if len(iteration.domains) == 1:
        return iteration.domains[0].operand
    state.at(node.iter)
    return state.builder.domain_product([d.operand for d in iteration.domains])


def _bind_targets(state, node, iteration, coordinates):
    """Binds the loop's variables to its coordinates."""
    value = coordinates[0] if iteration.single else tuple(coordinates)
    if iteration.enumerated:
        domain = iteration.domains[0]
        state.at(node.iter)
        ordinal = coordinates[0]
        if domain.begin is not None and not (is_literal(domain.begin) and domain.begin == 0):
            ordinal = state.builder.binary("sub", ordinal, domain.begin)
        if not (is_literal(domain.step) and domain.step == 1):
            ordinal = state.builder.binary("floordiv", ordinal, domain.step)
        value = (ordinal, value)
    statements.assign(state, node.target, value, node.target)


def _for(state, node, iteration):
    hints: dict = {}
    domain = _domain_operand(state, node, iteration)
    rank = len(iteration.domains)
    mark = state.builder.mark()
    while True:
        carries = _Carries(state, node, hints)
        known = len(hints)
        arguments = state.builder.push_region([INDEX] * rank + carries.types)

        def bind(env, arguments=arguments, carries=carries):
            carries.bind(env, arguments[rank:])
            _bind_targets(state, node, iteration, arguments[:rank])

        env = _body(state, node, carries.names, False, bind)
        yields = carries.yields(env, arguments[rank:], hints)
        if yields is not None:
            break
        state.builder.drop_region()
        if len(hints) == known:
            _spoil(state, node)
            return
        state.builder.rollback(mark)
    state.at(node)
    region = state.builder.pop_region(yields)
    results = state.builder.for_(domain, carries.inits, region)
    _settle(state, node, carries, env, results)


def _parallel(state, node, iteration):
    frame = state.frame
    for name, place in syntax.carried(node.body).items():
        before = frame.env.get(name)
        if before is not None and not isinstance(before, Unbound):
            state.error(
                "E0403",
                f"{name!r} is defined before the parallel loop and assigned in it; a parallel loop carries nothing "
                "between its points: reduce, or use an ordered loop",
                place,
            )
            frame.env[name] = POISON
    domain = _domain_operand(state, node, iteration)
    coordinates = state.builder.push_region([INDEX] * len(iteration.domains))
    _body(state, node, (), True, lambda env: _bind_targets(state, node, iteration, coordinates))
    state.at(node)
    region = state.builder.pop_region([])
    state.builder.parallel(domain, region)
    spoiled = {name for name, value in frame.env.items() if is_poison(value)}
    _forget(state, node, spoiled)


# Loops that can be left early.


def _alive(state, node, env):
    """Whether no `break` or `return` has happened; None if the loop has neither."""
    alive = None
    for name, used in (
        (statements.BROKE, syntax.breaks(node.body)),
        (statements.RETURNED, syntax.returns(node.body)),
    ):
        flag = env.get(name)
        if used and isinstance(flag, core.Operand) and not flag.is_poison:
            state.at(node)
            going = state.builder.logical_not(flag)
            alive = going if alive is None else state.builder.logical_and(alive, going)
    return alive


def _leaving_for(state, node, iteration):
    """`for` with `break` or `return`: a counter, and a condition that also asks whether it was left."""
    builder = state.builder
    state.at(node.iter)
    if len(iteration.domains) == 1:
        domain = iteration.domains[0]
        begin, end, step = domain.begin, domain.end, domain.step
    else:
        extents = [builder.dim(d.operand, 0) for d in iteration.domains]
        begin, step, end = 0, 1, extents[0]
        for extent in extents[1:]:
            end = builder.binary("mul", end, extent)
    first = builder.instantiate(begin, "index") if state.is_static(begin) else begin

    def coordinates(counter):
        if len(iteration.domains) == 1:
            return [counter]
        result = []
        for d, extent in zip(reversed(iteration.domains), reversed(extents)):
            ordinal = builder.binary("mod", counter, extent)
            result.append(builder.binary("add", builder.binary("mul", ordinal, d.step), d.begin))
            counter = builder.binary("floordiv", counter, extent)
        return result[::-1]

    def test(arguments, env):
        state.at(node.iter)
        going = builder.compare("lt", arguments[0], end)
        return going, None

    def bind(env, arguments):
        _bind_targets(state, node, iteration, coordinates(arguments[0]))

    def advance(arguments):
        state.at(node.iter)
        return [builder.binary("add", arguments[0], step)]

    _general_while(state, node, [first], [INDEX], test, bind, advance)


def _while(state, node):
    def test(arguments, env):
        return None, node.test

    _general_while(state, node, [], [], test, lambda env, arguments: None, lambda arguments: [])


def _general_while(state, node, counters, counter_types, test, bind_counters, advance):
    """A while of counters and carries. `test` gives a value, or an expression to be evaluated."""
    builder, frame = state.builder, state.frame
    outer_broke = frame.env.get(statements.BROKE)
    if syntax.breaks(node.body):
        state.at(node)
        frame.env[statements.BROKE] = builder.materialize(False)
    hints: dict = {}
    count = len(counters)
    mark = builder.mark()
    while True:
        carries = _Carries(state, node, hints)
        known = len(hints)
        arguments = builder.push_region(counter_types + carries.types)
        holds = _condition(state, node, carries, arguments, count, test)
        state.at(node)
        condition_region = builder.pop_region([holds])
        arguments = builder.push_region(counter_types + carries.types)

        def bind(env, arguments=arguments, carries=carries):
            carries.bind(env, arguments[count:])
            bind_counters(env, arguments)

        env = _body(state, node, carries.names, False, bind)
        yields = carries.yields(env, arguments[count:], hints)
        if yields is not None and not is_poison(holds):
            break
        builder.drop_region()
        if yields is not None or len(hints) == known:
            _spoil(state, node)
            _restore_broke(frame, outer_broke)
            return
        builder.rollback(mark)
    following = advance(arguments)
    state.at(node)
    region = builder.pop_region(following + yields)
    results = builder.while_(counters + carries.inits, condition_region, region)
    _settle(state, node, carries, env, results[count:])
    _restore_broke(frame, outer_broke)


def _restore_broke(frame, outer):
    """A `break` leaves one loop: the flag of the loop around it comes back."""
    frame.env.pop(statements.BROKE, None)
    if outer is not None:
        frame.env[statements.BROKE] = outer


def _condition(state, node, carries, arguments, count, test):
    """Traces a loop's condition over its region's arguments."""
    builder, frame = state.builder, state.frame
    saved, frame.env = frame.env, dict(frame.env)
    try:
        carries.bind(frame.env, arguments[count:])
        alive = _alive(state, node, frame.env)
        holds, expression = test(arguments, frame.env)
        if expression is not None:

            def evaluate():
                value = expressions.evaluate(state, expression)
                return expressions.condition(state, value, "the condition of a while", expression)

            if alive is None or syntax.is_total(expression):
                holds = evaluate()
            else:
                holds = branches.choose(state, node, alive, evaluate, lambda: False)
                alive = None
        state.at(node)
        if alive is not None:
            holds = builder.logical_and(alive, holds)
        return builder.materialize(holds)
    except Failure:
        return POISON
    finally:
        frame.env = saved


# Returning from inside a loop.


def _prepare_return(state, node):
    """Before the outermost loop that returns: the flag, and a value of the returned type to carry."""
    frame = state.frame
    env = frame.env
    already = not isinstance(env.get(statements.RETURNED, Unbound("")), Unbound)
    if not syntax.returns(node.body) or already:
        return
    is_parallel = frame.loop is not None and frame.loop.in_parallel
    state.at(node)
    env[statements.RETURNED] = state.builder.materialize(False)
    if frame.recorded is not None or is_parallel:
        return
    # What is returned is known only after tracing the loop; this pass is for that alone.
    frame.recorded = []
    mark = state.builder.mark()
    try:
        branches.discard(state, lambda: trace(state, node))
    except Failure:
        pass
    finally:
        recorded, frame.recorded = frame.recorded, None
    state.builder.rollback(mark)
    env = frame.env
    if not recorded:  # no `return` of the loop can be reached
        del env[statements.RETURNED]
        return
    state.at(node)
    env[statements.RETURNED] = state.builder.materialize(False)
    found = [
        (place, value, types)
        for place, value, types in recorded
        if value is not None and not has_poison(value)
    ]
    if found:
        env[statements.RETURN_VALUE] = _placeholder(state, found)


def _placeholder(state, found):
    """A value of the type that the loop returns; it is replaced before anybody reads it."""
    place, value, _ = found[0]
    for other_place, other, _ in found[1:]:
        if not same_structure(value, other):
            state.error(
                "E0806",
                f"paths return different types: {state.describe(value)} and {state.describe(other)}",
                other_place,
            )
            return POISON
    columns = zip(*(types for _, _, types in found))
    supply = []
    for column in columns:
        known = next((t for t in column if not is_literal(t)), None)
        if known is None:
            supply.append(state.builder.materialize(type(column[0])()))
            continue
        supply.append(_zero(state, known, place))
    return rebuild(value, iter(supply))


def _zero(state, kind, place):
    dtype = kind.dtype
    zero = False if dtype == "bool" else 0.0 if dtype[0] in "fb" else 0
    if kind.kind == "scalar":
        return state.builder.instantiate(zero, dtype)
    if kind.kind == "tensor":
        shape = [_extent(state, kind, axis) for axis in range(kind.rank)]
        if all(extent is not None for extent in shape):
            return state.builder.full(shape, zero, dtype)
    return state.error(
        "E0806",
        f"{state.builder.describe_type(kind)} cannot be returned from inside a loop, because its shape is made there",
        place,
    )


def _extent(state, kind, axis):
    """An operand for an extent of a type, found among the shapes of what is in scope."""
    static = kind.extents()[axis]
    if static is not None:
        return static
    in_scope = [leaf for value in state.frame.env.values() for leaf in leaves(value)]
    for leaf in state.views + in_scope:
        if is_literal(leaf) or state.kind(leaf) not in ("view", "buffer", "tensor"):
            continue
        other = state.builder.type_of(leaf)
        for place in range(other.rank):
            if kind.same_extent(axis, other, place):
                return state.builder.dim(leaf, place)
    return None
