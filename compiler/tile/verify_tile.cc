#include "compiler/tile/verify_tile.h"

#include <string>

#include "compiler/ir/module.h"
#include "compiler/numerics/loops.h"
#include "compiler/tile/print.h"

namespace intent::tile {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& program)
      : program_(program), visible_(program.value_count(), false) {}

  absl::Status Run() {
    for (const ViewParameter& view : program_.views) {
      if (view.rank < 0 || view.rank > 64) return absl::InternalError("tile: a view's rank");
      if (!IsAddressable(view.dtype)) return absl::InternalError("tile: a view's dtype");
    }
    for (DType dtype : program_.scalars) {
      if (!IsAddressable(dtype)) return absl::InternalError("tile: a scalar's dtype");
    }
    CheckBlock(program_.body, 0, nullptr);
    return status_;
  }

 private:
  using Types = std::vector<Type>;

  bool ok() const { return status_.ok(); }
  void Require(bool holds, const Op& op, const std::string& rule) {
    if (holds || !ok()) return;
    std::string text = "tile: " + std::string(NameOf(op.kind));
    if (op.kind == OpKind::kUnary) text += "." + std::string(intent::NameOf(op.unary));
    if (op.kind == OpKind::kBinary) text += "." + std::string(intent::NameOf(op.binary));
    text += "(";
    for (Id id : op.operands) {
      text += (text.back() == '(' ? "" : ", ") +
              (id < program_.value_count() ? program_.type(id).ToString() : std::string("?"));
    }
    text += ")";
    for (Id id : op.results) text += " -> " + program_.type(id).ToString();
    if (op.ordinal != kNoOrdinal) text += " @" + std::to_string(op.ordinal);
    status_ = absl::InternalError(text + ": " + rule);
  }

  Type In(const Op& op, size_t i) const { return program_.type(op.operands[i]); }
  Type Out(const Op& op) const { return program_.type(op.results[0]); }
  static bool IsIndexScalar(const Type& type) { return type == Type::Scalar(DType::kIndex); }
  static bool IsBoolScalar(const Type& type) { return type == Type::Scalar(DType::kBool); }

  void Define(const Op* op, Id id) {
    const Type& type = program_.type(id);
    if (type.IsMem()) {
      if (op != nullptr) Require(type.lanes == 1, *op, "a mem has no lanes");
    } else if (op != nullptr) {
      Require(type.lanes >= 1 && type.lanes <= kMaxLanes, *op, "too many lanes");
    }
    if (visible_[id] && op != nullptr) Require(false, *op, "a value is defined twice");
    visible_[id] = true;
    scope_.push_back(id);
  }

  // `parent` is the operation that holds the block; null for the program's body.
  void CheckBlock(const Block& block, int depth, const Op* parent) {
    if (depth > kMaxNesting) {
      if (ok()) status_ = absl::InternalError("tile: nested too deeply");
      return;
    }
    const size_t mark = scope_.size();
    for (Id id : block.arguments) Define(parent, id);
    for (size_t i = 0; i < block.ops.size() && ok(); ++i) {
      const Op& op = *block.ops[i];
      if (op.kind == OpKind::kYield) {
        Require(parent != nullptr && i + 1 == block.ops.size(), op, "a yield ends a region");
      }
      CheckOp(op, depth);
    }
    if (parent != nullptr && ok()) {
      Require(!block.ops.empty() && block.ops.back()->kind == OpKind::kYield, *parent,
              "a region ends in a yield");
    }
    while (scope_.size() > mark) {
      visible_[scope_.back()] = false;
      scope_.pop_back();
    }
  }

  void Shape(const Op& op, size_t least, size_t most, size_t results) {
    Require(op.operands.size() >= least && op.operands.size() <= most, op, "number of operands");
    Require(op.results.size() == results, op, "number of results");
  }

  void CheckOp(const Op& op, int depth) {
    for (Id id : op.operands) {
      Require(id < program_.value_count() && visible_[id], op, "an operand does not dominate");
    }
    Require(op.regions.size() == static_cast<size_t>(RegionsOf(op.kind)), op, "number of regions");
    if (!ok()) return;
    CheckTypes(op, depth);
    if (!ok()) return;
    for (Id id : op.results) Define(&op, id);
  }

  bool IsView(int64_t index) const {
    return index >= 0 && index < static_cast<int64_t>(program_.views.size());
  }

  // All operands are values of one number of lanes, the result's.
  void SameLanes(const Op& op) {
    for (size_t i = 0; i < op.operands.size(); ++i) {
      Require(!In(op, i).IsMem() && In(op, i).lanes == Out(op).lanes, op, "lanes differ");
    }
  }

  void CheckLeaf(const Op& op) {
    Shape(op, 0, 0, 1);
    if (!ok()) return;
    const Type out = Out(op);
    switch (op.kind) {
      case OpKind::kConst: {
        const int bits = BitWidth(out.dtype);
        Require(!out.IsMem() && op.constant.dtype == out.dtype, op, "the constant's dtype");
        Require(bits == 128 || op.constant.bits >> bits == 0, op, "bits beyond the width");
        return;
      }
      case OpKind::kViewBase:
        Require(IsView(op.index), op, "no such view");
        if (ok()) {
          Require(out == Type::Mem(program_.views[static_cast<size_t>(op.index)].dtype), op,
                  "the view's dtype");
        }
        return;
      case OpKind::kViewExtent:
      case OpKind::kViewStride:
        Require(IsView(op.index) && op.axis >= 0, op, "no such view");
        if (ok()) {
          Require(op.axis < program_.views[static_cast<size_t>(op.index)].rank, op, "no such axis");
        }
        Require(IsIndexScalar(out), op, "gives an index");
        return;
      case OpKind::kScalarArg:
        Require(op.index >= 0 && op.index < static_cast<int64_t>(program_.scalars.size()), op,
                "no such scalar");
        if (ok()) {
          Require(out == Type::Scalar(program_.scalars[static_cast<size_t>(op.index)]), op,
                  "the scalar's dtype");
        }
        return;
      case OpKind::kOverlap:
      case OpKind::kSameView:
        Require(IsView(op.index) && IsView(op.axis), op, "no such view");
        Require(IsBoolScalar(out), op, "gives a bool");
        return;
      case OpKind::kStackAlloc:
        Require(out.IsMem(), op, "gives a mem");
        Require(op.index >= 1 && op.index <= kMaxStackElements, op, "the static count");
        return;
      default:
        Require(out.dtype == DType::kIndex && !out.IsMem(), op, "gives a tile of index");
        return;
    }
  }

  void CheckAccess(const Op& op) {
    const bool stores = op.kind == OpKind::kStore || op.kind == OpKind::kScatter;
    const bool indexed = op.kind == OpKind::kGather || op.kind == OpKind::kScatter;
    const size_t count = 2 + (stores ? 1 : 0) + (op.has_stride ? 1 : 0) + (op.has_mask ? 1 : 0) +
                         (op.has_fill ? 1 : 0);
    Shape(op, count, count, stores ? 0 : 1);
    Require(!(indexed && op.has_stride) && !(stores && op.has_fill), op, "attributes");
    Require(!op.has_fill || op.has_mask, op, "a fill needs a mask");
    if (!ok()) return;
    const Type mem = In(op, 0);
    const Type value = stores ? In(op, 2) : Out(op);
    Require(mem.IsMem(), op, "operand 0 is a mem");
    Require(!value.IsMem() && value.dtype == mem.dtype, op, "the mem's dtype");
    Require(In(op, 1) == Type::Tile(DType::kIndex, indexed ? value.lanes : 1), op, "the offset");
    size_t next = stores ? 3 : 2;
    if (op.has_stride) Require(IsIndexScalar(In(op, next++)), op, "the stride is an index");
    if (op.has_mask) {
      Require(In(op, next++) == Type::Tile(DType::kBool, value.lanes), op, "the mask");
    }
    if (op.has_fill) Require(In(op, next++) == value, op, "the fill");
  }

  void CheckAtomic(const Op& op) {
    const size_t values = op.kind == OpKind::kAtomicLoad  ? 0
                          : op.kind == OpKind::kAtomicCas ? 2
                                                          : 1;
    const size_t results = op.kind == OpKind::kAtomicStore ? 0
                           : op.kind == OpKind::kAtomicCas ? 2
                                                           : 1;
    Shape(op, 2 + values, 2 + values, results);
    if (!ok()) return;
    const DType dtype = In(op, 0).dtype;
    Require(In(op, 0).IsMem() && IsInteger(dtype) && BitWidth(dtype) >= 8 && BitWidth(dtype) <= 64,
            op, "operand 0 is a mem of integers of 8 to 64 bits");
    Require(IsIndexScalar(In(op, 1)), op, "the offset");
    const Type element = Type::Scalar(dtype);
    for (size_t i = 0; i < values; ++i) Require(In(op, 2 + i) == element, op, "the mem's dtype");
    if (results > 0) Require(Out(op) == element, op, "gives the element");
    if (results > 1) {
      Require(IsBoolScalar(program_.type(op.results[1])), op, "says whether it succeeded");
    }
    const bool acquires = op.order == MemoryOrder::kAcquire || op.order == MemoryOrder::kAcqRel;
    const bool releases = op.order == MemoryOrder::kRelease || op.order == MemoryOrder::kAcqRel;
    if (op.kind == OpKind::kAtomicLoad) Require(!releases, op, "a load does not release");
    if (op.kind == OpKind::kAtomicStore) Require(!acquires, op, "a store does not acquire");
  }

  void CheckElementwise(const Op& op) {
    size_t operands = 1;
    if (op.kind == OpKind::kBinary || op.kind == OpKind::kCompare) operands = 2;
    if (op.kind == OpKind::kFma || op.kind == OpKind::kSelect) operands = 3;
    Shape(op, operands, operands, 1);
    if (!ok()) return;
    const Type out = Out(op);
    switch (op.kind) {
      case OpKind::kSelect: {
        const Type condition = In(op, 0);
        Require(In(op, 1) == out && In(op, 2) == out, op, "the branches");
        Require(IsBoolScalar(condition) ||
                    (!out.IsMem() && condition == Type::Tile(DType::kBool, out.lanes)),
                op, "the condition");
        return;
      }
      case OpKind::kSplat:
        Require(!out.IsMem() && In(op, 0) == Type::Scalar(out.dtype), op, "a scalar of the dtype");
        return;
      case OpKind::kFma:
        Require(out.dtype == DType::kF32 || out.dtype == DType::kF64, op, "f32 and f64 only");
        [[fallthrough]];
      case OpKind::kUnary:
      case OpKind::kBinary:
        Require(!out.IsMem(), op, "a value");
        for (size_t i = 0; i < operands; ++i) Require(In(op, i) == out, op, "operand types");
        if (op.kind == OpKind::kUnary) {
          Require(numerics::IsDefined(op.unary, out.dtype), op, "not defined on the dtype");
        }
        if (op.kind == OpKind::kBinary) {
          Require(numerics::IsDefined(op.binary, out.dtype), op, "not defined on the dtype");
        }
        return;
      case OpKind::kCompare:
        Require(out.dtype == DType::kBool, op, "gives bools");
        Require(In(op, 0) == In(op, 1), op, "operand types");
        Require(numerics::IsDefined(op.compare, In(op, 0).dtype), op, "not defined on the dtype");
        SameLanes(op);
        return;
      case OpKind::kBitcast:
        Require(BitWidth(In(op, 0).dtype) == BitWidth(out.dtype), op, "widths differ");
        SameLanes(op);
        return;
      default:
        SameLanes(op);
        return;
    }
  }

  void CheckAcrossLanes(const Op& op) {
    Shape(op, 1, 1, 1);
    if (!ok()) return;
    const Type in = In(op, 0), out = Out(op);
    Require(!in.IsMem() && !out.IsMem() && in.dtype == out.dtype, op, "the dtype");
    if (op.kind == OpKind::kShuffle) {
      Require(static_cast<int64_t>(op.lanes.size()) == out.lanes, op, "number of lanes");
      for (int32_t lane : op.lanes) Require(lane >= 0 && lane < in.lanes, op, "no such lane");
      return;
    }
    Require(out.lanes == 1, op, "gives a scalar");
    if (op.kind == OpKind::kExtractLane) {
      Require(op.index >= 0 && op.index < in.lanes, op, "no such lane");
      return;
    }
    const bool is_bool = out.dtype == DType::kBool;
    const bool logical = op.combine == CombineKind::kAnd || op.combine == CombineKind::kOr;
    const bool ordered = op.combine == CombineKind::kMaximum || op.combine == CombineKind::kMinimum;
    Require(logical || ordered || op.combine == CombineKind::kAdd, op, "not a lane combine");
    if (logical) Require(!IsFloat(out.dtype), op, "no floats");
    if (op.combine == CombineKind::kAdd) Require(!is_bool, op, "no bools");
  }

  void CheckRegion(const Op& op, size_t region, const Types& arguments, const Types& yields,
                   int depth) {
    const Block& block = *op.regions[region];
    Require(block.arguments.size() == arguments.size(), op, "number of region arguments");
    for (size_t i = 0; i < arguments.size() && ok(); ++i) {
      Require(program_.type(block.arguments[i]) == arguments[i], op, "a region argument's type");
    }
    if (!ok()) return;
    CheckBlock(block, depth + 1, &op);
    if (!ok()) return;
    const Op& yield = *block.ops.back();
    Require(yield.operands.size() == yields.size(), op, "number of yielded values");
    for (size_t i = 0; i < yields.size() && ok(); ++i) {
      Require(program_.type(yield.operands[i]) == yields[i], op, "a yielded type");
    }
  }

  Types TypesOf(const std::vector<Id>& ids) const {
    Types types;
    for (Id id : ids) types.push_back(program_.type(id));
    return types;
  }

  void AllocatesOutside(const Op& op) {
    Require(parallels_ < 2, op, "a task's tasks have no memory of their own");
  }

  void CheckStructure(const Op& op, int depth) {
    const Types results = TypesOf(op.results);
    const Type index = Type::Scalar(DType::kIndex);
    switch (op.kind) {
      case OpKind::kFor:
      case OpKind::kParallel: {
        const bool loop = op.kind == OpKind::kFor;
        const size_t inits = loop ? op.results.size() : 0;
        Shape(op, 3 + inits, 3 + inits, inits);
        if (!ok()) return;
        for (size_t i = 0; i < 3; ++i) Require(IsIndexScalar(In(op, i)), op, "bounds are indices");
        for (size_t i = 0; i < inits; ++i) Require(In(op, 3 + i) == results[i], op, "an init");
        Types arguments(loop ? 1 : 2, index);
        arguments.insert(arguments.end(), results.begin(), results.end());
        Require(loop || parallels_ < 2, op, "tasks, tasks of a task, and no more");
        parallels_ += loop ? 0 : 1;
        CheckRegion(op, 0, arguments, results, depth);
        parallels_ -= loop ? 0 : 1;
        return;
      }
      case OpKind::kWhile:
        Shape(op, op.results.size(), op.results.size(), op.results.size());
        if (!ok()) return;
        Require(TypesOf(op.operands) == results, op, "the inits");
        CheckRegion(op, 0, results, {Type::Scalar(DType::kBool)}, depth);
        if (ok()) CheckRegion(op, 1, results, results, depth);
        return;
      default:
        Shape(op, 1, 1, op.results.size());
        if (!ok()) return;
        Require(IsBoolScalar(In(op, 0)), op, "the condition");
        CheckRegion(op, 0, {}, results, depth);
        if (ok()) CheckRegion(op, 1, {}, results, depth);
        return;
    }
  }

  // Scalars without effects, and loads.
  static bool ComputesElement(const Op& op) {
    switch (op.kind) {
      case OpKind::kConst:
      case OpKind::kViewBase:
      case OpKind::kViewExtent:
      case OpKind::kViewStride:
      case OpKind::kScalarArg:
      case OpKind::kOverlap:
      case OpKind::kSameView:
      case OpKind::kMemOffset:
      case OpKind::kMemCast:
      case OpKind::kLoad:
      case OpKind::kUnary:
      case OpKind::kBinary:
      case OpKind::kCompare:
      case OpKind::kFma:
      case OpKind::kSelect:
      case OpKind::kCast:
      case OpKind::kSaturatingCast:
      case OpKind::kBitcast:
      case OpKind::kYield:
        return true;
      default:
        return false;
    }
  }

  // The elements of matrix units are exact in the sum's dtype, and so are their products.
  static bool MeetsIn(DType left, DType right, DType sum) {
    const auto is_byte = [](DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; };
    if (left == sum && right == sum) return true;
    if (sum == DType::kI32) return is_byte(left) && is_byte(right);
    return sum == DType::kF32 && left == right && (left == DType::kF16 || left == DType::kBF16);
  }

  void CheckContract(const Op& op, int depth) {
    const Type index = Type::Scalar(DType::kIndex);
    Shape(op, 4, 4, 0);
    Require(parallels_ < 2, op, "only outside of a task's tasks");
    for (size_t i = 0; i < 4 && ok(); ++i) Require(IsIndexScalar(In(op, i)), op, "extents");
    Type elements[2];
    for (size_t region = 0; region < 3 && ok(); ++region) {
      const Block& block = *op.regions[region];
      for (const Op* inner : block.ops) {
        Require(ComputesElement(*inner) || (region == 2 && inner->kind == OpKind::kStore), op,
                "a region holds more than an element");
        for (Id id : inner->results)
          Require(program_.type(id).lanes == 1, op, "regions of scalars");
      }
      if (region == 2) continue;
      Require(!block.ops.empty() && block.ops.back()->operands.size() == 1, op, "one element");
      if (ok()) elements[region] = program_.type(block.ops.back()->operands[0]);
      if (ok()) CheckRegion(op, region, {index, index, index}, {elements[region]}, depth);
    }
    if (!ok()) return;
    const Block& store = *op.regions[2];
    Require(store.arguments.size() == 4, op, "number of region arguments");
    if (!ok()) return;
    const Type sum = program_.type(store.arguments[3]);
    for (const Type& element : elements)
      Require(!element.IsMem() && element.lanes == 1, op, "elements are scalars");
    Require(!sum.IsMem() && sum.lanes == 1 && (IsInteger(sum.dtype) || IsFloat(sum.dtype)) &&
                sum.dtype != DType::kIndex &&
                (BitWidth(sum.dtype) == 32 || BitWidth(sum.dtype) == 64),
            op, "sums of 32 or 64 bits");
    Require(MeetsIn(elements[0].dtype, elements[1].dtype, sum.dtype), op, "the elements' dtypes");
    CheckRegion(op, 2, {index, index, index, sum}, {}, depth);
  }

  void CheckTypes(const Op& op, int depth) {
    switch (op.kind) {
      case OpKind::kConst:
      case OpKind::kViewBase:
      case OpKind::kViewExtent:
      case OpKind::kViewStride:
      case OpKind::kScalarArg:
      case OpKind::kOverlap:
      case OpKind::kSameView:
      case OpKind::kIota:
        return CheckLeaf(op);
      case OpKind::kStackAlloc:
        AllocatesOutside(op);
        return CheckLeaf(op);
      case OpKind::kAlloc:
        Shape(op, 1, 1, 1);
        AllocatesOutside(op);
        if (ok()) Require(IsIndexScalar(In(op, 0)) && Out(op).IsMem(), op, "count -> mem");
        return;
      case OpKind::kMemOffset:
        Shape(op, 2, 2, 1);
        if (ok()) {
          Require(In(op, 0).IsMem() && In(op, 0) == Out(op) && IsIndexScalar(In(op, 1)), op,
                  "mem, index -> mem");
        }
        return;
      case OpKind::kMemCast:
        Shape(op, 1, 1, 1);
        if (ok()) {
          Require(In(op, 0).IsMem() && Out(op).IsMem() &&
                      StorageBytes(In(op, 0).dtype) == StorageBytes(Out(op).dtype),
                  op, "a mem whose elements take as many bytes");
        }
        return;
      case OpKind::kLoad:
      case OpKind::kStore:
      case OpKind::kGather:
      case OpKind::kScatter:
        return CheckAccess(op);
      case OpKind::kAtomicLoad:
      case OpKind::kAtomicStore:
      case OpKind::kAtomicRmw:
      case OpKind::kAtomicCas:
        return CheckAtomic(op);
      case OpKind::kBounded:
        Shape(op, 2, 2, 1);
        if (ok()) {
          Require(IsIndexScalar(In(op, 0)) && IsIndexScalar(In(op, 1)) && IsIndexScalar(Out(op)),
                  op, "index, index -> index");
        }
        return;
      case OpKind::kSplat:
      case OpKind::kUnary:
      case OpKind::kBinary:
      case OpKind::kCompare:
      case OpKind::kFma:
      case OpKind::kSelect:
      case OpKind::kCast:
      case OpKind::kSaturatingCast:
      case OpKind::kBitcast:
        return CheckElementwise(op);
      case OpKind::kShuffle:
      case OpKind::kExtractLane:
      case OpKind::kReduceLanes:
        return CheckAcrossLanes(op);
      case OpKind::kFor:
      case OpKind::kWhile:
      case OpKind::kIf:
      case OpKind::kParallel:
        return CheckStructure(op, depth);
      case OpKind::kContract:
        return CheckContract(op, depth);
      case OpKind::kYield:
        return Shape(op, 0, op.operands.size(), 0);
      case OpKind::kGuard:
        Shape(op, 3, 3, 0);
        if (ok()) {
          Require(IsBoolScalar(In(op, 0)) && IsIndexScalar(In(op, 1)) && IsIndexScalar(In(op, 2)),
                  op, "condition, value, limit");
          Require(op.status != 0, op, "a guard's status is an error");
        }
        return;
      case OpKind::kPoll:
      case OpKind::kFence:
        return Shape(op, 0, 0, 0);
    }
  }

  const Program& program_;
  std::vector<bool> visible_;
  std::vector<Id> scope_;  // visible values, innermost last
  int parallels_ = 0;      // around the operation
  absl::Status status_;
};

}  // namespace

absl::Status VerifyTile(const Program& program) { return Verifier(program).Run(); }

}  // namespace intent::tile
