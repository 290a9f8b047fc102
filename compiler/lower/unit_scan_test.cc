// Scans on units of threads: how they are shared among tasks. That prefixes are right is for
// tests/conformance/run/scans.kir to say.

#include <gtest/gtest.h>

#include <vector>

#include "compiler/driver/intent_call.h"
#include "compiler/ir/parse.h"
#include "compiler/lower/lower.h"
#include "compiler/specialize/specialize.h"
#include "compiler/tile/interp_observer.h"
#include "compiler/tile/tile_interp.h"

namespace intent::lower {
namespace {

class TaskCounter : public tile::InterpObserver {
 public:
  int tasks = 0;

  void BeginTask(const tile::Op&) override { ++tasks; }
  void Reach(const tile::Op&) override {}
  void Access(const tile::Op&, int32_t, int32_t, const char*, int64_t) override {}
  void Allocate(const tile::Op&, const char*, int64_t) override {}
  void EndIteration(const tile::Op&) override {}
  void Joined(const tile::Op&) override {}
};

// Tasks of a running sum down each column, and of the store of its result.
int TasksOfColumnSums(int64_t rows, int64_t columns) {
  const ParsedModule parsed =
      ParseModule(R"(kernel (%0: view<in, f32, [s0, s1]>, %1: view<out, f32, [s0, s1]>) {
  %x = view_load %0 [:, :] : tensor<f32, [s0, s1]>
  %zero = constant 0.0 : f32
  %s = scan %x, %zero axis 0 inclusive combine add : tensor<f32, [s0, s1]>
  view_store %1 [:, :] = %s
  return
}
)");
  EXPECT_TRUE(parsed.ok());
  EXPECT_TRUE(Specialize(parsed.module.get(), {}).empty());
  LowerOptions options;
  options.block_threads = 64;
  options.vector_bits = 32;
  const Lowered lowered = LowerToTiles(*parsed.module, options);
  std::vector<float> in(static_cast<size_t>(rows * columns), 1), out(in.size());
  const int64_t extents[] = {rows, columns}, strides[] = {columns, 1};
  const auto bytes = static_cast<int64_t>(in.size() * sizeof(float));
  const intent_view views[] = {{in.data(), extents, strides, 0, bytes},
                               {out.data(), extents, strides, 0, bytes}};
  intent_error error = {};
  const intent_call call = {views, nullptr, nullptr, nullptr, &error};
  TaskCounter counter;
  EXPECT_EQ(tile::Interpret(*lowered.program, &call, &counter), INTENT_OK);
  EXPECT_EQ(out.back(), static_cast<float>(rows));
  return counter.tasks;
}

TEST(UnitScanTest, ATaskHasColumnsForAllItsLanes) {
  // Stores take 4096 elements a task: 64 rows here.
  EXPECT_EQ(TasksOfColumnSums(4096, 64), 1 + 64);
  EXPECT_EQ(TasksOfColumnSums(64, 65), 2 + 1);
}

}  // namespace
}  // namespace intent::lower
