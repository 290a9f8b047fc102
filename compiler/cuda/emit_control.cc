// Loops and branches. Carried values are variables; a body reads copies of them, so that what it
// yields may be any permutation.

#include "absl/strings/str_cat.h"
#include "compiler/cuda/emitter.h"

namespace intent::cuda {

using tile::Block;
using tile::Id;
using tile::Op;
using tile::OpKind;

namespace {

constexpr int kUnrolledOps = 96;
// Of a whole program: copies of what is large cost the compiler seconds.
constexpr int64_t kUnrolledProgram = 400;

// Only arithmetic and accesses: more of them may wait for memory at once.
bool Unrolls(const Block& block) {
  bool loads = false;
  for (const Op* op : block.ops) {
    switch (op->kind) {
      case OpKind::kLoad:
      case OpKind::kGather:
        if (op->has_mask) return false;  // ends of rows
        loads = true;
        break;
      case OpKind::kStore:  // what is loaded later may be what is stored now
      case OpKind::kScatter:
      case OpKind::kFor:
      case OpKind::kWhile:
      case OpKind::kIf:
      case OpKind::kParallel:
      case OpKind::kContract:
      case OpKind::kGuard:
      case OpKind::kFence:
      case OpKind::kAlloc:
      case OpKind::kAtomicLoad:
      case OpKind::kAtomicStore:
      case OpKind::kAtomicRmw:
      case OpKind::kAtomicCas:
      case OpKind::kReduceLanes:
      case OpKind::kShuffle:
      case OpKind::kExtractLane:
        return false;
      default:
        break;
    }
  }
  return loads && block.ops.size() <= kUnrolledOps;
}

}  // namespace

bool Emitter::Allocates(const Block& block) const {
  for (const Op* op : block.ops) {
    if (op->kind == OpKind::kAlloc) return true;
    if (op->kind == OpKind::kStackAlloc && SlotInScratch(*op, unit_.threads, unit_.whole_grid))
      return true;
    if (op->kind != OpKind::kIf) continue;
    for (const auto& region : op->regions) {
      if (Allocates(*region)) return true;
    }
  }
  return false;
}

// What one iteration of these bodies takes is given back by Release.
std::string Emitter::Mark(const Block& a, const Block* b) {
  if (!Allocates(a) && (b == nullptr || !Allocates(*b))) return "";
  const std::string name = absl::StrCat("mark", labels_++);
  Line(absl::StrCat("const i64 ", name, " = ", unit_.scratch, "_top;"));
  return name;
}
void Emitter::Release(const std::string& mark) {
  if (mark.empty()) return;
  // The next iteration takes the same memory.
  if (unit_.whole_grid) {
    if (!touched_.read.empty()) touched_.read.insert(tile::kAnywhere);
    if (!touched_.written.empty()) touched_.written.insert(tile::kAnywhere);
  } else if (unit_.threads > 1) {
    Line(absl::StrCat("unit_fence<", UnitText(), ">();"));
  }
  Line(absl::StrCat(unit_.scratch, "_top = ", mark, ";"));
}

std::vector<std::string> Emitter::DeclareCarries(const Op& op, size_t first_init) {
  std::vector<std::string> names;
  for (size_t i = 0; i < op.results.size(); ++i) {
    const Id id = op.results[i];
    names.push_back(Name(id));
    if (!IsTile(id)) {
      Line(absl::StrCat(Declare(id, names.back()), " = ", Value(op.operands[first_init + i]), ";"));
      continue;
    }
    Line(Declare(id, names.back()) + ";");
    Line(
        absl::StrCat(LanesOf(id), names.back(), "[e] = ", Value(op.operands[first_init + i]), ";"));
  }
  return names;
}

void Emitter::BindArguments(const Block& block, size_t first,
                            const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    const Id id = block.arguments[first + i];
    if (!IsTile(id)) {
      Line(absl::StrCat(type(id).IsMem() ? "" : "const ", Declare(id, Name(id)), " = ", names[i],
                        ";"));
      continue;
    }
    Line(Declare(id, Name(id)) + ";");
    Line(absl::StrCat(LanesOf(id), Name(id), "[e] = ", names[i], "[e];"));
  }
}

void Emitter::Assign(const Block& block, const std::vector<std::string>& names) {
  const Op& yield = *block.ops.back();
  for (size_t i = 0; i < names.size(); ++i) {
    const Id id = yield.operands[i];
    Line(absl::StrCat(LanesOf(id), names[i], IsTile(id) ? "[e]" : "", " = ", Value(id), ";"));
  }
}

void Emitter::EmitFor(const Op& op) {
  const Block& body = *op.regions[0];
  if (unit_.whole_grid) EnterLoop({&body});
  const std::vector<std::string> carries = DeclareCarries(op, 3);
  const std::string iv = Name(body.arguments[0]), lo = In(op, 0), hi = In(op, 1), step = In(op, 2);
  const bool unroll = options_.unroll && ops_ <= kUnrolledProgram && Unrolls(body);
  std::string trips;
  if (step != "i64(1)") {
    // Counted, so that no sum leaves the range of index.
    trips = absl::StrCat("trips", labels_++);
    Line(absl::StrCat("const i64 ", trips, " = count_tasks(", lo, ", ", hi, ", ", step, ");"));
  }
  if (unroll) Line("#pragma unroll 4");
  if (trips.empty()) {
    Open(absl::StrCat("for (i64 ", iv, " = ", lo, "; ", iv, " < ", hi, "; ++", iv, ") {"));
  } else {
    Open(absl::StrCat("for (i64 trip = 0; trip < ", trips, "; ++trip) {"));
    Line(absl::StrCat("const i64 ", iv, " = ", lo, " + trip * ", step, ";"));
  }
  const std::string mark = Mark(body, nullptr);
  BindArguments(body, 1, carries);
  fenced_ = false;
  EmitBlock(body);
  Assign(body, carries);
  Release(mark);
  Close();
  fenced_ = false;
}

void Emitter::EmitWhile(const Op& op) {
  const Block &condition = *op.regions[0], &body = *op.regions[1];
  if (unit_.whole_grid) EnterLoop({&condition, &body});
  const std::vector<std::string> carries = DeclareCarries(op, 0);
  Open("for (;;) {");
  const std::string mark = Mark(condition, &body);
  BindArguments(condition, 0, carries);
  fenced_ = false;
  EmitBlock(condition);
  const std::string goes_on = Value(condition.ops.back()->operands[0]);
  if (mark.empty()) {
    Line(absl::StrCat("if (!", goes_on, ") break;"));
  } else {
    Open(absl::StrCat("if (!", goes_on, ") {"));
    Release(mark);
    Line("break;");
    Close();
  }
  BindArguments(body, 0, carries);
  EmitBlock(body);
  Assign(body, carries);
  Release(mark);
  Close();
  fenced_ = false;
}

void Emitter::EmitIf(const Op& op) {
  std::vector<std::string> names;
  for (Id id : op.results) {
    names.push_back(Name(id));
    Line(Declare(id, names.back()) + ";");
  }
  const Touched before = touched_;
  const bool fenced = fenced_, outer_detour = in_detour_;
  const bool alone = op.regions[1]->ops.size() <= 1 && names.empty();
  const bool detour = NoteDetour(op.operands[0], alone && unit_.whole_grid);
  Open(absl::StrCat("if (", In(op, 0), ") {"));
  in_detour_ = in_detour_ || detour;
  EmitBlock(*op.regions[0]);
  // Others need no barrier for what happens on a detour.
  if (unit_.whole_grid && detour && touched_.written != before.written) Barrier();
  in_detour_ = outer_detour;
  Assign(*op.regions[0], names);
  const Touched then = touched_;
  const bool then_fenced = fenced_;
  touched_ = before;
  fenced_ = fenced;
  if (!alone) {
    --depth_;
    Open("} else {");
    EmitBlock(*op.regions[1]);
    Assign(*op.regions[1], names);
  }
  Close();
  touched_.Merge(then);
  fenced_ = fenced_ && then_fenced;
}

}  // namespace intent::cuda
