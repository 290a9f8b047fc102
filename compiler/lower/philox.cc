// Random bits, Philox4x32-10 (seed 000 chapter 12), as a pointwise operation: every 32-bit word
// lies in a lane of 64 bits, which holds a whole product.

#include <utility>

#include "compiler/lower/lowerer.h"

namespace intent::lower {

Id Lowerer::PhiloxBits(Id seed, Id counter) {
  const auto word = [&](uint64_t value) { return b().Const({DType::kU64, value}); };
  const auto binary = [&](BinaryKind kind, Id x, Id y) { return b().Binary(kind, x, y); };
  const auto low = [&](Id x) { return binary(BinaryKind::kAnd, x, word(0xffffffff)); };
  const auto high = [&](Id x) { return binary(BinaryKind::kShr, x, word(32)); };
  const auto mix = [&](Id x, Id y, Id z) {
    return binary(BinaryKind::kXor, binary(BinaryKind::kXor, x, y), z);
  };
  counter = b().Bitcast(counter, DType::kU64);
  const Id block = binary(BinaryKind::kShr, counter, word(2));
  Id c0 = low(block), c1 = high(block), c2 = word(0), c3 = word(0);
  Id k0 = low(seed), k1 = high(seed);
  for (int round = 0; round < 10; ++round) {
    const Id first = b().Mul(word(0xD2511F53), c0), second = b().Mul(word(0xCD9E8D57), c2);
    const Id next0 = mix(high(second), c1, k0), next2 = mix(high(first), c3, k1);
    c0 = next0, c1 = low(second), c2 = next2, c3 = low(first);
    k0 = low(b().Add(k0, word(0x9E3779B9)));
    k1 = low(b().Add(k1, word(0xBB67AE85)));
  }
  const Id which = binary(BinaryKind::kAnd, counter, word(3));
  const auto pick = [&](uint64_t bit, Id zero, Id one) {
    const Id set =
        b().Compare(CompareKind::kNe, binary(BinaryKind::kAnd, which, word(bit)), word(0));
    return b().Select(set, one, zero);
  };
  return b().Cast(pick(2, pick(1, c0, c1), pick(1, c2, c3)), DType::kU32);
}

}  // namespace intent::lower
