#include "compiler/interp/law_check.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/interp/strided.h"
#include "compiler/interp/text.h"
#include "compiler/numerics/float_format.h"
#include "compiler/numerics/scalar.h"

namespace intent::interp {
namespace {

constexpr int kSamples = 64;         // of one operation, however often it runs
constexpr int kSamplesOfOneRun = 8;  // of one execution of it
constexpr int64_t kMembers = 24;     // in the three runs of a sample together
constexpr int64_t kLanes = 64;       // of members that combine on arrays
constexpr int64_t kRegionMembers = 64;
constexpr double kRoundings = 64;  // half units in the last place of the largest value

using LeafSpan = std::span<const RuntimeValue>;

int64_t CountOfLeaf(const RuntimeValue& leaf) {
  return leaf.IsTensor() ? leaf.tensor().count() : 1;
}

ScalarValue ElementOf(const RuntimeValue& leaf, int64_t i) {
  return leaf.IsTensor() ? leaf.tensor().At(i) : leaf.scalar();
}

double LargestOf(LeafSpan leaves) {
  double largest = 0;
  for (const RuntimeValue& leaf : leaves) {
    if (!IsFloat(leaf.dtype())) continue;
    for (int64_t i = 0; i < CountOfLeaf(leaf); ++i) {
      const double magnitude = std::fabs(numerics::AsDouble(ElementOf(leaf, i)));
      if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
    }
  }
  return largest;
}

bool Agree(const ScalarValue& x, const ScalarValue& y, double largest) {
  if (!IsFloat(x.dtype)) return x == y;
  const double a = numerics::AsDouble(x), b = numerics::AsDouble(y);
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  const numerics::FloatFormat format = numerics::FormatOf(x.dtype);
  if (!std::isfinite(a) || !std::isfinite(b)) {
    return largest > std::sqrt(numerics::DecodeToDouble(format, format.max_code));
  }
  return std::fabs(a - b) <= kRoundings * std::ldexp(largest, -(format.mantissa_bits + 1));
}

struct Difference {
  size_t leaf;
  int64_t element;
};

std::optional<Difference> FirstDifference(LeafSpan left, LeafSpan right, double largest) {
  for (size_t leaf = 0; leaf < left.size(); ++leaf) {
    const int64_t count = std::max(CountOfLeaf(left[leaf]), CountOfLeaf(right[leaf]));
    for (int64_t i = 0; i < count; ++i) {
      if (!Agree(ElementOf(left[leaf], i), ElementOf(right[leaf], i), largest)) {
        return Difference{leaf, i};
      }
    }
  }
  return std::nullopt;
}

// One lane of states that combine on arrays: as scalars.
std::vector<RuntimeValue> LaneOf(LeafSpan leaves, int64_t lane) {
  std::vector<RuntimeValue> scalars;
  for (const RuntimeValue& leaf : leaves) scalars.emplace_back(ElementOf(leaf, lane));
  return scalars;
}

}  // namespace

Machine::Laws::Samples& Machine::Laws::SamplesOf(const Op& op) {
  const auto [found, inserted] = samples_.try_emplace(op.ordinal);
  if (inserted) found->second = {uint64_t{0x9e3779b97f4a7c15} * (op.ordinal + 1), kSamples};
  return found->second;
}

bool Machine::Laws::Take(const Op& op) {
  Samples& samples = SamplesOf(op);
  if (samples.left == 0) return false;
  --samples.left;
  return true;
}

// SplitMix64.
int64_t Machine::Laws::Draw(const Op& op, int64_t bound) {
  uint64_t z = SamplesOf(op).state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<int64_t>((z ^ (z >> 31)) % static_cast<uint64_t>(bound));
}

bool Machine::Laws::Compare(const Op& op, ErrorKind kind, const Named& left, const Named& right,
                            const std::vector<Named>& states) {
  if (machine_->failed()) return false;
  double largest = std::max(LargestOf(left.leaves), LargestOf(right.leaves));
  for (const Named& state : states) largest = std::max(largest, LargestOf(state.leaves));
  const auto difference = FirstDifference(left.leaves, right.leaves, largest);
  if (!difference) return true;
  const auto show = [&](const Leaves& leaves) {
    return by_lane_ ? Shortened(LaneOf(leaves, difference->element)) : Shortened(leaves);
  };
  std::string message =
      left.name + " is " + show(left.leaves) + ", but " + right.name + " is " + show(right.leaves);
  if (!by_lane_ && left.leaves[difference->leaf].IsTensor()) {
    const RuntimeValue &x = left.leaves[difference->leaf], &y = right.leaves[difference->leaf];
    message += "; element " + PlaceText(x.shape(), difference->element) +
               (left.leaves.size() > 1 ? " of component " + std::to_string(difference->leaf) : "") +
               " is " + Text(ElementOf(x, difference->element)) + " and " +
               Text(ElementOf(y, difference->element));
  }
  for (size_t i = 0; i < states.size(); ++i) {
    message += (i == 0 ? ", where " : ", ") + states[i].name + " is " + show(states[i].leaves);
  }
  machine_->Fail(kind, op, std::move(message));
  return false;
}

bool Machine::Laws::SampleCombine(const Op& op, const Combiner& combiner, const Leaves& members,
                                  int64_t count, const Leaves& identity,
                                  const std::vector<Shape>& retained, bool commutes) {
  if (combiner.IsComponentwise() && members.size() > 1) {
    for (size_t c = 0; c < members.size(); ++c) {
      if (!SampleCombine(op, combiner, {members[c]}, count, {identity[c]}, {retained[c]},
                         commutes)) {
        return false;
      }
    }
    return true;
  }
  by_lane_ = !combiner.OnSlices();
  const int64_t width = CountOf(retained[0]);
  for (const Shape& shape : retained) {
    // Such components fail later, or hold nothing to sample.
    if (CountOf(shape) == 0 || (!combiner.OnSlices() && shape != retained[0])) return true;
  }
  for (int sample = 0; sample < kSamplesOfOneRun && count > 0 && Take(op); ++sample) {
    if (machine_->Interrupted(op)) return false;
    const int64_t lanes = std::min(width, kLanes), lane = Draw(op, width - lanes + 1);
    const auto cut = [&](const Tensor& whole, int64_t i, size_t c) -> RuntimeValue {
      if (combiner.OnSlices()) return whole.Run(i * CountOf(retained[c]), retained[c]);
      if (combiner.IsLifted()) return whole.Run(i * width + lane, {lanes});
      return whole.At(i * width + lane);
    };
    Named neutral{"the identity", {}};
    for (size_t c = 0; c < identity.size(); ++c) {
      const auto whole = machine_->BroadcastTo(op, identity[c], retained[c]);
      if (machine_->failed()) return false;
      neutral.leaves.push_back(cut(*whole, 0, c));
    }
    const auto fold = [&](int64_t first, int64_t last) {
      Leaves state;
      for (int64_t i = first; i < last && !machine_->failed(); ++i) {
        Leaves member;
        for (size_t c = 0; c < members.size(); ++c) {
          member.push_back(cut(members[c].tensor(), i, c));
        }
        state = i == first ? member : combiner.Combine(state, member);
      }
      return state;
    };
    const auto combine = [&](const Leaves& lhs, const Leaves& rhs) {
      return machine_->failed() ? Leaves() : combiner.Combine(lhs, rhs);
    };
    // Runs of single members and longer ones in turn.
    const int64_t length = std::min(count, sample % 2 == 0 ? 3 : kMembers);
    const int64_t first = Draw(op, count - length + 1);
    const int64_t cut1 = length < 3 ? 1 : 1 + Draw(op, length - 2);
    const int64_t cut2 = length < 3 ? length : cut1 + 1 + Draw(op, length - cut1 - 1);
    const Named a{"a", fold(first, first + cut1)};
    if (machine_->failed()) return false;
    const Named before{"combine(identity, a)", combine(neutral.leaves, a.leaves)};
    if (!Compare(op, ErrorKind::kIdentityLaw, before, a, {neutral})) return false;
    const Named after{"combine(a, identity)", combine(a.leaves, neutral.leaves)};
    if (!Compare(op, ErrorKind::kIdentityLaw, after, a, {neutral})) return false;
    // The builtin combines are ours: only their identities are the author's.
    if (length < 2 || op.regions.empty()) continue;
    const Named b{"b", fold(first + cut1, first + cut2)};
    const Named ab{"combine(a, b)", combine(a.leaves, b.leaves)};
    if (commutes) {
      const Named ba{"combine(b, a)", combine(b.leaves, a.leaves)};
      if (!Compare(op, ErrorKind::kCommutativeLaw, ab, ba, {a, b})) return false;
    }
    if (length < 3) continue;
    const Named c{"c", fold(first + cut2, first + length)};
    const Named left{"combine(combine(a, b), c)", combine(ab.leaves, c.leaves)};
    const Leaves bc = combine(b.leaves, c.leaves);
    const Named right{"combine(a, combine(b, c))", combine(a.leaves, bc)};
    if (!Compare(op, ErrorKind::kAssociativeLaw, left, right, {a, b, c})) return false;
  }
  return true;
}

bool Machine::Laws::SampleUpdates(const Op& op, const ScalarValue& old, const ScalarValue& a,
                                  const ScalarValue& b, std::span<const RuntimeValue> captures) {
  by_lane_ = true;
  const auto combine = [&](const Leaves& lhs, const Leaves& rhs) -> Leaves {
    if (machine_->failed()) return {};
    Fields arguments{lhs[0], rhs[0]};
    arguments.insert(arguments.end(), captures.begin(), captures.end());
    return {machine_->CallRegion(*op.regions[0], arguments)};
  };
  const Named element{"e", {old}}, first{"a", {a}}, second{"b", {b}};
  const Named ab{"combine(combine(e, a), b)",
                 combine(combine(element.leaves, first.leaves), second.leaves)};
  const Named ba{"combine(combine(e, b), a)",
                 combine(combine(element.leaves, second.leaves), first.leaves)};
  if (!Compare(op, ErrorKind::kCommutativeLaw, ab, ba, {element, first, second})) return false;
  const Named both{"combine(e, combine(a, b))",
                   combine(element.leaves, combine(first.leaves, second.leaves))};
  return Compare(op, ErrorKind::kAssociativeLaw, ab, both, {element, first, second});
}

RuntimeValue Machine::Laws::CallOnSlice(const Op& op, const Block& region,
                                        const RegionSource& source, int64_t first, int64_t extent,
                                        const RuntimeValue* state, size_t first_capture) {
  if (machine_->failed()) return {};
  machine_->frame_->symbols[op.attr<RegionAttr>().slice_symbol] = extent;
  Leaves arguments = machine_->SliceOf(op, source.components, source.axis, first, extent);
  if (machine_->failed()) return {};
  if (state != nullptr) arguments.push_back(*state);
  for (size_t i = first_capture; i < op.operands.size(); ++i) {
    arguments.push_back(machine_->Get(op, i));
  }
  return machine_->CallRegion(region, arguments);
}

// summarize(A ++ B) == combine(summarize(A), summarize(B)), and the identity is neutral.
bool Machine::Laws::SampleRegion(const Op& op, const RegionSource& source) {
  by_lane_ = false;
  const size_t first_capture = op.kind == OpKind::kRegionScan ? 3 : 2;
  const auto summarize = [&](int64_t first, int64_t last) {
    return CallOnSlice(op, *op.regions[0], source, first, last - first, nullptr, first_capture);
  };
  const auto combine = [&](const RuntimeValue& lhs, const RuntimeValue& rhs) -> RuntimeValue {
    if (machine_->failed()) return {};
    const RuntimeValue sides[] = {lhs, rhs};
    return machine_->CallRegion(*op.regions[1], sides);
  };
  const auto named = [&](std::string name, const RuntimeValue& value) {
    return Named{std::move(name), machine_->failed() ? Leaves() : LeavesOf(value)};
  };
  const RuntimeValue identity = machine_->Get(op, 1);
  for (int sample = 0; sample < kSamplesOfOneRun && source.extent > 0 && Take(op); ++sample) {
    if (machine_->Interrupted(op)) return false;
    const int64_t length = std::min(source.extent, kRegionMembers);
    const int64_t first = Draw(op, source.extent - length + 1), last = first + length;
    const RuntimeValue whole = summarize(first, last);
    const Named x = named("x", whole), neutral = named("the identity", identity);
    if (machine_->failed()) return false;
    const Named before = named("combine(identity, x)", combine(identity, whole));
    if (!Compare(op, ErrorKind::kIdentityLaw, before, x, {neutral})) return false;
    const Named after = named("combine(x, identity)", combine(whole, identity));
    if (!Compare(op, ErrorKind::kIdentityLaw, after, x, {neutral})) return false;
    if (length < 2) continue;
    const int64_t middle = first + 1 + Draw(op, length - 1);
    const RuntimeValue a = summarize(first, middle), b = summarize(middle, last);
    const std::string place = "[" + std::to_string(first) + ", " + std::to_string(middle) +
                              ") and [" + std::to_string(middle) + ", " + std::to_string(last) +
                              ")";
    const Named parts = named("combine(a, b) of its slices " + place, combine(a, b));
    const Named summary{"the summary of a region", x.leaves};
    if (!Compare(op, ErrorKind::kSummaryLaw, summary, parts, {named("a", a), named("b", b)})) {
      return false;
    }
    if (op.kind == OpKind::kRegionScan && !SampleScan(op, source, first, middle, last, a, b)) {
      return false;
    }
  }
  return true;
}

// apply acts on states: the identity leaves them, a combination is one summary after the other; and
// emit of A ++ B is emit of A, then of B with the state that A leaves.
bool Machine::Laws::SampleScan(const Op& op, const RegionSource& source, int64_t first,
                               int64_t middle, int64_t last, const RuntimeValue& a,
                               const RuntimeValue& b) {
  const RuntimeValue state = machine_->Get(op, 2);
  const auto call = [&](size_t region, const RuntimeValue& x,
                        const RuntimeValue& y) -> RuntimeValue {
    if (machine_->failed()) return {};
    const RuntimeValue sides[] = {x, y};
    return machine_->CallRegion(*op.regions[region], sides);
  };
  const auto named = [&](std::string name, const RuntimeValue& value) {
    return Named{std::move(name), machine_->failed() ? Leaves() : LeavesOf(value)};
  };
  const Named s = named("the initial state s", state);
  const Named kept = named("apply(identity, s)", call(2, machine_->Get(op, 1), state));
  if (!Compare(op, ErrorKind::kActionLaw, kept, s, {})) return false;
  const RuntimeValue between = call(2, a, state);
  const Named at_once = named("apply(combine(a, b), s)", call(2, call(1, a, b), state));
  const Named in_turn = named("apply(b, apply(a, s))", call(2, b, between));
  if (!Compare(op, ErrorKind::kActionLaw, at_once, in_turn, {named("a", a), named("b", b), s})) {
    return false;
  }
  const Block& emit = *op.regions[3];
  const auto emitted = [&](int64_t from, int64_t to, const RuntimeValue& before) {
    const RuntimeValue value = CallOnSlice(op, emit, source, from, to - from, &before, 3);
    return machine_->failed() ? Leaves() : LeavesOf(value);
  };
  const Leaves whole = emitted(first, last, state);
  const Leaves left = emitted(first, middle, state);
  const Leaves right = emitted(middle, last, between);
  if (machine_->failed()) return false;
  const std::vector<Type> types =
      LeafTypes(machine_->frame_->function->type(emit.ops.back()->operands[0]));
  const Extent slice = Extent::Symbol(op.attr<RegionAttr>().slice_symbol);
  for (size_t leaf = 0; leaf < whole.size(); ++leaf) {
    const auto& shape = types[leaf].shape();
    const int64_t axis = std::find(shape.begin(), shape.end(), slice) - shape.begin();
    const Named one{"emit of the first slice", {left[leaf]}};
    const Named of_one{"its part of emit of both",
                       machine_->SliceOf(op, {whole[leaf]}, axis, 0, middle - first)};
    if (!Compare(op, ErrorKind::kEmitLaw, one, of_one, {s})) return false;
    const Named two{"emit of the second slice", {right[leaf]}};
    const Named of_two{"its part of emit of both",
                       machine_->SliceOf(op, {whole[leaf]}, axis, middle - first, last - middle)};
    if (!Compare(op, ErrorKind::kEmitLaw, two, of_two, {s})) return false;
  }
  return true;
}

}  // namespace intent::interp
