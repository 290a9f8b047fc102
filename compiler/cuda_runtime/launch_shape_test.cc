#include "compiler/cuda_runtime/launch_shape.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace intent::gpu {
namespace {

using execute::v1::RunError;
using testing::ElementsAre;
using testing::HasSubstr;

// A program that gives a constant, and one that gives the extent of parameter 0.
std::string Constant(int64_t value) {
  return absl::StrCat("{ instructions { opcode: OPCODE_CONSTANT value: ", value, " } }");
}
constexpr char kExtent[] = "{ instructions { opcode: OPCODE_EXTENT } }";

// A matrix, a scalar and a vector; then variants.
compile::v1::Manifest ManifestWith(const std::string& variants) {
  compile::v1::Manifest manifest;
  const std::string text = absl::StrCat(R"pb(
                                          symbol_count: 2
                                          parameters {
                                            view {
                                              dtype: "f32"
                                              axes { symbol: 0 }
                                              axes { symbol: 1 }
                                            }
                                          }
                                          parameters { scalar { dtype: "i8" } }
                                          parameters {
                                            view {
                                              dtype: "i64"
                                              axes { symbol: 1 }
                                            }
                                          }
                                        )pb",
                                        variants);
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &manifest)) << text;
  return manifest;
}

// A 6 x 4 matrix that runs backwards along axis 0, the scalar -3, a vector of 4.
BoundCall Call(const compile::v1::Manifest& manifest) {
  execute::v1::ExecuteRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        arguments {
          view {
            allocation: 0
            offset: 20
            extents: [ 6, 4 ]
            strides: [ -4, 1 ]
          }
        }
        arguments { scalar_bits: 0xfd }
        arguments { view { allocation: 1 extents: 4 strides: 2 } }
      )pb",
      &request));
  auto bound =
      Bind(manifest,
           {{0, reinterpret_cast<char*>(0x10000), 96}, {1, reinterpret_cast<char*>(0x20000), 64}},
           request.arguments());
  if (const auto* error = std::get_if<RunError>(&bound)) {
    ADD_FAILURE() << error->DebugString();
    return {};
  }
  return std::get<BoundCall>(std::move(bound));
}

std::string Variant(const std::string& grid, const std::string& rest = "") {
  return absl::StrCat("variants { entry_symbol: 'k' grid ", grid, " grid ", Constant(1), " grid ",
                      Constant(1), " block ", Constant(128), " block ", Constant(1), " block ",
                      Constant(1), " ", rest, " }");
}

LaunchShape Good(const std::string& variants) {
  const compile::v1::Manifest manifest = ManifestWith(variants);
  const BoundCall call = Call(manifest);
  auto shape = ShapeLaunch(manifest, call);
  if (const auto* error = std::get_if<RunError>(&shape)) {
    ADD_FAILURE() << error->DebugString();
    return {};
  }
  return std::get<LaunchShape>(shape);
}

RunError Bad(const std::string& variants) {
  const compile::v1::Manifest manifest = ManifestWith(variants);
  const BoundCall call = Call(manifest);
  auto shape = ShapeLaunch(manifest, call);
  if (std::holds_alternative<LaunchShape>(shape)) {
    ADD_FAILURE() << "launchable: " << variants;
    return {};
  }
  return std::get<RunError>(shape);
}

TEST(LaunchShape, ProgramsSeeShapesStridesAndScalars) {
  const LaunchShape shape = Good(Variant(
      kExtent, absl::StrCat("shared_bytes { instructions { opcode: OPCODE_SYMBOL index: 1 } } "
                            "scratch_bytes { instructions { opcode: OPCODE_EXTENT index: 2 } } "
                            // stride 0 of the matrix times the scalar: -4 * -3
                            "block_scratch_bytes { instructions { opcode: OPCODE_STRIDE } "
                            "instructions { opcode: OPCODE_SCALAR index: 1 } "
                            "instructions { opcode: OPCODE_MUL } }")));
  EXPECT_THAT(shape.grid, ElementsAre(6, 1, 1));
  EXPECT_THAT(shape.block, ElementsAre(128, 1, 1));
  EXPECT_EQ(shape.shared_bytes, 4);
  EXPECT_EQ(shape.scratch_bytes, 256);
  EXPECT_EQ(shape.block_scratch_bytes, 256);
  EXPECT_EQ(shape.AllScratchBytes(), 256 + 6 * 256);
}

TEST(LaunchShape, TheFirstVariantWhoseGuardHoldsIsTaken) {
  const std::string never = "guard " + Constant(0), always = "guard " + Constant(7);
  // Undefined guards do not hold.
  const std::string undefined =
      "guard { instructions { opcode: OPCODE_EXTENT index: 1 } instructions { opcode: OPCODE_ADD } "
      "}";
  EXPECT_EQ(Good(Variant(kExtent, never) + Variant(kExtent, undefined) + Variant(kExtent, always) +
                 Variant(kExtent))
                .variant,
            2);
  EXPECT_EQ(Good(Variant(kExtent, never) + Variant(kExtent)).variant, 1);
  EXPECT_THAT(Bad(Variant(kExtent, never)).message(), HasSubstr("no variant"));
}

TEST(LaunchShape, AGridHasAtLeastOneBlockAndNoMoreThanALaunchCarries) {
  EXPECT_EQ(Good(Variant(Constant(0))).grid[0], 1);
  EXPECT_EQ(Good(Variant(Constant(-5))).grid[0], 1);
  EXPECT_EQ(Good(Variant(Constant(int64_t{1} << 40))).grid[0], 0x7fffffffu);
}

TEST(LaunchShape, WhatNoDeviceHasIsRefused) {
  EXPECT_EQ(Bad(Variant("{ }")).kind(), RunError::KIND_BAD_SHAPE);
  EXPECT_EQ(Bad(Variant(kExtent, "shared_bytes " + Constant(-1))).kind(), RunError::KIND_BAD_SHAPE);
  EXPECT_EQ(Bad(Variant(kExtent, "scratch_bytes " + Constant(-1))).kind(),
            RunError::KIND_NO_MEMORY);
  // The kernel finds that it has none, and says which operation asks for so much.
  EXPECT_EQ(Good(Variant(kExtent, "scratch_bytes " + Constant(int64_t{1} << 50))).scratch_bytes, 0);
  std::string wide = Variant(kExtent);
  wide.replace(wide.find("128"), 3, "2048");
  EXPECT_THAT(Bad(wide).message(), HasSubstr("block is 2048"));
}

TEST(LaunchShape, WordsAreTheViewsThenTheScalarsThenRoomForTheLauncher) {
  const compile::v1::Manifest manifest = ManifestWith(Variant(kExtent));
  const BoundCall call = Call(manifest);
  EXPECT_THAT(LaunchWords(call), ElementsAre(0x10000 + 80, 6, 4, static_cast<uint64_t>(-4), 1,
                                             static_cast<uint64_t>(-80), 16,  // the matrix
                                             0x20000, 4, 2, 0, 56,            // the vector
                                             0xfd,                            // the scalar
                                             0, 0, 0, 0, 0, 0));
}

}  // namespace
}  // namespace intent::gpu
