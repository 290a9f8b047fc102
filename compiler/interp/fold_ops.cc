// Reductions and scans. Chapters are those of seed 000, with an L language.md's. Members are laid
// out first axis first, so that every step of a tree combines two contiguous arrays. A tree keeps
// the error of a long sum within (32 + log2 n) units (L 16).

#include <algorithm>
#include <cstring>

#include "compiler/interp/combiner.h"
#include "compiler/interp/law_check.h"
#include "compiler/interp/machine.h"
#include "compiler/interp/strided.h"
#include "compiler/numerics/scalar.h"

namespace intent::interp {
namespace {

// A component's members, moved to the front: `count` of them, each of the retained shape.
struct Layout {
  std::vector<int64_t> axes;  // the permutation: folded axes, then retained ones
  Shape retained;
  int64_t count = 0;
  bool in_place = true;  // the permutation changes nothing
};

Layout LayoutOf(const Shape& shape, const std::vector<int64_t>& folded) {
  Layout layout{.axes = folded};
  Shape extents;
  for (int64_t axis : folded) extents.push_back(shape[static_cast<size_t>(axis)]);
  layout.count = CountOf(extents);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (std::find(folded.begin(), folded.end(), static_cast<int64_t>(axis)) != folded.end()) {
      continue;
    }
    layout.axes.push_back(static_cast<int64_t>(axis));
    layout.retained.push_back(shape[axis]);
  }
  layout.in_place = std::is_sorted(layout.axes.begin(), layout.axes.end());
  return layout;
}

void CopyBytes(std::byte* target, const Tensor& source) {
  std::memcpy(target, source.data(), static_cast<size_t>(source.count() * source.element_bytes()));
}

}  // namespace

// 6, L 7: members in any order and grouping; none gives the identity; reduced axes disappear.
RuntimeValue Machine::Reduce(const Op& op) {
  const ReduceAttr& attr = op.attr<ReduceAttr>();
  std::vector<int64_t> folded;
  for (const StaticInt& axis : attr.axes) folded.push_back(axis.value);
  const Combiner combiner(this, op, attr.combine, 2);
  Leaves members;
  std::vector<Shape> retained;
  std::optional<int64_t> count;
  for (const RuntimeValue& leaf : LeavesOf(Get(op, 0))) {
    const Layout layout = LayoutOf(leaf.shape(), folded);
    if (count && *count != layout.count) {
      Fail(ErrorKind::kBadShape, op, "components of a reduction differ in extent");
      return {};
    }
    count = layout.count;
    retained.push_back(layout.retained);
    if (layout.in_place) {
      members.push_back(leaf);
    } else {
      members.push_back(TensorPtr(Permuted(op, leaf.tensor(), layout.axes)));
      if (failed()) return {};
    }
  }
  const Leaves identity = LeavesOf(Get(op, 1));
  if (laws_ != nullptr && !laws_->SampleCombine(op, combiner, members, *count, identity, retained,
                                                /*commutes=*/true)) {
    return {};
  }
  Leaves result;
  if (combiner.IsComponentwise()) {
    for (size_t i = 0; i < members.size(); ++i) {
      const Leaves one =
          ReduceTree(op, combiner, {members[i]}, *count, {identity[i]}, {retained[i]});
      if (failed()) return {};
      result.push_back(one[0]);
    }
  } else if (combiner.IsLifted()) {
    result = ReduceTree(op, combiner, std::move(members), *count, identity, retained);
  } else {
    result = ReduceMembers(op, combiner, members, *count, identity, retained);
  }
  if (failed()) return {};
  const std::vector<Type> types = LeafTypes(ResultType(op));
  for (size_t i = 0; i < result.size(); ++i) {
    if (result[i].IsTensor()) result[i] = Shaped(types[i], result[i].tensor());
  }
  size_t next = 0;
  return Rebuild(ResultType(op), result, &next);
}

// Halves the members until one is left; a member left over by an odd number waits for the end.
Machine::Leaves Machine::ReduceTree(const Op& op, const Combiner& combiner, Leaves members,
                                    int64_t count, const Leaves& identity,
                                    const std::vector<Shape>& retained) {
  const int64_t width = CountOf(retained[0]);
  for (const Shape& shape : retained) {
    if (shape == retained[0]) continue;
    Fail(ErrorKind::kBadShape, op, "components of a reduction retain different shapes");
    return {};
  }
  const auto part = [&](const Leaves& leaves, int64_t first, int64_t size) {
    Leaves result;
    for (const RuntimeValue& leaf : leaves) {
      result.push_back(leaf.tensor().Run(first * width, {size * width}));
    }
    return result;
  };
  Leaves total;
  for (const RuntimeValue& leaf : identity) {
    const auto whole = BroadcastTo(op, leaf, retained[0]);
    if (failed()) return {};
    total.push_back(whole->Reshaped({width}));
  }
  const bool empty = count == 0 || width == 0;
  std::vector<Leaves> left_over;
  while (!empty && count > 1) {
    if (Interrupted(op)) return {};
    const int64_t half = count / 2;
    if (count % 2 != 0) left_over.push_back(part(members, count - 1, 1));
    members = combiner.Combine(part(members, 0, half), part(members, half, half));
    if (failed()) return {};
    count = half;
  }
  if (!empty) left_over.push_back(part(members, 0, 1));
  while (!left_over.empty()) {
    total = combiner.Combine(total, left_over.back());
    if (failed()) return {};
    left_over.pop_back();
  }
  for (RuntimeValue& leaf : total) leaf = leaf.tensor().Reshaped(retained[0]);
  return total;
}

Machine::Leaves Machine::FoldBalanced(const Op& op, const Combiner& combiner, int64_t count,
                                      const std::function<Leaves(int64_t)>& member,
                                      const Leaves& identity) {
  // Runs of 1, 2, 4, ... members on a stack: neighbours of equal length combine.
  std::vector<std::pair<Leaves, int64_t>> runs;
  const auto merge = [&] {
    auto right = std::move(runs.back());
    runs.pop_back();
    runs.back().first = combiner.Combine(runs.back().first, right.first);
    runs.back().second += right.second;
  };
  for (int64_t i = 0; i < count; ++i) {
    if (Interrupted(op)) return {};
    runs.emplace_back(member(i), 1);
    while (runs.size() > 1 && runs[runs.size() - 2].second == runs.back().second) {
      merge();
      if (failed()) return {};
    }
  }
  while (runs.size() > 1) {
    merge();
    if (failed()) return {};
  }
  return runs.empty() ? identity : combiner.Combine(identity, runs[0].first);
}

Machine::Leaves Machine::ReduceMembers(const Op& op, const Combiner& combiner,
                                       const Leaves& members, int64_t count, const Leaves& identity,
                                       const std::vector<Shape>& retained) {
  if (combiner.OnSlices()) {
    Leaves start;
    for (size_t c = 0; c < identity.size(); ++c) {
      start.push_back(TensorPtr(BroadcastTo(op, identity[c], retained[c])));
      if (failed()) return {};
    }
    return FoldBalanced(
        op, combiner, count,
        [&](int64_t i) {
          Leaves slice;
          for (size_t c = 0; c < members.size(); ++c) {
            slice.push_back(members[c].tensor().Run(i * CountOf(retained[c]), retained[c]));
          }
          return slice;
        },
        start);
  }
  Tensors results;
  for (size_t c = 0; c < members.size(); ++c) {
    if (retained[c] != retained[0]) {
      Fail(ErrorKind::kBadShape, op, "components of a reduction retain different shapes");
      return {};
    }
    results.push_back(NewTensor(op, members[c].dtype(), retained[c]));
    if (failed()) return {};
  }
  const int64_t width = CountOf(retained[0]);
  for (int64_t j = 0; j < width; ++j) {
    Leaves start;
    for (const RuntimeValue& leaf : identity) {
      start.push_back(leaf.IsScalar() ? leaf.scalar() : leaf.tensor().At(j));
    }
    const Leaves total = FoldBalanced(
        op, combiner, count,
        [&](int64_t i) {
          Leaves scalars;
          for (const RuntimeValue& leaf : members) {
            scalars.push_back(leaf.tensor().At(i * width + j));
          }
          return scalars;
        },
        start);
    if (failed()) return {};
    for (size_t c = 0; c < results.size(); ++c) results[c]->Set(j, total[c].scalar());
  }
  return Leaves(results.begin(), results.end());
}

// 6, L 7, L 16: every prefix in order; reverse is flip, scan, flip; empty gives empty.
RuntimeValue Machine::Scan(const Op& op) {
  const ScanAttr& attr = op.attr<ScanAttr>();
  const Combiner combiner(this, op, attr.combine, 2);
  const Leaves identity = LeavesOf(Get(op, 1));
  Tensors members;
  std::vector<Layout> layouts;
  for (const RuntimeValue& leaf : LeavesOf(Get(op, 0))) {
    layouts.push_back(LayoutOf(leaf.shape(), {attr.axis.value}));
    if (layouts.back().count != layouts[0].count) {
      Fail(ErrorKind::kBadShape, op, "components of a scan differ in extent");
      return {};
    }
    members.push_back(Permuted(op, leaf.tensor(), layouts.back().axes));
    if (failed()) return {};
    if (attr.reverse.value != 0) members.back() = Flipped(op, *members.back());
    if (failed()) return {};
  }
  const int64_t count = layouts[0].count;
  if (laws_ != nullptr) {
    std::vector<Shape> retained;
    for (const Layout& layout : layouts) retained.push_back(layout.retained);
    if (!laws_->SampleCombine(op, combiner, Leaves(members.begin(), members.end()), count, identity,
                              retained, /*commutes=*/false)) {
      return {};
    }
  }
  if (count > 0) {
    const bool inclusive = attr.inclusive.value != 0;
    if (combiner.IsComponentwise()) {
      for (size_t i = 0; i < members.size(); ++i) {
        const Tensors one = ScanLifted(op, combiner, {members[i]}, {identity[i]}, inclusive);
        if (failed()) return {};
        members[i] = one[0];
      }
    } else {
      members = combiner.IsLifted() ? ScanLifted(op, combiner, members, identity, inclusive)
                                    : ScanMembers(op, combiner, members, identity, inclusive);
    }
    if (failed()) return {};
  }
  Leaves results;
  for (size_t c = 0; c < members.size(); ++c) {
    if (attr.reverse.value != 0) members[c] = Flipped(op, *members[c]);
    if (failed()) return {};
    std::vector<int64_t> back(layouts[c].axes.size());
    for (size_t i = 0; i < back.size(); ++i) {
      back[static_cast<size_t>(layouts[c].axes[i])] = static_cast<int64_t>(i);
    }
    results.push_back(TensorPtr(Permuted(op, *members[c], back)));
    if (failed()) return {};
  }
  size_t next = 0;
  return Rebuild(ResultType(op), results, &next);
}

std::shared_ptr<Tensor> Machine::Flipped(const Op& op, const Tensor& source) {
  auto result = NewTensor(op, source.dtype(), source.shape());
  if (failed() || source.count() == 0) return result;
  const std::vector<int64_t> dense = DenseStrides(source.shape());
  std::vector<int64_t> strides = dense;
  strides[0] = -strides[0];
  CopyStrided(source.element_bytes(), source.shape(),
              source.data() + (source.shape()[0] - 1) * dense[0] * source.element_bytes(), strides,
              result->mutable_data(), dense);
  return result;
}

// Prefixes of all members at once; the accumulator starts at the identity.
Machine::Tensors Machine::ScanLifted(const Op& op, const Combiner& combiner, const Tensors& members,
                                     const Leaves& identity, bool inclusive) {
  const Shape& shape = members[0]->shape();
  const Shape slice(shape.begin() + 1, shape.end());
  const int64_t width = CountOf(slice), count = shape[0];
  Leaves start, first, flat;
  for (size_t c = 0; c < members.size(); ++c) {
    if (members[c]->shape() != shape) {
      Fail(ErrorKind::kBadShape, op, "components of a scan differ in shape");
      return {};
    }
    const auto whole = BroadcastTo(op, identity[c], slice);
    if (failed()) return {};
    start.push_back(whole->Reshaped({width}));
    first.push_back(members[c]->Run(0, {width}));
  }
  if (width == 0) return members;
  first = combiner.Combine(start, first);
  if (failed()) return {};
  for (size_t c = 0; c < members.size(); ++c) {
    CopyBytes(members[c]->mutable_data(), first[c].tensor());
    flat.push_back(members[c]->Reshaped({count * width}));
  }
  const Leaves prefixes = ScanTree(op, combiner, flat, count, width);
  if (failed()) return {};
  Tensors results;
  for (size_t c = 0; c < members.size(); ++c) {
    results.push_back(NewTensor(op, members[c]->dtype(), shape));
    if (failed()) return {};
    std::byte* out = results[c]->mutable_data();
    if (inclusive) {
      CopyBytes(out, prefixes[c].tensor());
    } else {
      CopyBytes(out, start[c].tensor());
      CopyBytes(out + width * results[c]->element_bytes(),
                prefixes[c].tensor().Run(0, {(count - 1) * width}));
    }
  }
  return results;
}

// Combines neighbours, scans the half, and fills in the members between: depth 2 log2 n.
Machine::Leaves Machine::ScanTree(const Op& op, const Combiner& combiner, const Leaves& members,
                                  int64_t count, int64_t width) {
  if (count <= 1) return members;
  if (Interrupted(op)) return {};
  const int64_t pairs = count / 2, evens = count - pairs;
  Leaves even, odd, even_of_pairs;
  for (const RuntimeValue& leaf : members) {
    const Tensor& source = leaf.tensor();
    for (int64_t parity : {0, 1}) {
      const int64_t size = parity == 0 ? evens : pairs;
      auto picked = NewTensor(op, source.dtype(), {size * width});
      if (failed()) return {};
      CopyStrided(source.element_bytes(), std::vector<int64_t>{size, width},
                  source.data() + parity * width * source.element_bytes(),
                  std::vector<int64_t>{2 * width, 1}, picked->mutable_data(),
                  std::vector<int64_t>{width, 1});
      (parity == 0 ? even : odd).push_back(TensorPtr(picked));
    }
    even_of_pairs.push_back(even.back().tensor().Run(0, {pairs * width}));
  }
  Leaves combined = combiner.Combine(even_of_pairs, odd);
  if (failed()) return {};
  const Leaves upto = ScanTree(op, combiner, combined, pairs, width);
  if (failed()) return {};
  Leaves before, at;
  for (size_t c = 0; c < members.size(); ++c) {
    before.push_back(upto[c].tensor().Run(0, {(evens - 1) * width}));
    at.push_back(even[c].tensor().Run(width, {(evens - 1) * width}));
  }
  Leaves between;
  if (evens > 1) between = combiner.Combine(before, at);
  if (failed()) return {};
  Leaves results;
  for (size_t c = 0; c < members.size(); ++c) {
    auto result = NewTensor(op, members[c].dtype(), {count * width});
    if (failed()) return {};
    const int64_t size = result->element_bytes();
    const std::vector<int64_t> dense{width, 1}, spread{2 * width, 1};
    std::byte* out = result->mutable_data();
    CopyStrided(size, std::vector<int64_t>{pairs, width}, upto[c].tensor().data(), dense,
                out + width * size, spread);
    CopyBytes(out, even[c].tensor().Run(0, {width}));
    if (evens > 1) {
      CopyStrided(size, std::vector<int64_t>{evens - 1, width}, between[c].tensor().data(), dense,
                  out + 2 * width * size, spread);
    }
    results.push_back(TensorPtr(result));
  }
  return results;
}

// One member after the other, for regions that do not run on arrays.
Machine::Tensors Machine::ScanMembers(const Op& op, const Combiner& combiner,
                                      const Tensors& members, const Leaves& identity,
                                      bool inclusive) {
  Tensors results;
  std::vector<Shape> slices;
  for (const auto& member : members) {
    results.push_back(NewTensor(op, member->dtype(), member->shape()));
    if (failed()) return {};
    slices.emplace_back(member->shape().begin() + 1, member->shape().end());
  }
  const int64_t count = members[0]->shape()[0];
  const int64_t lanes = combiner.OnSlices() ? 1 : CountOf(slices[0]);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Leaves state;
    for (size_t c = 0; c < members.size(); ++c) {
      if (combiner.OnSlices()) {
        state.push_back(TensorPtr(BroadcastTo(op, identity[c], slices[c])));
        if (failed()) return {};
      } else {
        state.push_back(identity[c].IsScalar() ? identity[c].scalar()
                                               : identity[c].tensor().At(lane));
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      if (Interrupted(op)) return {};
      Leaves member;
      for (size_t c = 0; c < members.size(); ++c) {
        if (combiner.OnSlices()) {
          member.push_back(members[c]->Run(i * CountOf(slices[c]), slices[c]));
        } else {
          member.push_back(members[c]->At(i * lanes + lane));
        }
      }
      Leaves next = combiner.Combine(state, member);
      if (failed()) return {};
      const Leaves& shown = inclusive ? next : state;
      for (size_t c = 0; c < members.size(); ++c) {
        if (shown[c].IsScalar()) {
          results[c]->Set(i * lanes + lane, shown[c].scalar());
        } else {
          CopyBytes(
              results[c]->mutable_data() + i * CountOf(slices[c]) * results[c]->element_bytes(),
              shown[c].tensor());
        }
      }
      state = std::move(next);
    }
  }
  return results;
}

}  // namespace intent::interp
