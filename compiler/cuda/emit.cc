#include "compiler/cuda/emit.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/cuda/emitter.h"
#include "compiler/diag/check.h"
#include "compiler/tile/units.h"

namespace intent::cuda {

using compile::v1::Variant;
using tile::Block;
using tile::Id;
using tile::Op;
using tile::OpKind;

namespace {

constexpr size_t kMaxVariants = 12;
constexpr int kHeldBlocks = 4;  // of a multiprocessor at least: others work while one's row comes

}  // namespace

Emitter::Emitter(const tile::Program& program, const EmitOptions& options,
                 const lower::Assumptions* assumed)
    : program_(program),
      options_(options),
      bounds_(program, options.view_parameters, options.scalar_parameters),
      assumed_(assumed),
      multiples_(program, assumed),
      grid_(LaunchConstant(1)) {
  INTENT_CHECK(options.view_parameters.size() == program.views.size() &&
               options.scalar_parameters.size() == program.scalars.size())
      << "the positions of parameters";
}

// One kernel, without what stands before all.
std::string Emitter::Kernel() {
  headers_ = {"core.cuh", "unit.cuh"};
  NoteMemory(program_.body);
  unit_ = {kBlockThreads, true, "return;", "launch"};
  depth_ = 1;
  EmitBlock(program_.body);
  const std::string body = std::move(text_);
  text_.clear();
  depth_ = 0;
  const bool held = assumed_ != nullptr && assumed_->dense_rows;
  const int blocks = held ? kHeldBlocks : options_.resident_blocks;
  std::string text = absl::StrCat("extern \"C\" __global__ void __launch_bounds__(", kBlockThreads,
                                  blocks > 0 ? absl::StrCat(", ", blocks) : "", ") ", entry_,
                                  "(const __grid_constant__ Arguments args) {\n",
                                  "  bool failed = false;  // a guard of this thread\n");
  // All see it in time, for a barrier comes before the first part; it is never taken back.
  if (parts_fail_) {
    text +=
        "  __shared__ bool part_failed;\n"
        "  if (threadIdx.x == 0) part_failed = false;\n";
  }
  if (warp_exchange_ > 0) {
    exchange_bytes_ =
        std::max(exchange_bytes_, warp_exchange_ * (kBlockThreads / tile::kWarpThreads));
    absl::StrAppend(&text, "  constexpr int warp_exchange = ", warp_exchange_, ";\n");
  }
  if (exchange_bytes_ > 0)
    absl::StrAppend(&text, "  __shared__ __align__(16) char exchange[", exchange_bytes_, "];\n");
  if (body.find("launch_top") != std::string::npos)
    absl::StrAppend(&text, "  i64 launch_top = ", broadcasts_ ? kBroadcastBytes : 0, ";\n");
  if (takes_block_scratch_ || contract_bytes_ > 0) {
    text += "  extern __shared__ __align__(1024) char dynamic_shared[];\n";
  }
  if (contract_bytes_ > 0) {
    absl::StrAppend(&text,
                    "  char* const contract_shared = contract_shared_from(dynamic_shared);\n");
  }
  if (takes_block_scratch_) {
    text +=
        "  const bool in_shared = args.block_scratch == nullptr;\n"
        "  const i64 block_size = in_shared ? dynamic_shared_bytes() : args.block_scratch_bytes;\n"
        "  char* const block_scratch =\n"
        "      in_shared ? dynamic_shared : args.block_scratch + blockIdx.x * block_size;\n";
  }
  return text + body + "}\n\n";
}

absl::StatusOr<CudaSource> Emitter::Run() {
  std::string kernels = Kernel();
  EmitArguments();
  CudaSource source;
  source.entry = entry_;
  source.variants = Variants(nullptr);
  std::vector<Variant> special;
  for (const SpecialProgram& program : options_.special) {
    if (!status_.ok()) break;
    Emitter emitter(*program.lowered.program, options_, &program.lowered.assumed);
    emitter.entry_ = entry_ + program.suffix;
    const std::string kernel = emitter.Kernel();
    const LaunchExpression met = emitter.bounds_.Meets(program.lowered.assumed);
    if (met == nullptr || !ToProgram(met)) continue;
    const std::vector<Variant> variants = emitter.Variants(met);
    if (!emitter.status_.ok() ||
        special.size() + variants.size() + source.variants.size() > kMaxVariants) {
      continue;
    }
    kernels += kernel;
    headers_.insert(emitter.headers_.begin(), emitter.headers_.end());
    special.insert(special.end(), variants.begin(), variants.end());
  }
  source.variants.insert(source.variants.begin(), special.begin(), special.end());
  if (!status_.ok()) return status_;
  source.text = Prologue() + text_ + kernels + "}  // namespace intent\n";
  return source;
}

// Begins with what all kernels include, for compilers that have read it ahead.
std::string Emitter::Prologue() const {
  std::string text;
  const auto include = [&](const std::string& header) {
    absl::StrAppend(&text, "#include \"intent/", header, "\"\n");
  };
  include("core.cuh");
  include("unit.cuh");
  for (const std::string& header : headers_) {
    if (header != "core.cuh" && header != "unit.cuh") include(header);
  }
  return text + "\nnamespace intent {\n\n";
}

void Emitter::EmitArguments() {
  Open("struct Arguments {");
  for (size_t i = 0; i < program_.views.size(); ++i) {
    const tile::ViewParameter& view = program_.views[i];
    const std::string axes = view.rank == 0 ? ""
                                            : absl::StrCat("i64 extents[", view.rank,
                                                           "]; i64 strides[", view.rank, "]; ");
    Line(absl::StrCat("struct { ", MemoryName(view.dtype), "* data; ", axes,
                      "i64 low; i64 high; } view", i, ";"));
  }
  for (size_t i = 0; i < program_.scalars.size(); ++i) {
    Line(absl::StrCat("u64 scalar", i, BitWidth(program_.scalars[i]) > 64 ? "[2]" : "", ";"));
  }
  Line("Error* error;");
  Line("u32* barrier;");
  Line("char* launch_scratch;");
  Line("i64 launch_scratch_bytes;");
  Line("char* block_scratch;");
  Line("i64 block_scratch_bytes;");
  Close(";");
  Line("");
}

void Emitter::NoteMemory(const Block& block) {
  for (const Op* op : block.ops) {
    ++ops_;
    if (op->kind == OpKind::kStackAlloc) ++slots_;
    if (op->kind == OpKind::kAtomicLoad || op->kind == OpKind::kAtomicStore ||
        op->kind == OpKind::kAtomicRmw || op->kind == OpKind::kAtomicCas) {
      atomics_.merge(tile::PlacesOf(program_, op->operands[0]));
    }
    for (const auto& region : op->regions) NoteMemory(*region);
  }
}

void Emitter::EmitBlock(const Block& block) {
  for (const Op* op : block.ops) {
    if (!status_.ok()) return;
    if (op->ordinal != ordinal_ && op->ordinal != kNoOrdinal && op->kind != OpKind::kYield) {
      ordinal_ = op->ordinal;
      Line(absl::StrCat("// op ", ordinal_));
    }
    EmitOp(*op);
  }
}

void Emitter::EmitOp(const Op& op) {
  if (unit_.whole_grid) EnterPhase(op);
  switch (op.kind) {
    case OpKind::kConst:
      inlined_[op.results[0]] = Literal(op.constant);
      return;
    case OpKind::kViewBase:
    case OpKind::kViewExtent:
    case OpKind::kViewStride:
    case OpKind::kScalarArg:
    case OpKind::kOverlap:
    case OpKind::kSameView:
    case OpKind::kMemOffset:
    case OpKind::kMemCast:
    case OpKind::kSplat:
    case OpKind::kIota:
    case OpKind::kUnary:
    case OpKind::kBinary:
    case OpKind::kCompare:
    case OpKind::kFma:
    case OpKind::kSelect:
    case OpKind::kCast:
    case OpKind::kSaturatingCast:
    case OpKind::kBitcast:
    case OpKind::kBounded:
      return EmitElementwise(op);
    case OpKind::kAlloc:
      return EmitAlloc(op);
    case OpKind::kStackAlloc:
      return EmitStackAlloc(op);
    case OpKind::kLoad:
    case OpKind::kStore:
    case OpKind::kGather:
    case OpKind::kScatter:
      fenced_ = false;
      return EmitAccess(op);
    case OpKind::kAtomicLoad:
    case OpKind::kAtomicStore:
    case OpKind::kAtomicRmw:
    case OpKind::kAtomicCas:
      fenced_ = false;
      return EmitAtomic(op);
    case OpKind::kShuffle:
    case OpKind::kExtractLane:
    case OpKind::kReduceLanes:
      return EmitAcrossLanes(op);
    case OpKind::kFor:
      return EmitFor(op);
    case OpKind::kWhile:
      return EmitWhile(op);
    case OpKind::kIf:
      return EmitIf(op);
    case OpKind::kParallel:
      return EmitParallel(op);
    case OpKind::kContract:
      return EmitContract(op);
    case OpKind::kGuard:
      return EmitGuard(op);
    case OpKind::kFence:
      return EmitFence();
    case OpKind::kYield:
    case OpKind::kPoll:  // a launcher ends its process's context instead
      return;
  }
}

void Emitter::EmitFence() {
  if (unit_.whole_grid || unit_.threads == 1 || fenced_) return;
  Line(absl::StrCat("unit_fence<", UnitText(), ">();"));
  fenced_ = true;
}

void Emitter::EmitGuard(const Op& op) {
  Open(absl::StrCat("if (!", In(op, 0), ") {"));
  Line(absl::StrCat("fail(args.error, ", op.status, ", ", op.ordinal, "u, ", op.index, ", ",
                    op.axis, ", ", In(op, 1), ", ", In(op, 2), ");"));
  Line("failed = true;");
  Line(unit_.leave);
  Close();
}

// Pure tiles from outside lie in another unit's threads: they are computed anew.
void Emitter::Rematerialize(const Block& body) {
  std::set<Id> inside, wanted;
  const auto scan = [&](const auto& self, const Block& block) -> void {
    inside.insert(block.arguments.begin(), block.arguments.end());
    for (const Op* op : block.ops) {
      for (Id id : op->operands) {
        if (IsTile(id) && !inside.contains(id) && !inlined_.contains(id)) wanted.insert(id);
      }
      inside.insert(op->results.begin(), op->results.end());
      for (const auto& region : op->regions) self(self, *region);
    }
  };
  scan(scan, body);
  const auto again = [&](const auto& self, Id id) -> void {
    if (!IsTile(id) || inlined_.contains(id) || !inside.insert(id).second) return;
    const Op* op = program_.definition(id);
    INTENT_CHECK(op != nullptr && op->regions.empty() && op->kind != OpKind::kLoad &&
                 op->kind != OpKind::kGather && op->kind != OpKind::kShuffle)
        << "a tile crosses into a task that cannot compute it";
    for (Id operand : op->operands) self(self, operand);
    EmitElementwise(*op);
  };
  for (Id id : wanted) again(again, id);
}

// One task of `op`, which the variable `number` counts.
void Emitter::EmitTask(const Op& op, const std::string& number) {
  const Block& body = *op.regions[0];
  const std::string low = Name(body.arguments[0]), grain = In(op, 2);
  Line(absl::StrCat("const i64 ", low, " = ", In(op, 0), " + ", number, " * ", grain, ";"));
  Line(absl::StrCat("const i64 ", Name(body.arguments[1]), " = task_end(", low, ", ", In(op, 1),
                    ", ", grain, ");"));
  fenced_ = true;
  Rematerialize(body);
  EmitBlock(body);
}

// What the block of a task shares among its warps or threads, between barriers of its own.
void Emitter::EmitInnerParallel(const Op& op) {
  const Block& body = *op.regions[0];
  const Unit outer = unit_;
  INTENT_CHECK(outer.threads == kBlockThreads) << "a task's tasks in a unit that is no block";
  const int threads = tile::UnitThreads(program_, body, kBlockThreads);
  const std::string label = absl::StrCat("next_", labels_++);
  unit_ = {threads, false, absl::StrCat("goto ", label, ";"), ""};
  const std::string lo = In(op, 0), hi = In(op, 1), grain = In(op, 2);
  Open("{");
  Line(absl::StrCat("unit_fence<", kBlockThreads, ">();"));
  Line(absl::StrCat("const i64 parts = count_tasks(", lo, ", ", hi, ", ", grain, ");"));
  Open(absl::StrCat("for (i64 part = unit_in_block<", threads,
                    ">(); part < parts; part += ", kBlockThreads / threads, ") {"));
  Open("{");
  const size_t in_part = text_.size();
  EmitTask(op, "part");
  Close();
  const bool may_fail = text_.find("goto " + label + ";", in_part) != std::string::npos;
  if (may_fail) {
    Line(label + ":;");
    Line("if (failed) part_failed = true;");
  }
  Close();
  Line(absl::StrCat("unit_fence<", kBlockThreads, ">();"));
  unit_ = outer;
  if (may_fail) {
    // The rest of the task would read what was not written.
    parts_fail_ = true;
    Line(absl::StrCat("if (part_failed) ", unit_.leave));
  }
  Close();
  fenced_ = true;
}

void Emitter::EmitParallel(const Op& op) {
  if (!unit_.whole_grid) return EmitInnerParallel(op);
  const Block& body = *op.regions[0];
  const Unit outer = unit_;
  const bool outer_private = private_memory_;
  const int threads = tile::UnitThreads(program_, body, kBlockThreads);
  NoteGrid(op, threads);
  const int units = kBlockThreads / threads;
  tasks_.emplace_back(&body, threads);
  const std::string label = absl::StrCat("next_", labels_++);
  unit_ = {threads, false, absl::StrCat("goto ", label, ";"), "unit"};
  private_memory_ = false;
  const std::string lo = In(op, 0), hi = In(op, 1), grain = In(op, 2);
  Open("{");
  Line(absl::StrCat("const i64 tasks = count_tasks(", lo, ", ", hi, ", ", grain, ");"));
  const size_t before_tasks = text_.size();
  Open(absl::StrCat("for (i64 task = unit_in_grid<", threads,
                    ">(); task < tasks; task += units_in_grid<", threads, ">()) {"));
  Open("{");
  const size_t in_task = text_.size();
  EmitTask(op, "task");
  Close();
  const auto insert = [&](size_t at, int depth, const std::string& line) {
    text_.insert(at, std::string(static_cast<size_t>(2 * depth), ' ') + line + "\n");
  };
  if (text_.find("unit_top", in_task) != std::string::npos) {
    takes_block_scratch_ = private_memory_ = true;
    insert(in_task, depth_ + 1, "i64 unit_top = 0;");
    insert(before_tasks, depth_ - 1,
           absl::StrCat("char* const unit_scratch = block_scratch + unit_size * unit_in_block<",
                        threads, ">();"));
    insert(before_tasks, depth_ - 1,
           absl::StrCat("const i64 unit_size = block_size / ", units, " / 64 * 64;"));
  }
  // Until here the exchange was the block's.
  if (threads == tile::kWarpThreads && text_.find("warp_exchange", in_task) != std::string::npos)
    insert(before_tasks, depth_ - 1, absl::StrCat("unit_fence<", kBlockThreads, ">();"));
  if (text_.find("goto " + label + ";") != std::string::npos) Line(label + ":;");
  // The next task takes the same scratch memory.
  if (threads > 1 && private_memory_) Line(absl::StrCat("unit_fence<", threads, ">();"));
  Close();
  Close();
  unit_ = outer;
  private_memory_ = outer_private;
}

void Emitter::Line(const std::string& text) {
  if (!text.empty()) text_.append(static_cast<size_t>(2 * depth_), ' ');
  text_ += text + "\n";
}
void Emitter::Open(const std::string& text) {
  Line(text);
  ++depth_;
}
void Emitter::Close(const std::string& after) {
  --depth_;
  Line("}" + after);
}

void Emitter::Refuse(const std::string& what) {
  if (status_.ok()) status_ = absl::UnimplementedError(what);
}

std::string Emitter::Leader() const {
  if (unit_.whole_grid) return "blockIdx.x == 0 && threadIdx.x == 0";
  if (unit_.threads == 1) return "";
  return absl::StrCat("unit_thread<", UnitText(), ">() == 0");
}

void Emitter::ActAlone(const std::string& statement) {
  const std::string leader = Leader();
  Line(leader.empty() ? statement : absl::StrCat("if (", leader, ") ", statement));
}

// Shared memory of the unit, of at least so many bytes. All warps have the same, and need it only
// for lanes that go anywhere.
std::string Emitter::Exchange(int bytes, bool anywhere) {
  if (unit_.threads == 1 || (unit_.threads == tile::kWarpThreads && !anywhere)) return "nullptr";
  if (unit_.threads == tile::kWarpThreads) {
    warp_exchange_ = std::max(warp_exchange_, (bytes + 15) / 16 * 16);
    return "exchange + warp_exchange * unit_in_block<32>()";
  }
  exchange_bytes_ = std::max(exchange_bytes_, bytes);
  return "exchange";
}

absl::StatusOr<CudaSource> EmitCuda(const tile::Program& program, const EmitOptions& options) {
  return Emitter(program, options).Run();
}

}  // namespace intent::cuda
