#include "compiler/runtime/bind_arguments.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace intent {
namespace {

using compile::v1::Manifest;
using execute::v1::Argument;
using execute::v1::ExecuteRequest;
using execute::v1::RunError;

constexpr char kTwoVectorsAndAnInteger[] = R"pb(
  symbol_count: 1
  parameters {
    view {
      dtype: "f32"
      axes { symbol: 0 }
    }
  }
  parameters {
    view {
      dtype: "f32"
      access: ACCESS_OUT
      axes { symbol: 0 }
    }
  }
  parameters { scalar { dtype: "i8" } }
)pb";

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

class BindTest : public testing::Test {
 protected:
  // Allocation 0 has 64 bytes, allocation 1 has 40.
  std::variant<BoundCall, RunError> TryBind(const std::string& manifest,
                                            const std::string& arguments) {
    return Bind(Parse<Manifest>(manifest), {{0, first_, 64}, {1, second_, 40}},
                Parse<ExecuteRequest>(arguments).arguments());
  }
  BoundCall Good(const std::string& manifest, const std::string& arguments) {
    auto result = TryBind(manifest, arguments);
    if (const auto* error = std::get_if<RunError>(&result)) {
      ADD_FAILURE() << error->DebugString();
      return {};
    }
    return std::get<BoundCall>(std::move(result));
  }
  RunError Bad(const std::string& manifest, const std::string& arguments) {
    auto result = TryBind(manifest, arguments);
    if (const auto* error = std::get_if<RunError>(&result)) return *error;
    ADD_FAILURE() << "bound: " << arguments;
    return {};
  }

  alignas(64) char first_[64];
  alignas(64) char second_[40];
};

TEST_F(BindTest, ViewsBecomePointersWithTheirReach) {
  const BoundCall call = Good(kTwoVectorsAndAnInteger, R"pb(
    arguments { view { allocation: 0 offset: 9 extents: 10 strides: -1 } }
    arguments { view { allocation: 1 extents: 10 strides: 1 } }
    arguments { scalar_bits: 255 }
  )pb");
  ASSERT_EQ(call.views.size(), 2u);
  EXPECT_EQ(call.views[0].data, first_ + 36);
  EXPECT_EQ(call.views[0].low, -36);
  EXPECT_EQ(call.views[0].high, 4);
  EXPECT_EQ(call.views[0].strides[0], -1);
  EXPECT_EQ(call.views[1].data, second_);
  EXPECT_EQ(call.views[1].high, 40);
  EXPECT_THAT(call.scalars, testing::ElementsAre(255));
}

TEST_F(BindTest, AnEmptyViewTouchesNothing) {
  const BoundCall call = Good(kTwoVectorsAndAnInteger, R"pb(
    arguments { view { allocation: 0 offset: 16 extents: 0 strides: 1000000000000 } }
    arguments { view { allocation: 1 extents: 0 strides: 1 } }
    arguments { scalar_bits: 0 }
  )pb");
  EXPECT_EQ(call.views[0].low, 0);
  EXPECT_EQ(call.views[0].high, 0);
}

TEST_F(BindTest, OneElementBeyondTheAllocationIsRefused) {
  const RunError error = Bad(kTwoVectorsAndAnInteger, R"pb(
    arguments { view { allocation: 0 extents: 11 strides: 1 } }
    arguments { view { allocation: 1 extents: 11 strides: 1 } }
    arguments { scalar_bits: 0 }
  )pb");
  EXPECT_EQ(error.kind(), RunError::KIND_BAD_ARGUMENT);
  EXPECT_EQ(error.parameter(), 1u);
}

TEST_F(BindTest, NumbersThatOverflowAreRefused) {
  for (const std::string view :
       {"offset: 4611686018427387904 extents: 1 strides: 1",
        "offset: -9223372036854775808 extents: 1 strides: 1",
        "extents: 9223372036854775807 strides: 9223372036854775807",
        "extents: 3 strides: 4611686018427387904", "extents: 3 strides: -4611686018427387904"}) {
    const RunError error = Bad(kTwoVectorsAndAnInteger,
                               "arguments { view { allocation: 0 " + view +
                                   "} } arguments { view { allocation: 1 extents: 1 strides: 1 } } "
                                   "arguments { scalar_bits: 0 }");
    EXPECT_EQ(error.kind(), RunError::KIND_BAD_ARGUMENT) << view;
    EXPECT_EQ(error.parameter(), 0u) << view;
  }
}

TEST_F(BindTest, MoreElementsThanCanBeCountedAreRefused) {
  const std::string manifest = R"pb(
    symbol_count: 2
    parameters {
      view {
        dtype: "f32"
        axes { symbol: 0 }
        axes { symbol: 1 }
      }
    }
  )pb";
  const auto view = [](const std::string& extents) {
    return "arguments { view { allocation: 0 " + extents + " strides: 0 strides: 0 } }";
  };
  const RunError error = Bad(manifest, view("extents: 1099511627776 extents: 1099511627776"));
  EXPECT_EQ(error.kind(), RunError::KIND_BAD_ARGUMENT);
  EXPECT_EQ(error.parameter(), 0u);
  Good(manifest, view("extents: 1099511627776 extents: 8388607"));
}

TEST_F(BindTest, EqualSymbolsNeedEqualExtents) {
  const RunError error = Bad(kTwoVectorsAndAnInteger, R"pb(
    arguments { view { allocation: 0 extents: 10 strides: 1 } }
    arguments { view { allocation: 1 extents: 9 strides: 1 } }
    arguments { scalar_bits: 0 }
  )pb");
  EXPECT_EQ(error.kind(), RunError::KIND_BAD_SHAPE);
  EXPECT_EQ(error.parameter(), 1u);
  EXPECT_EQ(error.axis(), 0u);
  EXPECT_EQ(error.value(), 9);
  EXPECT_EQ(error.limit(), 10);
}

TEST_F(BindTest, ExpressionsSeeSymbolsThatLaterViewsBind) {
  const std::string manifest = R"pb(
    symbol_count: 1
    parameters {
      view {
        dtype: "u8"
        axes {
          expression {
            instructions { opcode: OPCODE_CONSTANT value: 2 }
            instructions { opcode: OPCODE_SYMBOL index: 0 }
            instructions { opcode: OPCODE_MUL }
          }
        }
      }
    }
    parameters {
      view {
        dtype: "u8"
        axes { symbol: 0 }
      }
    }
  )pb";
  Good(manifest,
       "arguments { view { allocation: 0 extents: 8 strides: 1 } } "
       "arguments { view { allocation: 1 extents: 4 strides: 1 } }");
  EXPECT_EQ(Bad(manifest,
                "arguments { view { allocation: 0 extents: 7 strides: 1 } } "
                "arguments { view { allocation: 1 extents: 4 strides: 1 } }")
                .limit(),
            8);
}

TEST_F(BindTest, ScalarsFitTheirDtype) {
  const std::string views =
      "arguments { view { allocation: 0 extents: 1 strides: 1 } } "
      "arguments { view { allocation: 1 extents: 1 strides: 1 } } ";
  EXPECT_EQ(Bad(kTwoVectorsAndAnInteger, views + "arguments { scalar_bits: 256 }").parameter(), 2u);
  EXPECT_EQ(Bad(kTwoVectorsAndAnInteger, views + "arguments {}").parameter(), 2u);
}

TEST_F(BindTest, FailedChecksNameTheirOperation) {
  const std::string manifest = R"pb(
    parameters { scalar { dtype: "i8" } }
    checks {
      ordinal: 7
      condition {
        instructions { opcode: OPCODE_SCALAR index: 0 }
        instructions { opcode: OPCODE_CONSTANT value: -1 }
        instructions { opcode: OPCODE_EQ }
      }
    }
  )pb";
  Good(manifest, "arguments { scalar_bits: 255 }");
  EXPECT_EQ(Bad(manifest, "arguments { scalar_bits: 1 }").ordinal(), 7u);
}

TEST_F(BindTest, NoaliasIsHeld) {
  const std::string manifest = R"pb(
    parameters {
      view {
        dtype: "u8"
        axes { constant: 8 }
        noalias: true
      }
    }
    parameters {
      view {
        dtype: "u8"
        axes { constant: 8 }
      }
    }
  )pb";
  Good(manifest,
       "arguments { view { allocation: 0 extents: 8 strides: 1 } } "
       "arguments { view { allocation: 0 offset: 8 extents: 8 strides: 1 } }");
  EXPECT_EQ(Bad(manifest,
                "arguments { view { allocation: 0 extents: 8 strides: 1 } } "
                "arguments { view { allocation: 0 offset: 7 extents: 8 strides: 1 } }")
                .kind(),
            RunError::KIND_BAD_OVERLAP);
}

TEST(ToRunError, CountsParametersOfTheSignature) {
  const Manifest manifest = Parse<Manifest>(R"pb(
    parameters { scalar { dtype: "i8" } }
    parameters { view { dtype: "u8" } }
    parameters { scalar { dtype: "i8" } }
    parameters { view { dtype: "u8" } }
  )pb");
  const RunError error = ToRunError({INTENT_OUT_OF_BOUNDS, 5, 1, 0, 12, 10}, manifest);
  EXPECT_EQ(error.kind(), RunError::KIND_OUT_OF_BOUNDS);
  EXPECT_EQ(error.parameter(), 3u);
  EXPECT_EQ(error.ordinal(), 5u);
  EXPECT_EQ(error.message(), "index 12 of axis 0 is outside [0, 10)");
}

TEST(ToRunError, ValuesThatNoAxisHolds) {
  const RunError outside = ToRunError({INTENT_OUT_OF_BOUNDS, 5, -1, -1, 12, 10}, {});
  EXPECT_FALSE(outside.has_parameter());
  EXPECT_FALSE(outside.has_axis());
  EXPECT_EQ(outside.message(), "index 12 is outside [0, 10)");
  const RunError invalid = ToRunError({INTENT_BAD_VALUE, 5, -1, -1, 3, 4}, {});
  EXPECT_EQ(invalid.kind(), RunError::KIND_INVALID_VALUE);
  EXPECT_EQ(invalid.message(), "the value 3 is invalid here");
}

}  // namespace
}  // namespace intent
