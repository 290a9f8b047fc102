// Arrays as people read them.

#include "client/cpp/intentc/print_array.h"

#include <gtest/gtest.h>

#include <cstring>

namespace intent::client {
namespace {

Array Counting(std::vector<int64_t> shape) {
  Array array = Array::Zeros(std::move(shape), DType::kI32);
  for (size_t i = 0; i < array.data.size() / 4; ++i) {
    const auto value = static_cast<int32_t>(i);
    std::memcpy(array.data.data() + 4 * i, &value, 4);
  }
  return array;
}

TEST(PrintArray, SummariesHaveDtypeShapeAndFirstElements) {
  EXPECT_EQ(Summarize(Counting({2, 2}), DType::kI32), "i32 [ 2 2 ] 0 1 2 3");
  EXPECT_EQ(Summarize(Counting({9}), DType::kI32), "i32 [ 9 ] 0 1 2 3 4 5 6 7 ...");
  EXPECT_EQ(Summarize(Counting({}), DType::kI32), "i32 [ ] 0");
  EXPECT_EQ(Summarize(Counting({0}), DType::kI32), "i32 [ 0 ]");
}

TEST(PrintArray, EachDtypeHasItsLiterals) {
  EXPECT_EQ(Summarize({{1}, {1}, std::string("\x00\x3c", 2)}, DType::kF16), "f16 [ 1 ] 1.0");
  EXPECT_EQ(Summarize({{1}, {1}, std::string("\x80\xbf", 2)}, DType::kBF16), "bf16 [ 1 ] -1.0");
  EXPECT_EQ(Summarize({{1}, {1}, "\1"}, DType::kBool), "bool [ 1 ] true");
  EXPECT_EQ(Summarize({{1}, {1}, "\xff"}, DType::kI8), "i8 [ 1 ] -1");
}

TEST(PrintArray, BracketsNestByAxis) {
  EXPECT_EQ(FormatArray(Counting({2, 2, 2}), DType::kI32),
            "[[[0, 1],\n  [2, 3]],\n [[4, 5],\n  [6, 7]]]");
  EXPECT_EQ(FormatArray(Counting({3}), DType::kI32), "[0, 1, 2]");
  EXPECT_EQ(FormatArray(Counting({}), DType::kI32), "0");
  EXPECT_EQ(FormatArray(Counting({2, 0}), DType::kI32), "[[]]");
}

TEST(PrintArray, ElementsAreInRowMajorOrderWhateverTheStrides) {
  Array array = Counting({2, 2});
  array.strides = {1, 2};
  EXPECT_EQ(FormatArray(array, DType::kI32), "[[0, 2],\n [1, 3]]");
}

TEST(PrintArray, LongArraysEndWithACount) {
  EXPECT_EQ(FormatArray(Counting({5}), DType::kI32, 2), "[0, 1, ... 3 more");
}

}  // namespace
}  // namespace intent::client
