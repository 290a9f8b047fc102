#pragma once

// Matrix products of so few results and members that a tile of contract.cuh would be empty for the
// most part: every thread of the block sums results of its own, straight from the operands.

#include "intent/contract.cuh"
#include "intent/convert.cuh"

namespace intent {
namespace machine {

enum : int { kFewRows = 32, kFewMembers = 256 };

// The one element at a place, as it enters sums.
template <class Acc, class Operand>
INTENT_DEVICE Acc element_of(const Operand& operand, i64 own, i64 inner) {
  typename Operand::template Fetched<4> fetched;  // of one byte at least
  operand.template fetch<4>(own, inner, 1, fetched);
  typename Operand::Element x[4];
  operand.template finish<4>(fetched, 1, x);
  return cast<Acc>(x[0]);
}

}  // namespace machine

INTENT_DEVICE bool is_few(i64 rows, i64 columns, i64 depth) {
  return rows <= machine::kFewRows && columns <= machine::kFewRows && depth <= machine::kFewMembers;
}

// What contract_tile gives at (0, 0) where is_few: all of the product. A sum is at most 8 runs of 32
// members. Like that it ends with a barrier of the block.
template <class Config, class A, class B, class Store>
INTENT_DEVICE void contract_few(i64 rows, i64 columns, i64 depth, const A& a, const B& b,
                                const Store& store) {
  typedef typename Config::Acc Acc;
  typedef machine::MultiplyAdd<Acc> Step;
  const int wide = int(columns), count = int(rows) * wide;
#pragma unroll 1
  for (int at = int(threadIdx.x); at < count; at += Config::kThreads) {
    const i64 row = at / wide, column = at % wide;
    Acc sums[1] = {Acc(0)};
#pragma unroll 1
    for (int first = 0; first < int(depth); first += 32) {
      const int end = machine::clamp_to(depth - first, 32) + first;
      Acc run = Acc(0);
#pragma unroll 4
      for (int k = first; k < end; ++k) {
        run = Step::apply(run, machine::element_of<Acc>(a, row, k),
                          machine::element_of<Acc>(b, column, k));
      }
      sums[0] += run;
    }
    store.template put<1>(row, column, 1, sums);
  }
  __syncthreads();
}

// A block's product where it has one of its own: contract_few, or tile by tile.
template <class Config, class A, class B, class Store>
INTENT_DEVICE void contract_alone(i64 rows, i64 columns, i64 depth, const A& a, const B& b,
                                  const Store& store, char* shared) {
  if (is_few(rows, columns, depth))
    return contract_few<Config>(rows, columns, depth, a, b, store);
  const TileWalk walk(rows, columns, Config::kRows, Config::kColumns);
#pragma unroll 1
  for (i64 tile = 0; tile < walk.tiles(); ++tile) {
    const TilePlace place = walk.at(tile);
    contract_tile<Config>(rows, columns, depth, place.row, place.column, a, b, store, shared);
  }
}

}  // namespace intent
