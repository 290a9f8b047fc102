#pragma once

// Extents (seed 000 chapter 2, decisions.md A.5): polynomials with integer coefficients over shape
// symbols, constexpr parameters and SSA index values, with floor division, modulo, ceiling
// division, min and max as atoms. Always held in normal form, so two extents are provably equal iff
// they compare equal.
//
// Immutable values; copying is cheap; safe to share between threads. Arithmetic that overflows,
// divides by a constant zero or grows beyond kMaxTerms, kMaxDepth or kMaxSize yields an invalid
// extent, which is sticky and equal to nothing; whoever builds a type from one reports E0306.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace intent {

using ValueId = uint32_t;
inline constexpr ValueId kNoValue = 0xffffffffu;

class Extent;

enum class AtomKind : uint8_t {
  kSymbol,     // index: shape symbol of the function; never negative
  kConstexpr,  // index: constexpr parameter of the module
  kValue,      // index: SSA value of type index, defined in the same function
  kFloorDiv,   // lhs, rhs: the rest
  kMod,        // floored, the divisor's sign
  kCeilDiv,
  kMin,
  kMax,
};

struct ExtentAtom {
  AtomKind kind;
  uint32_t index = 0;
  std::shared_ptr<const Extent> lhs, rhs;
  int depth = 1;
  int size = 1;  // nodes of the whole expression, shared ones counted at each use
};

class Extent {
 public:
  static constexpr size_t kMaxTerms = 64;
  static constexpr int kMaxDepth = 12;
  static constexpr int kMaxDegree = 12;
  static constexpr int kMaxSize = 1024;  // bounds every walk: atoms share what they contain

  struct Factor {
    std::shared_ptr<const ExtentAtom> atom;
    int power;
  };
  // coefficient * product of factors; factors sorted, powers positive. The constant term has no
  // factors.
  struct Term {
    int64_t coefficient;
    std::vector<Factor> factors;
  };

  Extent() : Extent(0) {}
  Extent(int64_t constant);  // NOLINT: an integer is an extent
  static Extent Symbol(uint32_t index);
  static Extent Constexpr(uint32_t parameter);
  static Extent Value(ValueId value);
  static Extent Invalid();

  static Extent FloorDiv(const Extent& a, const Extent& b);
  static Extent CeilDiv(const Extent& a, const Extent& b);
  static Extent Mod(const Extent& a, const Extent& b);
  static Extent Min(const Extent& a, const Extent& b);
  static Extent Max(const Extent& a, const Extent& b);
  // Rebuilds an atom of the given two-operand kind in normal form.
  static Extent OfAtom(AtomKind kind, const Extent& a, const Extent& b);

  friend Extent operator+(const Extent& a, const Extent& b);
  friend Extent operator-(const Extent& a, const Extent& b);
  friend Extent operator*(const Extent& a, const Extent& b);
  friend bool operator==(const Extent& a, const Extent& b);  // invalid equals nothing

  // A total order on valid extents that depends on structure only (never on addresses).
  static int Compare(const Extent& a, const Extent& b);

  bool valid() const { return valid_; }
  // Nodes of the expression, shared ones counted at each use; at most kMaxSize.
  int Size() const;
  bool IsConstant() const { return valid_ && terms_ == nullptr; }
  int64_t constant() const { return constant_; }  // only if IsConstant()
  bool IsConstant(int64_t value) const { return IsConstant() && constant_ == value; }

  // The normal form's terms, sorted; a constant has one term without factors (none if zero).
  std::vector<Term> Terms() const;

  // True only if no binding of the symbols makes it negative.
  bool ProvablyNonNegative() const;
  // True only if no binding makes the two equal.
  static bool ProvablyDifferent(const Extent& a, const Extent& b);

  // Calls `visit` for every leaf atom (symbol, constexpr, value), nested ones included.
  void ForEachLeaf(const std::function<void(AtomKind, uint32_t)>& visit) const;
  // Replaces leaf atoms; nullopt keeps a leaf.
  Extent Substitute(const std::function<std::optional<Extent>(AtomKind, uint32_t)>& map) const;
  // Value under a full assignment of the leaves; nullopt on overflow or division by zero.
  std::optional<int64_t> Evaluate(
      const std::function<std::optional<int64_t>(AtomKind, uint32_t)>& leaf) const;

  // "s0*s1 + 4*floordiv(s2, 3) - 1"; leaves print as s<i>, c<i>, %<i> unless a namer is given.
  std::string ToString(const std::function<std::string(AtomKind, uint32_t)>& namer = nullptr) const;

 private:
  static Extent FromTerms(std::vector<Term> terms);
  static Extent FromAtom(ExtentAtom atom);
  int Depth() const;

  bool valid_ = true;
  int64_t constant_ = 0;
  std::shared_ptr<const std::vector<Term>> terms_;  // null for constants
};

// Product of all entries; 1 for none.
Extent ElementCount(const std::vector<Extent>& shape);
// "[s0, 4]"
std::string ShapeToString(const std::vector<Extent>& shape,
                          const std::function<std::string(AtomKind, uint32_t)>& namer = nullptr);

}  // namespace intent
