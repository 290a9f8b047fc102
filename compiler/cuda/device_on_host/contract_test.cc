// Matrix products of the device library on an emulated block: every engine, layout, stride and
// ragged edge. Values are small integers, which every format and every sum holds exactly.

#include <gtest/gtest.h>

#include <random>

#include "compiler/cuda/device_on_host/launch_builtins.h"
// Words of the builtins come first.
#include "intent/contract.cuh"
#include "intent/contract_few.cuh"
#include "intent/contract_widened.cuh"

namespace intent {
namespace {

struct Shape {
  i64 m, n, k;
};
std::ostream& operator<<(std::ostream& out, const Shape& s) {
  return out << s.m << "x" << s.n << "x" << s.k;
}
const Shape kShapes[] = {{1, 1, 1}, {0, 3, 2}, {3, 5, 0}, {17, 33, 65}, {66, 20, 200}};

// A matrix of integers, stored as the test says: gaps between elements and lines, an offset from
// alignment.
template <class T>
struct Matrix {
  Matrix(i64 own, i64 inner, Axis fast, i64 step, i64 gap, i64 offset, std::mt19937* random) {
    const i64 across = fast == Axis::kInner ? inner : own,
              lines = fast == Axis::kInner ? own : inner;
    const i64 whole = (across * step + 15) / 16 * 16 + gap;
    own_stride = fast == Axis::kInner ? whole : step;
    inner_stride = fast == Axis::kInner ? step : whole;
    storage.assign(offset + lines * whole + 32, cast<T>(3));
    base = storage.data() +
           (16 - reinterpret_cast<uintptr_t>(storage.data()) % 16) % 16 / sizeof(T) + offset;
    integers.resize(own * inner);
    for (i64 o = 0; o < own; ++o) {
      for (i64 i = 0; i < inner; ++i) {
        const int x = int((*random)() % 7) - (kSame<T, u8> ? 0 : 3);
        integers[o * inner + i] = x;
        base[o * own_stride + i * inner_stride] = cast<T>(x);
      }
    }
  }
  std::vector<T> storage;
  T* base;
  i64 own_stride, inner_stride;
  std::vector<int> integers;
};

template <class Acc>
struct Result {
  static constexpr int kWidth = 4;
  std::vector<Acc>* values;
  std::vector<int>* writes;
  i64 columns;
  template <int n>
  void put(i64 row, i64 column, int valid, const Acc (&x)[n]) const {
    for (int i = 0; i < n && i < valid; ++i) {
      values->at(row * columns + column + i) = x[i];
      ++writes->at(row * columns + column + i);
    }
  }
};

// alone: by a block that chooses how.
template <class Config, bool alone = false, class L, class R, class A, class B>
void Check(const Shape& shape, const Matrix<L>& left, const Matrix<R>& right, const A& a,
           const B& b) {
  typedef typename Config::Acc Acc;
  std::vector<Acc> values(shape.m * shape.n);
  std::vector<int> writes(shape.m * shape.n);
  const Result<Acc> result{&values, &writes, shape.n};
  emulation::RunBlock(Config::kThreads, Config::kSharedBytes, [&](char* shared) {
    if constexpr (alone)
      return contract_alone<Config>(shape.m, shape.n, shape.k, a, b, result, shared);
    for (i64 row = 0; row < shape.m; row += Config::kRows) {
      for (i64 column = 0; column < shape.n; column += Config::kColumns) {
        contract_tile<Config>(shape.m, shape.n, shape.k, row, column, a, b, result, shared);
      }
    }
  });
  for (i64 m = 0; m < shape.m; ++m) {
    for (i64 n = 0; n < shape.n; ++n) {
      i64 sum = 0;
      for (i64 k = 0; k < shape.k; ++k) {
        sum += i64(left.integers[m * shape.k + k]) * right.integers[n * shape.k + k];
      }
      ASSERT_EQ(values[m * shape.n + n], Acc(sum)) << shape << " at " << m << ", " << n;
      ASSERT_EQ(writes[m * shape.n + n], 1) << shape << " at " << m << ", " << n;
    }
  }
}

struct Storage {
  i64 step, gap, offset;
};
const Storage kStorages[] = {{1, 0, 0}, {1, 1, 0}, {1, 0, 1}, {2, 0, 0}};

template <class Config, class L, class R, Axis left_fast, Axis right_fast>
void CheckDirect() {
  std::mt19937 random(1);
  for (const Shape& shape : kShapes) {
    for (const Storage& s : kStorages) {
      SCOPED_TRACE(testing::Message()
                   << shape << " step " << s.step << " gap " << s.gap << " offset " << s.offset);
      const Matrix<L> left(shape.m, shape.k, left_fast, s.step, s.gap, s.offset, &random);
      const Matrix<R> right(shape.n, shape.k, right_fast, s.step, s.gap, s.offset, &random);
      Check<Config>(shape, left, right,
                    Direct<L, left_fast>{left.base, left.own_stride, left.inner_stride},
                    Direct<R, right_fast>{right.base, right.own_stride, right.inner_stride});
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}
template <class Config, class L, class R>
void CheckLayouts() {
  CheckDirect<Config, L, R, Axis::kInner, Axis::kInner>();
  CheckDirect<Config, L, R, Axis::kInner, Axis::kOwn>();
  CheckDirect<Config, L, R, Axis::kOwn, Axis::kInner>();
  CheckDirect<Config, L, R, Axis::kOwn, Axis::kOwn>();
}

TEST(Contract, Bf16) {
  CheckLayouts<TensorCores<bf16, bf16, float, 64, 64, 64, 2, 2, 3>, bf16, bf16>();
  CheckDirect<TensorCores<bf16, bf16, float, 128, 128, 64, 2, 4, 2>, bf16, bf16, Axis::kOwn,
              Axis::kInner>();
  CheckLayouts<TensorCores<bf16, bf16, float, 16, 128, 64, 1, 4, 4>, bf16, bf16>();
  CheckLayouts<TensorCores<bf16, bf16, float, 128, 16, 64, 4, 1, 3>, bf16, bf16>();
}
TEST(Contract, F16) {
  CheckDirect<TensorCores<f16, f16, float, 64, 64, 64, 2, 2, 3>, f16, f16, Axis::kInner,
              Axis::kOwn>();
}
TEST(Contract, I8) {
  CheckLayouts<TensorCores<i8, i8, i32, 64, 64, 128, 2, 2, 3>, i8, i8>();
  CheckDirect<TensorCores<i8, i8, i32, 128, 128, 128, 2, 4, 2>, i8, i8, Axis::kOwn, Axis::kOwn>();
  CheckLayouts<TensorCores<i8, i8, i32, 16, 128, 128, 1, 4, 2>, i8, i8>();
}
TEST(Contract, U8I8) {
  CheckDirect<TensorCores<u8, i8, i32, 64, 64, 128, 2, 2, 3>, u8, i8, Axis::kInner, Axis::kOwn>();
}
TEST(Contract, Warpgroups) {
  CheckLayouts<WarpgroupCores<bf16, bf16, float, 2, 128, 3>, bf16, bf16>();
  CheckDirect<WarpgroupCores<f16, f16, float, 1, 64, 3>, f16, f16, Axis::kInner, Axis::kInner>();
  CheckDirect<WarpgroupCores<bf16, bf16, float, 1, 192, 2>, bf16, bf16, Axis::kInner, Axis::kOwn>();
  CheckLayouts<WarpgroupCores<i8, i8, i32, 1, 64, 3>, i8, i8>();
  CheckDirect<WarpgroupCores<u8, i8, i32, 1, 128, 2>, u8, i8, Axis::kInner, Axis::kInner>();
}
TEST(Contract, F64) {
  CheckDirect<DoubleCores<128, 64, 4, 2, 3>, double, double, Axis::kInner, Axis::kOwn>();
  CheckLayouts<DoubleCores<32, 32, 2, 2, 4>, double, double>();
}
TEST(Contract, F32) {
  CheckDirect<ScalarCores<float, 128, 128, 16, 16, 3>, float, float, Axis::kInner, Axis::kOwn>();
  CheckLayouts<ScalarCores<float, 64, 64, 16, 16, 2>, float, float>();
  CheckLayouts<ScalarCores<float, 16, 64, 4, 16, 3>, float, float>();
}
TEST(Contract, I64) { CheckLayouts<ScalarCores<i64, 64, 64, 16, 16, 2>, i64, i64>(); }

template <class Code, Axis fast>
void CheckWidened() {
  std::mt19937 random(1);
  typedef TensorCores<f16, f16, float, 64, 64, 64, 2, 2, 2> Config;
  for (const Shape& shape : kShapes) {
    for (const Storage& s : kStorages) {
      const Matrix<Code> left(shape.m, shape.k, fast, s.step, s.gap, s.offset, &random);
      const Matrix<Code> right(shape.n, shape.k, fast, s.step, s.gap, s.offset, &random);
      Check<Config>(shape, left, right,
                    Widened<Code, fast>{{left.base, left.own_stride, left.inner_stride}},
                    Widened<Code, fast>{{right.base, right.own_stride, right.inner_stride}});
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}
TEST(Contract, F8) {
  CheckWidened<f8e4m3fn, Axis::kInner>();
  CheckWidened<f8e4m3fn, Axis::kOwn>();
}

// A functor over a stored matrix.
template <class T, class E, Axis fast>
struct Loaded {
  typedef E Element;
  static constexpr Axis kFast = fast;
  Direct<T, fast> from;
  template <int n>
  void load(i64 own, i64 inner, int valid, E (&out)[n]) const {
    for (int i = 0; i < valid; ++i) {
      out[i] = cast<E>(fast == Axis::kInner ? *from.at(own, inner + i) : *from.at(own + i, inner));
    }
  }
};
template <class Config, class E, Axis fast>
void CheckComputed() {
  std::mt19937 random(1);
  typedef Computed<Loaded<i8, E, fast>> Operand;
  for (const Shape& shape : kShapes) {
    const Matrix<i8> left(shape.m, shape.k, fast, 1, 0, 0, &random);
    const Matrix<i8> right(shape.n, shape.k, fast, 1, 0, 0, &random);
    Check<Config>(shape, left, right, Operand{{{left.base, left.own_stride, left.inner_stride}}},
                  Operand{{{right.base, right.own_stride, right.inner_stride}}});
    if (testing::Test::HasFatalFailure()) return;
  }
}
template <class Config, class E>
void CheckComputed() {
  CheckComputed<Config, E, Axis::kInner>();
  CheckComputed<Config, E, Axis::kOwn>();
}
TEST(Contract, ComputedOperands) {
  CheckComputed<TensorCores<bf16, bf16, float, 64, 64, 64, 2, 2, 2>, bf16>();
  CheckComputed<TensorCores<i8, i8, i32, 64, 64, 128, 2, 2, 2>, i8>();
  CheckComputed<DoubleCores<32, 32, 2, 2, 2>, double>();
  CheckComputed<ScalarCores<float, 64, 64, 16, 16, 2>, float>();
  CheckComputed<ScalarCores<i64, 64, 64, 16, 16, 2>, i64>();
}

// Few results and members take another way than tiles, up to these numbers and no further.
const Shape kFewShapes[] = {{1, 1, 1},   {0, 3, 2},  {3, 5, 0},   {5, 32, 33}, {32, 32, 256},
                            {33, 2, 40}, {2, 33, 9}, {3, 2, 257}, {70, 66, 70}};

template <class Config, class T, Axis left_fast, Axis right_fast>
void CheckAlone() {
  std::mt19937 random(1);
  for (const Shape& shape : kFewShapes) {
    const Matrix<T> left(shape.m, shape.k, left_fast, 1, 1, 1, &random);
    const Matrix<T> right(shape.n, shape.k, right_fast, 2, 0, 0, &random);
    Check<Config, true>(shape, left, right,
                        Direct<T, left_fast>{left.base, left.own_stride, left.inner_stride},
                        Direct<T, right_fast>{right.base, right.own_stride, right.inner_stride});
    if (testing::Test::HasFatalFailure()) return;
  }
}
TEST(Contract, FewResults) {
  EXPECT_TRUE(is_few(32, 32, 256));
  EXPECT_FALSE(is_few(33, 1, 1) || is_few(1, 33, 1) || is_few(1, 1, 257));
  CheckAlone<TensorCores<bf16, bf16, float, 64, 64, 64, 2, 2, 2>, bf16, Axis::kInner, Axis::kOwn>();
  CheckAlone<TensorCores<f16, f16, float, 64, 64, 64, 2, 2, 2>, f16, Axis::kOwn, Axis::kInner>();
  CheckAlone<TensorCores<i8, i8, i32, 64, 64, 128, 2, 2, 2>, i8, Axis::kInner, Axis::kInner>();
  CheckAlone<DoubleCores<32, 32, 2, 2, 2>, double, Axis::kInner, Axis::kOwn>();
  CheckAlone<ScalarCores<float, 64, 64, 16, 16, 2>, float, Axis::kOwn, Axis::kOwn>();
  CheckAlone<ScalarCores<i64, 64, 64, 16, 16, 2>, i64, Axis::kInner, Axis::kOwn>();
  std::mt19937 random(1);
  typedef TensorCores<f16, f16, float, 64, 64, 64, 2, 2, 2> Config;
  const Shape shape = {7, 9, 40};
  const Matrix<f8e4m3fn> codes(shape.m, shape.k, Axis::kInner, 1, 0, 0, &random);
  const Matrix<i8> bytes(shape.n, shape.k, Axis::kOwn, 1, 0, 0, &random);
  Check<Config, true>(
      shape, codes, bytes,
      Widened<f8e4m3fn, Axis::kInner>{{codes.base, codes.own_stride, codes.inner_stride}},
      Computed<Loaded<i8, f16, Axis::kOwn>>{{{bytes.base, bytes.own_stride, bytes.inner_stride}}});
}

// Sums of all three levels.
TEST(Contract, LongInnerAxis) {
  std::mt19937 random(1);
  const Shape shape{16, 16, 4500};
  const Matrix<bf16> left(16, shape.k, Axis::kInner, 1, 0, 0, &random);
  const Direct<bf16, Axis::kInner> a{left.base, left.own_stride, left.inner_stride};
  Check<TensorCores<bf16, bf16, float, 64, 64, 64, 2, 2, 3>>(shape, left, left, a, a);
  const Matrix<float> right(16, shape.k, Axis::kInner, 1, 0, 0, &random);
  const Direct<float, Axis::kInner> b{right.base, right.own_stride, right.inner_stride};
  Check<ScalarCores<float, 16, 64, 4, 16, 3>>(shape, right, right, b, b);
}

// One product into every kind of memory: lines that are whole, or not, or not contiguous.
template <class T>
void CheckPlaced(i64 columns, i64 offset, i64 row_stride, i64 column_stride) {
  typedef ScalarCores<float, 64, 64, 8, 8, 2> Config;
  std::mt19937 random(5);
  const Shape shape = {9, columns, 3};
  const Matrix<float> left(shape.m, shape.k, Axis::kInner, 1, 0, 0, &random),
      right(shape.n, shape.k, Axis::kOwn, 1, 0, 0, &random);
  std::vector<T> storage(offset + shape.m * row_stride + columns * column_stride + 64, cast<T>(99));
  T* const base = storage.data() +
                  (16 - reinterpret_cast<uintptr_t>(storage.data()) % 16) % 16 / sizeof(T) + offset;
  const auto sums = placed_sums(
      base, row_stride, column_stride,
      [](i64 row, i64 column, float sum) { return cast<T>(sum + float(row) - float(column)); });
  emulation::RunBlock(Config::kThreads, Config::kSharedBytes, [&](char* shared) {
    contract_tile<Config>(
        shape.m, shape.n, shape.k, 0, 0,
        Direct<float, Axis::kInner>{left.base, left.own_stride, left.inner_stride},
        Direct<float, Axis::kOwn>{right.base, right.own_stride, right.inner_stride}, sums, shared);
  });
  for (T& x : storage) {
    const i64 at = &x - base;
    const i64 row = at / row_stride, column = at % row_stride / column_stride;
    float expected = 99;
    if (at >= 0 && row < shape.m && column < columns && at % row_stride % column_stride == 0) {
      expected = float(row) - float(column);
      for (i64 k = 0; k < shape.k; ++k)
        expected += left.integers[row * shape.k + k] * right.integers[column * shape.k + k];
    }
    ASSERT_EQ(cast<float>(x), expected) << row << " " << column;
  }
}

TEST(Contract, SumsArePlacedInEveryKindOfMemory) {
  for (i64 columns : {1, 7, 16, 37}) {
    for (i64 offset : {0, 1}) {
      CheckPlaced<float>(columns, offset, 40, 1);
      CheckPlaced<bf16>(columns, offset, 41, 1);
      CheckPlaced<i8>(columns, offset, 48, 1);
      CheckPlaced<double>(columns, offset, 120, 3);
    }
  }
}

}  // namespace
}  // namespace intent
