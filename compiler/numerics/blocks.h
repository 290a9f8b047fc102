#pragma once

// Runs a loop over compute types on arrays of stored elements: directly where the two are one,
// otherwise block by block through small arrays of the compute type.

#include <algorithm>
#include <cstddef>

#include "compiler/numerics/element.h"

namespace intent::numerics {

inline constexpr size_t kBlock = 256;

// One operand, presented as `count` compute values from `first` on, or as one value (stride 0).
template <DType D>
class BlockInput {
 public:
  using Compute = typename Element<D>::Compute;
  BlockInput(const void* data, int stride)
      : data_(static_cast<const typename Element<D>::Storage*>(data)), stride_(stride) {
    if (stride == 0) buffer_[0] = Element<D>::Load(data_[0]);
  }
  const Compute* At(size_t first, size_t count) {
    if (stride_ == 0) return buffer_;
    if constexpr (Element<D>::kIdentity) {
      return data_ + first;
    } else {
      for (size_t i = 0; i < count; ++i) buffer_[i] = Element<D>::Load(data_[first + i]);
      return buffer_;
    }
  }
  int stride() const { return stride_; }

 private:
  const typename Element<D>::Storage* data_;
  int stride_;
  Compute buffer_[Element<D>::kIdentity ? 1 : kBlock];
};

// The result: Room gives the place to compute into, Commit stores it.
template <DType D>
class BlockOutput {
 public:
  using Compute = typename Element<D>::Compute;
  explicit BlockOutput(void* data) : data_(static_cast<typename Element<D>::Storage*>(data)) {}
  Compute* Room(size_t first) {
    if constexpr (Element<D>::kIdentity) {
      return data_ + first;
    } else {
      return buffer_;
    }
  }
  void Commit(size_t first, size_t count) {
    if constexpr (!Element<D>::kIdentity) {
      for (size_t i = 0; i < count; ++i) data_[first + i] = Element<D>::Store(buffer_[i]);
    }
  }

 private:
  typename Element<D>::Storage* data_;
  Compute buffer_[Element<D>::kIdentity ? 1 : kBlock];
};

template <typename Body>
void ForEachBlock(size_t count, Body body) {
  for (size_t first = 0; first < count; first += kBlock) {
    body(first, std::min(kBlock, count - first));
  }
}

}  // namespace intent::numerics
