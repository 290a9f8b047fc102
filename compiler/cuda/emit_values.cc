// Elementwise operations, and those across lanes.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/cuda/emitter.h"
#include "compiler/diag/check.h"
#include "compiler/ir/module.h"
#include "compiler/numerics/scalar.h"
#include "compiler/tile/units.h"

namespace intent::cuda {

using tile::Id;
using tile::Op;
using tile::OpKind;

std::string TypeName(DType dtype) {
  switch (dtype) {
    case DType::kIndex:
      return "i64";
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    default:
      return std::string(DTypeName(dtype));
  }
}
std::string MemoryName(DType dtype) { return dtype == DType::kBool ? "u8" : TypeName(dtype); }

std::string Emitter::LanesOf(Id id) const {
  return IsTile(id) ? absl::StrCat("LANES(", Own(Lanes(id)), ") ") : "";
}

// Without a terminator or an initial value.
std::string Emitter::Declare(Id id, const std::string& name) const {
  if (type(id).IsMem()) return absl::StrCat(MemoryName(type(id).dtype), "* ", name);
  const std::string base = absl::StrCat(TypeName(type(id).dtype), " ", name);
  return IsTile(id) ? absl::StrCat(base, "[", Own(Lanes(id)), "]") : base;
}

std::string Emitter::Value(Id id) {
  const auto inlined = inlined_.find(id);
  if (inlined != inlined_.end()) {
    if (inlined->second == "#lane") {
      return absl::StrCat("i64(first_lane<", UnitText(), ", ", Lanes(id), ">() + e)");
    }
    return inlined->second;
  }
  return IsTile(id) ? Name(id) + "[e]" : Name(id);
}
std::string Emitter::In(const Op& op, size_t i) { return Value(op.operands[i]); }

std::string Emitter::Array(Id id) {
  if (!inlined_.contains(id)) return Name(id);
  const std::string name = absl::StrCat("t", labels_++);
  Line(Declare(id, name) + ";");
  Line(absl::StrCat(LanesOf(id), name, "[e] = ", Value(id), ";"));
  return name;
}

std::string Emitter::Literal(const ScalarValue& value) {
  const auto hex = [](uint64_t bits) { return absl::StrCat("0x", absl::Hex(bits), "ull"); };
  const uint64_t low = static_cast<uint64_t>(value.bits);
  const uint64_t high = static_cast<uint64_t>(value.bits >> 64);
  if (value.dtype == DType::kBool) return low != 0 ? "true" : "false";
  if (value.dtype == DType::kIndex) {
    const int64_t number = static_cast<int64_t>(low);
    if (number > INT64_MIN) return absl::StrCat("i64(", number, ")");
  }
  const std::string type = TypeName(value.dtype);
  return absl::StrCat("from_bits<", type, ">(", hex(low), BitWidth(value.dtype) > 64 ? ", " : "",
                      BitWidth(value.dtype) > 64 ? hex(high) : "", ")");
}

namespace {

bool IsReal(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::kNegate:
    case UnaryKind::kNot:
    case UnaryKind::kAbs:
      return false;
    default:
      return true;
  }
}

}  // namespace

void Emitter::NoteType(DType dtype) {
  const int bits = BitWidth(dtype);
  if (bits > 64) headers_.insert("wide.cuh");
  const bool whole = dtype == DType::kBool || dtype == DType::kIndex || bits > 8 ||
                     dtype == DType::kI8 || dtype == DType::kU8;
  if (!whole) headers_.insert("narrow.cuh");
}

// For lane e, where the operation has lanes.
std::string Emitter::Expression(const Op& op) {
  const Id result = op.results[0];
  const auto call = [&](const std::string& function) {
    std::string arguments;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      absl::StrAppend(&arguments, i == 0 ? "" : ", ", In(op, i));
    }
    return absl::StrCat(function, "(", arguments, ")");
  };
  const std::string approximate = op.approximate ? "approx_" : "";
  const std::string flush = op.flush_to_zero ? "_ftz" : "";
  const std::string view = absl::StrCat("args.view", op.index);
  const std::string to = type(result).IsMem() ? "" : TypeName(type(result).dtype);
  switch (op.kind) {
    case OpKind::kViewBase:
      return view + ".data";
    case OpKind::kViewExtent:
      return absl::StrCat(view, ".extents[", op.axis, "]");
    case OpKind::kViewStride:
      return absl::StrCat(view, ".strides[", op.axis, "]");
    case OpKind::kScalarArg: {
      const std::string bits = absl::StrCat("args.scalar", op.index);
      if (BitWidth(type(result).dtype) > 64)
        return absl::StrCat("from_bits<", to, ">(", bits, "[0], ", bits, "[1])");
      return absl::StrCat("from_bits<", to, ">(", bits, ")");
    }
    case OpKind::kOverlap:
    case OpKind::kSameView: {
      const tile::ViewParameter& one = program_.views[static_cast<size_t>(op.index)];
      const tile::ViewParameter& other = program_.views[static_cast<size_t>(op.axis)];
      const std::string that = absl::StrCat("args.view", op.axis);
      if (op.kind == OpKind::kOverlap) {
        return absl::StrCat("ranges_overlap(", view, ".data, ", view, ".low, ", view, ".high, ",
                            that, ".data, ", that, ".low, ", that, ".high)");
      }
      if (one.rank != other.rank || StorageBytes(one.dtype) != StorageBytes(other.dtype))
        return "false";
      if (one.rank == 0) return absl::StrCat("(void*)", view, ".data == (void*)", that, ".data");
      return absl::StrCat("same_view(", view, ".data, ", view, ".extents, ", view, ".strides, ",
                          that, ".data, ", that, ".extents, ", that, ".strides)");
    }
    case OpKind::kMemOffset:
      return absl::StrCat(In(op, 0), " + ", In(op, 1));
    case OpKind::kMemCast:
      return absl::StrCat("reinterpret_cast<", MemoryName(type(result).dtype), "*>(", In(op, 0),
                          ")");
    case OpKind::kUnary:
      if (IsReal(op.unary)) headers_.insert("math.cuh");
      if (op.unary == UnaryKind::kLgamma || op.unary == UnaryKind::kI0)
        headers_.insert("special.cuh");
      return call(absl::StrCat(approximate, "u_", std::string(NameOf(op.unary)), flush));
    case OpKind::kBinary:
      if (op.binary == BinaryKind::kPow || op.binary == BinaryKind::kFloatFloorDiv ||
          op.binary == BinaryKind::kFloatFloorMod || op.binary == BinaryKind::kIpowTrunc) {
        headers_.insert("math.cuh");
      }
      if (op.rounds && IsFloat(type(result).dtype) &&
          (op.binary == BinaryKind::kAdd || op.binary == BinaryKind::kSub ||
           op.binary == BinaryKind::kMul)) {
        return call(absl::StrCat("rn_b_", std::string(NameOf(op.binary))));
      }
      return call(absl::StrCat(approximate, "b_", std::string(NameOf(op.binary)), flush));
    case OpKind::kCompare:
      return call(absl::StrCat("c_", std::string(NameOf(op.compare))));
    case OpKind::kFma:
      return call("fma_");
    case OpKind::kSelect:
      NoteDetour(op.operands[0], /*branch=*/false);
      if (type(result).IsMem()) return absl::StrCat(In(op, 0), " ? ", In(op, 1), " : ", In(op, 2));
      return call("select_");
    case OpKind::kCast:
      return call(absl::StrCat("cast<", to, ">"));
    case OpKind::kSaturatingCast:
      return call(absl::StrCat("saturating_cast<", to, ">"));
    case OpKind::kBitcast:
      return call(absl::StrCat("bitcast<", to, ">"));
    default:
      INTENT_UNREACHABLE() << tile::NameOf(op.kind) << " is not elementwise";
      return "";
  }
}

void Emitter::EmitElementwise(const Op& op) {
  const Id result = op.results[0];
  for (Id id : op.operands) {
    NoteType(type(id).dtype);
  }
  NoteType(type(result).dtype);
  if (op.kind == OpKind::kSplat || op.kind == OpKind::kBounded) {
    inlined_[result] = Value(op.operands[0]);
    return;
  }
  if (op.kind == OpKind::kConst) {
    inlined_[result] = Literal(op.constant);
    return;
  }
  if (op.kind == OpKind::kIota) {
    inlined_[result] = "#lane";
    return;
  }
  if (!IsTile(result)) {
    const std::string constant = type(result).IsMem() ? "" : "const ";
    Line(absl::StrCat(constant, Declare(result, Name(result)), " = ", Expression(op), ";"));
    return;
  }
  if (const Id limit = LimitOf(result); limit != tile::kNoId) return EmitTailMask(op, limit);
  Line(Declare(result, Name(result)) + ";");
  Line(absl::StrCat(LanesOf(result), Name(result), "[e] = ", Expression(op), ";"));
}

Id Emitter::LimitOf(Id mask) const {
  const Op* op = program_.definition(mask);
  if (op == nullptr || op->kind != OpKind::kCompare || op->compare != CompareKind::kLt ||
      !IsTile(mask))
    return tile::kNoId;
  const Op* lane = program_.definition(op->operands[0]);
  const Op* limit = program_.definition(op->operands[1]);
  const bool found = lane != nullptr && lane->kind == OpKind::kIota && limit != nullptr &&
                     limit->kind == OpKind::kSplat;
  return found ? limit->operands[0] : tile::kNoId;
}

bool Emitter::IsWholeInThreads(Id mask) {
  const Id limit = LimitOf(mask);
  return limit != tile::kNoId && multiples_.DivisorOf(limit) % Own(Lanes(mask)) == 0;
}

// A constant that an int holds, after a difference with another, too.
bool Emitter::IsSmall(Id index) const {
  const Op* op = program_.definition(index);
  if (op == nullptr || op->kind != OpKind::kConst) return false;
  const int64_t value = numerics::AsIndex(op->constant);
  return value >= 0 && value < int64_t{1} << 30;
}

// Lanes are counted by an int: by one comparison for all of a thread's, where that is the same.
void Emitter::EmitTailMask(const Op& op, Id limit) {
  const Id mask = op.results[0];
  const std::string lanes = std::to_string(Lanes(mask));
  std::string count = absl::StrCat("lanes_below<", lanes, ">(", Value(limit), ")");
  const Op* difference = program_.definition(limit);
  if (multiples_.IsShort(limit)) {
    count = absl::StrCat("int(", Value(limit), ")");
  } else if (difference != nullptr && difference->kind == OpKind::kBinary &&
             difference->binary == BinaryKind::kSub &&
             multiples_.IsShort(difference->operands[0]) && IsSmall(difference->operands[1])) {
    count = absl::StrCat("int(", In(*difference, 0), ") - int(", In(*difference, 1), ")");
  }
  Line(absl::StrCat("const int below", Name(mask), " = ", count, ";"));
  Line(Declare(mask, Name(mask)) + ";");
  Line(absl::StrCat(LanesOf(mask), Name(mask), "[e] = first_lane<", UnitText(), ", ", lanes, ">()",
                    IsWholeInThreads(mask) ? "" : " + e", " < below", Name(mask), ";"));
}

// Lanes that come from the same thread, in all threads alike.
bool Emitter::EmitInThread(const Op& op) {
  const Id in = op.operands[0], result = op.results[0];
  const int count = static_cast<int>(op.lanes.size());
  const int from = Own(Lanes(in)), to = Own(count);
  if (count < unit_.threads || Lanes(in) < unit_.threads) return false;
  for (int lane = 0; lane < count; ++lane) {
    const int source = op.lanes[lane];
    if (source / from != lane / to || source % from != op.lanes[lane % to]) return false;
  }
  const std::string array = Array(in);
  Line(absl::StrCat(TypeName(type(result).dtype), " ", Name(result), "[", to, "];"));
  for (int e = 0; e < to; ++e) {
    Line(absl::StrCat(Name(result), "[", e, "] = ", array, "[", op.lanes[e], "];"));
  }
  return true;
}

// Threads of a warp that change places in pairs, one lane each.
bool Emitter::EmitInWarp(const Op& op) {
  const Id in = op.operands[0], result = op.results[0];
  const int count = static_cast<int>(op.lanes.size());
  if (unit_.threads == 1 || count != Lanes(in) || count > unit_.threads) return false;
  const int far = op.lanes[0];
  if (far >= std::min(count, tile::kWarpThreads)) return false;
  for (int lane = 0; lane < count; ++lane) {
    if (op.lanes[lane] != (lane ^ far)) return false;
  }
  const std::string array = Array(in);
  Line(absl::StrCat(TypeName(type(result).dtype), " ", Name(result), "[1];"));
  Line(absl::StrCat(Name(result), "[0] = shuffle(", array, "[0], int(threadIdx.x & 31) ^ ", far,
                    ");"));
  return true;
}

void Emitter::EmitAcrossLanes(const Op& op) {
  const Id in = op.operands[0], result = op.results[0];
  const int lanes = Lanes(in), own = Own(lanes);
  const int bytes = StorageBytes(type(in).dtype);
  NoteType(type(in).dtype);
  if (op.kind == OpKind::kExtractLane) {
    const int holder = static_cast<int>(op.index) / own;
    const std::string element = absl::StrCat(Array(in), "[", op.index % own, "]");
    if (unit_.threads > 1 && lanes <= tile::kWarpThreads) {
      // Every warp has a copy.
      Line(absl::StrCat("const ", Declare(result, Name(result)), " = shuffle(", element, ", ",
                        holder, ");"));
      return;
    }
    Line(absl::StrCat("const ", Declare(result, Name(result)), " = broadcast<", UnitText(), ">(",
                      element, ", ", holder, ", ", Exchange(16), ");"));
    return;
  }
  if (op.kind == OpKind::kReduceLanes) {
    const std::string name = TypeName(type(in).dtype);
    const char* combine = op.combine == CombineKind::kAdd       ? "b_add"
                          : op.combine == CombineKind::kMaximum ? "b_maximum"
                          : op.combine == CombineKind::kMinimum ? "b_minimum"
                          : op.combine == CombineKind::kAnd     ? "b_and"
                                                                : "b_or";
    Line(absl::StrCat("const ", Declare(result, Name(result)), " = reduce_lanes<", UnitText(), ", ",
                      lanes, ">(", Array(in), ", ", Exchange(kBlockThreads / 32 * 16), ", [](",
                      name, " a, ", name, " b) { return ", combine, "(a, b); });"));
    return;
  }
  const int count = static_cast<int>(op.lanes.size());
  if (EmitInThread(op) || EmitInWarp(op)) return;
  // A rotation, or an arbitrary order from a table.
  bool rotation = true;
  for (int lane = 0; lane < count; ++lane) {
    rotation = rotation && op.lanes[lane] == (lane + op.lanes[0]) % lanes;
  }
  std::string source = absl::StrCat("(lane + ", op.lanes[0], ") % ", lanes);
  const int step = count > 1 ? op.lanes[1] - op.lanes[0] : 0;
  bool line = step >= 0;
  for (int lane = 0; lane < count; ++lane)
    line = line && op.lanes[lane] == op.lanes[0] + lane * step;
  if (line) {
    source = absl::StrCat("lane * ", step, " + ", op.lanes[0]);
  } else if (!rotation) {
    const std::string table = absl::StrCat("order", labels_++);
    std::string numbers;
    for (int32_t lane : op.lanes) absl::StrAppend(&numbers, numbers.empty() ? "" : ", ", lane);
    Line(absl::StrCat("constexpr u16 ", table, "[", count, "] = {", numbers, "};"));
    source = absl::StrCat(table, "[lane]");
  }
  const std::string from = Array(in);
  Line(absl::StrCat(TypeName(type(result).dtype), " ", Name(result), "[", Own(count), "];"));
  Line(absl::StrCat("shuffle_lanes<", UnitText(), ", ", lanes, ", ", own, ", ", count, ", ",
                    Own(count), ">(", Name(result), ", ", from, ", ", Exchange(lanes * bytes, true),
                    ", [&](int lane) { return ", source, "; });"));
  if (count == 1) {
    Refuse("a shuffle to one lane");
  }
}

}  // namespace intent::cuda
