// The device library against NVRTC: every header alone, and every function that a tile program can
// ask for, on every dtype.

#include "compiler/cuda/device_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/cuda/device_sweep.h"
#include "compiler/cuda/nvrtc_fixture.h"

namespace intent::cuda {
namespace {

constexpr const char* kArchitectures[] = {"sm_80", "sm_90a"};

void ExpectCompiles(const std::string& source, const char* architecture,
                    std::string* ptx = nullptr) {
  const Nvrtc* nvrtc = NvrtcForTests();
  if (nvrtc == nullptr) GTEST_SKIP() << "no libnvrtc on this machine";
  const auto result = nvrtc->Compile(
      {.source = source, .headers = DeviceLibrary(), .architecture = architecture, .quick = true});
  ASSERT_TRUE(result.ok()) << architecture << ": " << result.status();
  const size_t warning = result->log.find("warning");
  EXPECT_EQ(warning, std::string::npos) << architecture << ": " << result->log.substr(0, 1000);
  if (ptx != nullptr) *ptx = result->ptx;
}

TEST(DeviceLibrary, HeadersAreNamedAndDigested) {
  std::string_view last;
  for (const DeviceHeader& header : DeviceLibrary()) {
    EXPECT_THAT(std::string(header.name), testing::StartsWith("intent/"));
    EXPECT_LT(last, header.name);
    EXPECT_FALSE(header.text.empty()) << header.name;
    EXPECT_EQ(header.text.find("#include <"), std::string_view::npos) << header.name;
    last = header.name;
  }
  EXPECT_EQ(DeviceLibraryDigest().size(), 64u);
}

// ... and leaves nothing in a module that does not use it.
TEST(DeviceLibrary, EveryHeaderStandsAlone) {
  for (const DeviceHeader& header : DeviceLibrary()) {
    if (!header.name.ends_with(".cuh")) continue;
    for (const char* architecture : kArchitectures) {
      std::string ptx;
      ExpectCompiles("#include \"" + std::string(header.name) + "\"\n", architecture, &ptx);
      for (const char* definition : {".global", ".const", ".func", ".entry"}) {
        EXPECT_EQ(ptx.find(definition), std::string::npos) << header.name << ":\n" << ptx;
      }
    }
  }
}

// Every atomic on an integer, with every order that it may have.
std::string Atomics(DType dtype) {
  std::string text = "#include \"intent/atomics.cuh\"\nusing namespace intent;\n";
  const std::string type(DTypeName(dtype));
  int number = 0;
  const auto kernel = [&](const std::string& function, const char* order,
                          const std::string& arguments, bool gives) {
    for (const char* scope : {"block", "device"}) {
      text += "extern \"C\" __global__ void k" + std::to_string(number++) + "(" + type + "* p, " +
              type + " a, " + type + " b, " + type + "* out) { " + (gives ? "*out = " : "") +
              function + "<Order::" + order + ", Scope::" + scope + ">(p" + arguments + "); }\n";
    }
  };
  for (const char* order : {"relaxed", "acquire"}) kernel("atomic_load", order, "", true);
  for (const char* order : {"relaxed", "release"}) kernel("atomic_store", order, ", a", false);
  for (const char* order : {"relaxed", "acquire", "release", "acq_rel"}) {
    kernel("atomic_cas", order, ", a, b", true);
    for (const char* kind : {"exchange", "add", "max", "min", "and", "or", "xor"}) {
      kernel("atomic_rmw_" + std::string(kind), order, ", a", true);
    }
  }
  return text;
}

TEST(DeviceLibrary, EveryAtomicCompiles) {
  for (DType dtype : {DType::kIndex, DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8,
                      DType::kU16, DType::kU32, DType::kU64}) {
    for (const char* architecture : kArchitectures) ExpectCompiles(Atomics(dtype), architecture);
  }
}

class DeviceFunctions : public testing::TestWithParam<DType> {};

TEST_P(DeviceFunctions, AllCompile) {
  const std::string source = DeviceSweepSource(DeviceFunctionsOf(GetParam()));
  for (const char* architecture : kArchitectures) ExpectCompiles(source, architecture);
}

constexpr DType kDTypes[] = {
#define INTENT_DTYPE(name, text, bits, bytes, cls) DType::name,
#include "compiler/ir/dtypes.def"
#undef INTENT_DTYPE
};
INSTANTIATE_TEST_SUITE_P(Of, DeviceFunctions, testing::ValuesIn(kDTypes),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

}  // namespace
}  // namespace intent::cuda
