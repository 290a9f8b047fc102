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
// An integer of 16 bits takes part in swaps of its own two bytes. One of 8 bits shares the two
// aligned bytes around it: an allocation starts at an even address and has an even number of bytes
// that may be read and rewritten with what they hold, which every allocator of the driver, shared
// memory and 64-byte aligned scratch give. The memory is accessed by no other width meanwhile.

#include "intent/types.cuh"

namespace intent {

enum class Order { relaxed, acquire, release, acq_rel };
enum class Scope { block, device };

#define INTENT_SCOPED(scope, before, after, ...)              \
  if constexpr (scope == Scope::block) {                      \
    asm volatile(before ".cta" after:__VA_ARGS__ : "memory"); \
  } else {                                                    \
    asm volatile(before ".gpu" after:__VA_ARGS__ : "memory"); \
  }
#define INTENT_ORDERED(order, scope, operation, after, ...)        \
  if constexpr (order == Order::relaxed) {                         \
    INTENT_SCOPED(scope, operation ".relaxed", after, __VA_ARGS__) \
  } else if constexpr (order == Order::acquire) {                  \
    INTENT_SCOPED(scope, operation ".acquire", after, __VA_ARGS__) \
  } else if constexpr (order == Order::release) {                  \
    INTENT_SCOPED(scope, operation ".release", after, __VA_ARGS__) \
  } else {                                                         \
    INTENT_SCOPED(scope, operation ".acq_rel", after, __VA_ARGS__) \
  }

// What the machine has, on carriers u16, u32 and u64.
namespace machine {

#define INTENT_LOAD(type, text, to)                                           \
  template <Order order, Scope scope>                                         \
  INTENT_DEVICE type load(const type* p) {                                    \
    type old;                                                                 \
    if constexpr (order == Order::relaxed) {                                  \
      INTENT_SCOPED(scope, "ld.relaxed", text " %0, [%1];", to(old) : "l"(p)) \
    } else {                                                                  \
      INTENT_SCOPED(scope, "ld.acquire", text " %0, [%1];", to(old) : "l"(p)) \
    }                                                                         \
    return old;                                                               \
  }
#define INTENT_STORE(type, text, from)                                             \
  template <Order order, Scope scope>                                              \
  INTENT_DEVICE void store(type* p, type value) {                                  \
    if constexpr (order == Order::relaxed) {                                       \
      INTENT_SCOPED(scope, "st.relaxed", text " [%0], %1;", : "l"(p), from(value)) \
    } else {                                                                       \
      INTENT_SCOPED(scope, "st.release", text " [%0], %1;", : "l"(p), from(value)) \
    }                                                                              \
  }
#define INTENT_SWAP(type, text, to, from)                                          \
  template <Order order, Scope scope>                                              \
  INTENT_DEVICE type cas(type* p, type expected, type desired) {                   \
    type old;                                                                      \
    INTENT_ORDERED(order, scope, "atom", ".cas" text " %0, [%1], %2, %3;", to(old) \
                   : "l"(p), from(expected), from(desired))                        \
    return old;                                                                    \
  }
#define INTENT_MODIFY(name, type, text, to, from)                                              \
  template <Order order, Scope scope>                                                          \
  INTENT_DEVICE type name(type* p, type value) {                                               \
    type old;                                                                                  \
    INTENT_ORDERED(order, scope, "atom", text " %0, [%1], %2;", to(old) : "l"(p), from(value)) \
    return old;                                                                                \
  }
INTENT_LOAD(u16, ".u16", "=h")
INTENT_LOAD(u32, ".u32", "=r")
INTENT_LOAD(u64, ".u64", "=l")
INTENT_STORE(u16, ".u16", "h")
INTENT_STORE(u32, ".u32", "r")
INTENT_STORE(u64, ".u64", "l")
INTENT_SWAP(u16, ".b16", "=h", "h")
INTENT_SWAP(u32, ".b32", "=r", "r")
INTENT_SWAP(u64, ".b64", "=l", "l")
INTENT_MODIFY(exchange, u32, ".exch.b32", "=r", "r")
INTENT_MODIFY(exchange, u64, ".exch.b64", "=l", "l")
INTENT_MODIFY(add, u32, ".add.u32", "=r", "r")
INTENT_MODIFY(add, u64, ".add.u64", "=l", "l")
INTENT_MODIFY(max, i32, ".max.s32", "=r", "r")
INTENT_MODIFY(max, u32, ".max.u32", "=r", "r")
INTENT_MODIFY(max, i64, ".max.s64", "=l", "l")
INTENT_MODIFY(max, u64, ".max.u64", "=l", "l")
INTENT_MODIFY(min, i32, ".min.s32", "=r", "r")
INTENT_MODIFY(min, u32, ".min.u32", "=r", "r")
INTENT_MODIFY(min, i64, ".min.s64", "=l", "l")
INTENT_MODIFY(min, u64, ".min.u64", "=l", "l")
INTENT_MODIFY(bit_and, u32, ".and.b32", "=r", "r")
INTENT_MODIFY(bit_and, u64, ".and.b64", "=l", "l")
INTENT_MODIFY(bit_or, u32, ".or.b32", "=r", "r")
INTENT_MODIFY(bit_or, u64, ".or.b64", "=l", "l")
INTENT_MODIFY(bit_xor, u32, ".xor.b32", "=r", "r")
INTENT_MODIFY(bit_xor, u64, ".xor.b64", "=l", "l")
#undef INTENT_LOAD
#undef INTENT_STORE
#undef INTENT_SWAP
#undef INTENT_MODIFY

template <int bytes>
struct CarrierOf {
  typedef u16 type;
};
template <>
struct CarrierOf<4> {
  typedef u32 type;
};
template <>
struct CarrierOf<8> {
  typedef u64 type;
};
// The unsigned integer that the machine operates on for T.
template <class T>
using Carrier = typename CarrierOf<sizeof(T)>::type;
template <class T>
INTENT_DEVICE Carrier<T>* carrier(const T* p) {
  return reinterpret_cast<Carrier<T>*>(reinterpret_cast<u64>(p) & ~u64(sizeof(Carrier<T>) - 1));
}
// Where an element of 8 bits lies in its carrier.
template <class T>
INTENT_DEVICE int place(const T* p) {
  return sizeof(T) == 1 ? int(reinterpret_cast<u64>(p) & 1) * 8 : 0;
}
template <class T>
INTENT_DEVICE Carrier<T> replaced(Carrier<T> old, T value, int at) {
  if constexpr (sizeof(T) == 1) {
    return Carrier<T>((old & ~(0xff << at)) | u8(value) << at);
  } else {
    return Carrier<T>(value);
  }
}

// Elements of 8 and 16 bits: swaps until the old value was the one that `combine` saw. The value
// read first is a guess, which the swap confirms with the wanted order.
template <Order order, Scope scope, class T, class Combine>
INTENT_DEVICE T modify(T* p, T value, Combine combine) {
  Carrier<T>* const whole = carrier(p);
  const int at = place(p);
  Carrier<T> old = load<Order::relaxed, scope>(whole);
  for (;;) {
    const T element = T(old >> at);
    const Carrier<T> seen =
        cas<order, scope>(whole, old, replaced<T>(old, combine(element, value), at));
    if (seen == old) return element;
    old = seen;
  }
}

}  // namespace machine

template <Order order, Scope scope, class T>
INTENT_DEVICE T atomic_load(const T* p) {
  return T(machine::load<order, scope>(machine::carrier(p)) >> machine::place(p));
}

#define INTENT_RMW(name, function, type, expression)                                          \
  template <Order order, Scope scope, class T>                                                \
  INTENT_DEVICE T atomic_rmw_##name(T* p, T value) {                                          \
    if constexpr (sizeof(T) <= 2) {                                                           \
      return machine::modify<order, scope>(p, value, [](T a, T b) { return T(expression); }); \
    } else {                                                                                  \
      typedef type C;                                                                         \
      return T(machine::function<order, scope>(reinterpret_cast<C*>(p), C(value)));           \
    }                                                                                         \
  }
INTENT_RMW(exchange, exchange, machine::Carrier<T>, (void(a), b))
INTENT_RMW(add, add, machine::Carrier<T>, a + b)
INTENT_RMW(max, max, T, a > b ? a : b)
INTENT_RMW(min, min, T, a < b ? a : b)
INTENT_RMW(and, bit_and, machine::Carrier<T>, a& b)
INTENT_RMW(or, bit_or, machine::Carrier<T>, a | b)
INTENT_RMW(xor, bit_xor, machine::Carrier<T>, a ^ b)
#undef INTENT_RMW

template <Order order, Scope scope, class T>
INTENT_DEVICE void atomic_store(T* p, T value) {
  if constexpr (sizeof(T) == 1) {
    atomic_rmw_exchange<order, scope>(p, value);
  } else {
    machine::store<order, scope>(machine::carrier(p), machine::Carrier<T>(value));
  }
}

template <Order order, Scope scope, class T>
INTENT_DEVICE T atomic_cas(T* p, T expected, T desired) {
  using namespace machine;
  if constexpr (sizeof(T) > 1) {
    return T(cas<order, scope>(carrier(p), Carrier<T>(expected), Carrier<T>(desired)));
  } else {
    Carrier<T>* const whole = carrier(p);
    const int at = place(p);
    Carrier<T> old = load<Order::relaxed, scope>(whole);
    for (;;) {
      // The neighbour is a guess; an element that differs from `expected` is read by a swap that
      // changes nothing, so that the failure has its order too.
      const T element = T(old >> at);
      const Carrier<T> next = element == expected ? replaced<T>(old, desired, at) : old;
      const Carrier<T> seen = cas<order, scope>(whole, old, next);
      if (seen == old) return element;
      old = seen;
    }
  }
}

#undef INTENT_ORDERED
#undef INTENT_SCOPED

}  // namespace intent
