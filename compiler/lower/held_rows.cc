// Rows that stay in registers from stage to stage, where a unit's threads hold all of one
// (LowerOptions::row_tiles). Stages run tile by tile without a loop, so that the memo of open
// blocks finds what an earlier stage has read or computed. The first stage reads all tiles at once;
// later ones leave out those beyond the row, whose values pass on as results of the branch.

#include <algorithm>
#include <utility>

#include "compiler/lower/lowerer.h"

namespace intent::lower {

bool Lowerer::HoldsRow(Id low, Id high, int32_t lanes) const {
  if (options_.row_tiles == 0 || lanes == 1 || !builder_->IsIndex(low, 0)) return false;
  if (const ScalarValue* extent = builder_->ConstantOf(high))
    return static_cast<int64_t>(extent->bits) <= int64_t{lanes} * options_.row_tiles;
  return std::any_of(conditions_.rows.begin(), conditions_.rows.end(),
                     [&](const Assumptions::Row& row) {
                       return row.extent == high && row.most <= int64_t{lanes} * options_.row_tiles;
                     });
}

std::vector<Id> Lowerer::OverHeldRow(Id extent, int32_t lanes, std::vector<Id> carried,
                                     const TileBody& body) {
  ++held_rows_;
  const bool begun = std::exchange(row_begun_, true);
  const ScalarValue* constant = b().ConstantOf(extent);
  const int64_t known = constant == nullptr ? -1 : static_cast<int64_t>(constant->bits);
  const int64_t tiles = constant == nullptr ? options_.row_tiles : (known + lanes - 1) / lanes;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const Id at = b().Index(tile * lanes);
    const Id mask = known >= (tile + 1) * lanes ? kNoId : TailMask(at, extent, lanes);
    if (!begun || tile == 0 || constant != nullptr) {
      carried = body(at, mask, carried);
      continue;
    }
    std::vector<std::string> keys;
    std::vector<tile::Type> types;
    std::vector<Id> results = b().If(
        b().Less(at, extent),
        [&] {
          std::vector<Id> yields = body(at, mask, carried);
          for (const auto& [key, id] : b().Remembered()) {
            if (b().type(id).IsMem() || b().lanes(id) != lanes) continue;
            keys.push_back(key);
            types.push_back(b().type(id));
            yields.push_back(id);
          }
          return yields;
        },
        [&] {
          std::vector<Id> yields = carried;
          for (const tile::Type& type : types)
            yields.push_back(b().Splat(ZeroOf(type.dtype), type.lanes));
          return yields;
        });
    for (size_t i = 0; i < keys.size(); ++i) b().Remember(keys[i], results[carried.size() + i]);
    results.resize(carried.size());
    carried = std::move(results);
  }
  return carried;
}

void Lowerer::StoreHeldRow(Id extent, int32_t lanes,
                           const std::function<void(const Coord&, const Context&)>& body) {
  // Where all tiles are read here, no store comes between the reads.
  std::vector<std::function<void()>> rest;
  if (!row_begun_) deferred_ = &rest;
  OverHeldRow(extent, lanes, {}, [&](Id at, Id mask, const std::vector<Id>&) {
    Coord coord;
    coord.base = at;
    coord.step = 1;
    Context context;
    context.lanes = lanes;
    context.mask = mask;
    body(coord, context);
    return std::vector<Id>{};
  });
  deferred_ = nullptr;
  for (const std::function<void()>& step : rest) step();
}

void Lowerer::EachRow(Id rows, const std::function<void(const Window&)>& stage) {
  const Id zero = b().Index(0), one = b().Index(1);
  const auto row = [&](Id at) {
    row_begun_ = false;
    stage({at, b().Add(at, one), true});
  };
  if (!options_.parallel || in_parallel_) {
    b().For(zero, rows, one, {}, [&](const std::vector<Id>& at) {
      b().Poll();
      row(at[0]);
      return std::vector<Id>{};
    });
    return;
  }
  in_parallel_ = true;
  b().Parallel(zero, rows, one, [&](Id begin, Id) { row(begin); });
  in_parallel_ = false;
}

namespace {

// Empty: not one element.
std::string ResultKey(const Tensor& tensor, const std::vector<Coord>& point) {
  std::string key = "result " + std::to_string(tensor.serial);
  for (const Coord& coord : point) {
    if (coord.general != kNoId || coord.step != 0) return "";
    key += "," + std::to_string(coord.base);
  }
  return key;
}

}  // namespace

void Lowerer::RememberResult(const Tensor& tensor, const std::vector<Coord>& point, Id value) {
  if (options_.row_tiles == 0 || b().lanes(value) > 1) return;
  if (const std::string key = ResultKey(tensor, point); !key.empty()) b().Remember(key, value);
}

Id Lowerer::RecallResult(const Tensor& tensor, const std::vector<Coord>& point) const {
  if (options_.row_tiles == 0) return kNoId;
  const std::string key = ResultKey(tensor, point);
  return key.empty() ? kNoId : builder_->Recall(key);
}

bool Lowerer::Exclude(Id condition) {
  if (options_.row_tiles == 0 || b().ConstantOf(condition) != nullptr) return false;
  conditions_.excluded.push_back(condition);
  return true;
}

}  // namespace intent::lower
