#include "compiler/cuda/multiples.h"

#include <algorithm>

#include "compiler/numerics/scalar.h"

namespace intent::cuda {

using tile::Id;
using tile::Op;
using tile::OpKind;

namespace {

constexpr int64_t kMost = 1 << 12;   // beyond what any access asks for
constexpr int64_t kAllocation = 64;  // of scratch memory

int64_t LowestBit(int64_t value) {
  const uint64_t bits = static_cast<uint64_t>(value) | static_cast<uint64_t>(kMost);
  return static_cast<int64_t>(bits & -bits);
}

void NoteViews(const tile::Program& program, Id mem, std::set<size_t>* views) {
  const Op* op = program.definition(mem);
  if (op == nullptr) return;
  if (op->kind == OpKind::kViewBase) views->insert(static_cast<size_t>(op->index));
  for (Id operand : op->operands) {
    if (program.type(operand).IsMem()) NoteViews(program, operand, views);
  }
}

void NoteViewsOfTiles(const tile::Program& program, const tile::Block& block,
                      std::set<size_t>* views) {
  for (const Op* op : block.ops) {
    const bool loads = op->kind == OpKind::kLoad && program.type(op->results[0]).lanes > 1;
    const bool stores = op->kind == OpKind::kStore && program.type(op->operands[2]).lanes > 1;
    if (loads || stores) NoteViews(program, op->operands[0], views);
    for (const auto& region : op->regions) NoteViewsOfTiles(program, *region, views);
  }
}

}  // namespace

std::set<size_t> ViewsOfTiles(const tile::Program& program) {
  std::set<size_t> views;
  NoteViewsOfTiles(program, program.body, &views);
  return views;
}

Multiples::Multiples(const tile::Program& program, const lower::Assumptions* assumed)
    : program_(program), assumed_(assumed) {
  if (assumed != nullptr && assumed->dense_rows) aligned_ = ViewsOfTiles(program);
}

int64_t Multiples::DivisorOf(Id id) {
  const auto known = known_.find(id);
  if (known != known_.end()) return known->second;
  const Op* op = program_.definition(id);
  const int64_t divisor = op == nullptr ? 1 : std::clamp<int64_t>(Compute(*op), 1, kMost);
  known_[id] = divisor;
  return divisor;
}

// Wrapping keeps all of this.
int64_t Multiples::Compute(const Op& op) {
  switch (op.kind) {
    case OpKind::kConst:
      return op.constant.dtype == DType::kIndex ? LowestBit(numerics::AsIndex(op.constant)) : 1;
    case OpKind::kViewStride: {
      const tile::ViewParameter& view = program_.views[static_cast<size_t>(op.index)];
      if (!aligned_.contains(static_cast<size_t>(op.index)) || op.axis + 1 == view.rank) return 1;
      return lower::kRowAlignment /
             std::min<int64_t>(lower::kRowAlignment, StorageBytes(view.dtype));
    }
    case OpKind::kViewExtent: {
      int64_t most = 1;
      if (assumed_ == nullptr) return most;
      for (const lower::Assumptions::Row& row : assumed_->rows) {
        if (row.extent == op.results[0]) most = std::max(most, LowestBit(row.multiple));
      }
      return most;
    }
    case OpKind::kBinary:
      if (program_.type(op.results[0]).dtype != DType::kIndex) return 1;
      if (op.binary == BinaryKind::kAdd || op.binary == BinaryKind::kSub)
        return std::min(DivisorOf(op.operands[0]), DivisorOf(op.operands[1]));
      if (op.binary == BinaryKind::kMul)
        return DivisorOf(op.operands[0]) * DivisorOf(op.operands[1]);
      return 1;
    default:
      return 1;
  }
}

int64_t Multiples::AlignmentOf(Id mem) {
  const Op* op = program_.definition(mem);
  if (op == nullptr) return 1;
  switch (op->kind) {
    case OpKind::kViewBase:
      return aligned_.contains(static_cast<size_t>(op->index)) ? lower::kRowAlignment : 1;
    case OpKind::kAlloc:
      return kAllocation;
    case OpKind::kMemCast:
      return AlignmentOf(op->operands[0]);
    case OpKind::kMemOffset:
      return AlignmentOf(op->operands[0], op->operands[1]);
    default:
      return 1;
  }
}

int64_t Multiples::AlignmentOf(Id mem, Id offset) {
  return std::min(AlignmentOf(mem), DivisorOf(offset) * StorageBytes(program_.type(mem).dtype));
}

bool Multiples::IsShort(Id extent) const {
  if (assumed_ == nullptr) return false;
  return std::any_of(assumed_->rows.begin(), assumed_->rows.end(),
                     [&](const lower::Assumptions::Row& row) { return row.extent == extent; });
}

}  // namespace intent::cuda
