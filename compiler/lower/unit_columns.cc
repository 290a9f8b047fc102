// Reductions across results on units of threads, where lanes run along the results. Few results
// leave most of a grid without work and each thread with many members in a row: their members are
// then cut into chunks, by the extents alone, and the chunks' results are members in turn.

#include "compiler/lower/lowerer.h"
#include "compiler/tile/units.h"

namespace intent::lower {
namespace {

constexpr int64_t kBlocks = 512;       // that a grid should have at least
constexpr int64_t kChunkMembers = 64;  // of a chunk at least

}  // namespace

bool Lowerer::ReduceInChunks(const Reduction& reduction,
                             const std::function<void(const Reduction&)>& whole) {
  if (!OnUnits() || !options_.parallel || in_parallel_ || options_.row_tiles > 0) return false;
  const Id zero = b().Index(0), one = b().Index(1);
  const auto ceil_div = [&](Id a, Id c) { return b().FloorDiv(b().Add(a, b().Sub(c, one)), c); };
  const std::vector<Id> outer(reduction.retained.begin(), reduction.retained.end() - 1);
  const Id columns = reduction.retained.back(), members = Product(reduction.reduced);
  const Id lanes = b().Index(reduction.lanes);
  const bool by_warps = reduction.lanes <= tile::kMostWarpLanes;
  const int64_t tasks = by_warps ? kBlocks * options_.block_threads / tile::kWarpThreads : kBlocks;
  const Id tiles = b().Max(ceil_div(columns, lanes), one);
  const Id results = b().Max(b().Mul(Product(outer), tiles), one);
  const Id most = ceil_div(members, b().Index(kChunkMembers));
  const Id chunks = b().Max(b().Min(ceil_div(b().Index(tasks), results), most), one);
  const Id cut = b().Less(one, chunks);
  if (const ScalarValue* known = b().ConstantOf(cut); known != nullptr && known->bits == 0)
    return false;
  const auto in_chunks = [&] {
    const Id size = ceil_div(members, chunks);
    std::vector<Id> extents{chunks};
    extents.insert(extents.end(), reduction.retained.begin(), reduction.retained.end());
    // There are fewer tiles of results than tasks, which a launcher need not find out.
    const Id count = b().Min(Count(extents), b().Index(2 * tasks * reduction.lanes));
    std::vector<TensorPtr> partials;
    for (DType dtype : reduction.dtypes) {
      partials.push_back(
          NewStrided(dtype, extents, b().Alloc(dtype, count), DenseStrides(extents), {}));
    }
    const auto store = [&](Id chunk, const std::vector<Coord>& retained, const Context& context,
                           const std::vector<Id>& result) {
      for (size_t leaf = 0; leaf < partials.size(); ++leaf) {
        Id place = b().Mul(chunk, partials[leaf]->strides[0]);
        for (size_t axis = 0; axis < retained.size(); ++axis)
          place = b().Add(place, b().Mul(retained[axis].base, partials[leaf]->strides[axis + 1]));
        b().Store(partials[leaf]->base, place, result[leaf], one, context.mask);
      }
    };
    in_parallel_ = true;
    b().Parallel(zero, b().Mul(results, chunks), one, [&](Id task, Id) {
      const Id chunk = b().Mod(task, chunks), tile = b().FloorDiv(task, chunks);
      const Id first = b().Mul(chunk, size);
      Reduction part = reduction;
      part.reduced = {b().Max(b().Min(size, b().Sub(members, first)), zero)};
      part.element = [&](const std::vector<Coord>& retained, const std::vector<Coord>& at,
                         const Context& context) {
        return reduction.element(retained, Decode(b().Add(first, at[0].base), reduction.reduced),
                                 context);
      };
      std::vector<Coord> retained = Decode(b().FloorDiv(tile, tiles), outer);
      retained.emplace_back();
      const Id low = b().Mul(b().Mod(tile, tiles), lanes);
      const Id high = b().Min(b().Add(low, lanes), columns);
      VectorLoop(
          low, high, reduction.lanes, UnitCondition(reduction.watch), reduction.watch,
          [&](const Coord& column, const Context& context) {
            retained.back() = column;
            store(chunk, retained, context, ReduceColumn(part, retained, context));
          },
          /*vectors=*/1);
    });
    in_parallel_ = false;
    Reduction rest = reduction;
    rest.reduced = {chunks};
    rest.watch.clear();
    rest.element = [&](const std::vector<Coord>& retained, const std::vector<Coord>& at,
                       const Context& context) {
      std::vector<Coord> place{at[0]};
      place.insert(place.end(), retained.begin(), retained.end());
      std::vector<Id> elements;
      for (const TensorPtr& partial : partials)
        elements.push_back(EvalTensor(*partial, place, context));
      return elements;
    };
    whole(rest);
    return std::vector<Id>{};
  };
  if (b().ConstantOf(cut) != nullptr) {
    in_chunks();
    return true;
  }
  b().If(cut, in_chunks, [&] {
    whole(reduction);
    return std::vector<Id>{};
  });
  return true;
}

}  // namespace intent::lower
