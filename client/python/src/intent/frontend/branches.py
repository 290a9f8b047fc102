"""Two-armed control: traces both arms into regions and merges what they leave in named slots.

A slot is a name that either arm assigns, or `RESULT`, the value of a function or expression. Each
arm yields the leaves of its slots; leaves that are known at compile time in both arms are not
yielded but merged as literals or constexpr selections. The first arm's region must be closed before
the second is traced, so a guess is made and, where the second arm shows it to be wrong, both are
traced again with what was learnt.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import values
from .values import POISON, Unbound, has_poison, is_literal, leaves, rebuild, same, same_structure

RESULT = "$result"

MATERIALIZE = "materialize"  # a hint: a static leaf becomes a value of its own dtype


@dataclass
class _Plan:
    """What earlier attempts have taught."""

    dropped: set = field(default_factory=set)  # slots that some arm leaves undefined
    hints: dict = field(default_factory=dict)  # (slot, leaf position) -> dtype or MATERIALIZE


@dataclass
class Disagreement:
    """A slot for which the arms hold values of different types."""

    slot: str
    first: str
    second: str


@dataclass
class _Arm:
    slots: dict  # slot -> value or Unbound
    yielded: list  # (slot, position, type) of every yielded leaf
    region: Any


def merge(state, node, condition, arms, slots):
    """Traces both arms under `condition`, a value or constexpr.

    An arm is a function that gives {slot: value or Unbound}. Returns the merged values, or a
    `Disagreement`. Slots that one arm leaves undefined are left out.
    """
    plan = _Plan()
    mark = state.builder.mark()
    while True:
        first = _trace(state, node, arms[0], slots, plan, None)
        second = _trace(state, node, arms[1], slots, plan, first)
        verdict = _compare(state, node, condition, first, second, slots, plan)
        if verdict == "again":
            state.builder.rollback(mark)
            continue
        if isinstance(verdict, Disagreement):
            return verdict
        state.at(node)
        results = state.builder.if_(condition, first.region, second.region)
        taken = dict(zip([(slot, position) for slot, position, _ in first.yielded], results))
        merged = {}
        for slot, (value, chosen) in verdict.items():
            count = len(leaves(value))
            merged[slot] = rebuild(
                value, iter([chosen[i] if i in chosen else taken[slot, i] for i in range(count)])
            )
        return merged


def _trace(state, node, arm, slots, plan, first):
    """Traces an arm into a region that yields its slots' leaves, as the first arm did or as planned."""
    frame = state.frame
    env = dict(frame.env)
    state.builder.push_region([])
    try:
        found = arm()
    finally:
        frame.env = env
    yielded, operands = [], []
    for slot in slots:
        value = found.get(slot)
        if slot in plan.dropped or isinstance(value, Unbound) or slot not in found or has_poison(value):
            continue
        if first is not None and not _comparable(first.slots.get(slot), value):
            continue
        wanted = None if first is None else {p: t for s, p, t in first.yielded if s == slot}
        own = _yields(state, node, slot, leaves(value), plan, wanted)
        if any(values.is_poison(leaf) for _, leaf in own):
            found[slot] = POISON
            continue
        yielded += [(slot, position, state.builder.type_of(leaf)) for position, leaf in own]
        operands += [leaf for _, leaf in own]
    state.at(node)
    return _Arm(found, yielded, state.builder.pop_region(operands))


def _yields(state, node, slot, slot_leaves, plan, wanted) -> list:
    """(position, value) of the leaves of a slot that are yielded; `wanted`: types of the first arm's."""
    own = []
    for position, leaf in enumerate(slot_leaves):
        if state.is_resource(leaf) or (wanted is not None and position not in wanted):
            continue
        if state.is_static(leaf):
            hint = plan.hints.get((slot, position))
            if hint is None:
                if wanted is None:
                    continue  # guess that it is static in both arms
                target = wanted[position]
                hint = target.dtype if target.kind == "scalar" else MATERIALIZE
            state.at(node)
            leaf = (
                state.builder.materialize(leaf)
                if hint == MATERIALIZE
                else state.builder.instantiate(leaf, hint)
            )
        own.append((position, leaf))
    return own


def _comparable(first, second) -> bool:
    """Whether a slot of the second arm can be yielded like that of the first."""
    return (
        first is not None
        and not isinstance(first, Unbound)
        and not has_poison(first)
        and same_structure(first, second)
    )


def _compare(state, node, condition, first, second, slots, plan):
    """What to do: "again", a Disagreement, or {slot: (structure, {position: merged static leaf})}."""
    types = [{(slot, position): t for slot, position, t in arm.yielded} for arm in (first, second)]
    merged, again, disagreement = {}, False, None
    for slot in slots:
        a, b = first.slots.get(slot), second.slots.get(slot)
        if any(slot not in arm.slots or isinstance(arm.slots[slot], Unbound) for arm in (first, second)):
            again |= any(s == slot for s, _, _ in first.yielded)
            plan.dropped.add(slot)
            continue
        if has_poison(a) or has_poison(b):
            again |= any(s == slot for s, _, _ in first.yielded + second.yielded)
            plan.dropped.add(slot)
            merged[slot] = (POISON, {0: POISON})
            continue
        if not same_structure(a, b):
            disagreement = disagreement or Disagreement(slot, state.describe(a), state.describe(b))
            continue
        chosen = {}
        for position, (x, y) in enumerate(zip(leaves(a), leaves(b))):
            key = (slot, position)
            if key in types[0]:
                if types[0][key] != types[1].get(key):
                    disagreement = disagreement or Disagreement(
                        slot, _type_text(state, types[0][key], x), _type_text(state, types[1].get(key), y)
                    )
                continue
            if state.is_resource(x) or state.is_resource(y):
                if not same(x, y):
                    disagreement = disagreement or Disagreement(slot, state.describe(x), state.describe(y))
                chosen[position] = x
                continue
            if state.is_static(x) and state.is_static(y):
                if same(x, y):
                    chosen[position] = x
                    continue
                if not state.is_static(condition) or not _one_kind(x, y):
                    plan.hints[key] = MATERIALIZE
                    again = True
                    continue
                state.at(node)
                chosen[position] = state.builder.select(condition, x, y)
                continue
            # The first arm is static, the second is not: its dtype is what the literal meets.
            second_type = state.builder.type_of(y)
            plan.hints[key] = second_type.dtype if second_type.kind in ("scalar", "tensor") else MATERIALIZE
            again = True
        merged[slot] = (a, chosen)
    if disagreement is not None:
        return disagreement
    return "again" if again else merged


def _type_text(state, kind, leaf) -> str:
    return state.describe(leaf) if kind is None else state.builder.describe_type(kind)


def _one_kind(x, y) -> bool:
    """Whether two static leaves can be arms of a constexpr selection without changing their kind."""
    return not (is_literal(x) and is_literal(y)) or type(x) is type(y)


def choose(state, node, condition, first, second):
    """The value of a conditional expression; `first` and `second` evaluate its arms."""
    if values.is_poison(condition):
        for arm in (first, second):
            discard(state, arm)
        return POISON
    arms = [lambda arm=arm: {RESULT: arm()} for arm in (first, second)]
    merged = merge(state, node, condition, arms, [RESULT])
    if isinstance(merged, Disagreement):
        return state.error(
            "E0407",
            f"the two values of a conditional have different types: {merged.first} and {merged.second}",
            node,
        )
    return merged[RESULT]


def discard(state, arm):
    """Traces something for its errors only."""
    frame = state.frame
    env = dict(frame.env)
    state.builder.push_region([])
    try:
        arm()
    finally:
        frame.env = env
    state.builder.drop_region()
