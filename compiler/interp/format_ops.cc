// Histograms and quantised records (seed 000 chapter 7, language.md chapters 10 and 15).

#include <cmath>
#include <cstring>

#include "compiler/interp/machine.h"
#include "compiler/interp/text.h"
#include "compiler/numerics/scalar.h"

namespace intent::interp {
namespace {

constexpr int64_t kRecord = 256;  // elements
constexpr int64_t kQ4KBytes = 144;
constexpr int64_t kQ8KBytes = 292;

template <typename T>
T Read(const std::byte* address) {
  T value;
  std::memcpy(&value, address, sizeof(value));
  return value;
}

float Half(const std::byte* address) {
  return static_cast<float>(
      numerics::AsDouble({.dtype = DType::kF16, .bits = Read<uint16_t>(address)}));
}

// L 15: the eight 6-bit scales and mins of a q4_k record.
struct Q4KScales {
  int scale[8];
  int min[8];
};
Q4KScales ScalesOf(const std::byte* record) {
  const auto byte = [&](int i) { return std::to_integer<int>(record[4 + i]); };
  Q4KScales result;
  for (int i = 0; i < 4; ++i) {
    result.scale[i] = byte(i) & 63;
    result.min[i] = byte(4 + i) & 63;
    result.scale[4 + i] = (byte(8 + i) & 0xf) | (byte(i) >> 6) << 4;
    result.min[4 + i] = byte(8 + i) >> 4 | (byte(4 + i) >> 6) << 4;
  }
  return result;
}

// L 15: 4-bit elements, 32 low nibbles before 32 high ones.
int Q4At(const std::byte* record, int i) {
  const int byte = std::to_integer<int>(record[16 + 32 * (i / 64) + i % 32]);
  return i % 64 < 32 ? byte & 0xf : byte >> 4;
}

// 5.5, L 15: one record's contribution; every step rounds once to f32, and nothing fuses.
float DotRecord(const std::byte* q4, const std::byte* q8) {
  const Q4KScales scales = ScalesOf(q4);
  int32_t products = 0, mins = 0;
  for (int s = 0; s < 8; ++s) {
    int32_t sum = 0;
    for (int i = 32 * s; i < 32 * (s + 1); ++i) sum += Q4At(q4, i) * Read<int8_t>(q8 + 4 + i);
    products += scales.scale[s] * sum;
    const int32_t pair = Read<int16_t>(q8 + 260 + 4 * s) + Read<int16_t>(q8 + 262 + 4 * s);
    mins += scales.min[s] * pair;
  }
  const float p = Half(q4) * static_cast<float>(products);
  const float n = Half(q4 + 2) * static_cast<float>(mins);
  const float difference = p - n;
  return Read<float>(q8) * difference;
}

// L 15, neighbours first: parentheses are free, the order is not. Overwrites the values.
float SumInOrder(float* values, int64_t count) {
  if (count == 0) return 0;
  while (count > 1) {
    for (int64_t i = 0; i < count / 2; ++i) values[i] = values[2 * i] + values[2 * i + 1];
    if (count % 2 == 1) values[count / 2] = values[count - 1];
    count = (count + 1) / 2;
  }
  return values[0];
}

// L 15: the element of greatest magnitude maps to -127, the minimum winning ties.
void QuantizeRecord(const float* x, std::byte* record) {
  float greatest = x[0], least = x[0];
  for (int64_t i = 1; i < kRecord; ++i) {
    greatest = std::fmax(greatest, x[i]);
    least = std::fmin(least, x[i]);
  }
  const float extreme = std::fabs(least) >= std::fabs(greatest) ? least : greatest;
  float scale = 0, inverse = 0;
  if (extreme != 0) {
    inverse = -127.0f / extreme;
    scale = 1.0f / inverse;
  }
  std::memcpy(record, &scale, sizeof(scale));
  for (int64_t run = 0; run < kRecord / 16; ++run) {
    int16_t sum = 0;
    for (int64_t i = 16 * run; i < 16 * (run + 1); ++i) {
      const float scaled = x[i] * inverse;
      const ScalarValue rounded = numerics::MakeFloat(DType::kF32, std::nearbyint(scaled));
      const int8_t q = static_cast<int8_t>(
          numerics::AsInteger(numerics::EvalSaturatingCast(rounded, DType::kI8)));
      std::memcpy(record + 4 + i, &q, 1);
      sum = static_cast<int16_t>(sum + q);
    }
    std::memcpy(record + 260 + 2 * run, &sum, sizeof(sum));
  }
}

}  // namespace

// 7: active values count once in their bin; counts wrap; no values give zeros.
RuntimeValue Machine::Histogram(const Op& op) {
  const RuntimeValue &values = Get(op, 0), &valid = Get(op, 2);
  const int64_t bins = GetIndex(op, 1);
  if (bins <= 0) {
    Fail(ErrorKind::kHistogramBins, op, "a histogram of " + std::to_string(bins) + " bins");
    return {};
  }
  const RuntimeValue* operands[] = {&values, &valid};
  if (!CommonShape(op, operands)) return {};
  const DType dtype = ResultType(op).dtype();
  auto counts = NewTensor(op, dtype, {bins});
  if (failed()) return {};
  const int64_t count = values.IsScalar() ? 1 : values.tensor().count();
  const ScalarValue one = numerics::MakeInteger(dtype, 1);
  for (int64_t i = 0; i < count; ++i) {
    const ScalarValue active = valid.IsScalar() ? valid.scalar() : valid.tensor().At(i);
    if (!numerics::AsBool(active)) continue;
    const __int128 bin =
        numerics::AsInteger(values.IsScalar() ? values.scalar() : values.tensor().At(i));
    if (bin < 0 || bin >= bins) {
      Fail(ErrorKind::kHistogramValue, op,
           "the active histogram value " + Text(bin) + " is outside [0, " + std::to_string(bins) +
               ")");
      return {};
    }
    const int64_t at = static_cast<int64_t>(bin);
    counts->Set(at, numerics::EvalBinary(BinaryKind::kAdd, counts->At(at), one));
  }
  return TensorPtr(counts);
}

RuntimeValue Machine::Quantize(const Op& op) {
  const Tensor& values = Get(op, 0).tensor();
  if (op.attr<FormatAttr>().lhs != QuantFormat::kQ8K) {
    Fail(ErrorKind::kUnsupported, op, "quantize makes q8_k records only");
    return {};
  }
  const int64_t records = values.shape()[0];
  auto result = NewTensor(op, DType::kU8, {records, kQ8KBytes});
  if (failed()) return {};
  for (int64_t g = 0; g < records; ++g) {
    const float* x = reinterpret_cast<const float*>(values.data()) + g * kRecord;
    if (checked_ != nullptr && !CheckQuantize(op, x, kRecord, g)) return {};
    QuantizeRecord(x, result->mutable_data() + g * kQ8KBytes);
  }
  return TensorPtr(result);
}

RuntimeValue Machine::QuantizedDot(const Op& op) {
  const FormatAttr& attr = op.attr<FormatAttr>();
  if (attr.lhs != QuantFormat::kQ4K || attr.rhs != QuantFormat::kQ8K) {
    Fail(ErrorKind::kUnsupported, op, "quantized_dot takes q4_k and q8_k records only");
    return {};
  }
  const Tensor &lhs = Get(op, 0).tensor(), &rhs = Get(op, 1).tensor();
  const int64_t records = lhs.shape()[0];
  if (rhs.shape()[0] != records) {
    Fail(ErrorKind::kBadShape, op, "quantized_dot of different numbers of records");
    return {};
  }
  auto terms = NewTensor(op, DType::kF32, {records});
  if (failed()) return {};
  auto* values = reinterpret_cast<float*>(terms->mutable_data());
  for (int64_t g = 0; g < records; ++g) {
    if (checked_ != nullptr && !CheckQ8K(op, rhs.data() + g * kQ8KBytes, g)) return {};
    values[g] = DotRecord(lhs.data() + g * kQ4KBytes, rhs.data() + g * kQ8KBytes);
  }
  auto result = NewTensor(op, DType::kF32, {});
  if (failed()) return {};
  result->Set(0, numerics::MakeFloat(DType::kF32, SumInOrder(values, records)));
  return Shaped(ResultType(op), *result);
}

}  // namespace intent::interp
