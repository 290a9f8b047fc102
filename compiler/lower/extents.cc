// Extents as tile values, and what is known of those that follow from data.
//
// A subregion's extent may be any number by its type, `%stop - %start`, but guards have shown where
// it lies once it is made. Where units run, whose scratch memory is laid out before the launch, it
// is said so: from there to the end of the block the extent is a `bounded` value, and so is what
// other extents make of it. To find it in `4*%stop - 4*%start`, the equation `bounded = %stop -
// %start` is solved for one of its values and that one replaced wherever it shortens an extent.

#include <algorithm>

#include "compiler/diag/check.h"
#include "compiler/lower/lowerer.h"
#include "compiler/numerics/scalar.h"

namespace intent::lower {

std::optional<int64_t> Lowerer::MostOf(Id id) const {
  if (const ScalarValue* constant = builder_->ConstantOf(id)) return numerics::AsIndex(*constant);
  const tile::Op* op = program_->definition(id);
  if (op == nullptr) return std::nullopt;
  // Once for each: an author's chain may use every value twice.
  if (const auto known = most_.find(id); known != most_.end()) return known->second;
  const std::optional<int64_t> most = MostOfDefinition(*op);
  most_[id] = most;
  return most;
}

std::optional<int64_t> Lowerer::MostOfDefinition(const tile::Op& op) const {
  const auto of = [&](size_t operand) { return MostOf(op.operands[operand]); };
  const auto greater = [](std::optional<int64_t> a, std::optional<int64_t> b) {
    return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
  };
  switch (op.kind) {
    case tile::OpKind::kBounded:
      return of(1);
    case tile::OpKind::kSelect:
      return greater(of(1), of(2));
    case tile::OpKind::kBinary: {
      if (op.binary == BinaryKind::kMaximum) return greater(of(0), of(1));
      if (op.binary != BinaryKind::kMinimum) return std::nullopt;
      const std::optional<int64_t> a = of(0), b = of(1);
      return a && b ? std::min(*a, *b) : a ? a : b;
    }
    default:
      return std::nullopt;
  }
}

Id Lowerer::ExtentId(const Extent& whole) {
  INTENT_CHECK(whole.valid()) << "an invalid extent passed the verifier";
  for (const BoundedExtent& known : bounded_) {
    if (known.extent == whole && InScope(known)) return Of(known.value).scalar;
  }
  const Extent replaced = ReplaceBounded(whole);
  const Extent& extent = replaced.valid() && replaced.Size() < whole.Size() ? replaced : whole;
  Id sum = b().Index(0);
  for (const Extent::Term& term : extent.Terms()) {
    Id product = b().Index(term.coefficient);
    for (const Extent::Factor& factor : term.factors) {
      const ExtentAtom& atom = *factor.atom;
      Id value = kNoId;
      switch (atom.kind) {
        case AtomKind::kSymbol:
          value = symbols_[atom.index];
          break;
        case AtomKind::kValue:
          value = Of(atom.index).scalar;
          break;
        case AtomKind::kConstexpr:
          break;
        case AtomKind::kFloorDiv:
          value = b().FloorDiv(ExtentId(*atom.lhs), ExtentId(*atom.rhs));
          break;
        case AtomKind::kMod:
          value = b().Mod(ExtentId(*atom.lhs), ExtentId(*atom.rhs));
          break;
        case AtomKind::kCeilDiv:
          value = b().Sub(b().Index(0), b().FloorDiv(b().Sub(b().Index(0), ExtentId(*atom.lhs)),
                                                     ExtentId(*atom.rhs)));
          break;
        case AtomKind::kMin:
          value = b().Min(ExtentId(*atom.lhs), ExtentId(*atom.rhs));
          break;
        case AtomKind::kMax:
          value = b().Max(ExtentId(*atom.lhs), ExtentId(*atom.rhs));
          break;
      }
      INTENT_CHECK(value != kNoId) << "an unbound extent: " << extent.ToString();
      for (int i = 0; i < factor.power; ++i) product = b().Mul(product, value);
    }
    sum = b().Add(sum, product);
  }
  return sum;
}

std::vector<Id> Lowerer::ExtentIds(const std::vector<Extent>& shape) {
  std::vector<Id> ids;
  for (const Extent& extent : shape) ids.push_back(ExtentId(extent));
  return ids;
}

bool Lowerer::InScope(const BoundedExtent& known) const {
  return builder_->Recall("bounded " + std::to_string(known.value)) != kNoId;
}

Extent Lowerer::ReplaceBounded(const Extent& extent) const {
  Extent replaced = extent;
  for (const BoundedExtent& known : bounded_) {
    if (known.solved_for == kNoValue || !InScope(known)) continue;
    replaced = replaced.Substitute([&](AtomKind kind, uint32_t index) -> std::optional<Extent> {
      if (kind != AtomKind::kValue || index != known.solved_for) return std::nullopt;
      return known.solution;
    });
  }
  return replaced;
}

bool Lowerer::IsBounded(const Extent& extent) const {
  for (const BoundedExtent& known : bounded_) {
    if (known.extent == extent && InScope(known)) return true;
  }
  const Extent replaced = ReplaceBounded(extent);
  bool bounded = replaced.valid();
  replaced.ForEachLeaf([&](AtomKind kind, uint32_t leaf) {
    bounded &= kind != AtomKind::kValue || leaf >= function_.value_count();
  });
  return bounded;
}

Id Lowerer::BoundExtent(const Extent& extent, Id exact, Id most) {
  bool varies = false;
  extent.ForEachLeaf([&](AtomKind kind, uint32_t) { varies |= kind == AtomKind::kValue; });
  if (!OnUnits() || !varies) return exact;
  const Id before = ExtentId(extent);
  const tile::Op* made = program_->definition(before);
  if (made != nullptr && made->kind == tile::OpKind::kBounded) return before;
  std::erase_if(bounded_, [&](const BoundedExtent& known) { return !InScope(known); });
  // Stands for the extent among the values of the function.
  const ValueId value = static_cast<ValueId>(function_.value_count()) + bounded_count_++;
  BoundedExtent known{extent, value, kNoValue, {}};
  const Extent equal = ReplaceBounded(extent);
  if (equal.valid()) {
    std::map<ValueId, int> uses;
    equal.ForEachLeaf(
        [&](AtomKind kind, uint32_t leaf) { uses[leaf] += kind == AtomKind::kValue; });
    for (const Extent::Term& term : equal.Terms()) {
      if (term.factors.size() != 1 || term.coefficient * term.coefficient != 1) continue;
      const Extent::Factor& factor = term.factors[0];
      const ValueId leaf = factor.atom->index;
      if (factor.power != 1 || factor.atom->kind != AtomKind::kValue || uses[leaf] != 1 ||
          leaf >= function_.value_count()) {
        continue;
      }
      const Extent sign(term.coefficient);
      known.solved_for = leaf;
      known.solution = sign * (Extent::Value(value) - (equal - sign * Extent::Value(leaf)));
      break;
    }
  }
  const Id id = b().Bounded(exact, most);
  Bind(value, Binding::Scalar(id));
  b().Remember("bounded " + std::to_string(value), id);
  bounded_.push_back(std::move(known));
  return id;
}

Id Lowerer::Product(const std::vector<Id>& factors) {
  Id product = b().Index(1);
  for (Id factor : factors) product = b().Mul(product, factor);
  return product;
}

Id Lowerer::Count(const std::vector<Id>& factors) {
  const Id most = b().Index(kMostElements);
  Id count = b().Index(1);
  for (Id factor : factors) {
    if (b().ConstantOf(count) != nullptr && b().ConstantOf(count)->bits == 1) {
      count = factor;
      continue;
    }
    factor = b().Min(factor, most);
    const Id room = b().FloorDiv(most, b().Max(factor, b().Index(1)));
    count = b().Mul(b().Min(count, room), factor);
  }
  return count;
}

std::vector<Id> Lowerer::DenseStrides(const std::vector<Id>& extents) {
  std::vector<Id> strides(extents.size());
  Id stride = b().Index(1);
  for (size_t axis = extents.size(); axis-- > 0;) {
    strides[axis] = stride;
    if (axis > 0) stride = b().Mul(stride, extents[axis]);
  }
  return strides;
}

}  // namespace intent::lower
