#pragma once

// The one relation of indexed accesses (language.md chapter 4), evaluated: which element of a
// strided resource each position of the result names, and whether it lies inside.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/interp/value.h"
#include "compiler/ir/op_attributes.h"

namespace intent::interp {

class IndexAccess {
 public:
  // The value of one term's operands.
  struct Term {
    IndexTermKind kind = IndexTermKind::kFull;
    __int128 position = 0;            // kStatic, and kValue by a scalar
    std::optional<Tensor> positions;  // kValue by a tensor, i64 elements
    Domain::Range range;              // kRegion, kSlice
  };
  struct Violation {
    int32_t axis = -1;  // of the resource
    __int128 position = 0;
  };

  // nullopt: tensor terms do not broadcast jointly (`error` says which), or their table exceeds the
  // budget (`error` is empty).
  static std::optional<IndexAccess> Make(const Resource& resource, const std::vector<Term>& terms,
                                         MemoryBudget* budget, std::string* error);

  const Shape& shape() const { return shape_; }  // of the result
  int64_t count() const { return count_; }

  // Any position of the result out of bounds, if there is one; none for an empty result.
  std::optional<Violation> FindViolation() const;

  // Purely strided: no tensor terms. Then `base` and `strides` give every offset.
  bool IsStrided() const { return !table_.has_value(); }
  int64_t base() const { return static_cast<int64_t>(base_); }
  const std::vector<int64_t>& strides() const { return strides_; }

  // Calls body(position, offset, violation) in row-major order; offset is meaningless and violation
  // not null where the position is out of bounds. Stops when body returns false.
  template <typename Body>
  void ForEach(Body body) const;

 private:
  // Positions of one result axis that fall inside the resource's axis.
  struct Limit {
    size_t result_axis;
    int64_t low, high;
    int32_t axis;
    Domain::Range range;
  };
  // Evaluates the tensor terms; false: beyond the budget.
  bool FillTable(const Resource& resource, const std::vector<Term>& terms, const Shape& joint,
                 MemoryBudget* budget);
  std::optional<Violation> ViolationAt(const std::vector<int64_t>& coordinates,
                                       int64_t table_position) const;
  // Adds a result axis that walks `range` along a resource axis.
  void AddRange(const Resource& resource, int32_t axis, const Domain::Range& range);

  Shape shape_;
  int64_t count_ = 1;
  uint64_t base_ = 0;             // modulo 2^64: exact wherever the position is in bounds
  std::vector<int64_t> strides_;  // by result axis
  std::vector<int64_t> table_strides_;
  std::optional<Tensor> table_;                             // offsets of the joint tensor terms
  std::vector<std::optional<Violation>> table_violations_;  // empty: none
  std::vector<Limit> limits_;                               // result axes that leave the resource
  std::optional<Violation> always_;                         // a scalar term out of bounds
};

template <typename Body>
void IndexAccess::ForEach(Body body) const {
  if (count_ == 0) return;
  const bool checked = always_ || !limits_.empty() || !table_violations_.empty();
  const size_t rank = shape_.size();
  std::vector<int64_t> coordinates(rank, 0);
  const auto* table = table_ ? reinterpret_cast<const int64_t*>(table_->data()) : nullptr;
  int64_t table_position = 0;
  uint64_t offset = base_;
  for (int64_t position = 0; position < count_; ++position) {
    std::optional<Violation> violation;
    if (checked) violation = ViolationAt(coordinates, table_position);
    const uint64_t joint = table != nullptr ? static_cast<uint64_t>(table[table_position]) : 0;
    if (!body(position, static_cast<int64_t>(offset + joint), violation ? &*violation : nullptr)) {
      return;
    }
    for (size_t axis = rank; axis-- > 0;) {
      offset += static_cast<uint64_t>(strides_[axis]);
      table_position += table_strides_[axis];
      if (++coordinates[axis] < shape_[axis]) break;
      coordinates[axis] = 0;
      offset -= static_cast<uint64_t>(strides_[axis]) * static_cast<uint64_t>(shape_[axis]);
      table_position -= table_strides_[axis] * shape_[axis];
    }
  }
}

}  // namespace intent::interp
