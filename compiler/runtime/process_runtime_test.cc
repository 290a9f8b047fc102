#include "compiler/runtime/process_runtime.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace intent {
namespace {

// Adds one for every member of the loop, and uses the scratch memory of its thread.
int32_t CountTask(void* context, const intent_call* call, void* arena, int64_t begin, int64_t end) {
  void* memory = call->runtime->arena_alloc(arena, 256);
  if (memory == nullptr) return INTENT_NO_MEMORY;
  std::memset(memory, 0x5a, 256);
  *static_cast<std::atomic<int64_t>*>(context) += end - begin;
  return INTENT_OK;
}

int32_t Count(const intent_call* call) {
  std::atomic<int64_t> count{0};
  const int32_t status = call->runtime->parallel_for(call, CountTask, &count, 0, 10'000, 10);
  return status != INTENT_OK ? status : count == 10'000 ? INTENT_OK : INTENT_BAD_SHAPE;
}

int CountTimes(int times) {
  int good = 0;
  for (int i = 0; i < times; ++i) {
    intent_error error;
    good += ProcessRuntime::Shared().Run(Count, {}, &error) == INTENT_OK;
  }
  return good;
}

TEST(ProcessRuntime, ThreadsRunCallsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 6; ++i) threads.emplace_back([&] { good += CountTimes(50); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 300);
}

TEST(ProcessRuntime, AChildHasARuntimeOfItsOwn) {
  ASSERT_EQ(CountTimes(1), 1);
  const ProcessRuntime* const parents = &ProcessRuntime::Shared();
  const pid_t child = fork();
  if (child == 0) _exit(CountTimes(20) == 20 && &ProcessRuntime::Shared() != parents ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(&ProcessRuntime::Shared(), parents);
}

TEST(ProcessRuntime, ScratchIsBounded) {
  ProcessRuntime runtime({.threads = 1, .arena_bytes = 1 << 20});
  const auto take = [](const intent_call* call) -> int32_t {
    return call->runtime->arena_alloc(nullptr, (1 << 20) + 1) == nullptr ? INTENT_NO_MEMORY
                                                                         : INTENT_OK;
  };
  intent_error error;
  EXPECT_EQ(runtime.Run(take, {}, &error), INTENT_NO_MEMORY);
  EXPECT_EQ(error.status, INTENT_NO_MEMORY);
}

}  // namespace
}  // namespace intent
