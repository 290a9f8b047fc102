#include "compiler/ir/extent.h"

#include <algorithm>

namespace intent {
namespace {

using Term = Extent::Term;
using Factor = Extent::Factor;

int CompareAtoms(const ExtentAtom& a, const ExtentAtom& b) {
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (a.index != b.index) return a.index < b.index ? -1 : 1;
  if (a.lhs == nullptr) return 0;
  if (int order = Extent::Compare(*a.lhs, *b.lhs)) return order;
  return Extent::Compare(*a.rhs, *b.rhs);
}

int Degree(const std::vector<Factor>& factors) {
  int degree = 0;
  for (const Factor& factor : factors) degree += factor.power;
  return degree;
}

int CompareFactors(const std::vector<Factor>& a, const std::vector<Factor>& b) {
  const int da = Degree(a), db = Degree(b);
  if (da != db) return da > db ? -1 : 1;  // higher degree first, the constant last
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (int order = CompareAtoms(*a[i].atom, *b[i].atom)) return order;
    if (a[i].power != b[i].power) return a[i].power > b[i].power ? -1 : 1;
  }
  if (a.size() == b.size()) return 0;
  return a.size() < b.size() ? -1 : 1;
}

std::vector<Factor> MultiplyFactors(const std::vector<Factor>& a, const std::vector<Factor>& b) {
  std::vector<Factor> product;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const int order = i == a.size() ? 1 : j == b.size() ? -1 : CompareAtoms(*a[i].atom, *b[j].atom);
    if (order < 0) {
      product.push_back(a[i++]);
    } else if (order > 0) {
      product.push_back(b[j++]);
    } else {
      product.push_back({a[i].atom, a[i].power + b[j].power});
      ++i, ++j;
    }
  }
  return product;
}

std::optional<int64_t> FloorDivide(int64_t a, int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
  const int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

std::optional<int64_t> FloorModulo(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return 0;
  const int64_t r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

std::optional<int64_t> CeilDivide(int64_t a, int64_t b) {
  std::optional<int64_t> q = FloorDivide(a, b);
  if (!q || *FloorModulo(a, b) == 0) return q;
  return *q + 1;
}

bool AtomNonNegative(const ExtentAtom& atom) {
  switch (atom.kind) {
    case AtomKind::kSymbol:
      return true;
    case AtomKind::kConstexpr:
    case AtomKind::kValue:
      return false;
    case AtomKind::kFloorDiv:
    case AtomKind::kCeilDiv:
      return atom.lhs->ProvablyNonNegative() && atom.rhs->ProvablyNonNegative();
    case AtomKind::kMod:
      return atom.rhs->ProvablyNonNegative();
    case AtomKind::kMin:
      return atom.lhs->ProvablyNonNegative() && atom.rhs->ProvablyNonNegative();
    case AtomKind::kMax:
      return atom.lhs->ProvablyNonNegative() || atom.rhs->ProvablyNonNegative();
  }
  return false;
}

// a divided by the single term b, if every term of a is a multiple of it.
std::optional<std::vector<Term>> ExactQuotient(const std::vector<Term>& a, const Term& b) {
  std::vector<Term> result;
  for (const Term& term : a) {
    // The one quotient that overflows traps in the remainder already.
    if (term.coefficient == INT64_MIN && b.coefficient == -1) return std::nullopt;
    if (b.coefficient == 0 || term.coefficient % b.coefficient != 0) return std::nullopt;
    Term quotient{term.coefficient / b.coefficient, {}};
    size_t matched = 0;
    for (const Factor& factor : term.factors) {
      int power = factor.power;
      for (const Factor& divisor : b.factors) {
        if (CompareAtoms(*divisor.atom, *factor.atom) != 0) continue;
        if (power < divisor.power) return std::nullopt;
        power -= divisor.power;
        ++matched;
      }
      if (power > 0) quotient.factors.push_back({factor.atom, power});
    }
    if (matched != b.factors.size()) return std::nullopt;
    result.push_back(std::move(quotient));
  }
  return result;
}

}  // namespace

Extent::Extent(int64_t constant) : constant_(constant) {}

Extent Extent::Invalid() {
  Extent extent;
  extent.valid_ = false;
  return extent;
}

Extent Extent::FromAtom(ExtentAtom atom) {
  if (atom.lhs != nullptr) {
    atom.depth = 1 + std::max(atom.lhs->Depth(), atom.rhs->Depth());
    atom.size = 1 + atom.lhs->Size() + atom.rhs->Size();
  }
  if (atom.depth > kMaxDepth || atom.size > kMaxSize) return Invalid();
  Extent extent;
  extent.terms_ = std::make_shared<const std::vector<Term>>(
      std::vector<Term>{{1, {{std::make_shared<const ExtentAtom>(std::move(atom)), 1}}}});
  return extent;
}

Extent Extent::Symbol(uint32_t index) { return FromAtom({AtomKind::kSymbol, index, {}, {}}); }
Extent Extent::Constexpr(uint32_t index) { return FromAtom({AtomKind::kConstexpr, index, {}, {}}); }
Extent Extent::Value(ValueId value) { return FromAtom({AtomKind::kValue, value, {}, {}}); }

int Extent::Depth() const {
  int depth = 0;
  if (terms_ == nullptr) return depth;
  for (const Term& term : *terms_) {
    for (const Factor& factor : term.factors) depth = std::max(depth, factor.atom->depth);
  }
  return depth;
}

int Extent::Size() const {
  if (terms_ == nullptr) return 1;
  int size = 0;
  for (const Term& term : *terms_) {
    size += 1;
    for (const Factor& factor : term.factors) size += factor.power * factor.atom->size;
  }
  return size;
}

std::vector<Term> Extent::Terms() const {
  if (terms_ != nullptr) return *terms_;
  if (constant_ == 0) return {};
  return {{constant_, {}}};
}

// Sorts, merges equal monomials and drops zeros: the one maker of normal forms.
Extent Extent::FromTerms(std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(),
            [](const Term& a, const Term& b) { return CompareFactors(a.factors, b.factors) < 0; });
  std::vector<Term> merged;
  for (Term& term : terms) {
    if (!merged.empty() && CompareFactors(merged.back().factors, term.factors) == 0) {
      if (__builtin_add_overflow(merged.back().coefficient, term.coefficient,
                                 &merged.back().coefficient)) {
        return Invalid();
      }
    } else {
      merged.push_back(std::move(term));
    }
    if (merged.back().coefficient == 0) merged.pop_back();
  }
  if (merged.empty()) return Extent(0);
  if (merged.size() == 1 && merged[0].factors.empty()) return Extent(merged[0].coefficient);
  if (merged.size() > kMaxTerms) return Invalid();
  for (const Term& term : merged) {
    if (Degree(term.factors) > kMaxDegree) return Invalid();
  }
  Extent extent;
  extent.terms_ = std::make_shared<const std::vector<Term>>(std::move(merged));
  return extent.Size() <= kMaxSize ? extent : Invalid();
}

Extent operator+(const Extent& a, const Extent& b) {
  if (!a.valid() || !b.valid()) return Extent::Invalid();
  std::vector<Term> terms = a.Terms();
  for (Term& term : b.Terms()) terms.push_back(std::move(term));
  return Extent::FromTerms(std::move(terms));
}

Extent operator-(const Extent& a, const Extent& b) { return a + Extent(-1) * b; }

Extent operator*(const Extent& a, const Extent& b) {
  if (!a.valid() || !b.valid()) return Extent::Invalid();
  const std::vector<Term> lhs = a.Terms(), rhs = b.Terms();
  if (lhs.size() * rhs.size() > 4 * Extent::kMaxTerms) return Extent::Invalid();
  std::vector<Term> terms;
  for (const Term& x : lhs) {
    for (const Term& y : rhs) {
      Term term{0, MultiplyFactors(x.factors, y.factors)};
      if (__builtin_mul_overflow(x.coefficient, y.coefficient, &term.coefficient)) {
        return Extent::Invalid();
      }
      terms.push_back(std::move(term));
    }
  }
  return Extent::FromTerms(std::move(terms));
}

bool operator==(const Extent& a, const Extent& b) {
  return a.valid() && b.valid() && Extent::Compare(a, b) == 0;
}

int Extent::Compare(const Extent& a, const Extent& b) {
  if (a.valid_ != b.valid_) return a.valid_ ? -1 : 1;
  if (a.terms_ == nullptr && b.terms_ == nullptr) {
    return a.constant_ == b.constant_ ? 0 : a.constant_ < b.constant_ ? -1 : 1;
  }
  if (a.terms_ == b.terms_) return 0;
  if (a.terms_ == nullptr || b.terms_ == nullptr) return a.terms_ == nullptr ? -1 : 1;
  if (a.terms_->size() != b.terms_->size()) return a.terms_->size() < b.terms_->size() ? -1 : 1;
  for (size_t i = 0; i < a.terms_->size(); ++i) {
    const Term &x = (*a.terms_)[i], &y = (*b.terms_)[i];
    if (int order = CompareFactors(x.factors, y.factors)) return order;
    if (x.coefficient != y.coefficient) return x.coefficient < y.coefficient ? -1 : 1;
  }
  return 0;
}

Extent Extent::OfAtom(AtomKind kind, const Extent& a, const Extent& b) {
  switch (kind) {
    case AtomKind::kFloorDiv:
      return FloorDiv(a, b);
    case AtomKind::kMod:
      return Mod(a, b);
    case AtomKind::kCeilDiv:
      return CeilDiv(a, b);
    case AtomKind::kMin:
      return Min(a, b);
    case AtomKind::kMax:
      return Max(a, b);
    case AtomKind::kSymbol:
    case AtomKind::kConstexpr:
    case AtomKind::kValue:
      break;
  }
  return Invalid();
}

Extent Extent::FloorDiv(const Extent& a, const Extent& b) {
  if (!a.valid_ || !b.valid_ || b.IsConstant(0)) return Invalid();
  if (a.IsConstant() && b.IsConstant()) {
    const auto q = FloorDivide(a.constant_, b.constant_);
    return q ? Extent(*q) : Invalid();
  }
  const std::vector<Term> divisor = b.Terms();
  if (divisor.size() == 1) {
    if (auto exact = ExactQuotient(a.Terms(), divisor[0])) return FromTerms(std::move(*exact));
  }
  return FromAtom({AtomKind::kFloorDiv, 0, std::make_shared<const Extent>(a),
                   std::make_shared<const Extent>(b)});
}

Extent Extent::CeilDiv(const Extent& a, const Extent& b) {
  if (!a.valid_ || !b.valid_ || b.IsConstant(0)) return Invalid();
  if (a.IsConstant() && b.IsConstant()) {
    const auto q = CeilDivide(a.constant_, b.constant_);
    return q ? Extent(*q) : Invalid();
  }
  const std::vector<Term> divisor = b.Terms();
  if (divisor.size() == 1) {
    if (auto exact = ExactQuotient(a.Terms(), divisor[0])) return FromTerms(std::move(*exact));
  }
  return FromAtom({AtomKind::kCeilDiv, 0, std::make_shared<const Extent>(a),
                   std::make_shared<const Extent>(b)});
}

Extent Extent::Mod(const Extent& a, const Extent& b) {
  if (!a.valid_ || !b.valid_ || b.IsConstant(0)) return Invalid();
  if (a.IsConstant() && b.IsConstant()) {
    const auto r = FloorModulo(a.constant_, b.constant_);
    return r ? Extent(*r) : Invalid();
  }
  const std::vector<Term> divisor = b.Terms();
  if (divisor.size() == 1 && ExactQuotient(a.Terms(), divisor[0])) return Extent(0);
  return FromAtom(
      {AtomKind::kMod, 0, std::make_shared<const Extent>(a), std::make_shared<const Extent>(b)});
}

Extent Extent::Min(const Extent& a, const Extent& b) {
  if (!a.valid_ || !b.valid_) return Invalid();
  const Extent difference = a - b;
  if (difference.IsConstant()) return difference.constant_ <= 0 ? a : b;
  if (difference.ProvablyNonNegative()) return b;
  if ((b - a).ProvablyNonNegative()) return a;
  const bool ordered = Compare(a, b) <= 0;
  return FromAtom({AtomKind::kMin, 0, std::make_shared<const Extent>(ordered ? a : b),
                   std::make_shared<const Extent>(ordered ? b : a)});
}

Extent Extent::Max(const Extent& a, const Extent& b) {
  if (!a.valid_ || !b.valid_) return Invalid();
  const Extent difference = a - b;
  if (difference.IsConstant()) return difference.constant_ >= 0 ? a : b;
  if (difference.ProvablyNonNegative()) return a;
  if ((b - a).ProvablyNonNegative()) return b;
  const bool ordered = Compare(a, b) <= 0;
  return FromAtom({AtomKind::kMax, 0, std::make_shared<const Extent>(ordered ? a : b),
                   std::make_shared<const Extent>(ordered ? b : a)});
}

bool Extent::ProvablyNonNegative() const {
  if (!valid_) return false;
  if (terms_ == nullptr) return constant_ >= 0;
  for (const Term& term : *terms_) {
    if (term.coefficient < 0) return false;
    for (const Factor& factor : term.factors) {
      if (factor.power % 2 != 0 && !AtomNonNegative(*factor.atom)) return false;
    }
  }
  return true;
}

bool Extent::ProvablyDifferent(const Extent& a, const Extent& b) {
  const Extent difference = a - b;
  if (!difference.valid_) return false;
  if (difference.IsConstant()) return difference.constant_ != 0;
  return (difference - 1).ProvablyNonNegative() ||
         (Extent(-1) * difference - 1).ProvablyNonNegative();
}

void Extent::ForEachLeaf(const std::function<void(AtomKind, uint32_t)>& visit) const {
  if (terms_ == nullptr) return;
  for (const Term& term : *terms_) {
    for (const Factor& factor : term.factors) {
      if (factor.atom->lhs == nullptr) {
        visit(factor.atom->kind, factor.atom->index);
      } else {
        factor.atom->lhs->ForEachLeaf(visit);
        factor.atom->rhs->ForEachLeaf(visit);
      }
    }
  }
}

Extent Extent::Substitute(
    const std::function<std::optional<Extent>(AtomKind, uint32_t)>& map) const {
  if (terms_ == nullptr) return *this;
  Extent sum(0);
  for (const Term& term : *terms_) {
    Extent product(term.coefficient);
    for (const Factor& factor : term.factors) {
      const ExtentAtom& atom = *factor.atom;
      Extent value;
      if (atom.lhs != nullptr) {
        value = OfAtom(atom.kind, atom.lhs->Substitute(map), atom.rhs->Substitute(map));
      } else if (std::optional<Extent> replaced = map(atom.kind, atom.index)) {
        value = *replaced;
      } else {
        value = FromAtom(atom);
      }
      for (int i = 0; i < factor.power; ++i) product = product * value;
    }
    sum = sum + product;
  }
  return sum;
}

std::optional<int64_t> Extent::Evaluate(
    const std::function<std::optional<int64_t>(AtomKind, uint32_t)>& leaf) const {
  const Extent bound = Substitute([&](AtomKind kind, uint32_t index) -> std::optional<Extent> {
    const std::optional<int64_t> value = leaf(kind, index);
    return value ? Extent(*value) : Invalid();
  });
  if (!bound.IsConstant()) return std::nullopt;
  return bound.constant();
}

std::string Extent::ToString(const std::function<std::string(AtomKind, uint32_t)>& namer) const {
  if (!valid_) return "invalid";
  if (terms_ == nullptr) return std::to_string(constant_);
  std::string text;
  for (const Term& term : *terms_) {
    int64_t coefficient = term.coefficient;
    if (!text.empty()) {
      const bool minus = coefficient < 0 && coefficient != INT64_MIN;
      text += minus ? " - " : " + ";
      if (minus) coefficient = -coefficient;
    }
    bool first = true;
    if (term.factors.empty() || coefficient != 1) {
      text += std::to_string(coefficient);
      first = false;
    }
    for (const Factor& factor : term.factors) {
      const ExtentAtom& atom = *factor.atom;
      for (int i = 0; i < factor.power; ++i) {
        if (!first) text += "*";
        first = false;
        if (atom.lhs == nullptr && namer) {
          text += namer(atom.kind, atom.index);
        } else {
          switch (atom.kind) {
            case AtomKind::kSymbol:
              text += "s" + std::to_string(atom.index);
              break;
            case AtomKind::kConstexpr:
              text += "c" + std::to_string(atom.index);
              break;
            case AtomKind::kValue:
              text += "%" + std::to_string(atom.index);
              break;
            case AtomKind::kFloorDiv:
            case AtomKind::kMod:
            case AtomKind::kCeilDiv:
            case AtomKind::kMin:
            case AtomKind::kMax: {
              static constexpr const char* kNames[] = {"floordiv", "mod", "ceildiv", "min", "max"};
              text += kNames[static_cast<int>(atom.kind) - static_cast<int>(AtomKind::kFloorDiv)];
              text += "(" + atom.lhs->ToString(namer) + ", " + atom.rhs->ToString(namer) + ")";
              break;
            }
          }
        }
      }
    }
  }
  return text;
}

Extent ElementCount(const std::vector<Extent>& shape) {
  Extent count(1);
  for (const Extent& extent : shape) count = count * extent;
  return count;
}

std::string ShapeToString(const std::vector<Extent>& shape,
                          const std::function<std::string(AtomKind, uint32_t)>& namer) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) text += ", ";
    text += shape[i].ToString(namer);
  }
  return text + "]";
}

}  // namespace intent
