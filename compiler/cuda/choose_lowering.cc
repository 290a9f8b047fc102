// How a kernel is lowered for this machine, as far as its operations tell.

#include <algorithm>

#include "compiler/cuda/emit.h"
#include "compiler/ir/index_operands.h"
#include "compiler/plan/arithmetic.h"

namespace intent::cuda {
namespace {

constexpr int kThreadBits = 128;    // of a tile in one thread: a full access
constexpr int kRowTiles = 8;        // of a row that a unit holds in registers
constexpr int kWideProgram = 64;    // operations of KIR
constexpr int kFewOperations = 24;  // likewise, for which a third of the registers is enough
constexpr int kBlocksOfOneResult = 4;
constexpr int kBlocksOfPairs = 3;  // a value and its place, which follow from those before

int OperationsOf(const Module& module) {
  int operations = 0;
  ForEachOp(module.kernel_function().body, [&](const intent::Op&) { ++operations; });
  return operations;
}

// A read of rows at places that a tensor of numbers gives.
bool LooksUpRows(const Function& function, const intent::Op& op) {
  if (op.kind != intent::OpKind::kGather && op.kind != intent::OpKind::kViewLoad &&
      op.kind != intent::OpKind::kBufferLoad) {
    return false;
  }
  const size_t indices = IndexOperands(op.attr<IndexAttr>().terms);
  const auto first = op.operands.begin() + 1;
  return function.type(op.result).rank() > 1 &&
         std::any_of(first, first + static_cast<std::ptrdiff_t>(indices),
                     [&](ValueId id) { return function.type(id).rank() > 0; });
}

// Whether few registers are enough for a thread's part of it: a number, or a pair of which one is
// an index, combined by an operation of the language.
bool IsNarrow(const Function& function, const intent::Op& reduce) {
  if (reduce.attr<ReduceAttr>().combine == CombineKind::kRegion) return false;
  const Type& type = function.type(reduce.operands[0]);
  const std::vector<Type> leaves = type.IsProduct() ? type.fields() : std::vector<Type>{type};
  return leaves.size() <= 2 && std::all_of(leaves.begin(), leaves.end(), [](const Type& leaf) {
           return leaf.IsElementwise() &&
                  (leaf.dtype() == DType::kIndex || BitWidth(leaf.dtype()) <= 32);
         });
}

}  // namespace

int ResidentBlocks(const Module& module) {
  const Function& function = module.kernel_function();
  const intent::Op* reduce = nullptr;
  int stored = 0;  // the highest rank
  bool plain = OperationsOf(module) <= kFewOperations;
  ForEachOp(function.body, [&](const intent::Op& op) {
    switch (op.kind) {
      case intent::OpKind::kReduce:
        plain = plain && reduce == nullptr;
        reduce = &op;
        break;
      case intent::OpKind::kViewStore:
        stored = std::max(stored, function.type(op.operands[1]).rank());
        break;
      case intent::OpKind::kViewLoad:
      case intent::OpKind::kReturn:
        break;
      case intent::OpKind::kScan:
      case intent::OpKind::kHistogram:
        plain = false;
        break;
      default:
        plain = plain && InfoOf(op.kind).effect == Effect::kPure && op.regions.empty() &&
                !plan::IsContraction(op);
        break;
    }
  });
  if (!plain || reduce == nullptr || !IsNarrow(function, *reduce)) return 0;
  const Type& type = function.type(reduce->operands[0]);
  const bool pairs = type.IsProduct();
  if (stored >= (pairs ? type.fields()[0] : type).rank()) return 0;
  // Sums of long rows ran slower on an H200 with either.
  return pairs ? kBlocksOfPairs : stored == 0 ? kBlocksOfOneResult : 0;
}

// Rows are what is reduced, scanned or looked up by its number, and of small kernels. Beside
// products of matrices they take little of the time, and their registers and compiles are not to be
// shared.
std::vector<SpecialLowering> SpecialLowerings(const Module& module,
                                              const lower::LowerOptions& options,
                                              const lower::Lowered& lowered) {
  bool has_rows = false, looks_up = false, has_products = false;
  ForEachOp(module.kernel_function().body, [&](const intent::Op& op) {
    has_rows |= op.kind == intent::OpKind::kReduce || op.kind == intent::OpKind::kScan;
    looks_up |= LooksUpRows(module.kernel_function(), op);
    has_products |= plan::IsContraction(op);
  });
  const bool small = !has_products && OperationsOf(module) <= kWideProgram;
  if (!small || !(has_rows || looks_up)) return {};
  std::vector<SpecialLowering> special;
  const auto add = [&](const std::string& suffix, bool by_warps, int tiles) {
    special.push_back({suffix, options});
    special.back().options.short_rows = by_warps;
    special.back().options.row_tiles = tiles;
  };
  const bool varies = !lowered.row_extents.empty();
  if (has_rows) {
    if (varies) add("_rows_of_warps", true, kRowTiles);
    add("_rows_of_blocks", false, kRowTiles);
  }
  if (varies) add("_short_rows", true, 0);
  return special;
}

lower::LowerOptions Lowering(const Module& module) {
  const int operations = OperationsOf(module);
  lower::LowerOptions options;
  options.block_threads = kBlockThreads;
  options.vector_bits = operations <= kWideProgram ? kThreadBits : kThreadBits / 4;
  return options;
}

}  // namespace intent::cuda
