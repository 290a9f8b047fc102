#include "compiler/cuda_runtime/cuda_kernel.h"

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/support/fake_cuda/load_fake_cuda.h"

namespace intent::gpu {
namespace {

using execute::v1::RunError;
using testing::HasSubstr;

constexpr char kCubin[] = "fake cubin";

std::string Constant(int64_t value) {
  return absl::StrCat("{ instructions { opcode: OPCODE_CONSTANT value: ", value, " } }");
}

// A kernel of the fake on `views` vectors of one length.
compile::v1::Manifest ManifestOf(const std::string& entry, const std::string& dtype, int views,
                                 int64_t blocks, const std::string& rest = "") {
  std::string text = "target: 'sm_90a' symbol_count: 1 ";
  for (int i = 0; i < views; ++i) {
    absl::StrAppend(&text, "parameters { view { dtype: '", dtype,
                    "' access: ACCESS_INOUT axes { symbol: 0 } } } ");
  }
  absl::StrAppend(&text, "variants { entry_symbol: '", entry, "' grid ", Constant(blocks), " grid ",
                  Constant(1), " grid ", Constant(1), " block ", Constant(64), " block ",
                  Constant(1), " block ", Constant(1), " ", rest, " }");
  compile::v1::Manifest manifest;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &manifest)) << text;
  return manifest;
}

class CudaKernelTest : public testing::Test {
 protected:
  CudaKernelTest() {
    LoadFakeCuda();
    context_ = DeviceContext::Get(0).value();
    current_.emplace(*context_);
  }

  const Driver& driver() { return context_->driver(); }

  // `count` elements of the device.
  template <typename T>
  T* Vector(int64_t count) {
    DevicePointer pointer = 0;
    EXPECT_EQ(driver().MemAlloc(&pointer, count * sizeof(T)), kSuccess);
    vectors_.push_back(pointer);
    std::memset(reinterpret_cast<void*>(pointer), 0, count * sizeof(T));
    return reinterpret_cast<T*>(pointer);
  }

  std::unique_ptr<CudaKernel> Load(compile::v1::Manifest manifest) {
    return CudaKernel::Load(context_, std::move(manifest), kCubin).value();
  }

  template <typename T>
  PreparedLaunch Prepare(CudaKernel& kernel, const std::vector<T*>& vectors, int64_t count) {
    auto prepared = TryPrepare(kernel, vectors, count);
    EXPECT_TRUE(prepared.ok()) << prepared.status();
    return std::get<PreparedLaunch>(*std::move(prepared));
  }

  template <typename T>
  absl::StatusOr<std::variant<PreparedLaunch, RunError>> TryPrepare(CudaKernel& kernel,
                                                                    const std::vector<T*>& vectors,
                                                                    int64_t count) {
    std::vector<BoundAllocation> allocations;
    google::protobuf::RepeatedPtrField<execute::v1::Argument> arguments;
    for (size_t i = 0; i < vectors.size(); ++i) {
      allocations.push_back({static_cast<uint32_t>(i), reinterpret_cast<char*>(vectors[i]),
                             static_cast<uint64_t>(count) * sizeof(T)});
      execute::v1::View& view = *arguments.Add()->mutable_view();
      view.set_allocation(static_cast<uint32_t>(i));
      view.add_extents(count);
      view.add_strides(1);
    }
    return kernel.Prepare(std::get<BoundCall>(Bind(kernel.manifest(), allocations, arguments)));
  }

  // Launches and waits.
  void Run(CudaKernel& kernel, const PreparedLaunch& prepared, Stream stream = nullptr) {
    ASSERT_EQ(kernel.Launch(prepared, stream), absl::OkStatus());
    ASSERT_EQ(driver().StreamSynchronize(stream), kSuccess);
  }

  Stream MakeStream() {
    Stream stream = nullptr;
    EXPECT_EQ(driver().StreamCreate(&stream, kNonBlockingStream), kSuccess);
    return stream;
  }

  std::shared_ptr<DeviceContext> context_;
  std::optional<DeviceContext::Current> current_;
  std::vector<DevicePointer> vectors_;
};

TEST_F(CudaKernelTest, ALaunchComputesWithoutWaiting) {
  const auto kernel = Load(ManifestOf("add_one", "f32", 2, 1));
  float *x = Vector<float>(100), *y = Vector<float>(100);
  for (int i = 0; i < 100; ++i) x[i] = static_cast<float>(i);
  const PreparedLaunch prepared = Prepare<float>(*kernel, {x, y}, 100);
  const size_t waits = FakeCudaStatistics().waits;
  ASSERT_EQ(kernel->Launch(prepared, nullptr), absl::OkStatus());
  EXPECT_FALSE(kernel->HasError());
  EXPECT_EQ(y[99], 0.0f) << "it ran at once: the fake should not";
  EXPECT_EQ(FakeCudaStatistics().waits, waits);
  ASSERT_EQ(context_->Synchronize(), absl::OkStatus());
  EXPECT_EQ(y[99], 100.0f);
}

TEST_F(CudaKernelTest, AnErrorStaysUntilItIsTakenAndDoesNotEndTheContext) {
  const auto kernel = Load(ManifestOf("out_of_bounds", "f32", 2, 1));
  float* x = Vector<float>(10);
  const PreparedLaunch prepared = Prepare<float>(*kernel, {x, x}, 10);
  EXPECT_EQ(kernel->TakeError().value(), std::nullopt);
  Run(*kernel, prepared);
  Run(*kernel, prepared);
  ASSERT_TRUE(kernel->HasError());
  const RunError error = kernel->TakeError().value().value();
  EXPECT_EQ(error.kind(), RunError::KIND_OUT_OF_BOUNDS);
  EXPECT_EQ(error.ordinal(), 3);
  EXPECT_EQ(error.parameter(), 0);
  EXPECT_EQ(error.value(), 12);
  EXPECT_EQ(error.limit(), 10);
  EXPECT_FALSE(kernel->HasError());
  EXPECT_EQ(kernel->TakeError().value(), std::nullopt);
}

TEST_F(CudaKernelTest, ErrorsBelongToTheirKernel) {
  const auto faulty = Load(ManifestOf("out_of_bounds", "f32", 2, 1));
  const auto fine = Load(ManifestOf("add_one", "f32", 2, 1));
  float* x = Vector<float>(10);
  Run(*faulty, Prepare<float>(*faulty, {x, x}, 10));
  Run(*fine, Prepare<float>(*fine, {x, x}, 10));
  EXPECT_FALSE(fine->HasError());
  EXPECT_TRUE(faulty->HasError());
}

TEST_F(CudaKernelTest, WaitingBlocksAreAsManyAsTheDeviceHolds) {
  // The fake holds 2 blocks on each of 4 multiprocessors.
  int64_t* facts = Vector<int64_t>(12);
  const auto cooperative = Load(ManifestOf("report", "i64", 1, 1000, "cooperative: true"));
  Run(*cooperative, Prepare<int64_t>(*cooperative, {facts}, 12));
  EXPECT_EQ(facts[0], 8);
  EXPECT_EQ(facts[7], 1);
  EXPECT_NE(facts[8], 0) << "no barrier";

  const auto scratch =
      Load(ManifestOf("report", "i64", 1, 1000, "block_scratch_bytes " + Constant(1000)));
  Run(*scratch, Prepare<int64_t>(*scratch, {facts}, 12));
  EXPECT_EQ(facts[0], 8);
  EXPECT_EQ(facts[7], 0);
  EXPECT_EQ(facts[9] % 256, 0);
  EXPECT_EQ(facts[10], facts[9]) << "no scratch of the launch's own";
  EXPECT_EQ(facts[11], 1024);

  const auto plain =
      Load(ManifestOf("report", "i64", 1, 1000, "shared_bytes " + Constant(100'000)));
  Run(*plain, Prepare<int64_t>(*plain, {facts}, 12));
  EXPECT_EQ(facts[0], 1000);
  EXPECT_EQ(facts[6], 100'000);
  EXPECT_EQ(facts[8], 0);
  EXPECT_EQ(facts[9], 0);
}

TEST_F(CudaKernelTest, ABarrierKeepsItsCountersAndScratchGrowsPerStream) {
  const auto run = [&](int64_t bytes, Stream stream, int64_t* facts) {
    const auto kernel =
        Load(ManifestOf("use_scratch", "i64", 1, 4,
                        absl::StrCat("cooperative: true scratch_bytes ", Constant(bytes),
                                     " block_scratch_bytes ", Constant(bytes))));
    Run(*kernel, Prepare<int64_t>(*kernel, {facts}, 2), stream);
  };
  int64_t* facts = Vector<int64_t>(2);
  const Stream first = MakeStream(), second = MakeStream();
  run(1000, first, facts);
  EXPECT_EQ(facts[0], 0);
  const size_t allocations = FakeCudaStatistics().allocations;
  run(500, first, facts);
  EXPECT_EQ(facts[0], 1);
  EXPECT_EQ(facts[1], 0x5a) << "other scratch than before";
  EXPECT_EQ(FakeCudaStatistics().allocations, allocations);
  run(64 << 20, first, facts);
  EXPECT_EQ(facts[0], 2);
  EXPECT_EQ(FakeCudaStatistics().allocations, allocations) << "the outgrown piece was not freed";
  run(1000, second, facts);
  EXPECT_EQ(facts[0], 0) << "streams share a barrier";
  EXPECT_EQ(FakeCudaStatistics().allocations, allocations + 2);

  ASSERT_EQ(context_->launch_memory().Clear(first), absl::OkStatus());
  run(500, first, facts);
  EXPECT_EQ(facts[1], 0);
}

TEST_F(CudaKernelTest, ACapturedLaunchMayNotAllocateAndKeepsWhatItSaw) {
  int64_t* facts = Vector<int64_t>(12);
  const Stream stream = MakeStream();
  const auto small = Load(ManifestOf("report", "i64", 1, 4, "scratch_bytes " + Constant(1000)));
  const auto large = Load(ManifestOf("report", "i64", 1, 4, "scratch_bytes " + Constant(64 << 20)));
  const PreparedLaunch little = Prepare<int64_t>(*small, {facts}, 12);
  const PreparedLaunch much = Prepare<int64_t>(*large, {facts}, 12);
  SetFakeCudaCapturing(true);
  EXPECT_THAT(std::string(small->Launch(little, stream).message()),
              HasSubstr("before the capture"));
  SetFakeCudaCapturing(false);
  Run(*small, little, stream);
  SetFakeCudaCapturing(true);
  EXPECT_EQ(small->Launch(little, stream), absl::OkStatus());
  EXPECT_EQ(large->Launch(much, stream).code(), absl::StatusCode::kFailedPrecondition);
  SetFakeCudaCapturing(false);
  const size_t allocations = FakeCudaStatistics().allocations;
  Run(*large, much, stream);
  EXPECT_EQ(FakeCudaStatistics().allocations, allocations + 1) << "a graph's scratch was freed";
}

TEST_F(CudaKernelTest, ADeviceWithoutRoomIsResourceExhausted) {
  const auto kernel =
      Load(ManifestOf("report", "i64", 1, 4, "scratch_bytes " + Constant(int64_t{1} << 40)));
  const PreparedLaunch prepared = Prepare<int64_t>(*kernel, {Vector<int64_t>(12)}, 12);
  EXPECT_EQ(kernel->Launch(prepared, nullptr).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(CudaKernelTest, MoreSharedMemoryThanABlockGetsIsRefusedByName) {
  const auto kernel = Load(ManifestOf("report", "i64", 1, 4, "shared_bytes " + Constant(500'000)));
  const auto prepared = TryPrepare<int64_t>(*kernel, {Vector<int64_t>(12)}, 12);
  EXPECT_THAT(std::string(prepared.status().message()),
              HasSubstr("needs 500000 bytes of shared memory"));
}

TEST_F(CudaKernelTest, WhatDoesNotFitTheDeviceIsFailedPrecondition) {
  compile::v1::Manifest other = ManifestOf("add_one", "f32", 2, 1);
  other.set_target("sm_80");
  const absl::Status wrong_target = CudaKernel::Load(context_, other, kCubin).status();
  EXPECT_EQ(wrong_target.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(wrong_target.message()), HasSubstr("for sm_80, but device 0"));
  EXPECT_EQ(CudaKernel::Load(context_, ManifestOf("add_one", "f32", 2, 1), "ELF").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(CudaKernel::Load(context_, ManifestOf("nothing", "f32", 2, 1), kCubin).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(CudaKernelTest, NothingIsLeftBehind) {
  const size_t modules = FakeCudaStatistics().modules;
  { const auto kernel = Load(ManifestOf("add_one", "f32", 2, 1)); }
  EXPECT_EQ(FakeCudaStatistics().modules, modules);
  EXPECT_EQ(DeviceContext::Get(0).value(), context_) << "one context for a device";
}

// Last: a process whose context is lost stays so.
TEST_F(CudaKernelTest, ZzAFaultIsAbortedEverAfter) {
  const auto fine = Load(ManifestOf("add_one", "f32", 2, 1));
  const auto faulty = Load(ManifestOf("illegal_address", "f32", 2, 1));
  float* x = Vector<float>(10);
  const PreparedLaunch innocent = Prepare<float>(*fine, {x, x}, 10);
  ASSERT_EQ(faulty->Launch(Prepare<float>(*faulty, {x, x}, 10), nullptr), absl::OkStatus());
  const absl::Status status = context_->Synchronize();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("illegal memory access"));
  EXPECT_EQ(fine->Launch(innocent, nullptr).code(), absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace intent::gpu
