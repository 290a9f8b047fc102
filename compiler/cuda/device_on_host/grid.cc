#include "compiler/cuda/device_on_host/grid.h"

#include <setjmp.h>
#include <ucontext.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace emulation {
namespace {

constexpr size_t kStackBytes = 128 << 10;
constexpr size_t kAlignment = 1024;
constexpr char kGarbage = char(0xff);

struct Copy {
  uint32_t to;
  const void* from;
  int bytes, valid;
};
// Where a flow of control goes on.
struct Place {
  jmp_buf resume;
};
struct Fiber {
  Place place;
  std::unique_ptr<char[]> stack;
  std::vector<std::vector<Copy>> groups{{}};  // the last one is open
  bool started = false, done = false;
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
struct RunningBlock {
  const std::function<void()>* thread;
  Launch launch;
  int index = 0;
  char* shared = nullptr;
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  Barrier barrier;
  int running = 0;
  int64_t progress = 0;  // barriers passed, threads ended, polls
  Place scheduler;
};
thread_local RunningBlock* block = nullptr;

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "emulated block %d, thread %d: %s\n", block == nullptr ? -1 : block->index,
               block == nullptr ? -1 : block->running, what);
  std::abort();
}

// Leaves `from` and goes on at `to`. Not by swapcontext, which makes two system calls.
void Switch(Place* from, Place* to) {
  if (_setjmp(from->resume) == 0) _longjmp(to->resume, 1);
}

void Yield() { Switch(&block->fibers[block->running].place, &block->scheduler); }

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
  (*block->thread)();
  block->fibers[block->running].done = true;
  ++block->progress;
  Yield();
  Fail("a thread that has ended runs");
}

// The first entry of a fiber, which needs its stack.
void Start(Fiber* fiber) {
  fiber->started = true;
  fiber->stack.reset(new char[kStackBytes]);
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = fiber->stack.get();
  context.uc_stack.ss_size = kStackBytes;
  makecontext(&context, Enter, 0);
  if (_setjmp(block->scheduler.resume) == 0) setcontext(&context);
}

// `shared` has room for what stays garbage behind the launch's bytes.
void Run(const Launch& launch, int index, char* shared, int room,
         const std::function<void()>& thread) {
  RunningBlock run;
  block = &run;
  run.thread = &thread;
  run.launch = launch;
  run.index = index;
  run.shared = shared;
  run.fibers.resize(launch.threads);
  run.warps.resize((launch.threads + 31) / 32);
  std::memset(shared, kGarbage, room);
  for (int left = launch.threads; left > 0;) {
    const int64_t before = run.progress;
    for (run.running = 0; run.running < launch.threads; ++run.running) {
      Fiber& fiber = run.fibers[run.running];
      if (fiber.done) continue;
      if (fiber.started) {
        Switch(&run.scheduler, &fiber.place);
      } else {
        Start(&fiber);
      }
      if (fiber.done) --left;
    }
    if (run.progress == before) Fail("all threads wait");
  }
  for (int i = launch.shared_bytes; i < room; ++i) {
    if (shared[i] != kGarbage) Fail("a write behind shared memory");
  }
  block = nullptr;
}

}  // namespace

void RunGrid(const Launch& launch, char* (*shared)(), const std::function<void()>& thread) {
  if (launch.shared_bytes > kSharedLimit) Fail("too much shared memory");
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  const int hosts = launch.cooperative ? launch.blocks : std::min(launch.blocks, processors);
  const int room = std::min(launch.shared_bytes + 1024, kSharedLimit);
  std::atomic<int> next{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < hosts; ++i) {
    threads.emplace_back([&] {
      for (int index = next++; index < launch.blocks; index = next++) {
        Run(launch, index, shared(), room, thread);
      }
    });
  }
}

void RunBlock(int threads, int shared_bytes, const std::function<void(char*)>& thread) {
  const int room = shared_bytes + 1024;
  const std::unique_ptr<char, void (*)(void*)> memory(
      static_cast<char*>(
          std::aligned_alloc(kAlignment, (room + kAlignment - 1) / kAlignment * kAlignment)),
      std::free);
  char* const shared = memory.get();
  Run({.threads = threads, .shared_bytes = shared_bytes}, 0, shared, room, [&] { thread(shared); });
}

int Thread() { return block->running; }
int Block() { return block->index; }
const Launch& Grid() { return block->launch; }
void WaitForBlock() { Wait(&block->barrier, block->launch.threads); }
void WaitForWarp() { Wait(&block->warps[Thread() / 32].barrier, 32); }
void LetOthersRun() {
  ++block->progress;
  std::this_thread::yield();
  Yield();
}
char* WarpSlot(int lane) { return block->warps[Thread() / 32].slots[lane]; }

uint32_t SharedOffset(const void* shared) {
  return static_cast<uint32_t>(static_cast<const char*>(shared) - block->shared);
}
char* Shared(uint32_t offset, int bytes) {
  if (offset % bytes != 0) Fail("misaligned access to shared memory");
  if (offset + bytes > static_cast<uint32_t>(block->launch.shared_bytes)) {
    Fail("outside of shared memory");
  }
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
