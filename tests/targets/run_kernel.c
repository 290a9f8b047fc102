/* Runs kernels on AArch64, natively or under qemu-aarch64. Standard input names three files a call,
 * a line each: a shared object, the call and its result; "done" answers each call.
 *
 * Calls and results are little-endian words of 64 bits. A call: the numbers of allocations, views
 * and scalars; each allocation's size in bytes and its bytes, padded to whole words; each view's
 * allocation, offset in bytes, bytes of an element, rank, extents and strides in elements; the
 * scalars' bits. A result: status, ordinal, parameter, axis, value and limit of intent_error, then
 * every allocation's bytes, padded to whole words.
 *
 * It is an unfriendly host. The floating-point mode at entry of the kernel and of every task
 * flushes subnormals, rounds towards zero and replaces NaNs; it must be the same at return. Tasks
 * run last first. Scratch memory is full of garbage. */

#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "compiler/driver/intent_call.h"

enum { kTasks = 3, kGarbage = 0xa5, kMostGarbage = 1 << 20 };
static const uint64_t kHostileMode = UINT64_C(1) << 24    /* FZ */
                                     | UINT64_C(3) << 22  /* RMode: towards zero */
                                     | UINT64_C(1) << 25  /* DN */
                                     | UINT64_C(1) << 26; /* AHP */

static void Die(const char* what) {
  fprintf(stderr, "run_kernel: %s\n", what);
  exit(2);
}

static void SetMode(uint64_t mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }
static uint64_t Mode(void) {
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}

/* The one arena: everything runs on one thread. */
static char* arena;
static int64_t arena_used;
static const int64_t kArenaBytes = INT64_C(1) << 30;

static int64_t ArenaMark(void* which) {
  (void)which;
  return arena_used;
}
static void ArenaRelease(void* which, int64_t mark) {
  (void)which;
  arena_used = mark;
}
static void* ArenaAlloc(void* which, int64_t bytes) {
  (void)which;
  if (bytes < 0 || bytes > kArenaBytes - arena_used - 64) return NULL;
  char* memory = arena + arena_used;
  arena_used += (bytes + 63) / 64 * 64;
  memset(memory, kGarbage, (size_t)(bytes < kMostGarbage ? bytes : kMostGarbage));
  return memory;
}
static void* ThreadArena(const intent_call* call) {
  (void)call;
  return arena;
}

static int32_t ParallelFor(const intent_call* call, intent_task task, void* context, int64_t begin,
                           int64_t end, int64_t grain) {
  const uint64_t mode = Mode();
  const int64_t count = end - begin;
  int64_t chunk = (count + kTasks - 1) / kTasks;
  if (chunk < grain) chunk = grain;
  if (chunk < 1) chunk = 1;
  int32_t status = 0;
  for (int64_t at = (count + chunk - 1) / chunk; status == 0 && at-- > 0;) {
    const int64_t low = begin + at * chunk;
    const int64_t mark = arena_used;
    SetMode(kHostileMode);
    status = task(context, call, arena, low, end - low < chunk ? end : low + chunk);
    if (Mode() != kHostileMode) Die("a task left another floating-point mode");
    if (arena_used != mark) Die("a task kept scratch memory");
  }
  SetMode(mode);
  return status;
}

static int64_t Word(FILE* file) {
  int64_t word;
  if (fread(&word, sizeof word, 1, file) != 1) Die("the call's file is too short");
  return word;
}

static void Words(FILE* file, int64_t* words, int64_t count) {
  for (int64_t i = 0; i < count; ++i) words[i] = Word(file);
}

static int64_t Padded(int64_t size) { return (size + 7) / 8 * 8; }

static void* Need(void* memory) {
  if (memory == NULL) Die("no memory");
  return memory;
}

typedef struct {
  int64_t allocations, views, scalars;
  char** memory;
  int64_t* sizes;
  intent_view* view;
  uint64_t* scalar;
} Call;

static Call ReadCall(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) Die("cannot read the call");
  Call call = {Word(file), Word(file), Word(file), NULL, NULL, NULL, NULL};
  call.memory = Need(calloc((size_t)call.allocations + 1, sizeof *call.memory));
  call.sizes = Need(calloc((size_t)call.allocations + 1, sizeof *call.sizes));
  for (int64_t i = 0; i < call.allocations; ++i) {
    call.sizes[i] = Word(file);
    const size_t bytes = (size_t)Padded(call.sizes[i]);
    call.memory[i] = Need(aligned_alloc(64, (bytes + 64) / 64 * 64));
    if (fread(call.memory[i], 1, bytes, file) != bytes) Die("the call's file is too short");
  }
  call.view = Need(calloc((size_t)call.views + 1, sizeof *call.view));
  for (int64_t i = 0; i < call.views; ++i) {
    const int64_t allocation = Word(file), offset = Word(file), item = Word(file);
    const int64_t rank = Word(file);
    int64_t* shape = Need(calloc((size_t)(2 * rank) + 1, sizeof *shape));
    Words(file, shape, 2 * rank);
    int64_t low = 0, high = item;
    for (int64_t axis = 0; axis < rank; ++axis) {
      const int64_t reach = (shape[axis] - 1) * shape[rank + axis] * item;
      *(reach < 0 ? &low : &high) += reach;
    }
    for (int64_t axis = 0; axis < rank; ++axis) {
      if (shape[axis] == 0) low = high = 0;
    }
    call.view[i] = (intent_view){call.memory[allocation] + offset, shape, shape + rank, low, high};
  }
  call.scalar = Need(calloc((size_t)call.scalars + 1, sizeof *call.scalar));
  Words(file, (int64_t*)call.scalar, call.scalars);
  fclose(file);
  return call;
}

static void FreeCall(const Call* call) {
  for (int64_t i = 0; i < call->allocations; ++i) free(call->memory[i]);
  for (int64_t i = 0; i < call->views; ++i) free((void*)call->view[i].extents);
  free(call->memory);
  free(call->sizes);
  free(call->view);
  free(call->scalar);
}

static void WriteResult(const char* path, int32_t status, const intent_error* error,
                        const Call* call) {
  FILE* file = fopen(path, "wb");
  if (file == NULL) Die("cannot write the result");
  const int64_t head[] = {status,      error->ordinal, error->parameter,
                          error->axis, error->value,   error->limit};
  size_t written = fwrite(head, sizeof head, 1, file);
  for (int64_t i = 0; i < call->allocations; ++i) {
    const size_t bytes = (size_t)Padded(call->sizes[i]);
    if (bytes != 0) written &= fwrite(call->memory[i], bytes, 1, file);
  }
  if (fclose(file) != 0 || written != 1) Die("cannot write the result");
}

static void RunCall(const char* kernel, const char* call_path, const char* result_path) {
  void* library = dlopen(kernel, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) Die(dlerror());
  intent_entry entry;
  *(void**)&entry = dlsym(library, "intent_kernel");
  if (entry == NULL) Die("no symbol intent_kernel");
  const Call data = ReadCall(call_path);
  const intent_runtime runtime = {ParallelFor, ArenaAlloc, ArenaMark, ArenaRelease, ThreadArena};
  intent_error error = {0};
  const intent_call call = {data.view, data.scalar, &runtime, NULL, &error};
  SetMode(kHostileMode);
  const int32_t status = entry(&call);
  const uint64_t mode = Mode();
  SetMode(0);
  if (mode != kHostileMode) Die("the kernel left another floating-point mode");
  if (arena_used != 0) Die("the kernel kept scratch memory");
  WriteResult(result_path, status, &error, &data);
  FreeCall(&data);
  dlclose(library);
}

int main(void) {
  arena = mmap(NULL, (size_t)kArenaBytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (arena == MAP_FAILED) Die("no memory for the arena");
  static char lines[3][4096];
  for (;;) {
    for (int i = 0; i < 3; ++i) {
      if (fgets(lines[i], sizeof lines[i], stdin) == NULL) return 0;
      lines[i][strcspn(lines[i], "\n")] = 0;
    }
    RunCall(lines[0], lines[1], lines[2]);
    puts("done");
    fflush(stdout);
  }
}
