#include "compiler/ir/wire_enums.h"

#include <gtest/gtest.h>

namespace intent::wire {
namespace {

template <typename E>
class WireEnums : public ::testing::Test {};

using All = ::testing::Types<OpKind, DType, UnaryKind, BinaryKind, CompareKind, RmwKind,
                             MemoryOrder, CombineKind, TypeKind, Access, ConstexprKind, ConstexprOp,
                             ScaledFormat, SparseFormat, QuantFormat, IndexTermKind>;
TYPED_TEST_SUITE(WireEnums, All);

TYPED_TEST(WireEnums, EveryEnumeratorHasItsNumberAndEveryNumberItsEnumerator) {
  const auto* descriptor = InfoOfEnum<TypeParam>().descriptor;
  const size_t count = NamesOf<TypeParam>().size();
  EXPECT_EQ(static_cast<size_t>(descriptor->value_count()), count + 1);  // and UNSPECIFIED
  for (size_t i = 0; i < count; ++i) {
    const TypeParam kind = static_cast<TypeParam>(i);
    const int number = ToWire(kind);
    EXPECT_GT(number, 0);
    EXPECT_EQ(FromWire<TypeParam>(number), kind) << KindName(kind);
  }
  EXPECT_EQ(FromWire<TypeParam>(0), std::nullopt);
  EXPECT_EQ(FromWire<TypeParam>(-1), std::nullopt);
  EXPECT_EQ(FromWire<TypeParam>(1 << 30), std::nullopt);
}

}  // namespace
}  // namespace intent::wire
