// Memory: scratch, accesses, atomics.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/cuda/emitter.h"
#include "compiler/driver/intent_call.h"
#include "compiler/ir/kind_names.h"
#include "compiler/ir/module.h"

namespace intent::cuda {

using tile::Id;
using tile::Op;
using tile::OpKind;

namespace {

// Static slots of a block's units; what is more lies in scratch memory.
constexpr int64_t kSharedSlots = 16 << 10;
constexpr int64_t kThreadSlot = 1 << 10;

}  // namespace

// Where the launch's or the unit's scratch memory does not suffice the task ends.
void Emitter::TakeScratch(const Op& op, const std::string& count) {
  const std::string name = Name(op.results[0]);
  Line(Declare(op.results[0], name) + ";");
  Open(absl::StrCat("if (!take_scratch(&", name, ", ",
                    unit_.whole_grid
                        ? "args.launch_scratch, args.launch_scratch_bytes, &launch_top, "
                        : "unit_scratch, unit_size, &unit_top, ",
                    count, ")) {"));
  Line(absl::StrCat("fail(args.error, ", static_cast<int>(INTENT_NO_MEMORY), ", ", op.ordinal,
                    "u, -1, -1, ", count, ", 0);"));
  Line("failed = true;");
  Line(unit_.leave);
  Close();
}

void Emitter::EmitAlloc(const Op& op) { TakeScratch(op, In(op, 0)); }

// A slot of the program is memory of the unit: a thread's own, or shared.
void Emitter::EmitStackAlloc(const Op& op) {
  const std::string name = Name(op.results[0]), memory = MemoryName(type(op.results[0]).dtype);
  if (SlotInScratch(op, unit_.threads, unit_.whole_grid))
    return TakeScratch(op, absl::StrCat("i64(", op.index, ")"));
  private_memory_ = private_memory_ || unit_.threads > 1;
  if (unit_.threads == 1) {
    Line(absl::StrCat("__align__(16) ", memory, " slot", name, "[", op.index, "];"));
    Line(absl::StrCat(memory, "* ", name, " = slot", name, ";"));
    return;
  }
  Line(absl::StrCat("__shared__ __align__(16) ", memory, " slot", name, "[",
                    kBlockThreads / unit_.threads, "][", op.index, "];"));
  Line(absl::StrCat(memory, "* ", name, " = slot", name, "[unit_in_block<", UnitText(), ">()];"));
}

bool Emitter::SlotInScratch(const Op& op, int threads, bool grid) const {
  if (grid) return true;
  const int64_t bytes = op.index * StorageBytes(type(op.results[0]).dtype);
  // A thread's own memory knows no atomics.
  const bool atomic = atomics_.contains(op.results[0]) || atomics_.contains(tile::kAnywhere);
  if (threads == 1) return atomic || bytes > kThreadSlot;
  return bytes * (kBlockThreads / threads) > kSharedSlots / std::max<int64_t>(slots_, 1);
}

// mem[offset + lane * stride], or mem[offsets of the lane]; of this thread's lane e.
std::string Emitter::Address(const Op& op, const std::string& stride) {
  const bool indexed = op.kind == OpKind::kGather || op.kind == OpKind::kScatter;
  if (indexed) return absl::StrCat(In(op, 0), " + ", In(op, 1));
  const bool stores = op.kind == OpKind::kStore;
  const Id value = stores ? op.operands[2] : op.results[0];
  if (!IsTile(value)) return absl::StrCat(In(op, 0), " + ", In(op, 1));
  return absl::StrCat(In(op, 0), " + ", In(op, 1), " + (first_lane<", UnitText(), ", ",
                      Lanes(value), ">() + e) * ", stride);
}

void Emitter::EmitAccess(const Op& op) {
  const bool stores = op.kind == OpKind::kStore || op.kind == OpKind::kScatter;
  const bool indexed = op.kind == OpKind::kGather || op.kind == OpKind::kScatter;
  size_t next = 2;
  const Id value = stores ? op.operands[next++] : op.results[0];
  const std::string stride = op.has_stride ? In(op, next++) : absl::StrCat("i64(", op.index, ")");
  const Id mask = op.has_mask ? op.operands[next++] : tile::kNoId;
  const DType dtype = type(value).dtype;
  const std::string name = TypeName(dtype);
  const std::string fill =
      op.has_fill ? Value(op.operands[next]) : absl::StrCat("zero<", name, ">()");
  const std::string stored = absl::StrCat("Stored<", name, ">");
  NoteType(dtype);

  if (!IsTile(value)) {
    const std::string place = Address(op, stride);
    if (stores) {
      const std::string statement =
          absl::StrCat("*(", place, ") = ", stored, "::store(", Value(value), ");");
      ActAlone(mask == tile::kNoId ? statement
                                   : absl::StrCat("if (", Value(mask), ") ", statement));
      return;
    }
    const std::string loaded = absl::StrCat(stored, "::load(*(", place, "))");
    Line(absl::StrCat(
        "const ", name, " ", Name(value), " = ",
        mask == tile::kNoId ? loaded : absl::StrCat(Value(mask), " ? ", loaded, " : ", fill), ";"));
    return;
  }

  const int own = Own(Lanes(value));
  const bool unit_stride = !indexed && !op.has_stride && op.index == 1;
  const std::string first = absl::StrCat(In(op, 0), " + ", In(op, 1), " + first_lane<", UnitText(),
                                         ", ", Lanes(value), ">()");
  const std::string each = absl::StrCat("LANES(", own, ") ");
  const int64_t access = std::min<int64_t>(16, int64_t{own} * StorageBytes(dtype));
  const std::string packed =
      unit_stride && own > 1 && multiples_.AlignmentOf(op.operands[0], op.operands[1]) % access == 0
          ? "_packed<"
          : "_lanes<";
  const bool whole = mask != tile::kNoId && IsWholeInThreads(mask);
  if (stores) {
    std::string who = unit_.whole_grid ? "blockIdx.x == 0" : "";
    if (Lanes(value) < unit_.threads) {
      absl::StrAppend(&who, who.empty() ? "" : " && ", "owns_lanes<", UnitText(), ", ",
                      Lanes(value), ">()");
    }
    Open(who.empty() ? "{" : absl::StrCat("if (", who, ") {"));
    const std::string one =
        absl::StrCat("*(", Address(op, stride), ") = ", stored, "::store(", Value(value), ");");
    if (unit_stride) {
      const std::string all =
          absl::StrCat("store", packed, own, ">(", first, ", ", Array(value), ");");
      if (mask == tile::kNoId) {
        Line(all);
      } else {
        Line(absl::StrCat("if (",
                          whole ? Name(mask) + "[0]" : absl::StrCat("all_of(", Array(mask), ")"),
                          ") ", all));
        if (!whole) Line(absl::StrCat("else ", each, "if (", Value(mask), ") ", one));
      }
    } else {
      Line(absl::StrCat(each, mask == tile::kNoId ? "" : absl::StrCat("if (", Value(mask), ") "),
                        one));
    }
    Close();
    return;
  }
  Line(Declare(value, Name(value)) + ";");
  const std::string loaded = absl::StrCat(stored, "::load(*(", Address(op, stride), "))");
  const std::string one = absl::StrCat(
      each, Name(value), "[e] = ",
      mask == tile::kNoId ? loaded : absl::StrCat(Value(mask), " ? ", loaded, " : ", fill), ";");
  if (!unit_stride) return Line(one);
  const std::string all = absl::StrCat("load", packed, own, ">(", Name(value), ", ", first, ");");
  if (mask == tile::kNoId) return Line(all);
  if (whole) {
    Line(absl::StrCat("if (", Name(mask), "[0]) ", all));
    Line(absl::StrCat("else ", each, Name(value), "[e] = ", fill, ";"));
    return;
  }
  Line(absl::StrCat("if (all_of(", Array(mask), ")) ", all));
  Line("else " + one);
}

// One thread acts, and all learn what it found.
void Emitter::EmitAtomic(const Op& op) {
  headers_.insert("atomics.cuh");
  const DType dtype = type(op.operands[0]).dtype;
  const std::string name = TypeName(dtype);
  const std::string how = absl::StrCat("<Order::", std::string(NameOf(op.order)),
                                       ", Scope::device>(", In(op, 0), " + ", In(op, 1));
  std::string call;
  switch (op.kind) {
    case OpKind::kAtomicLoad:
      call = absl::StrCat("atomic_load", how, ")");
      break;
    case OpKind::kAtomicStore:
      call = absl::StrCat("atomic_store", how, ", ", In(op, 2), ")");
      break;
    case OpKind::kAtomicRmw:
      call = absl::StrCat("atomic_rmw_", std::string(NameOf(op.rmw)), how, ", ", In(op, 2), ")");
      break;
    default:
      call = absl::StrCat("atomic_cas", how, ", ", In(op, 2), ", ", In(op, 3), ")");
      break;
  }
  if (op.kind == OpKind::kAtomicStore) return ActAlone(call + ";");
  const std::string old = Name(op.results[0]);
  const std::string leader = Leader();
  if (leader.empty()) {
    Line(absl::StrCat("const ", name, " ", old, " = ", call, ";"));
  } else if (unit_.whole_grid) {
    // Through memory that all blocks read after the barrier which follows.
    broadcasts_ = true;
    Line(absl::StrCat("if (", leader, ") *reinterpret_cast<", name,
                      "*>(args.launch_scratch) = ", call, ";"));
    Barrier();
    Line(absl::StrCat("const ", name, " ", old, " = *reinterpret_cast<volatile ", name,
                      "*>(args.launch_scratch);"));
    touched_.read.insert(Touched::kBroadcast);
  } else {
    Line(absl::StrCat(name, " found", old, " = 0;"));
    Line(absl::StrCat("if (", leader, ") found", old, " = ", call, ";"));
    Line(absl::StrCat("const ", name, " ", old, " = broadcast<", UnitText(), ">(found", old,
                      ", 0, ", Exchange(16), ");"));
  }
  if (op.kind == OpKind::kAtomicCas) {
    Line(absl::StrCat("const bool ", Name(op.results[1]), " = ", old, " == ", In(op, 2), ";"));
  }
}

}  // namespace intent::cuda
