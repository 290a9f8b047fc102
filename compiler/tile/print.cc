#include "compiler/tile/print.h"

#include <unordered_map>

#include "compiler/ir/module.h"

namespace intent::tile {
namespace {

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}

  std::string Run() {
    text_ = "tile {\n";
    for (const ViewParameter& view : program_.views) {
      text_ += "  view " + std::string(DTypeName(view.dtype)) + " rank " +
               std::to_string(view.rank) + (view.readable ? " read" : "") +
               (view.writable ? " write" : "") + "\n";
    }
    for (DType dtype : program_.scalars)
      text_ += "  scalar " + std::string(DTypeName(dtype)) + "\n";
    PrintBlock(program_.body, 1);
    text_ += "}\n";
    return std::move(text_);
  }

 private:
  std::string Use(Id id) {
    const auto [it, fresh] = numbers_.emplace(id, numbers_.size());
    return "%" + std::to_string(it->second);
  }
  std::string Define(Id id) { return Use(id) + ": " + program_.type(id).ToString(); }

  template <typename Name>
  std::string List(const std::vector<Id>& ids, Name name) {
    std::string text;
    for (Id id : ids) text += (text.empty() ? "" : ", ") + name(id);
    return text;
  }

  std::string Literal(const ScalarValue& value) {
    if (IsSignedInteger(value.dtype) && BitWidth(value.dtype) <= 64) {
      const int shift = 64 - BitWidth(value.dtype);
      return std::to_string(static_cast<int64_t>(static_cast<uint64_t>(value.bits) << shift) >>
                            shift);
    }
    const uint64_t low = static_cast<uint64_t>(value.bits);
    const uint64_t high = static_cast<uint64_t>(value.bits >> 64);
    if (!IsFloat(value.dtype) && high == 0) return std::to_string(low);
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string digits;
    for (int shift = 124; shift >= 0; shift -= 4) {
      const uint64_t word = shift >= 64 ? high >> (shift - 64) : low >> shift;
      if (digits.empty() && (word & 15) == 0 && shift != 0) continue;
      digits += kDigits[word & 15];
    }
    return "0x" + digits;
  }

  std::string Attributes(const Op& op) {
    std::vector<std::string> parts;
    const auto number = [&](const char* name, int64_t value) {
      parts.push_back(std::string(name) + "=" + std::to_string(value));
    };
    const auto flag = [&](const char* name, bool set) {
      if (set) parts.emplace_back(name);
    };
    switch (op.kind) {
      case OpKind::kViewBase:
        number("view", op.index);
        break;
      case OpKind::kViewExtent:
      case OpKind::kViewStride:
        number("view", op.index);
        number("axis", op.axis);
        break;
      case OpKind::kScalarArg:
        number("scalar", op.index);
        break;
      case OpKind::kOverlap:
      case OpKind::kSameView:
        number("view", op.index);
        number("other", op.axis);
        break;
      case OpKind::kStackAlloc:
        number("count", op.index);
        break;
      case OpKind::kLoad:
      case OpKind::kStore:
        if (op.has_stride) {
          parts.emplace_back("strided");
        } else {
          number("stride", op.index);
        }
        flag("mask", op.has_mask);
        flag("fill", op.has_fill);
        break;
      case OpKind::kGather:
      case OpKind::kScatter:
        flag("mask", op.has_mask);
        flag("fill", op.has_fill);
        break;
      case OpKind::kAtomicLoad:
      case OpKind::kAtomicStore:
      case OpKind::kAtomicRmw:
      case OpKind::kAtomicCas:
        parts.push_back("order=" + std::string(intent::NameOf(op.order)));
        break;
      case OpKind::kUnary:
      case OpKind::kBinary:
        flag("approximate", op.approximate);
        flag("flush_to_zero", op.flush_to_zero);
        flag("rounds", op.rounds);
        break;
      case OpKind::kExtractLane:
        number("lane", op.index);
        break;
      case OpKind::kFor:
        flag("unroll", op.index == 1);
        break;
      case OpKind::kGuard:
        number("status", op.status);
        number("parameter", op.index);
        number("axis", op.axis);
        break;
      case OpKind::kShuffle: {
        std::string lanes;
        for (int32_t lane : op.lanes) lanes += (lanes.empty() ? "" : ", ") + std::to_string(lane);
        parts.push_back("lanes=[" + lanes + "]");
        break;
      }
      case OpKind::kConst:
      case OpKind::kAlloc:
      case OpKind::kMemOffset:
      case OpKind::kMemCast:
      case OpKind::kSplat:
      case OpKind::kIota:
      case OpKind::kCompare:
      case OpKind::kFma:
      case OpKind::kSelect:
      case OpKind::kCast:
      case OpKind::kSaturatingCast:
      case OpKind::kBitcast:
      case OpKind::kBounded:
      case OpKind::kReduceLanes:
      case OpKind::kWhile:
      case OpKind::kIf:
      case OpKind::kParallel:
      case OpKind::kContract:
      case OpKind::kYield:
      case OpKind::kPoll:
      case OpKind::kFence:
        break;
    }
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : " ") + part;
    return text;
  }

  void PrintOp(const Op& op, int depth) {
    text_.append(static_cast<size_t>(2 * depth), ' ');
    if (!op.results.empty()) {
      // Operands get their numbers first: they were defined before.
      for (Id id : op.operands) Use(id);
      text_ += List(op.results, [&](Id id) { return Define(id); }) + " = ";
    }
    text_ += NameOf(op.kind);
    if (op.kind == OpKind::kUnary) text_ += "." + std::string(intent::NameOf(op.unary));
    if (op.kind == OpKind::kBinary) text_ += "." + std::string(intent::NameOf(op.binary));
    if (op.kind == OpKind::kCompare) text_ += "." + std::string(intent::NameOf(op.compare));
    if (op.kind == OpKind::kReduceLanes) text_ += "." + std::string(intent::NameOf(op.combine));
    if (op.kind == OpKind::kAtomicRmw) text_ += "." + std::string(intent::NameOf(op.rmw));
    if (op.kind == OpKind::kConst) text_ += " " + Literal(op.constant);
    if (!op.operands.empty() || !op.regions.empty())
      text_ += "(" + List(op.operands, [&](Id id) { return Use(id); }) + ")";
    const std::string attributes = Attributes(op);
    if (!attributes.empty()) text_ += " {" + attributes + "}";
    if (op.ordinal != kNoOrdinal) text_ += " @" + std::to_string(op.ordinal);
    for (const auto& region : op.regions) {
      text_ += " (" + List(region->arguments, [&](Id id) { return Define(id); }) + ") {\n";
      PrintBlock(*region, depth + 1);
      text_.append(static_cast<size_t>(2 * depth), ' ');
      text_ += "}";
    }
    text_ += "\n";
  }

  void PrintBlock(const Block& block, int depth) {
    for (const Op* op : block.ops) PrintOp(*op, depth);
  }

  const Program& program_;
  std::unordered_map<Id, size_t> numbers_;
  std::string text_;
};

}  // namespace

std::string Print(const Program& program) { return Printer(program).Run(); }

}  // namespace intent::tile
