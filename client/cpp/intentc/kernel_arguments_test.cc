// Arguments from flags: shapes follow from each other, mistakes are told in the author's names.

#include "client/cpp/intentc/kernel_arguments.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstring>

namespace intent::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// x[N, M] in, y[M] in, out[N] out, a scalar.
compile::v1::Manifest Manifest() {
  compile::v1::Manifest manifest;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    symbol_count: 2
    parameters { view { dtype: "f32" access: ACCESS_IN axes { symbol: 0 } axes { symbol: 1 } } }
    parameters { view { dtype: "i32" access: ACCESS_IN axes { symbol: 1 } } }
    parameters { view { dtype: "f32" access: ACCESS_OUT axes { symbol: 0 } } }
    parameters { scalar { dtype: "f32" } })",
                                                            &manifest));
  return manifest;
}

absl::StatusOr<KernelArguments> Make(const ArgumentFlags& flags) {
  static const compile::v1::Manifest manifest = Manifest();
  return KernelArguments::Make(manifest, {{"x", "y", "out", "scale"}, {"N", "M"}}, flags);
}

std::string Mistake(const ArgumentFlags& flags) {
  const auto made = Make(flags);
  EXPECT_FALSE(made.ok());
  return std::string(made.status().message());
}

TEST(KernelArguments, ShapesFollowFromOnesThatAreGiven) {
  auto made = Make({.values = {{"x", "random:3x5"}}});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->parameters()[1].array.shape, ElementsAre(5));
  EXPECT_THAT(made->parameters()[2].array.shape, ElementsAre(3));
}

TEST(KernelArguments, ShapesFollowFromSymbolsByName) {
  auto made = Make({.sizes = {{"N", 2}}});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->parameters()[0].array.shape, ElementsAre(2, 8));
}

TEST(KernelArguments, ParametersGoByNameOrPosition) {
  auto made = Make({.values = {{"3", "2.5"}, {"y", "7"}}});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->arguments()[3].scalar_bits(), 0x40200000u);
  int32_t first = 0;
  std::memcpy(&first, made->parameters()[1].array.data.data(), sizeof(first));
  EXPECT_EQ(first, 7);
}

TEST(KernelArguments, OutputsStartAtZeroAndComeBack) {
  auto made = Make({});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->parameters()[2].array.data, std::string(8 * 4, '\0'));
  const auto allocations = made->Allocations();
  ASSERT_EQ(allocations.size(), 3u);
  EXPECT_FALSE(allocations[0].returned);
  EXPECT_TRUE(allocations[2].returned);
}

TEST(KernelArguments, RandomIsTheSameForTheSameSeedOnly) {
  const auto bytes = [](const char* spec) {
    return Make({.values = {{"x", spec}}})->parameters()[0].array.data;
  };
  EXPECT_EQ(bytes("random:2x2:1"), bytes("random:2x2:1"));
  EXPECT_NE(bytes("random:2x2:1"), bytes("random:2x2:2"));
}

TEST(KernelArguments, DisagreeingShapesNameBothSides) {
  EXPECT_EQ(Mistake({.values = {{"x", "random:3x5"}, {"y", "zeros:4"}}}),
            "y: axis 0 has extent 4, but M is 5, as x says");
  EXPECT_EQ(Mistake({.values = {{"x", "random:3x5"}}, .sizes = {{"N", 2}}}),
            "x: axis 0 has extent 3, but N is 2, as --size says");
}

TEST(KernelArguments, MistakesNameWhatThereIs) {
  EXPECT_EQ(Mistake({.values = {{"z", "1"}}}),
            "there is no parameter z; there are: x, y, out, scale");
  EXPECT_EQ(Mistake({.sizes = {{"K", 1}}}), "there is no symbol K; there are: N, M");
  EXPECT_EQ(Mistake({.values = {{"x", "random:3"}}}), "x: its rank is 2, not 1");
  EXPECT_THAT(Mistake({.values = {{"x", "random:3x3"}, {"0", "zeros"}}}), HasSubstr("x is given"));
  EXPECT_THAT(Mistake({.values = {{"scale", "x.npy"}}}), HasSubstr("scale: a scalar is given"));
  EXPECT_THAT(Mistake({.values = {{"scale", "one"}}}), HasSubstr("'one' is no f32"));
  EXPECT_THAT(Mistake({.values = {{"x", "1,5"}}}), HasSubstr("'1,5' is no f32, file.npy"));
  EXPECT_THAT(Mistake({.values = {{"x", "zeros:1000000x1000000"}}}), HasSubstr("too large"));
}

}  // namespace
}  // namespace intent::client
