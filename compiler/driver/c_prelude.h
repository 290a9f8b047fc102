#ifndef INTENT_C_PRELUDE_H_
#define INTENT_C_PRELUDE_H_

/* What a C or C++ program needs to call a CPU artifact: a runtime that runs everything on the
 * calling thread, and the checks that stand between a caller's numbers and a kernel. C11 or C++11,
 * GCC or Clang. Part of every generated header, behind intent_call.h; nothing here is to be linked.
 */

#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
#define INTENT_THREAD_LOCAL thread_local
#else
#define INTENT_THREAD_LOCAL _Thread_local
#endif

/* Beside those of intent_call.h: a view that was promised to lie apart overlaps another. */
enum { INTENT_BAD_OVERLAP = 8 };

/* Scratch memory: blocks of malloc, the newest first. */
typedef struct intent_block_ {
  struct intent_block_* older;
} intent_block_;
typedef struct intent_arena_ {
  intent_block_* newest;
  int64_t count;
} intent_arena_;

/* The arena of the call that runs on this thread. */
static INTENT_THREAD_LOCAL intent_arena_* intent_current_;

static inline intent_arena_* intent_arena_of_(void* arena) {
  return arena != NULL ? (intent_arena_*)arena : intent_current_;
}

static inline void* intent_serial_alloc_(void* which, int64_t bytes) {
  intent_arena_* const arena = intent_arena_of_(which);
  intent_block_* block;
  if (bytes < 0 || bytes > INT64_MAX - 256) return NULL;
  block = (intent_block_*)aligned_alloc(64, (size_t)((bytes + 127) / 64 * 64));
  if (block == NULL) return NULL;
  block->older = arena->newest;
  arena->newest = block;
  ++arena->count;
  return (char*)block + 64;
}

static inline int64_t intent_serial_mark_(void* which) { return intent_arena_of_(which)->count; }

static inline void intent_serial_release_(void* which, int64_t mark) {
  intent_arena_* const arena = intent_arena_of_(which);
  while (arena->count > mark) {
    intent_block_* const block = arena->newest;
    arena->newest = block->older;
    --arena->count;
    free(block);
  }
}

static inline void* intent_serial_arena_(const intent_call* call) {
  (void)call;
  return intent_current_;
}

static inline int32_t intent_serial_for_(const intent_call* call, intent_task task, void* context,
                                         int64_t begin, int64_t end, int64_t grain) {
  intent_arena_* const arena = intent_current_;
  const int64_t mark = arena->count;
  int32_t status;
  (void)grain;
  if (begin >= end) return INTENT_OK;
  if (call->cancel != NULL && *call->cancel != 0) return INTENT_CANCELLED;
  status = task(context, call, arena, begin, end);
  intent_serial_release_(arena, mark);
  return status;
}

/* Runs an entry; `runtime` NULL: on this thread alone. */
static inline int32_t intent_run_(intent_entry entry, const intent_view* views,
                                  const uint64_t* scalars, const intent_runtime* runtime,
                                  const volatile int32_t* cancel, intent_error* error) {
  static const intent_runtime serial = {intent_serial_for_, intent_serial_alloc_,
                                        intent_serial_mark_, intent_serial_release_,
                                        intent_serial_arena_};
  intent_arena_ arena = {NULL, 0};
  intent_arena_* const outer = intent_current_;
  intent_call call;
  int32_t status;
  call.views = views;
  call.scalars = scalars;
  call.runtime = runtime != NULL ? runtime : &serial;
  call.cancel = cancel;
  call.error = error;
  intent_current_ = &arena;
  status = entry(&call);
  intent_serial_release_(&arena, 0);
  intent_current_ = outer;
  return status;
}

static inline int32_t intent_fail_(intent_error* error, int32_t status, int32_t parameter,
                                   int32_t axis, int64_t value, int64_t limit) {
  error->status = status;
  error->ordinal = UINT32_MAX;
  error->parameter = parameter;
  error->axis = axis;
  error->value = value;
  error->limit = limit;
  return status;
}

/* Fills a view. Fails for negative extents, and for what leaves 64 bits. */
static inline int32_t intent_view_(intent_view* view, int32_t parameter, const void* data,
                                   int32_t rank, const int64_t* extents, const int64_t* strides,
                                   int64_t element_bytes, intent_error* error) {
  int64_t low = 0, high = 1, count = 1;
  int32_t axis, empty = 0;
  for (axis = 0; axis < rank; ++axis) {
    if (extents[axis] < 0) {
      return intent_fail_(error, INTENT_NEGATIVE_EXTENT, parameter, axis, extents[axis], 0);
    }
    empty |= extents[axis] == 0;
    if (__builtin_mul_overflow(count, extents[axis] > 1 ? extents[axis] : 1, &count)) {
      return intent_fail_(error, INTENT_BAD_SHAPE, parameter, axis, extents[axis], 0);
    }
  }
  for (axis = 0; axis < rank && !empty; ++axis) {
    int64_t span;
    if (__builtin_mul_overflow(extents[axis] - 1, strides[axis], &span) ||
        __builtin_add_overflow(span < 0 ? low : high, span, span < 0 ? &low : &high)) {
      return intent_fail_(error, INTENT_BAD_SHAPE, parameter, axis, strides[axis], 0);
    }
  }
  if (empty) low = high = 0;
  if (__builtin_mul_overflow(low, element_bytes, &low) ||
      __builtin_mul_overflow(high, element_bytes, &high)) {
    return intent_fail_(error, INTENT_BAD_SHAPE, parameter, -1, high, 0);
  }
  view->data = (void*)(uintptr_t)data;
  view->extents = extents;
  view->strides = strides;
  view->low = low;
  view->high = high;
  return INTENT_OK;
}

static inline int intent_overlap_(const intent_view* a, const intent_view* b) {
  const uintptr_t a_data = (uintptr_t)a->data, b_data = (uintptr_t)b->data;
  if (a->low == a->high || b->low == b->high) return 0;
  return a_data + (uintptr_t)a->low < b_data + (uintptr_t)b->high &&
         b_data + (uintptr_t)b->low < a_data + (uintptr_t)a->high;
}

/* Arithmetic of launch conditions: what is undefined clears *ok. */
static inline int64_t intent_add_(int64_t a, int64_t b, int* ok) {
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) *ok = 0;
  return result;
}
static inline int64_t intent_sub_(int64_t a, int64_t b, int* ok) {
  int64_t result = 0;
  if (__builtin_sub_overflow(a, b, &result)) *ok = 0;
  return result;
}
static inline int64_t intent_mul_(int64_t a, int64_t b, int* ok) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) *ok = 0;
  return result;
}
static inline int64_t intent_floordiv_(int64_t a, int64_t b, int* ok) {
  if (b == 0 || (a == INT64_MIN && b == -1)) {
    *ok = 0;
    return 0;
  }
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t intent_ceildiv_(int64_t a, int64_t b, int* ok) {
  const int64_t quotient = intent_floordiv_(a, b, ok);
  return *ok ? quotient + (a % b != 0) : 0;
}
static inline int64_t intent_mod_(int64_t a, int64_t b, int* ok) {
  if (b == 0) *ok = 0;
  if (b == 0 || b == -1) return 0;
  return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
}
static inline int64_t intent_select_(int64_t condition, int64_t yes, int64_t no) {
  return condition != 0 ? yes : no;
}
static inline int64_t intent_min_(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t intent_max_(int64_t a, int64_t b) { return a > b ? a : b; }

#endif /* INTENT_C_PRELUDE_H_ */
