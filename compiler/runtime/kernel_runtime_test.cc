#include "compiler/runtime/kernel_runtime.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/runtime/float_environment.h"
#include "gtest/gtest.h"

namespace intent {
namespace {

int32_t TakeScratch(const intent_call* call) {
  const intent_runtime& runtime = *call->runtime;
  char* memory = static_cast<char*>(runtime.arena_alloc(nullptr, 1000));
  if (memory == nullptr) return INTENT_NO_MEMORY;
  for (int i = 0; i < 1000; ++i) {
    if (memory[i] != 0) return INTENT_BAD_SHAPE;
  }
  std::memset(memory, 1, 1000);
  if (reinterpret_cast<uintptr_t>(memory) % 64 != 0) return INTENT_BAD_STEP;
  return INTENT_OK;
}

TEST(KernelRuntime, ScratchIsZeroForEveryCall) {
  KernelRuntime runtime(2, 1 << 20);
  intent_error error;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(runtime.Run(TakeScratch, {}, &error), INTENT_OK);
}

int32_t TakeTooMuch(const intent_call* call) {
  const intent_runtime& runtime = *call->runtime;
  const int64_t mark = runtime.arena_mark(nullptr);
  if (runtime.arena_alloc(nullptr, 1 << 20) == nullptr) return INTENT_BAD_SHAPE;
  if (runtime.arena_alloc(nullptr, 1) != nullptr) return INTENT_BAD_SHAPE;
  runtime.arena_release(nullptr, mark);
  if (runtime.arena_alloc(nullptr, (1 << 20) + 1) != nullptr) return INTENT_BAD_SHAPE;
  if (runtime.arena_alloc(nullptr, -1) != nullptr) return INTENT_BAD_SHAPE;
  return INTENT_NO_MEMORY;
}

TEST(KernelRuntime, ScratchIsBoundedAndErrorsAreFilledIn) {
  KernelRuntime runtime(1, 1 << 20);
  intent_error error;
  EXPECT_EQ(runtime.Run(TakeTooMuch, {}, &error), INTENT_NO_MEMORY);
  EXPECT_EQ(error.status, INTENT_NO_MEMORY);
  EXPECT_EQ(error.parameter, -1);
}

int32_t SumTask(void* context, const intent_call* call, void* arena, int64_t begin, int64_t end) {
  auto* memory = static_cast<int64_t*>(call->runtime->arena_alloc(arena, 8));
  *memory = 0;
  for (int64_t i = begin; i < end; ++i) *memory += i;
  *static_cast<std::atomic<int64_t>*>(context) += *memory;
  return INTENT_OK;
}

std::atomic<int64_t> sum;

int32_t Sum(const intent_call* call) {
  return call->runtime->parallel_for(call, SumTask, &sum, 0, 10'000, 1);
}

TEST(KernelRuntime, LoopsAreShared) {
  KernelRuntime runtime(3, 1 << 20);
  intent_error error;
  for (int i = 0; i < 100; ++i) {
    sum = 0;
    EXPECT_EQ(runtime.Run(Sum, {}, &error), INTENT_OK);
    EXPECT_EQ(sum, 10'000 * 9'999 / 2);
  }
}

TEST(KernelRuntime, ACancelledLoopEnds) {
  KernelRuntime runtime(2, 1 << 20);
  intent_error error;
  const volatile int32_t cancel = 1;
  EXPECT_EQ(runtime.Run(Sum, {.cancel = &cancel}, &error), INTENT_CANCELLED);
}

volatile double denormal = std::numeric_limits<double>::denorm_min();

int32_t KeepsSubnormals(const intent_call*) {
  return denormal * 2.0 == 0.0 ? INTENT_BAD_SHAPE : INTENT_OK;
}

#if defined(__x86_64__)
TEST(KernelRuntime, KernelsDoNotSeeTheHostsFloatingPointMode) {
  KernelRuntime runtime(1, 1 << 20);
  intent_error error;
  const uint32_t before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // flush to zero, denormals are zero
  EXPECT_EQ(denormal * 2.0, 0.0);
  EXPECT_EQ(runtime.Run(KeepsSubnormals, {}, &error), INTENT_OK);
  EXPECT_EQ(_mm_getcsr() & 0xffc0, (before | 0x8040) & 0xffc0) << "the host's mode is back";
  _mm_setcsr(before);
}
#endif

}  // namespace
}  // namespace intent
