#pragma once

// Atomics of seed 000 chapter 11 on integers of 8 to 64 bits, in global or shared memory:
//
//   atomic_load<order, scope>(p)             relaxed, acquire
//   atomic_store<order, scope>(p, value)     relaxed, release
//   atomic_rmw_<exchange|add|max|min|and|or|xor><order, scope>(p, value)   the old value
//   atomic_cas<order, scope>(p, expected, desired)                         the old value
//
// A compare-and-swap that fails reads relaxed (relaxed, release) or acquires. `scope` is the
// threads that take part: those of the block, or all of the device. Every address is aligned for
// its type.
//
// An integer of 8 or 16 bits is part of the aligned word of 32 bits around it, which is read and
// swapped as a whole. Its neighbours keep what they hold, whoever writes them meanwhile; but that
// word must be memory of ours: an allocation begins at a multiple of 4 bytes, and what it occupies
// ends at one. So do the driver's allocations, shared memory and 64-byte aligned scratch.

#include "intent/atomic_ptx.cuh"

namespace intent {

namespace machine {

// The unsigned word that holds an element of T.
template <int bytes>
struct WordOf {
  typedef u32 type;
};
template <>
struct WordOf<8> {
  typedef u64 type;
};
template <class T>
using Word = typename WordOf<sizeof(T)>::type;

// An element of 8 or 16 bits in its word.
template <class T>
struct Part {
  u32* word;
  int shift;
  INTENT_DEVICE explicit Part(const T* p)
      : word(reinterpret_cast<u32*>(reinterpret_cast<u64>(p) & ~u64(3))),
        shift(int(reinterpret_cast<u64>(p) & 3) * 8) {}
  INTENT_DEVICE T of(u32 whole) const { return T(whole >> shift); }
  INTENT_DEVICE u32 with(u32 whole, T element) const {
    const u32 mask = (1u << 8 * sizeof(T)) - 1;
    return (whole & ~(mask << shift)) | (u32(element) & mask) << shift;
  }
  // Swaps in what `next` makes of the old element, which it returns. The first read is a guess that
  // the swap confirms, with the order that is wanted.
  template <Order order, Scope scope, class Next>
  INTENT_DEVICE T modify(Next next) const {
    u32 old = load<Order::relaxed, scope>(word);
    for (;;) {
      const u32 seen = cas<order, scope>(word, old, with(old, next(of(old))));
      if (seen == old) return of(old);
      old = seen;
    }
  }
};

}  // namespace machine

template <Order order, Scope scope, class T>
INTENT_DEVICE T atomic_load(const T* p) {
  if constexpr (sizeof(T) < 4) {
    const machine::Part<T> part(p);
    return part.of(machine::load<order, scope>(part.word));
  } else {
    return T(machine::load<order, scope>(reinterpret_cast<const machine::Word<T>*>(p)));
  }
}

// Max and min tell signs apart.
#define INTENT_RMW(name, function, type, expression)                                \
  template <Order order, Scope scope, class T>                                      \
  INTENT_DEVICE T atomic_rmw_##name(T* p, T value) {                                \
    if constexpr (sizeof(T) < 4) {                                                  \
      return machine::Part<T>(p).template modify<order, scope>(                     \
          [=](T old) { return T(expression); });                                    \
    } else {                                                                        \
      typedef type C;                                                               \
      return T(machine::function<order, scope>(reinterpret_cast<C*>(p), C(value))); \
    }                                                                               \
  }
INTENT_RMW(exchange, exchange, machine::Word<T>, value)
INTENT_RMW(add, add, machine::Word<T>, old + value)
INTENT_RMW(max, max, T, old > value ? old : value)
INTENT_RMW(min, min, T, old < value ? old : value)
INTENT_RMW(and, bit_and, machine::Word<T>, old& value)
INTENT_RMW(or, bit_or, machine::Word<T>, old | value)
INTENT_RMW(xor, bit_xor, machine::Word<T>, old ^ value)
#undef INTENT_RMW

template <Order order, Scope scope, class T>
INTENT_DEVICE void atomic_store(T* p, T value) {
  if constexpr (sizeof(T) < 4) {
    atomic_rmw_exchange<order, scope>(p, value);
  } else {
    typedef machine::Word<T> Word;
    machine::store<order, scope>(reinterpret_cast<Word*>(p), Word(value));
  }
}

// A part that differs from `expected` is swapped for itself, so that the failure has its order too.
template <Order order, Scope scope, class T>
INTENT_DEVICE T atomic_cas(T* p, T expected, T desired) {
  if constexpr (sizeof(T) < 4) {
    return machine::Part<T>(p).template modify<order, scope>(
        [=](T old) { return old == expected ? desired : old; });
  } else {
    typedef machine::Word<T> Word;
    return T(machine::cas<order, scope>(reinterpret_cast<Word*>(p), Word(expected), Word(desired)));
  }
}

}  // namespace intent
