#include "compiler/ir/dtype.h"

namespace intent {
namespace {

struct Facts {
  std::string_view name;
  int bits;
  int bytes;
  DTypeClass cls;
};

constexpr Facts kFacts[] = {
#define INTENT_DTYPE(name, text, bits, bytes, cls) {text, bits, bytes, DTypeClass::cls},
#include "compiler/ir/dtypes.def"
#undef INTENT_DTYPE
};

const Facts& Of(DType dtype) { return kFacts[static_cast<int>(dtype)]; }

}  // namespace

std::string_view DTypeName(DType dtype) { return Of(dtype).name; }

std::optional<DType> DTypeFromName(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (kFacts[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

int BitWidth(DType dtype) { return Of(dtype).bits; }
int StorageBytes(DType dtype) { return Of(dtype).bytes; }
DTypeClass ClassOf(DType dtype) { return Of(dtype).cls; }

bool IsSignedInteger(DType dtype) {
  const DTypeClass cls = ClassOf(dtype);
  return cls == DTypeClass::kSigned || cls == DTypeClass::kIndex || dtype == DType::kI4 ||
         dtype == DType::kI128;
}

bool IsUnsignedInteger(DType dtype) {
  return ClassOf(dtype) == DTypeClass::kUnsigned || dtype == DType::kU128;
}

bool IsInteger(DType dtype) { return IsSignedInteger(dtype) || IsUnsignedInteger(dtype); }

bool IsFloat(DType dtype) {
  const DTypeClass cls = ClassOf(dtype);
  return cls == DTypeClass::kFloat || cls == DTypeClass::kNarrow;
}

bool IsAddressable(DType dtype) {
  const DTypeClass cls = ClassOf(dtype);
  return cls != DTypeClass::kWide && cls != DTypeClass::kNarrow;
}

bool FitsF16(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kF8E4M3FN || dtype == DType::kF8E5M2;
}

}  // namespace intent
