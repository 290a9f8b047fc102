#include "compiler/cuda/device_on_host/block.h"

#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace emulation {
namespace {

constexpr size_t kStackBytes = 128 << 10;

struct Copy {
  uint32_t to;
  const void* from;
  int bytes, valid;
};
struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  std::vector<std::vector<Copy>> groups{{}};  // the last one is open
  bool done = false;
};
// Threads that wait for each other; the last one to come lets all go.
struct Barrier {
  int waiting = 0;
  int64_t round = 0;
};
struct alignas(16) Warp {
  Barrier barrier;
  alignas(16) char slots[32][kWarpSlotBytes];
};
struct Block {
  const std::function<void(char*)>* thread;
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  std::vector<char> memory;
  char* shared;
  int shared_bytes;
  Barrier barrier;
  int running = 0;
  int64_t progress = 0;  // barriers passed and threads ended
  ucontext_t scheduler;
};
Block* block = nullptr;

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "emulated thread %d: %s\n", block == nullptr ? -1 : block->running, what);
  std::abort();
}

void Yield() { swapcontext(&block->fibers[block->running].context, &block->scheduler); }

void Wait(Barrier* barrier, int threads) {
  const int64_t round = barrier->round;
  if (++barrier->waiting == threads) {
    barrier->waiting = 0;
    ++barrier->round;
    ++block->progress;
    return;
  }
  while (barrier->round == round) Yield();
}

void Enter() {
  (*block->thread)(block->shared);
  Fiber& fiber = block->fibers[block->running];
  fiber.done = true;
  ++block->progress;
  swapcontext(&fiber.context, &block->scheduler);
}

}  // namespace

void RunBlock(int threads, int shared_bytes, const std::function<void(char*)>& thread) {
  Block run;
  block = &run;
  run.thread = &thread;
  run.fibers.resize(threads);
  run.warps.resize(threads / 32);
  run.memory.assign(shared_bytes + 1024, char(0xff));
  run.shared = run.memory.data() + 1024 - reinterpret_cast<uintptr_t>(run.memory.data()) % 1024;
  run.shared_bytes = shared_bytes;
  for (Fiber& fiber : run.fibers) {
    fiber.stack.reset(new char[kStackBytes]);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    makecontext(&fiber.context, Enter, 0);
  }
  for (int left = threads; left > 0;) {
    const int64_t before = run.progress;
    for (run.running = 0; run.running < threads; ++run.running) {
      Fiber& fiber = run.fibers[run.running];
      if (fiber.done) continue;
      swapcontext(&run.scheduler, &fiber.context);
      if (fiber.done) --left;
    }
    if (run.progress == before) Fail("all threads wait");
  }
  block = nullptr;
}

int Thread() { return block->running; }
void WaitForBlock() { Wait(&block->barrier, static_cast<int>(block->fibers.size())); }
void WaitForWarp() { Wait(&block->warps[Thread() / 32].barrier, 32); }
char* WarpSlot(int lane) { return block->warps[Thread() / 32].slots[lane]; }

uint32_t SharedOffset(const void* shared) {
  return static_cast<uint32_t>(static_cast<const char*>(shared) - block->shared);
}
char* Shared(uint32_t offset, int bytes) {
  if (offset % bytes != 0) Fail("misaligned access to shared memory");
  if (offset + bytes > static_cast<uint32_t>(block->shared_bytes)) Fail("outside of shared memory");
  return block->shared + offset;
}
void CheckAligned(const void* pointer, int bytes) {
  if (reinterpret_cast<uintptr_t>(pointer) % bytes != 0) Fail("misaligned access");
}

void CopyLater(uint32_t to, const void* from, int bytes, int valid) {
  Shared(to, bytes);
  if (valid < 0 || valid > bytes) Fail("a copy of too many bytes");
  CheckAligned(from, bytes);
  block->fibers[Thread()].groups.back().push_back({to, from, bytes, valid});
}
void EndCopyGroup() { block->fibers[Thread()].groups.emplace_back(); }
void WaitCopies(int pending) {
  auto& groups = block->fibers[Thread()].groups;
  while (static_cast<int>(groups.size()) - 1 > pending) {
    for (const Copy& copy : groups.front()) {
      char* to = Shared(copy.to, copy.bytes);
      std::memset(to, 0, copy.bytes);
      std::memcpy(to, copy.from, copy.valid);
    }
    groups.erase(groups.begin());
  }
}

}  // namespace emulation
