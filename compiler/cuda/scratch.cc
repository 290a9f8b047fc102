// Launch recipes: how many blocks have work, and what scratch memory a launch and a block take at
// most.

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "compiler/cuda/emitter.h"
#include "compiler/runtime/launch_program.h"

namespace intent::cuda {

using compile::v1::Instruction;
using compile::v1::Variant;
using tile::Block;
using tile::Id;
using tile::Op;
using tile::OpKind;

namespace {

// Where nothing is known of a loop's tasks: enough for any device of today.
constexpr int64_t kManyBlocks = 2048;
constexpr int64_t kAlign = 64;
// Scratch of a block that lies in shared memory, beside what is static.
constexpr int64_t kSharedScratch = 24 << 10;

LaunchExpression CeilDiv(const LaunchExpression& a, int64_t b) {
  return LaunchOperation(Instruction::OPCODE_CEILDIV, a, LaunchConstant(b));
}

LaunchExpression Aligned(const LaunchExpression& bytes, int64_t align) {
  if (const auto constant = ConstantOf(bytes)) {
    return LaunchConstant((*constant + align - 1) / align * align);
  }
  return LaunchSum(bytes, LaunchConstant(align));
}

// Equal summands are one with a factor.
class Sum {
 public:
  void Add(const LaunchExpression& term) {
    if (const auto constant = ConstantOf(term)) {
      constant_ += *constant;
      return;
    }
    auto& [expression, times] = terms_[ToString(term)];
    expression = term;
    ++times;
  }
  LaunchExpression Total() const {
    LaunchExpression total = LaunchConstant(constant_);
    for (const auto& [text, term] : terms_) {
      total = LaunchSum(LaunchProduct(term.first, LaunchConstant(term.second)), total);
    }
    return total;
  }

 private:
  int64_t constant_ = 0;
  std::map<std::string, std::pair<LaunchExpression, int64_t>> terms_;
};

}  // namespace

// Scratch of tasks is another's: it counts as nothing here.
LaunchExpression Emitter::ScratchOf(const Block& block, int threads, bool grid) {
  LaunchExpression inner = LaunchConstant(0);
  Sum sum;
  const auto visit = [&](const auto& self, const Block& at) -> void {
    for (const Op* op : at.ops) {
      const int64_t bytes = op->results.empty() ? 0 : StorageBytes(type(op->results[0]).dtype);
      if (op->kind == OpKind::kAlloc) {
        const LaunchExpression count = bounds_.Upper(op->operands[0]);
        if (count == nullptr) {
          return Refuse(absl::StrCat("the scratch memory of operation ", op->ordinal,
                                     " depends on data: nothing bounds it before the launch"));
        }
        const LaunchExpression size = LaunchProduct(count, LaunchConstant(bytes));
        if (const auto constant = ConstantOf(size)) {
          sum.Add(Aligned(size, kAlign));
        } else {
          sum.Add(size);
          sum.Add(LaunchConstant(kAlign));
        }
      } else if (op->kind == OpKind::kStackAlloc && SlotInScratch(*op, threads, grid)) {
        sum.Add(LaunchConstant((op->index * bytes + kAlign - 1) / kAlign * kAlign));
      } else if (op->kind == OpKind::kIf) {
        for (const auto& region : op->regions) self(self, *region);
      } else if (op->kind == OpKind::kFor || op->kind == OpKind::kWhile) {
        for (const auto& region : op->regions)
          inner = LaunchMax(inner, ScratchOf(*region, threads, grid));
      }
    }
  };
  visit(visit, block);
  return LaunchSum(sum.Total(), inner);
}

void Emitter::NoteContractGrid(const Op& op, int rows, int columns) {
  const auto tiles = [&](size_t operand, int extent) {
    const LaunchExpression most = bounds_.Upper(op.operands[operand]);
    return most == nullptr ? nullptr : CeilDiv(most, extent);
  };
  NoteBlocks(LaunchProduct(LaunchProduct(tiles(0, 1), tiles(1, rows)), tiles(2, columns)));
}

void Emitter::NoteGrid(const Op& op, int threads) {
  const LaunchExpression count = LaunchOperation(
      Instruction::OPCODE_SUB, bounds_.Upper(op.operands[1]), bounds_.Lower(op.operands[0]));
  const auto grain = ConstantOf(bounds_.Lower(op.operands[2]));
  LaunchExpression blocks;
  if (count != nullptr) {
    const int units = kBlockThreads / threads;
    if (grain.value_or(0) > 0) {
      blocks = CeilDiv(count, *grain * units);
    } else if (const LaunchExpression least = bounds_.Lower(op.operands[2])) {
      blocks = CeilDiv(
          LaunchOperation(Instruction::OPCODE_CEILDIV, count, LaunchMax(least, LaunchConstant(1))),
          units);
    } else {
      blocks = CeilDiv(count, units);
    }
  }
  NoteBlocks(blocks);
}

// Null: not known before the launch.
void Emitter::NoteBlocks(LaunchExpression blocks) {
  // Room for what Variants adds.
  constexpr int kMost = kMaxProgramInstructions - 8;
  const auto fits = [&](const LaunchExpression& expression) {
    const std::optional<compile::v1::Program> program = ToProgram(expression);
    return program && program->instructions_size() <= kMost;
  };
  if (blocks == nullptr || !fits(LaunchMax(grid_, blocks))) blocks = LaunchConstant(kManyBlocks);
  if (fits(LaunchMax(grid_, blocks))) grid_ = LaunchMax(grid_, blocks);
}

bool Emitter::NoteDetour(Id condition, bool branch) {
  const LaunchExpression found =
      branch ? bounds_.Condition(condition) : bounds_.OverlapCondition(condition);
  if (found == nullptr) return false;
  if (detours_.insert(condition).second)
    any_detour_ = any_detour_ == nullptr ? found : LaunchMax(any_detour_, found);
  return true;
}

Emitter::Sizes Emitter::ScratchSizes() {
  Sizes sizes{ScratchOf(program_.body, kBlockThreads, /*grid=*/true), LaunchConstant(0)};
  if (broadcasts_) sizes.launch = LaunchSum(sizes.launch, LaunchConstant(kBroadcastBytes));
  for (const auto& [body, threads] : tasks_) {
    const LaunchExpression unit = ScratchOf(*body, threads, /*grid=*/false);
    if (ConstantOf(unit) == 0) continue;
    const LaunchExpression units = LaunchConstant(kBlockThreads / threads);
    sizes.block =
        LaunchMax(sizes.block, LaunchProduct(LaunchSum(unit, LaunchConstant(kAlign)), units));
  }
  const bool fits = sizes.launch == nullptr || sizes.block == nullptr ||
                    (ToProgram(sizes.launch) && ToProgram(sizes.block));
  if (fits || coarse_) return sizes;
  coarse_ = true;
  bounds_.Coarsen();
  return ScratchSizes();
}

// What the launch must have, and before that what it must have without detours.
std::vector<Variant> Emitter::Variants(const LaunchExpression& condition) {
  const auto program = [&](const LaunchExpression& expression, const char* what) {
    const std::optional<compile::v1::Program> found = ToProgram(expression);
    if (!found)
      Refuse(absl::StrCat("the size of ", what, " is too long an expression for a manifest"));
    return found.value_or(compile::v1::Program());
  };
  std::vector<Variant> variants;
  const auto both = [](const LaunchExpression& a, const LaunchExpression& b) {
    return a == nullptr ? b : b == nullptr ? a : LaunchOperation(Instruction::OPCODE_MIN, a, b);
  };
  const auto add = [&](const Sizes& sizes, bool cooperative, const LaunchExpression& when) {
    const LaunchExpression guard = both(condition, when);
    Variant variant;
    variant.set_entry_symbol(entry_);
    // Rows that are held take much the same time each: blocks that come as others end balance them.
    variant.set_resident(assumed_ == nullptr || !assumed_->dense_rows);
    const auto one = program(LaunchConstant(1), "a block");
    *variant.add_grid() = program(
        LaunchOperation(Instruction::OPCODE_MIN, grid_, LaunchConstant(0x7fffffff)), "the grid");
    *variant.add_block() = program(LaunchConstant(kBlockThreads), "a block");
    for (int axis = 1; axis < 3; ++axis) {
      *variant.add_grid() = one;
      *variant.add_block() = one;
    }
    variant.set_cooperative(cooperative);
    if (ConstantOf(sizes.launch) != 0)
      *variant.mutable_scratch_bytes() = program(sizes.launch, "scratch memory");
    const auto guarded = [&](Variant made, const LaunchExpression& holds) {
      if (holds != nullptr) *made.mutable_guard() = program(holds, "a guard");
      variants.push_back(std::move(made));
    };
    const auto block = ConstantOf(sizes.block);
    const LaunchExpression contract = LaunchConstant(contract_bytes_);
    if (contract_bytes_ > 0)
      *variant.mutable_shared_bytes() = program(contract, "the tiles of matrix products");
    if (block == 0) return guarded(variant, guard);
    // A block's scratch memory is shared where it is small, unless tiles lie there.
    if (block.value_or(0) <= kSharedScratch && !products_in_tasks_) {
      Variant shared = variant;
      *shared.mutable_shared_bytes() =
          program(LaunchMax(sizes.block, contract), "a block's scratch memory");
      const LaunchExpression fits = block ? nullptr
                                          : LaunchOperation(Instruction::OPCODE_LE, sizes.block,
                                                            LaunchConstant(kSharedScratch));
      guarded(shared, both(guard, fits));
      if (block) return;
    }
    *variant.mutable_block_scratch_bytes() = program(sizes.block, "a block's scratch memory");
    guarded(variant, guard);
  };
  const Sizes whole = ScratchSizes();
  if (any_detour_ != nullptr && status_.ok()) {
    bounds_.AssumeNo(detours_);
    const Sizes direct = ScratchSizes();
    const LaunchExpression guard =
        LaunchOperation(Instruction::OPCODE_EQ, any_detour_, LaunchConstant(0));
    constexpr size_t kLongGuard = 128;
    if (ToProgram(guard) && ToProgram(guard)->instructions_size() < int{kLongGuard})
      add(direct, barriers_, guard);
  }
  add(whole, barriers_ || detour_barriers_, nullptr);
  return variants;
}

}  // namespace intent::cuda
