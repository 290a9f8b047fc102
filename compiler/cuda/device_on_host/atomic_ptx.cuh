#pragma once

// Test support: intent/atomic_ptx.cuh for this machine's compiler, by its own atomics.

#include "intent/types.cuh"

namespace intent {

enum class Order { relaxed, acquire, release, acq_rel };
enum class Scope { block, device };

namespace machine {

constexpr int host_order(Order order) {
  return order == Order::relaxed   ? __ATOMIC_RELAXED
         : order == Order::acquire ? __ATOMIC_ACQUIRE
         : order == Order::release ? __ATOMIC_RELEASE
                                   : __ATOMIC_ACQ_REL;
}

template <Order order, Scope scope, class T>
T load(const T* p) {
  return __atomic_load_n(p, host_order(order));
}
template <Order order, Scope scope, class T>
void store(T* p, T value) {
  __atomic_store_n(p, value, host_order(order));
}
template <Order order, Scope scope, class T>
T cas(T* p, T expected, T desired) {
  __atomic_compare_exchange_n(p, &expected, desired, false, host_order(order), __ATOMIC_RELAXED);
  return expected;
}

#define INTENT_MODIFY(name, expression)                                                   \
  template <Order order, Scope scope, class T>                                            \
  T name(T* p, T value) {                                                                 \
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);                                         \
    while (!__atomic_compare_exchange_n(p, &old, T(expression), false, host_order(order), \
                                        __ATOMIC_RELAXED)) {                              \
    }                                                                                     \
    return old;                                                                           \
  }
INTENT_MODIFY(exchange, value)
INTENT_MODIFY(add, old + value)
INTENT_MODIFY(max, old > value ? old : value)
INTENT_MODIFY(min, old < value ? old : value)
INTENT_MODIFY(bit_and, old& value)
INTENT_MODIFY(bit_or, old | value)
INTENT_MODIFY(bit_xor, old ^ value)
#undef INTENT_MODIFY

}  // namespace machine

}  // namespace intent
