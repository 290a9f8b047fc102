// Matrix products of the device library on an emulated block: every engine, layout, stride and
// ragged edge. Values are small integers, which every format and every sum holds exactly.

#include <gtest/gtest.h>

#include <random>

#include "compiler/cuda/device_on_host/launch_builtins.h"
// Words of the builtins come first.
#include "intent/contract.cuh"
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
    for (int i = 0; i < valid; ++i) {
      values->at(row * columns + column + i) = x[i];
      ++writes->at(row * columns + column + i);
    }
  }
};

template <class Config, class L, class R, class A, class B>
void Check(const Shape& shape, const Matrix<L>& left, const Matrix<R>& right, const A& a,
           const B& b) {
  typedef typename Config::Acc Acc;
  std::vector<Acc> values(shape.m * shape.n);
  std::vector<int> writes(shape.m * shape.n);
  const Result<Acc> result{&values, &writes, shape.n};
  emulation::RunBlock(Config::kThreads, Config::kSharedBytes, [&](char* shared) {
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

}  // namespace
}  // namespace intent
