#pragma once

// A unit executes a tile program (docs/decisions/0013): one thread, one warp or one block. A tile of
// L lanes lies in a unit of U threads as E = max(L / U, 1) neighbouring lanes a thread; of fewer
// lanes than threads, every group of L threads holds a copy. All functions are called by all
// threads of the unit together.

#include "intent/ptx.cuh"

#define LANES(count) _Pragma("unroll") for (int e = 0; e < count; ++e)

namespace intent {

template <int U>
INTENT_DEVICE int unit_thread() {
  return U == 1 ? 0 : U == 32 ? int(threadIdx.x & 31) : int(threadIdx.x);
}
template <int U>
INTENT_DEVICE void unit_fence() {
  if constexpr (U == 32) __syncwarp();
  if constexpr (U > 32) __syncthreads();
}
// Among the units of its block, and among all.
template <int U>
INTENT_DEVICE int unit_in_block() {
  return U > 32 ? 0 : int(threadIdx.x) / U;
}
template <int U>
INTENT_DEVICE i64 unit_in_grid() {
  return i64(blockIdx.x) * (blockDim.x / U) + unit_in_block<U>();
}
template <int U>
INTENT_DEVICE i64 units_in_grid() {
  return i64(gridDim.x) * (blockDim.x / U);
}
// The first lane of a thread's in a tile of L.
template <int U, int L>
INTENT_DEVICE int first_lane() {
  return L >= U ? unit_thread<U>() * (L / U) : unit_thread<U>() & (L - 1);
}
// One thread of those that hold a lane.
template <int U, int L>
INTENT_DEVICE bool owns_lanes() {
  return L >= U || unit_thread<U>() < L;
}

// How many lanes of a tile of L lie below a limit.
template <int L>
INTENT_DEVICE int lanes_below(i64 limit) {
  return limit < 0 ? 0 : limit > L ? L : int(limit);
}

// Tasks of `grain` coordinates.
INTENT_DEVICE i64 count_tasks(i64 lo, i64 hi, i64 grain) {
  return hi > lo ? i64((u64(hi) - u64(lo) - 1) / u64(grain) + 1) : 0;
}
INTENT_DEVICE i64 task_end(i64 begin, i64 hi, i64 grain) {
  return u64(hi) - u64(begin) < u64(grain) ? hi : begin + grain;
}

// Memory. An element of a bool in memory is a u8.
template <class T>
struct Stored {
  typedef T type;
  static INTENT_DEVICE T load(T x) { return x; }
  static INTENT_DEVICE T store(T x) { return x; }
};
template <>
struct Stored<bool> {
  typedef u8 type;
  static INTENT_DEVICE bool load(u8 x) { return x != 0; }
  static INTENT_DEVICE u8 store(bool x) { return x; }
};
template <int bytes>
struct Packet {
  typedef u8 type;
};
template <>
struct Packet<2> {
  typedef u16 type;
};
template <>
struct Packet<4> {
  typedef u32 type;
};
template <>
struct Packet<8> {
  typedef uint2 type;
};
template <>
struct Packet<16> {
  typedef uint4 type;
};
// The largest access that E elements of T divide into.
template <class T, int E>
constexpr int kPacketBytes = sizeof(T) * E >= 16 ? 16 : int(sizeof(T)) * E;
template <class T, int E>
union Packed {
  typedef typename Packet<kPacketBytes<T, E>>::type Part;
  T elements[E];
  Part parts[sizeof(T) * E / sizeof(Part)];
  INTENT_DEVICE Packed() {}
};
template <class P>
INTENT_DEVICE bool aligned(const void* p) {
  return (u64(p) & (sizeof(P) - 1)) == 0;
}

// E neighbours, the first at p: of _packed in accesses as large as they are, to which p is aligned.
template <int E, class T>
INTENT_DEVICE void load_packed(T (&v)[E], const typename Stored<T>::type* p) {
  typedef Packed<typename Stored<T>::type, E> P;
  P packed;
  const typename P::Part* parts = reinterpret_cast<const typename P::Part*>(p);
  LANES(int(sizeof(packed.parts) / sizeof(typename P::Part))) packed.parts[e] = parts[e];
  LANES(E) v[e] = Stored<T>::load(packed.elements[e]);
}
template <int E, class T>
INTENT_DEVICE void load_lanes(T (&v)[E], const typename Stored<T>::type* p) {
  typedef typename Packed<typename Stored<T>::type, E>::Part Part;
  if (E > 1 && aligned<Part>(p)) {
    load_packed<E>(v, p);
  } else {
    LANES(E) v[e] = Stored<T>::load(p[e]);
  }
}
template <int E, class T>
INTENT_DEVICE void store_packed(typename Stored<T>::type* p, const T (&v)[E]) {
  typedef Packed<typename Stored<T>::type, E> P;
  P packed;
  LANES(E) packed.elements[e] = Stored<T>::store(v[e]);
  typename P::Part* parts = reinterpret_cast<typename P::Part*>(p);
  LANES(int(sizeof(packed.parts) / sizeof(typename P::Part))) parts[e] = packed.parts[e];
}
template <int E, class T>
INTENT_DEVICE void store_lanes(typename Stored<T>::type* p, const T (&v)[E]) {
  typedef typename Packed<typename Stored<T>::type, E>::Part Part;
  if (E > 1 && aligned<Part>(p)) {
    store_packed<E>(p, v);
  } else {
    LANES(E) p[e] = Stored<T>::store(v[e]);
  }
}
template <int E>
INTENT_DEVICE bool all_of(const bool (&mask)[E]) {
  bool all = true;
  LANES(E) all = all && mask[e];
  return all;
}

// Scratch: `count` elements from `top` on of memory of `size` bytes. False, and nothing taken, where
// they do not suffice.
template <class T>
INTENT_DEVICE bool take_scratch(T** memory, char* base, i64 size, i64* top, i64 count) {
  const i64 room = size - *top;
  *memory = reinterpret_cast<T*>(base + *top);
  if (count < 0 || room < 0 || count > room / i64(sizeof(T))) return false;
  *top += (count * i64(sizeof(T)) + 63) / 64 * 64;
  return true;
}

// Whether two views touch common bytes, and whether they are the same elements.
INTENT_DEVICE bool ranges_overlap(const void* a, i64 a_low, i64 a_high, const void* b, i64 b_low,
                                  i64 b_high) {
  const i64 x = i64(a), y = i64(b);
  return a_low < a_high && b_low < b_high && x + a_low < y + b_high && y + b_low < x + a_high;
}
template <int rank>
INTENT_DEVICE bool same_view(const void* a, const i64 (&a_extents)[rank], const i64 (&a_strides)[rank],
                             const void* b, const i64 (&b_extents)[rank],
                             const i64 (&b_strides)[rank]) {
  bool same = a == b;
  for (int axis = 0; axis < rank; ++axis) {
    same = same && a_extents[axis] == b_extents[axis] &&
           (a_extents[axis] <= 1 || a_strides[axis] == b_strides[axis]);
  }
  return same;
}

// Across threads. Values travel by their bits.
template <class T>
INTENT_DEVICE T shuffle(T x, int thread) {
  constexpr int count = (sizeof(T) + 3) / 4;
  union Words {
    T value;
    u32 words[count];
    INTENT_DEVICE Words() {}
  } bits;
  LANES(count) bits.words[e] = 0;
  bits.value = x;
  LANES(count) bits.words[e] = __shfl_sync(0xffffffffu, bits.words[e], thread);
  return bits.value;
}
// What thread `thread` of the unit has. `exchange`: shared memory of the unit, here and below: each
// use begins with a fence and leaves what it read last to the next one's.
template <int U, class T>
INTENT_DEVICE T broadcast(T x, int thread, char* exchange) {
  if constexpr (U == 1) {
    return x;
  } else if constexpr (U == 32) {
    return shuffle(x, thread);
  } else {
    T* shared = reinterpret_cast<T*>(exchange);
    unit_fence<U>();
    if (unit_thread<U>() == thread) *shared = x;
    unit_fence<U>();
    return *shared;
  }
}

// All lanes of a tile into one value that all threads have, as a tree.
template <int U, int L, int E, class T, class Combine>
INTENT_DEVICE T reduce_lanes(const T (&v)[E], char* exchange, Combine combine) {
  T parts[E];
  LANES(E) parts[e] = v[e];
  _Pragma("unroll") for (int width = E / 2; width > 0; width /= 2) {
    LANES(E / 2) {
      if (e < width) parts[e] = combine(parts[e], parts[e + width]);
    }
  }
  T x = parts[0];
  constexpr int threads = L / E;
  constexpr int near = threads < 32 ? threads : 32;
  const int own = unit_thread<U>() & 31;
  _Pragma("unroll") for (int width = near / 2; width > 0; width /= 2) {
    x = combine(x, shuffle(x, own ^ width));
  }
  if constexpr (threads > 32) {
    constexpr int warps = threads / 32;
    T* shared = reinterpret_cast<T*>(exchange);
    unit_fence<U>();
    if (own == 0 && int(threadIdx.x) / 32 < warps) shared[threadIdx.x / 32] = x;
    unit_fence<U>();
    x = shared[own & (warps - 1)];
    _Pragma("unroll") for (int width = warps / 2; width > 0; width /= 2) {
      x = combine(x, shuffle(x, own ^ width));
    }
  }
  // The same bits everywhere, though NaNs may differ by the order of operands.
  return U == 1 ? x : shuffle(x, 0);
}

// result[l] = v[source(l)].
template <int U, int L, int E, int M, int F, class T, class Source>
INTENT_DEVICE void shuffle_lanes(T (&result)[F], const T (&v)[E], char* exchange, Source source) {
  if constexpr (U == 1) {
    LANES(F) result[e] = v[source(e)];
  } else {
    T* shared = reinterpret_cast<T*>(exchange);
    unit_fence<U>();
    if (owns_lanes<U, L>()) {
      LANES(E) shared[first_lane<U, L>() + e] = v[e];
    }
    unit_fence<U>();
    LANES(F) result[e] = shared[source(first_lane<U, M>() + e)];
  }
}

// All blocks meet. True for all: some thread has failed, and everybody leaves. `barrier` holds the
// count of those that came, in its upper half of those among them with a failure, and a generation
// whose lowest bit says how the last meeting ended.
INTENT_DEVICE bool grid_barrier(u32* barrier, bool failed) {
  __shared__ u32 ended, failures;
  // A barrier that counts is illegal where threads of a warp come apart, as those of tasks do.
  if (threadIdx.x == 0) failures = 0;
  __syncthreads();
  if (failed) failures = 1;
  __syncthreads();
  const bool any = failures != 0;
  if (threadIdx.x == 0) {
    volatile u32* generation = barrier + 1;
    const u32 before = *generation;
    __threadfence();
    const u32 came = atomicAdd(barrier, any ? 0x10001u : 1u) + (any ? 0x10001u : 1u);
    u32 after = before;
    if ((came & 0xffff) == gridDim.x) {
      barrier[0] = 0;
      after = (before | 1) + 1 + (came > 0xffff ? 1 : 0);
      __threadfence();
      *generation = after;
    } else {
      while ((after = *generation) == before) __nanosleep(32);
    }
    __threadfence();
    ended = after;
  }
  __syncthreads();
  const bool leave = (ended & 1) != 0;
  __syncthreads();
  return leave;
}

}  // namespace intent
