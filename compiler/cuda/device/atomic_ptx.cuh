#pragma once

// Atomic instructions on words of 32 and 64 bits, one function each. What is relaxed goes by the
// compiler's own functions: it finds the memory space, and drops results that nothing uses.

#include "intent/types.cuh"

namespace intent {

enum class Order { relaxed, acquire, release, acq_rel };
enum class Scope { block, device };

namespace machine {

#define INTENT_SCOPED(before, after, ...)                     \
  if constexpr (scope == Scope::block) {                      \
    asm volatile(before ".cta" after:__VA_ARGS__ : "memory"); \
  } else {                                                    \
    asm volatile(before ".gpu" after:__VA_ARGS__ : "memory"); \
  }
#define INTENT_ORDERED(after, ...)                    \
  if constexpr (order == Order::acquire) {            \
    INTENT_SCOPED("atom.acquire", after, __VA_ARGS__) \
  } else if constexpr (order == Order::release) {     \
    INTENT_SCOPED("atom.release", after, __VA_ARGS__) \
  } else {                                            \
    INTENT_SCOPED("atom.acq_rel", after, __VA_ARGS__) \
  }
#define INTENT_ACCESS(type, text, to, from)                                 \
  template <Order order, Scope scope>                                       \
  INTENT_DEVICE type load(const type* p) {                                  \
    type old;                                                               \
    if constexpr (order == Order::relaxed) {                                \
      INTENT_SCOPED("ld.relaxed", text " %0, [%1];", to(old) : "l"(p))      \
    } else {                                                                \
      INTENT_SCOPED("ld.acquire", text " %0, [%1];", to(old) : "l"(p))      \
    }                                                                       \
    return old;                                                             \
  }                                                                         \
  template <Order order, Scope scope>                                       \
  INTENT_DEVICE void store(type* p, type value) {                           \
    if constexpr (order == Order::relaxed) {                                \
      INTENT_SCOPED("st.relaxed", text " [%0], %1;", : "l"(p), from(value)) \
    } else {                                                                \
      INTENT_SCOPED("st.release", text " [%0], %1;", : "l"(p), from(value)) \
    }                                                                       \
  }                                                                         \
  template <Order order, Scope scope>                                       \
  INTENT_DEVICE type cas(type* p, type expected, type desired) {            \
    if constexpr (order == Order::relaxed) {                                \
      if constexpr (scope == Scope::block) {                                \
        return atomicCAS_block(p, expected, desired);                       \
      } else {                                                              \
        return atomicCAS(p, expected, desired);                             \
      }                                                                     \
    } else {                                                                \
      type old;                                                             \
      INTENT_ORDERED(".cas" text " %0, [%1], %2, %3;", to(old)              \
                     : "l"(p), from(expected), from(desired))               \
      return old;                                                           \
    }                                                                       \
  }
#define INTENT_MODIFY(name, builtin, type, text, to, from)                 \
  template <Order order, Scope scope>                                      \
  INTENT_DEVICE type name(type* p, type value) {                           \
    if constexpr (order == Order::relaxed) {                               \
      if constexpr (scope == Scope::block) {                               \
        return builtin##_block(p, value);                                  \
      } else {                                                             \
        return builtin(p, value);                                          \
      }                                                                    \
    } else {                                                               \
      type old;                                                            \
      INTENT_ORDERED(text " %0, [%1], %2;", to(old) : "l"(p), from(value)) \
      return old;                                                          \
    }                                                                      \
  }
INTENT_ACCESS(u32, ".b32", "=r", "r")
INTENT_ACCESS(u64, ".b64", "=l", "l")
INTENT_MODIFY(exchange, atomicExch, u32, ".exch.b32", "=r", "r")
INTENT_MODIFY(exchange, atomicExch, u64, ".exch.b64", "=l", "l")
INTENT_MODIFY(add, atomicAdd, u32, ".add.u32", "=r", "r")
INTENT_MODIFY(add, atomicAdd, u64, ".add.u64", "=l", "l")
INTENT_MODIFY(max, atomicMax, i32, ".max.s32", "=r", "r")
INTENT_MODIFY(max, atomicMax, u32, ".max.u32", "=r", "r")
INTENT_MODIFY(max, atomicMax, i64, ".max.s64", "=l", "l")
INTENT_MODIFY(max, atomicMax, u64, ".max.u64", "=l", "l")
INTENT_MODIFY(min, atomicMin, i32, ".min.s32", "=r", "r")
INTENT_MODIFY(min, atomicMin, u32, ".min.u32", "=r", "r")
INTENT_MODIFY(min, atomicMin, i64, ".min.s64", "=l", "l")
INTENT_MODIFY(min, atomicMin, u64, ".min.u64", "=l", "l")
INTENT_MODIFY(bit_and, atomicAnd, u32, ".and.b32", "=r", "r")
INTENT_MODIFY(bit_and, atomicAnd, u64, ".and.b64", "=l", "l")
INTENT_MODIFY(bit_or, atomicOr, u32, ".or.b32", "=r", "r")
INTENT_MODIFY(bit_or, atomicOr, u64, ".or.b64", "=l", "l")
INTENT_MODIFY(bit_xor, atomicXor, u32, ".xor.b32", "=r", "r")
INTENT_MODIFY(bit_xor, atomicXor, u64, ".xor.b64", "=l", "l")
#undef INTENT_ACCESS
#undef INTENT_MODIFY
#undef INTENT_ORDERED
#undef INTENT_SCOPED

}  // namespace machine

}  // namespace intent
