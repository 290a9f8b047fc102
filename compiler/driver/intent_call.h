#ifndef INTENT_CALL_H_
#define INTENT_CALL_H_

/* The C ABI of a CPU artifact (decisions.md B.13): int32_t entry(const intent_call*).
 * One call runs one kernel. The caller has checked ranks, dtypes, equal symbols and directions
 * against the manifest; the entry checks what the manifest leaves to guards. All pointers stay the
 * caller's. Returns 0, or an intent_status; details stand in *error. Thread-safe: an entry keeps no
 * state. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct intent_view {
  void* data; /* the element at coordinates 0, 0, ...: allocation base plus offset applied */
  const int64_t* extents; /* rank entries */
  const int64_t* strides; /* rank entries, in elements; negative and zero are legal */
  int64_t low, high; /* first and one-past-last byte any coordinate touches, relative to data (low
                        <= 0 <= high) */
} intent_view;

typedef struct intent_error {
  int32_t status;    /* an intent_status; 0: none. Set once, by compare-and-swap from 0. */
  uint32_t ordinal;  /* the operation */
  int32_t parameter; /* the view, or -1 for a tensor or buffer */
  int32_t axis;
  int64_t value; /* the offending index or extent */
  int64_t limit;
} intent_error;

enum intent_status {
  INTENT_OK = 0,
  INTENT_OUT_OF_BOUNDS = 1, /* an active access outside its axis */
  INTENT_BAD_SHAPE = 2,     /* shapes that must agree differ: ordinal says where */
  INTENT_NEGATIVE_EXTENT = 3,
  INTENT_NO_MEMORY = 4, /* the arena's limit */
  INTENT_CANCELLED = 5,
  INTENT_BAD_STEP = 6, /* a domain's step is not positive, or a subregion leaves its source */
  INTENT_BAD_VALUE = 7, /* data that a format does not allow: sparse metadata */
};

typedef struct intent_call intent_call;
typedef struct intent_runtime intent_runtime;

/* Runs task(context, begin, end) over a partition of [begin, end) into chunks of at least `grain`.
 * Returns the first nonzero result. */
typedef int32_t (*intent_task)(void* context, const intent_call* call, void* arena, int64_t begin,
                               int64_t end);

struct intent_runtime {
  int32_t (*parallel_for)(const intent_call* call, intent_task task, void* context, int64_t begin,
                          int64_t end, int64_t grain);
  /* Bump allocation of zeroed-by-nobody scratch, 64-byte aligned, from an arena; null beyond the
   * limit. A mark taken before may be restored after. A null arena means the calling thread's own.
   */
  void* (*arena_alloc)(void* arena, int64_t bytes);
  int64_t (*arena_mark)(void* arena);
  void (*arena_release)(void* arena, int64_t mark);
  void* (*thread_arena)(const intent_call* call); /* the calling thread's arena */
};

struct intent_call {
  const intent_view* views; /* one per view parameter, in order among views */
  const uint64_t*
      scalars; /* one per scalar parameter, in order among scalars; storage bits, zero-extended */
  const intent_runtime*
      runtime; /* never null; a serial table runs everything on the caller's thread */
  const volatile int32_t* cancel; /* nonzero ends loops; may be null */
  intent_error* error;
};

typedef int32_t (*intent_entry)(const intent_call* call);

#ifdef __cplusplus
}
#endif

#endif /* INTENT_CALL_H_ */
