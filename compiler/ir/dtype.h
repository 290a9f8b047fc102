#pragma once

// Scalar types (seed 000 chapter 1, language.md chapters 1 and 14). A plain enum with facts about
// each.

#include <cstdint>
#include <optional>
#include <string_view>

namespace intent {

enum class DType : uint8_t {
#define INTENT_DTYPE(name, text, bits, bytes, cls) name,
#include "compiler/ir/dtypes.def"
#undef INTENT_DTYPE
};

enum class DTypeClass : uint8_t { kBool, kIndex, kSigned, kUnsigned, kFloat, kWide, kNarrow };

inline constexpr int kNumDTypes = 0
#define INTENT_DTYPE(name, text, bits, bytes, cls) +1
#include "compiler/ir/dtypes.def"
#undef INTENT_DTYPE
    ;

std::string_view DTypeName(DType dtype);                    // "f32"
std::optional<DType> DTypeFromName(std::string_view name);  // nullopt: unknown
int BitWidth(DType dtype);                                  // bits of the value: bool 1, i4 4
int StorageBytes(DType dtype);                              // bytes of one element in memory
DTypeClass ClassOf(DType dtype);

// index, i4..i128, u8..u128; not bool.
bool IsInteger(DType dtype);
// index and i*: two's complement.
bool IsSignedInteger(DType dtype);
bool IsUnsignedInteger(DType dtype);
// Every floating format, narrow ones included.
bool IsFloat(DType dtype);
// May be an element of a view or buffer.
bool IsAddressable(DType dtype);
// f16 and the addressable floats of 8 bits, all of whose values f16 has.
bool FitsF16(DType dtype);

}  // namespace intent
