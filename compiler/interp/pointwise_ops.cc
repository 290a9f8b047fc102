// Pointwise operations: a loop of the numerics library over dense elements. Scalars serve every
// element. Chapters are those of seed 000, with an L language.md's.

#include <cstring>

#include "compiler/interp/machine.h"
#include "compiler/numerics/loops.h"
#include "compiler/numerics/scalar.h"

namespace intent::interp {
namespace {

// An operand as the numerics loops take it.
class Elements {
 public:
  explicit Elements(const RuntimeValue& value) {
    if (value.IsTensor()) {
      data_ = value.tensor().data();
      stride_ = 1;
    } else {
      numerics::StoreScalar(value.scalar(), cell_);
      data_ = cell_;
    }
  }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;
  const std::byte* data() const { return data_; }
  int stride() const { return stride_; }

 private:
  alignas(16) std::byte cell_[16];
  const std::byte* data_;
  int stride_ = 0;
};

template <size_t kBytes>
void SelectLoop(const Elements& condition, const Elements& if_true, const Elements& if_false,
                std::byte* out, int64_t count) {
  constexpr int64_t kSize = kBytes;
  for (int64_t i = 0; i < count; ++i) {
    const bool taken = condition.data()[i * condition.stride()] != std::byte{0};
    const Elements& source = taken ? if_true : if_false;
    std::memcpy(out + i * kSize, source.data() + i * source.stride() * kSize, kBytes);
  }
}

size_t Count(const Tensor& tensor) { return static_cast<size_t>(tensor.count()); }

numerics::Approximation ModeOf(const StaticInt& approximate, const StaticInt& flush_to_zero) {
  return {.approximate = approximate.value != 0, .flush_to_zero = flush_to_zero.value != 0};
}

// 12: Philox4x32-10.
uint32_t PhiloxWord(uint64_t seed, uint64_t counter) {
  const uint64_t block = counter / 4;
  uint32_t c[4] = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0};
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53} * c[0], second = uint64_t{0xCD9E8D57} * c[2];
    const uint32_t next[4] = {
        static_cast<uint32_t>(second >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(second),
        static_cast<uint32_t>(first >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(first)};
    std::memcpy(c, next, sizeof(c));
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c[counter % 4];
}

}  // namespace

std::optional<Shape> Machine::CommonShape(const Op& op,
                                          std::span<const RuntimeValue* const> operands) {
  const Tensor* first = nullptr;
  for (const RuntimeValue* operand : operands) {
    if (!operand->IsTensor()) continue;
    if (first == nullptr) {
      first = &operand->tensor();
    } else if (operand->tensor().shape() != first->shape()) {
      Fail(ErrorKind::kBadShape, op,
           "the operands of " + std::string(InfoOf(op.kind).name) + " differ in shape");
      return std::nullopt;
    }
  }
  return first == nullptr ? Shape{} : first->shape();
}

// 4, 5 and 5.1: numerics has each kind's rule.
RuntimeValue Machine::Unary(const Op& op) {
  const UnaryAttr& attr = op.attr<UnaryAttr>();
  const numerics::Approximation mode = ModeOf(attr.approximate, attr.flush_to_zero);
  const RuntimeValue& x = Get(op, 0);
  if (x.IsScalar()) return numerics::EvalUnary(attr.kind, x.scalar(), mode);
  auto result = NewTensor(op, x.dtype(), x.shape());
  if (failed()) return {};
  numerics::UnaryLoop(attr.kind, x.dtype(), mode, x.tensor().data(), result->mutable_data(),
                      Count(*result));
  return TensorPtr(result);
}

RuntimeValue Machine::Binary(const Op& op) {
  const BinaryAttr& attr = op.attr<BinaryAttr>();
  const numerics::Approximation mode = ModeOf(attr.approximate, attr.flush_to_zero);
  const RuntimeValue &lhs = Get(op, 0), &rhs = Get(op, 1);
  if (checked_ != nullptr && !(CheckBinary(op, attr.kind, lhs, rhs) && CheckRelaxed(op))) {
    return {};
  }
  if (!mode.approximate && !mode.flush_to_zero) return BinaryOn(op, attr.kind, lhs, rhs);
  if (lhs.IsScalar() && rhs.IsScalar()) {
    return numerics::EvalBinary(attr.kind, lhs.scalar(), rhs.scalar(), mode);
  }
  const RuntimeValue* operands[] = {&lhs, &rhs};
  const std::optional<Shape> shape = CommonShape(op, operands);
  if (!shape) return {};
  auto result = NewTensor(op, lhs.dtype(), *shape);
  if (failed()) return {};
  const Elements left(lhs), right(rhs);
  numerics::BinaryLoop(attr.kind, lhs.dtype(), mode, left.data(), left.stride(), right.data(),
                       right.stride(), result->mutable_data(), Count(*result));
  return TensorPtr(result);
}

RuntimeValue Machine::BinaryOn(const Op& op, BinaryKind kind, const RuntimeValue& lhs,
                               const RuntimeValue& rhs) {
  if (lhs.IsScalar() && rhs.IsScalar()) {
    return numerics::EvalBinary(kind, lhs.scalar(), rhs.scalar());
  }
  const RuntimeValue* operands[] = {&lhs, &rhs};
  const std::optional<Shape> shape = CommonShape(op, operands);
  if (!shape) return {};
  auto result = NewTensor(op, lhs.dtype(), *shape);
  if (failed()) return {};
  const Elements left(lhs), right(rhs);
  numerics::BinaryLoop(kind, lhs.dtype(), {}, left.data(), left.stride(), right.data(),
                       right.stride(), result->mutable_data(), Count(*result));
  return TensorPtr(result);
}

// 3: comparisons give bool.
RuntimeValue Machine::Compare(const Op& op) {
  const CompareKind kind = op.attr<CompareAttr>().kind;
  const RuntimeValue &lhs = Get(op, 0), &rhs = Get(op, 1);
  if (lhs.IsScalar() && rhs.IsScalar()) {
    return numerics::MakeBool(numerics::EvalCompare(kind, lhs.scalar(), rhs.scalar()));
  }
  const RuntimeValue* operands[] = {&lhs, &rhs};
  const std::optional<Shape> shape = CommonShape(op, operands);
  if (!shape) return {};
  auto result = NewTensor(op, DType::kBool, *shape);
  if (failed()) return {};
  const Elements left(lhs), right(rhs);
  numerics::CompareLoop(kind, lhs.dtype(), left.data(), left.stride(), right.data(), right.stride(),
                        result->mutable_data(), Count(*result));
  return TensorPtr(result);
}

// L 5: a value chosen by element; both arms were computed.
RuntimeValue Machine::Select(const Op& op, const RuntimeValue& condition,
                             const RuntimeValue& if_true, const RuntimeValue& if_false) {
  const RuntimeValue* operands[] = {&condition, &if_true, &if_false};
  const std::optional<Shape> shape = CommonShape(op, operands);
  if (!shape) return {};
  if (condition.IsScalar() && if_true.IsTensor() == if_false.IsTensor()) {
    return numerics::AsBool(condition.scalar()) ? if_true : if_false;
  }
  auto result = NewTensor(op, if_true.dtype(), *shape);
  if (failed()) return {};
  const Elements c(condition), t(if_true), f(if_false);
  std::byte* out = result->mutable_data();
  switch (result->element_bytes()) {
    case 1:
      SelectLoop<1>(c, t, f, out, result->count());
      break;
    case 2:
      SelectLoop<2>(c, t, f, out, result->count());
      break;
    case 4:
      SelectLoop<4>(c, t, f, out, result->count());
      break;
    case 8:
      SelectLoop<8>(c, t, f, out, result->count());
      break;
    case 16:
      SelectLoop<16>(c, t, f, out, result->count());
      break;
    default:
      INTENT_UNREACHABLE() << result->element_bytes();
  }
  return TensorPtr(result);
}

RuntimeValue Machine::CastTo(const Op& op, const RuntimeValue& value, DType dtype) {
  if (value.dtype() == dtype) return value;
  if (value.IsScalar()) return numerics::EvalCast(value.scalar(), dtype);
  auto result = NewTensor(op, dtype, value.shape());
  if (failed()) return {};
  numerics::CastLoop(value.dtype(), dtype, value.tensor().data(), result->mutable_data(),
                     Count(*result));
  return TensorPtr(result);
}

// 5.2; saturation is an operation of its own.
RuntimeValue Machine::Cast(const Op& op) {
  const RuntimeValue& value = Get(op, 0);
  const DType dtype = ResultType(op).dtype();
  if (op.kind == OpKind::kCast) {
    if (checked_ != nullptr && !CheckCast(op, value, dtype)) return {};
    return CastTo(op, value, dtype);
  }
  if (value.IsScalar()) return numerics::EvalSaturatingCast(value.scalar(), dtype);
  auto result = NewTensor(op, dtype, value.shape());
  if (failed()) return {};
  numerics::SaturatingCastLoop(value.dtype(), dtype, value.tensor().data(), result->mutable_data(),
                               Count(*result));
  return TensorPtr(result);
}

// 5.2: bits stay. The widths are equal, hence the bytes too.
RuntimeValue Machine::Bitcast(const Op& op) {
  const RuntimeValue& value = Get(op, 0);
  const DType dtype = ResultType(op).dtype();
  if (value.IsTensor()) return value.tensor().Reinterpreted(dtype);
  return ScalarValue{.dtype = dtype, .bits = value.scalar().bits};
}

// 12: pure, of seed and counter only.
RuntimeValue Machine::RandomBits(const Op& op) {
  const uint64_t seed = static_cast<uint64_t>(Get(op, 0).scalar().bits);
  const RuntimeValue& counter = Get(op, 1);
  if (checked_ != nullptr && !CheckCounter(op, counter)) return {};
  if (counter.IsScalar()) {
    return ScalarValue{.dtype = DType::kU32,
                       .bits = PhiloxWord(seed, static_cast<uint64_t>(counter.scalar().bits))};
  }
  auto result = NewTensor(op, DType::kU32, counter.shape());
  if (failed()) return {};
  const auto* counters = reinterpret_cast<const uint64_t*>(counter.tensor().data());
  auto* words = reinterpret_cast<uint32_t*>(result->mutable_data());
  for (int64_t i = 0; i < result->count(); ++i) words[i] = PhiloxWord(seed, counters[i]);
  return TensorPtr(result);
}

}  // namespace intent::interp
