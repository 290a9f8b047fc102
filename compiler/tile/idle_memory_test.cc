#include "compiler/tile/idle_memory.h"

#include <gtest/gtest.h>

#include "compiler/tile/print.h"
#include "compiler/tile/tile_builder.h"
#include "compiler/tile/verify_tile.h"

namespace intent::tile {
namespace {

int CountOf(const Block& block, OpKind kind) {
  int count = 0;
  for (const Op* op : block.ops) {
    count += op->kind == kind ? 1 : 0;
    for (const auto& region : op->regions) count += CountOf(*region, kind);
  }
  return count;
}

// A task over two views and an allocation.
struct Task {
  explicit Task(const std::function<void(TileBuilder&, Id x, Id y, Id memory)>& body) {
    program.views = {{DType::kF32, 1, true, false}, {DType::kF32, 1, false, true}};
    TileBuilder b(&program);
    const Id zero = b.Index(0), memory = b.Alloc(DType::kF32, b.Index(64));
    b.Parallel(zero, b.Index(1), b.Index(1),
               [&](Id, Id) { body(b, b.ViewBase(0), b.ViewBase(1), memory); });
  }
  int Fences() {
    RemoveIdleFences(&program);
    EXPECT_TRUE(VerifyTile(program).ok()) << Print(program);
    return CountOf(program.body, OpKind::kFence);
  }
  Program program;
};

TEST(RemoveUnreadMemory, TakesStoresAlongAndLeavesWhatIsRead) {
  Task task([](TileBuilder& b, Id x, Id y, Id memory) {
    const Id zero = b.Index(0), value = b.Load(x, zero, 1, zero);
    b.Store(memory, zero, value, zero);
    const Id other = b.Alloc(DType::kF32, b.Index(8));
    b.Store(other, zero, value, zero);
    b.Store(y, zero, b.Load(other, zero, 1, zero), zero);
  });
  RemoveUnreadMemory(&task.program);
  EXPECT_TRUE(VerifyTile(task.program).ok()) << Print(task.program);
  EXPECT_EQ(CountOf(task.program.body, OpKind::kAlloc), 1);
  EXPECT_EQ(CountOf(task.program.body, OpKind::kStore), 2);
}

TEST(RemoveIdleFences, BetweenReadsOnly) {
  Task task([](TileBuilder& b, Id x, Id, Id) {
    const Id zero = b.Index(0);
    b.Fence();
    b.Load(x, zero, 64, b.Index(1));
    b.Fence();
    b.Load(x, zero, 64, b.Index(2));
    b.Fence();
  });
  EXPECT_EQ(task.Fences(), 0);
}

TEST(RemoveIdleFences, AWriteAfterAReadKeepsOne) {
  Task task([](TileBuilder& b, Id x, Id y, Id) {
    const Id zero = b.Index(0), value = b.Load(x, zero, 64, b.Index(1));
    b.Fence();
    b.Load(x, zero, 64, b.Index(2));
    b.Fence();
    b.Store(y, zero, value, b.Index(1));
    b.Fence();
  });
  EXPECT_EQ(task.Fences(), 1);
}

TEST(RemoveIdleFences, AReadAfterAWriteKeepsItsFence) {
  Task task([](TileBuilder& b, Id x, Id, Id memory) {
    const Id zero = b.Index(0), value = b.Load(x, zero, 64, b.Index(1));
    b.Store(memory, zero, value, b.Index(1));
    b.Fence();
    b.Load(x, zero, 64, b.Index(1));
    b.Fence();
    b.Load(memory, zero, 64, b.Index(1));
  });
  EXPECT_EQ(task.Fences(), 1);
}

TEST(RemoveIdleFences, ALoopReadsWhatItsLastIterationWrote) {
  Task task([](TileBuilder& b, Id x, Id, Id memory) {
    const Id zero = b.Index(0), value = b.Load(x, zero, 64, b.Index(1));
    b.For(zero, b.Index(4), b.Index(1), {}, [&](const std::vector<Id>&) {
      b.Fence();
      b.Load(memory, zero, 64, b.Index(1));
      b.Fence();
      b.Store(memory, zero, value, b.Index(1));
      return std::vector<Id>{};
    });
  });
  EXPECT_EQ(task.Fences(), 2);
}

}  // namespace
}  // namespace intent::tile
