// Addresses and coordinates are 64 bits wide wherever nothing proves that fewer do (seed 000
// chapter 2): views whose elements lie more than 2^32 apart, forwards and backwards, at every
// vector width.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "compiler/cpu/kernel_fixture.h"
#include "compiler/lower/lower.h"
#include "compiler/tile/tile_interp.h"
#include "tests/support/kernel_runner.h"

namespace intent::testing {
namespace {

constexpr int64_t kFar = (int64_t{1} << 32) + 4096 + 7;
constexpr int64_t kColumns = 70;

// Memory of which only the touched pages exist.
class Sparse {
 public:
  explicit Sparse(size_t bytes) : bytes_(bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    data_ = memory == MAP_FAILED ? nullptr : static_cast<int8_t*>(memory);
  }
  ~Sparse() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  Sparse(const Sparse&) = delete;
  int8_t* data() const { return data_; }

 private:
  size_t bytes_;
  int8_t* data_;
};

const char* const kCopy =
    "kernel (%0: view<in, i8, [s0, s1]>, %1: view<out, i8, [s0, s1]>) {\n"
    "  %x = view_load %0 [:, :] : tensor<i8, [s0, s1]>\n"
    "  %y = binary add %x, %x : tensor<i8, [s0, s1]>\n"
    "  view_store %1 [:, :] = %y\n  return\n}\n";
const char* const kGather =
    "kernel (%0: view<in, i8, [s0, s1]>, %1: view<out, i8, [s0, s1]>) {\n"
    "  %zero = constant 0 : index\n  %one = constant 1 : index\n"
    "  %m = dim %0 axis 1 : index\n  %columns = domain %zero, %m, %one : domain<[s1]>\n"
    "  %n = dim %0 axis 0 : index\n  %rows = domain %zero, %n, %one : domain<[s0]>\n"
    "  %j = indices %columns : tensor<index, [s1]>\n"
    "  parallel %i = %rows {\n"
    "    %x = view_load %0 [%i, %j] : tensor<i8, [s1]>\n"
    "    %y = binary add %x, %x : tensor<i8, [s1]>\n"
    "    view_store %1 [%i, %j] = %y\n    yield\n  }\n  return\n}\n";

class WideAddress : public ::testing::TestWithParam<bool> {};

TEST_P(WideAddress, RowsLieFurtherApartThan32BitsCount) {
  const size_t bytes = static_cast<size_t>(kFar + 4096);
  const Sparse in(bytes), out(bytes);
  if (in.data() == nullptr || out.data() == nullptr) GTEST_SKIP() << "no address space to spare";
  for (const char* text : {kCopy, kGather}) {
    std::string error;
    const auto parsed = TestKernel::Parse(text, &error);
    ASSERT_NE(parsed, nullptr) << error;
    for (int vector_bits : {0, 128, 512}) {
      lower::LowerOptions options;
      options.vector_bits = vector_bits;
      const lower::Lowered lowered = lower::LowerToTiles(parsed->module(), options);
      const auto object = cpu::EmitObject(
          *lowered.program, *ParseTarget(cpu::RunnableTargets().back()), cpu::EmitOptions());
      ASSERT_TRUE(object.ok()) << object.status();
      const auto kernel = cpu::LinkAndLoad(*object);
      ASSERT_TRUE(kernel.ok()) << kernel.status();
      // Forwards, or from the far row back to the near one.
      const bool backwards = GetParam();
      const int64_t extents[] = {2, kColumns}, strides[] = {backwards ? -kFar : kFar, 1};
      const int64_t base = backwards ? kFar : 0;
      for (bool interpreted : {false, true}) {
        for (int64_t column = 0; column < kColumns; ++column) {
          in.data()[column] = static_cast<int8_t>(column % 50);
          in.data()[kFar + column] = static_cast<int8_t>(-column % 50);
          out.data()[column] = out.data()[kFar + column] = 77;
        }
        const auto view = [&](const Sparse& memory) {
          return intent_view{memory.data() + base, extents, strides, -base,
                             static_cast<int64_t>(bytes) - base};
        };
        intent_view views[] = {view(in), view(out)};
        intent_error error = {};
        volatile int32_t cancel = 0;
        const intent_call call = {views, nullptr, &cpu::SerialRuntime(), &cancel, &error};
        const int32_t status =
            interpreted ? tile::Interpret(*lowered.program, &call) : (*kernel)->entry()(&call);
        ASSERT_EQ(status, 0);
        for (int64_t column = 0; column < kColumns; ++column) {
          ASSERT_EQ(out.data()[column], 2 * (column % 50)) << vector_bits << " " << column;
          ASSERT_EQ(out.data()[kFar + column], 2 * (-column % 50)) << vector_bits << " " << column;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Direction, WideAddress, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Backwards" : "Forwards"; });

}  // namespace
}  // namespace intent::testing
