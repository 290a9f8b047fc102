#pragma once

// A mask operand: absent, one flag for all, or one for each position.

#include "compiler/interp/value.h"
#include "compiler/numerics/scalar.h"

namespace intent::interp {

class Mask {
 public:
  Mask() = default;
  explicit Mask(const RuntimeValue& value)
      : all_(value.IsTensor() || numerics::AsBool(value.scalar())),
        flags_(value.IsTensor() ? value.tensor().data() : nullptr) {}
  bool At(int64_t position) const {
    return flags_ != nullptr ? flags_[position] != std::byte{0} : all_;
  }
  bool IsEverywhere() const { return flags_ == nullptr && all_; }

 private:
  bool all_ = true;
  const std::byte* flags_ = nullptr;
};

}  // namespace intent::interp
