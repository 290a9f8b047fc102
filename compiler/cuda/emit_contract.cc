// Matrix products: contract_tile of the device library, walked over the tiles of all points. An
// element that is a load at a place linear in the row and the member becomes a direct operand,
// which is copied without passing through registers; any other is a function of the two.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/cuda/contract_choice.h"
#include "compiler/cuda/emitter.h"

namespace intent::cuda {

using tile::Block;
using tile::Id;
using tile::Op;
using tile::OpKind;

// A place: own * its factor + inner * its factor + rest. Empty texts stand for zero.
struct Emitter::Linear {
  struct Factor {
    std::string text;
    bool unit = false;  // probably 1
  };
  Factor own, inner;
  std::string rest;
};

namespace {

// Whether a stride is 1 as far as can be told: that of a view's last axis usually is.
bool IsLikelyUnit(const tile::Program& program, Id stride) {
  const Op* op = program.definition(stride);
  if (op == nullptr) return false;
  switch (op->kind) {
    case OpKind::kConst:
      return op->constant.bits == 1;
    case OpKind::kViewStride:
      return op->axis + 1 == program.views[static_cast<size_t>(op->index)].rank;
    case OpKind::kSelect:
      return IsLikelyUnit(program, op->operands[1]) && IsLikelyUnit(program, op->operands[2]);
    default:
      return false;
  }
}

}  // namespace

// Emits what depends on the point alone, once for a tile; the rest is what varies. A load stays
// where its element is, for a product without members may not read.
void Emitter::EmitUniform(const Block& region, std::set<Id>* varying) {
  varying->insert(region.arguments.begin() + 1, region.arguments.end());
  for (const Op* op : region.ops) {
    bool varies = op->kind == OpKind::kLoad || op->kind == OpKind::kStore;
    for (Id id : op->operands) varies = varies || varying->contains(id);
    if (varies) {
      varying->insert(op->results.begin(), op->results.end());
    } else {
      EmitOp(*op);
    }
  }
}

// What `value` needs of the region, beside what is uniform.
void Emitter::EmitElement(const Block& region, const std::set<Id>& varying, Id value) {
  std::set<Id> needed{value};
  for (size_t i = region.ops.size(); i-- > 0;) {
    const Op& op = *region.ops[i];
    if (!op.results.empty() && needed.contains(op.results[0]))
      needed.insert(op.operands.begin(), op.operands.end());
  }
  for (const Op* op : region.ops) {
    if (op->results.empty() || !varying.contains(op->results[0])) continue;
    if (needed.contains(op->results[0])) EmitOp(*op);
  }
}

std::optional<Emitter::Linear> Emitter::LinearOf(Id id, Id own, Id inner,
                                                 const std::set<Id>& varying) {
  Linear found;
  if (!varying.contains(id)) {
    found.rest = Value(id);
    return found;
  }
  if (id == own || id == inner) {
    (id == own ? found.own : found.inner) = {"i64(1)", true};
    return found;
  }
  const Op* op = program_.definition(id);
  if (op == nullptr || op->kind != OpKind::kBinary || type(id).dtype != DType::kIndex)
    return std::nullopt;
  const auto sum = [](const std::string& x, const std::string& y) {
    return x.empty() ? y : y.empty() ? x : absl::StrCat("(", x, " + ", y, ")");
  };
  const auto product = [](const std::string& x, const std::string& y) {
    return x.empty() ? x : x == "i64(1)" ? y : absl::StrCat(x, " * ", y);
  };
  if (op->binary == BinaryKind::kAdd) {
    const auto a = LinearOf(op->operands[0], own, inner, varying);
    const auto b = LinearOf(op->operands[1], own, inner, varying);
    if (!a || !b) return std::nullopt;
    const auto add = [&](const Linear::Factor& x, const Linear::Factor& y) {
      const bool one = x.text.empty() || y.text.empty();
      return Linear::Factor{sum(x.text, y.text), one && (x.unit || y.unit)};
    };
    return Linear{add(a->own, b->own), add(a->inner, b->inner), sum(a->rest, b->rest)};
  }
  if (op->binary != BinaryKind::kMul) return std::nullopt;
  const bool first = varying.contains(op->operands[0]);
  const Id factor = op->operands[first ? 1 : 0];
  if (varying.contains(factor)) return std::nullopt;
  const auto scaled = LinearOf(op->operands[first ? 0 : 1], own, inner, varying);
  if (!scaled) return std::nullopt;
  const auto scale = [&](const Linear::Factor& x) {
    return Linear::Factor{product(x.text, Value(factor)), x.unit && IsLikelyUnit(program_, factor)};
  };
  return Linear{scale(scaled->own), scale(scaled->inner), product(scaled->rest, Value(factor))};
}

// Declares the operand `name` that the region describes.
void Emitter::EmitOperand(const Block& region, const std::set<Id>& varying,
                          const std::string& name) {
  const Id own = region.arguments[1], inner = region.arguments[2];
  const Id element = region.ops.back()->operands[0];
  const std::string element_type = TypeName(type(element).dtype);
  const auto text = [](const std::string& x) { return x.empty() ? std::string("i64(0)") : x; };
  const auto axis = [](const Linear& at) {
    return at.own.unit && !at.inner.unit ? "Axis::kOwn" : "Axis::kInner";
  };
  const Op* load = program_.definition(element);
  // Matrix units that widen 8-bit floats themselves keep fewer bits of a sum.
  const bool widens = load != nullptr && load->kind == OpKind::kCast &&
                      type(element).dtype == DType::kF16 && FitsF16(type(load->operands[0]).dtype);
  if (widens) load = program_.definition(load->operands[0]);
  if (load != nullptr && load->kind == OpKind::kLoad && !load->has_mask &&
      !varying.contains(load->operands[0]) && IsGlobal(load->operands[0])) {
    if (const auto at = LinearOf(load->operands[1], own, inner, varying)) {
      const std::string places =
          absl::StrCat("{", Value(load->operands[0]), " + ", text(at->rest), ", ",
                       text(at->own.text), ", ", text(at->inner.text), "}");
      const std::string in_memory =
          absl::StrCat("<", TypeName(type(load->results[0]).dtype), ", ", axis(*at), "> ");
      if (widens) headers_.insert("contract_widened.cuh");
      Line(absl::StrCat("const ", widens ? "Widened" : "Direct", in_memory, name,
                        widens ? absl::StrCat("{", places, "}") : places, ";"));
      return;
    }
  }
  // Neighbours follow the axis along which the first linear load among its own runs.
  std::string fast = "Axis::kInner";
  for (const Op* op : region.ops) {
    if (op->kind != OpKind::kLoad) continue;
    const auto at = LinearOf(op->operands[1], own, inner, varying);
    if (!at) continue;
    fast = axis(*at);
    break;
  }
  Open(absl::StrCat("const auto ", name, " = computed<", element_type, ", ", fast, ">([&](i64 ",
                    Name(own), ", i64 ", Name(inner), ") -> ", element_type, " {"));
  EmitElement(region, varying, element);
  Line(absl::StrCat("return ", Value(element), ";"));
  Close(");");
}

void Emitter::EmitSums(const Block& region, const std::set<Id>& varying) {
  const Id row = region.arguments[1], column = region.arguments[2], sum = region.arguments[3];
  std::vector<const Op*> stores;
  for (const Op* op : region.ops) {
    if (op->kind == OpKind::kStore) stores.push_back(op);
  }
  std::optional<Linear> at;
  if (stores.size() == 1 && !stores[0]->has_mask && !varying.contains(stores[0]->operands[0]))
    at = LinearOf(stores[0]->operands[1], row, column, varying);
  if (!at) return Refuse("a matrix product whose sums do not lie along rows and columns");
  const Id value = stores[0]->operands[2];
  const auto text = [](const std::string& x) { return x.empty() ? std::string("i64(0)") : x; };
  const DType dtype = type(value).dtype;
  NoteType(dtype);
  Open(absl::StrCat("const auto store = placed_sums(", Value(stores[0]->operands[0]), " + ",
                    text(at->rest), ", ", text(at->own.text), ", ", text(at->inner.text),
                    ", [&](i64 ", Name(row), ", i64 ", Name(column), ", ",
                    TypeName(type(sum).dtype), " ", Name(sum), ") {"));
  EmitElement(region, varying, value);
  Line(absl::StrCat("return Stored<", TypeName(dtype), ">::store(", Value(value), ");"));
  Close(");");
}

// Asynchronous copies read global memory; a unit's slots lie in shared memory.
bool Emitter::IsGlobal(Id memory) const {
  const tile::Places places = tile::PlacesOf(program_, memory);
  return std::none_of(places.begin(), places.end(), [&](int64_t place) {
    if (place == tile::kViews) return false;
    if (place == tile::kAnywhere) return slots_ > 0;
    const Op& op = *program_.definition(static_cast<Id>(place));
    return op.kind == OpKind::kStackAlloc && !SlotInScratch(op, kBlockThreads, false);
  });
}

// Outside of tasks all blocks share the tiles, and the launch's phases order what they touch. A
// task's block walks alone, between barriers of its own.
void Emitter::EmitContract(const Op& op) {
  headers_.insert(unit_.whole_grid ? "contract.cuh" : "contract_few.cuh");
  const Block &left = *op.regions[0], &right = *op.regions[1], &store = *op.regions[2];
  const auto element = [&](const Block& region) {
    return type(region.ops.back()->operands[0]).dtype;
  };
  const DType sum = type(store.arguments[3]).dtype;
  for (DType dtype : {element(left), element(right), sum}) NoteType(dtype);
  // Asynchronous products need sums that stay in their registers, which only code that is optimised
  // keeps there.
  const ContractChoice choice = ChooseContract(element(left), element(right), sum,
                                               options_.unroll ? options_.architecture : "",
                                               /*shares=*/!unit_.whole_grid);
  constexpr int kAlign = 1024;
  contract_bytes_ =
      std::max(contract_bytes_, (choice.shared_bytes + kAlign - 1) / kAlign * kAlign + kAlign);
  const Unit outer = unit_;
  if (outer.whole_grid) {
    NoteContractGrid(op, choice.rows, choice.columns);
  } else {
    products_in_tasks_ = true;
  }

  Open("{");
  Line(absl::StrCat("typedef ", choice.config, " Config;"));
  Line(absl::StrCat("static_assert(Config::kRows == ", choice.rows, " && Config::kColumns == ",
                    choice.columns, " && Config::kThreads == ", kBlockThreads,
                    " && Config::kSharedBytes == ", choice.shared_bytes, ", \"as launched\");"));
  const std::string extents = absl::StrCat(In(op, 1), ", ", In(op, 2));
  const bool one_point = In(op, 0) == "i64(1)", alone = !outer.whole_grid;
  if (!alone)
    Line(absl::StrCat("const TileWalk walk(", extents, ", Config::kRows, Config::kColumns);"));
  if (!alone && !one_point)
    Line(absl::StrCat("const i64 all_tiles = walk.tiles() * ", In(op, 0), ";"));
  // Tiles take the shared memory that tasks had before; a task reads what its threads have written.
  Line("__syncthreads();");
  if (alone) {
    Open(one_point ? "{" : absl::StrCat("for (i64 point = 0; point < ", In(op, 0), "; ++point) {"));
  } else {
    Open(absl::StrCat("for (i64 tile = blockIdx.x; tile < ",
                      one_point ? "walk.tiles()" : "all_tiles", "; tile += gridDim.x) {"));
    if (!one_point) Line("const i64 point = tile / walk.tiles();");
    Line(absl::StrCat("const TilePlace place = walk.at(tile", one_point ? "" : " % walk.tiles()",
                      ");"));
  }
  unit_ = {1, false, "", "unit"};
  for (const Block* region : {&left, &right, &store})
    inlined_[region->arguments[0]] = one_point ? "i64(0)" : "point";
  std::set<Id> varying;
  for (const Block* region : {&left, &right, &store}) EmitUniform(*region, &varying);
  EmitOperand(left, varying, "left");
  EmitOperand(right, varying, "right");
  EmitSums(store, varying);
  Line(absl::StrCat(alone ? "contract_alone" : "contract_tile", "<Config>(", extents, ", ",
                    In(op, 3), alone ? "" : ", place.row, place.column",
                    ", left, right, store, contract_shared);"));
  unit_ = outer;
  Close();
  Close();
  fenced_ = !outer.whole_grid;
}

}  // namespace intent::cuda
