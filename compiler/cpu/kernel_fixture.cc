#include "compiler/cpu/kernel_fixture.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "compiler/cpu/link_shared_object.h"
#include "compiler/ir/dtype.h"
#include "compiler/tile/parse.h"
#include "compiler/tile/tile_interp.h"
#include "compiler/tile/verify_tile.h"

namespace intent::cpu {
namespace {

std::atomic<int64_t> arena_bytes{0};

// Blocks rather than one bump region: an out-of-bounds access meets the allocator's own checks.
struct Arena {
  std::vector<std::pair<std::unique_ptr<char[]>, int64_t>> blocks;
};

void* Allocate(void* arena, int64_t bytes);
int64_t Mark(void* arena);
void Release(void* arena, int64_t mark);
void* ThreadArena(const intent_call*) {
  thread_local Arena arena;
  return &arena;
}
Arena* ArenaOf(void* arena) {
  return static_cast<Arena*>(arena != nullptr ? arena : ThreadArena(nullptr));
}
void* Allocate(void* arena, int64_t bytes) {
  if (bytes > (int64_t{1} << 28)) return nullptr;
  auto block = std::make_unique<char[]>(static_cast<size_t>(bytes + 64));
  char* memory = block.get();
  memory += (64 - reinterpret_cast<uintptr_t>(memory) % 64) % 64;
  ArenaOf(arena)->blocks.emplace_back(std::move(block), bytes);
  arena_bytes += bytes;
  return memory;
}
int64_t Mark(void* arena) { return static_cast<int64_t>(ArenaOf(arena)->blocks.size()); }
void Release(void* arena, int64_t mark) {
  auto& blocks = ArenaOf(arena)->blocks;
  while (static_cast<int64_t>(blocks.size()) > mark) {
    arena_bytes -= blocks.back().second;
    blocks.pop_back();
  }
}

int32_t SerialFor(const intent_call* call, intent_task task, void* context, int64_t begin,
                  int64_t end, int64_t) {
  return task(context, call, ThreadArena(call), begin, end);
}

int32_t ThreadedFor(const intent_call* call, intent_task task, void* context, int64_t begin,
                    int64_t end, int64_t grain) {
  std::vector<std::thread> threads;
  std::atomic<int32_t> status{0};
  int64_t size = std::max<int64_t>(grain, 1);
  for (int64_t at = begin; at < end;) {
    const int64_t next = std::min(end, at + size);
    threads.emplace_back([=, &status] {
      const int32_t result = task(context, call, ThreadArena(call), at, next);
      int32_t none = 0;
      if (result != 0) status.compare_exchange_strong(none, result);
    });
    at = next;
    size += grain;
  }
  for (std::thread& thread : threads) thread.join();
  return status;
}

// The call's structures over copies of the arguments.
struct Call {
  Call(const tile::Program& program, const std::vector<ViewArgument>& arguments,
       const std::vector<uint64_t>& scalars, const intent_runtime& runtime, int32_t cancel)
      : arguments(arguments), scalars(scalars), cancel(cancel) {
    EXPECT_EQ(program.views.size(), arguments.size());
    EXPECT_EQ(program.scalars.size(), scalars.size());
    for (size_t i = 0; i < arguments.size(); ++i) {
      ViewArgument& argument = this->arguments[i];
      const int64_t size = StorageBytes(program.views[i].dtype);
      int64_t low = 0, high = 0;
      bool empty = false;
      for (size_t axis = 0; axis < argument.extents.size(); ++axis) {
        const int64_t reach = (argument.extents[axis] - 1) * argument.strides[axis] * size;
        empty = empty || argument.extents[axis] == 0;
        (reach < 0 ? low : high) += reach;
      }
      views.push_back({argument.allocation.data() + argument.offset * size, argument.extents.data(),
                       argument.strides.data(), empty ? 0 : low, empty ? 0 : high + size});
    }
    call = {views.data(), this->scalars.data(), &runtime, &this->cancel, &error};
  }

  Outcome Finish(int32_t status) {
    Outcome outcome{status, error, {}};
    for (ViewArgument& argument : arguments) {
      outcome.allocations.push_back(std::move(argument.allocation));
    }
    return outcome;
  }

  std::vector<ViewArgument> arguments;
  std::vector<uint64_t> scalars;
  volatile int32_t cancel;
  std::vector<intent_view> views;
  intent_error error = {};
  intent_call call = {};
};

}  // namespace

const intent_runtime& SerialRuntime() {
  static const intent_runtime kRuntime = {SerialFor, Allocate, Mark, Release, ThreadArena};
  return kRuntime;
}
const intent_runtime& ThreadedRuntime() {
  static const intent_runtime kRuntime = {ThreadedFor, Allocate, Mark, Release, ThreadArena};
  return kRuntime;
}
int64_t ArenaBytesInUse() { return arena_bytes; }

ViewArgument Contiguous(std::vector<uint8_t> bytes, int element_bytes) {
  const int64_t count = static_cast<int64_t>(bytes.size()) / element_bytes;
  return {std::move(bytes), 0, {count}, {1}};
}

std::unique_ptr<tile::Program> ParseOrDie(const std::string& text) {
  auto program = tile::Parse(text);
  if (!program.ok()) {
    ADD_FAILURE() << program.status() << "\n" << text;
    return std::make_unique<tile::Program>();
  }
  const absl::Status verified = tile::VerifyTile(**program);
  EXPECT_TRUE(verified.ok()) << verified << "\n" << text;
  return *std::move(program);
}

Outcome RunInterpreted(const tile::Program& program, const std::vector<ViewArgument>& views,
                       const std::vector<uint64_t>& scalars, int32_t cancel) {
  Call call(program, views, scalars, SerialRuntime(), cancel);
  return call.Finish(tile::Interpret(program, &call.call));
}

Outcome RunCompiled(const tile::Program& program, const std::vector<ViewArgument>& views,
                    const std::vector<uint64_t>& scalars, const std::string& target, int opt_level,
                    const intent_runtime& runtime, int32_t cancel) {
  EmitOptions options;
  options.opt_level = opt_level;
  const auto object = EmitObject(program, *ParseTarget(target), options);
  EXPECT_TRUE(object.ok()) << object.status();
  if (!object.ok()) return {};
  const auto kernel = LinkAndLoad(*object);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  if (!kernel.ok()) return {};
  Call call(program, views, scalars, runtime, cancel);
  return call.Finish((*kernel)->entry()(&call.call));
}

absl::StatusOr<std::unique_ptr<LoadedKernel>> LinkAndLoad(const CpuObject& object) {
  const auto linked = LinkSharedObject(object.object, HostTarget(), object.entry_symbol);
  if (!linked.ok()) return linked.status();
  return LoadSharedObject(*linked, object.entry_symbol);
}

std::vector<std::string> RunnableTargets() {
  std::vector<std::string> targets;
  for (const char* name : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"}) {
    if (MissingOnHost(*ParseTarget(name)).empty()) targets.emplace_back(name);
  }
  return targets;
}

void ExpectSame(const std::string& text, const std::vector<ViewArgument>& views,
                const std::vector<uint64_t>& scalars) {
  const auto program = ParseOrDie(text);
  if (testing::Test::HasFailure()) return;
  const Outcome expected = RunInterpreted(*program, views, scalars);
  for (const std::string& target : RunnableTargets()) {
    for (int level : {0, 2}) {
      const Outcome got = RunCompiled(*program, views, scalars, target, level);
      EXPECT_EQ(got.status, expected.status) << target << " level " << level << "\n" << text;
      EXPECT_EQ(got.error.ordinal, expected.error.ordinal);
      EXPECT_EQ(got.error.value, expected.error.value);
      for (size_t i = 0; i < views.size() && i < got.allocations.size(); ++i) {
        size_t at = 0;
        const auto &a = got.allocations[i], &b = expected.allocations[i];
        while (at < a.size() && a[at] == b[at]) ++at;
        EXPECT_EQ(at, a.size()) << "view " << i << " differs at byte " << at << " on " << target
                                << " level " << level << "\n"
                                << text;
      }
      EXPECT_EQ(ArenaBytesInUse(), 0);
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace intent::cpu
