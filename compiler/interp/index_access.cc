#include "compiler/interp/index_access.h"

#include <algorithm>

#include "compiler/interp/strided.h"

namespace intent::interp {
namespace {

// The joint shape of the tensor terms; nullopt: they do not broadcast.
std::optional<Shape> JointShape(const std::vector<IndexAccess::Term>& terms, std::string* error) {
  Shape joint;
  for (const IndexAccess::Term& term : terms) {
    if (!term.positions) continue;
    const Shape& shape = term.positions->shape();
    if (shape.size() > joint.size()) joint.insert(joint.begin(), shape.size() - joint.size(), 1);
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t& extent = joint[joint.size() - shape.size() + i];
      if (shape[i] == extent || shape[i] == 1) continue;
      if (extent != 1) {
        *error = "index tensors of shapes " + ShapeText(joint) + " and " + ShapeText(shape) +
                 " do not broadcast together";
        return std::nullopt;
      }
      extent = shape[i];
    }
  }
  return joint;
}

// Strides that spread a dense array of one shape over another that it broadcasts to.
std::vector<int64_t> SpreadStrides(const Shape& from, const Shape& to) {
  const std::vector<int64_t> own = DenseStrides(from);
  std::vector<int64_t> strides(to.size(), 0);
  for (size_t i = 0; i < own.size(); ++i) {
    if (from[i] != 1) strides[to.size() - own.size() + i] = own[i];
  }
  return strides;
}

}  // namespace

void IndexAccess::AddRange(const Resource& resource, int32_t axis, const Domain::Range& range) {
  const int64_t extent = resource.extents[axis], count = range.Count();
  const uint64_t stride = static_cast<uint64_t>(resource.strides[axis]);
  const auto position_of = [&](int64_t ordinal) {
    return static_cast<__int128>(range.begin) + static_cast<__int128>(ordinal) * range.step;
  };
  if (count > 0 && (position_of(0) < 0 || position_of(count - 1) >= extent)) {
    // The first ordinal at or above zero, and the first at or above the extent.
    const auto first_at_least = [&](__int128 bound) {
      const __int128 ordinal = (bound - range.begin + range.step - 1) / range.step;
      return static_cast<int64_t>(std::clamp<__int128>(ordinal, 0, count));
    };
    const int64_t low = range.begin >= 0 ? 0 : first_at_least(0);
    const int64_t high = range.begin >= extent ? 0 : first_at_least(extent);
    limits_.push_back({shape_.size(), low, high, axis, range});
  }
  base_ += static_cast<uint64_t>(range.begin) * stride;
  shape_.push_back(count);
  strides_.push_back(static_cast<int64_t>(static_cast<uint64_t>(range.step) * stride));
  table_strides_.push_back(0);
}

std::optional<IndexAccess> IndexAccess::Make(const Resource& resource,
                                             const std::vector<Term>& terms, MemoryBudget* budget,
                                             std::string* error) {
  IndexAccess access;
  const std::optional<Shape> joint = JointShape(terms, error);
  if (!joint) return std::nullopt;
  const std::vector<int64_t> joint_strides = DenseStrides(*joint);
  bool joint_placed = false;
  int32_t axis = 0;
  for (const Term& term : terms) {
    switch (term.kind) {
      case IndexTermKind::kNewAxis:
        access.shape_.push_back(1);
        access.strides_.push_back(0);
        access.table_strides_.push_back(0);
        continue;
      case IndexTermKind::kFull:
        access.AddRange(resource, axis, {0, resource.extents[axis], 1});
        break;
      case IndexTermKind::kRegion:
      case IndexTermKind::kSlice:
        access.AddRange(resource, axis, term.range);
        break;
      case IndexTermKind::kStatic:
      case IndexTermKind::kValue:
        if (term.positions) {
          if (joint_placed) break;
          joint_placed = true;
          for (size_t i = 0; i < joint->size(); ++i) {
            access.shape_.push_back((*joint)[i]);
            access.strides_.push_back(0);
            access.table_strides_.push_back(joint_strides[i]);
          }
        } else if (term.position < 0 || term.position >= resource.extents[axis]) {
          if (!access.always_) access.always_ = Violation{axis, term.position};
        } else {
          access.base_ +=
              static_cast<uint64_t>(term.position) * static_cast<uint64_t>(resource.strides[axis]);
        }
        break;
    }
    ++axis;
  }
  for (int64_t extent : access.shape_) {
    if (__builtin_mul_overflow(access.count_, extent, &access.count_)) {
      *error = "an indexed access has more than 2^63 elements";
      return std::nullopt;
    }
  }
  if (!joint_placed || access.count_ == 0) return access;
  if (!access.FillTable(resource, terms, *joint, budget)) {
    *error = "";
    return std::nullopt;
  }
  return access;
}

bool IndexAccess::FillTable(const Resource& resource, const std::vector<Term>& terms,
                            const Shape& joint, MemoryBudget* budget) {
  int64_t count = 1;
  for (int64_t extent : joint) count *= extent;
  auto storage = Storage::Allocate(budget, count * static_cast<int64_t>(sizeof(int64_t)));
  if (storage == nullptr) return false;
  table_.emplace(DType::kI64, joint, std::move(storage));
  auto* offsets = reinterpret_cast<int64_t*>(table_->mutable_data());
  int32_t axis = -1;
  for (const Term& term : terms) {
    if (term.kind == IndexTermKind::kNewAxis) continue;
    ++axis;
    if (!term.positions) continue;
    const std::vector<int64_t> strides = SpreadStrides(term.positions->shape(), joint);
    const auto* positions = reinterpret_cast<const int64_t*>(term.positions->data());
    std::vector<int64_t> coordinates(joint.size(), 0);
    int64_t at = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t position = positions[at];
      if (position >= 0 && position < resource.extents[axis]) {
        // Unsigned: the strides of a resource without elements may be of any size.
        const uint64_t step =
            static_cast<uint64_t>(position) * static_cast<uint64_t>(resource.strides[axis]);
        offsets[i] = static_cast<int64_t>(static_cast<uint64_t>(offsets[i]) + step);
      } else {
        table_violations_.resize(static_cast<size_t>(count));
        auto& violation = table_violations_[static_cast<size_t>(i)];
        if (!violation) violation = Violation{axis, position};
      }
      for (size_t k = joint.size(); k-- > 0;) {
        at += strides[k];
        if (++coordinates[k] < joint[k]) break;
        coordinates[k] = 0;
        at -= strides[k] * joint[k];
      }
    }
  }
  return true;
}

std::optional<IndexAccess::Violation> IndexAccess::ViolationAt(
    const std::vector<int64_t>& coordinates, int64_t table_position) const {
  if (always_) return always_;
  for (const Limit& limit : limits_) {
    const int64_t ordinal = coordinates[limit.result_axis];
    if (ordinal >= limit.low && ordinal < limit.high) continue;
    return Violation{limit.axis, static_cast<__int128>(limit.range.begin) +
                                     static_cast<__int128>(ordinal) * limit.range.step};
  }
  if (!table_violations_.empty()) return table_violations_[static_cast<size_t>(table_position)];
  return std::nullopt;
}

std::optional<IndexAccess::Violation> IndexAccess::FindViolation() const {
  if (count_ == 0) return std::nullopt;
  if (always_) return always_;
  for (const Limit& limit : limits_) {
    const int64_t ordinal = limit.low > 0 ? 0 : limit.high;
    return Violation{limit.axis, static_cast<__int128>(limit.range.begin) +
                                     static_cast<__int128>(ordinal) * limit.range.step};
  }
  for (const auto& violation : table_violations_) {
    if (violation) return violation;
  }
  return std::nullopt;
}

}  // namespace intent::interp
