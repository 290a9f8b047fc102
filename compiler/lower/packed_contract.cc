// Contractions with an axis of their own on both sides, as a packed matrix product (codegen.md 6):
//
//   for each block of columns, for each block of the inner axis:
//     pack the right panels [inner][kColumns] (in parallel)
//     for each block of rows (in parallel): pack the left panels [inner][kRows]
//       for each pair of panels: a register tile of kRows x kColumns
//
// Packing evaluates the operands' lazy expressions and casts to the accumulator's dtype, so
// prologues cost nothing extra. The register tile sums short runs of the inner axis; the runs fold
// into a second tile, and the blocks into the result, so that a sum of n products passes through
// about kRun + kInner/kRun + n/kInner roundings in sequence, not n
// (docs/decisions/0005-contractions-sum-in-runs.md).

#include "compiler/lower/packed_contract.h"

#include <algorithm>

namespace intent::lower {
namespace {

constexpr int kRows = 6;         // of the register tile
constexpr int kVectors = 2;      // across the register tile
constexpr int64_t kRun = 16;     // inner steps summed in one go
constexpr int64_t kInner = 256;  // inner steps per block
constexpr int64_t kRowBlock = 16 * kRows;
constexpr int64_t kColumnBlock = 1024;
constexpr int64_t kStreams = 8;  // rows read at once while packing along the inner axis

}  // namespace

bool Lowerer::PlaceOperands(const Binding& lhs, const Binding& rhs, const ContractAttr& attr,
                            const TensorPtr& output, PackedProblem* placed) {
  PackedProblem& problem = *placed;
  problem.output = output;
  problem.dtype = output->dtype;
  problem.left.value = lhs;
  problem.right.value = rhs;
  const int left_rank = problem.left.value.tensor->rank(),
            right_rank = problem.right.value.tensor->rank();
  std::vector<int> left_role(left_rank, -1), right_role(right_rank, -1);  // -2: reduced
  for (const AxisPair& pair : attr.reduce) {
    left_role[pair.lhs.value] = right_role[pair.rhs.value] = -2;
    problem.left.inner.push_back(static_cast<int>(pair.lhs.value));
    problem.right.inner.push_back(static_cast<int>(pair.rhs.value));
    problem.inner_extents.push_back(problem.left.value.tensor->extents[pair.lhs.value]);
  }
  // Result axes: what the left side keeps, then what only the right side keeps.
  int next = 0;
  std::vector<bool> batch(left_rank, false);
  for (const AxisPair& pair : attr.batch) batch[pair.lhs.value] = true;
  for (int axis = 0; axis < left_rank; ++axis) {
    if (left_role[axis] == -2) continue;
    left_role[axis] = next++;
    if (!batch[axis]) problem.left.own = axis;
  }
  for (const AxisPair& pair : attr.batch) right_role[pair.rhs.value] = left_role[pair.lhs.value];
  for (int axis = 0; axis < right_rank; ++axis) {
    if (right_role[axis] != -1) continue;
    right_role[axis] = next++;
    problem.right.own = axis;
  }
  if (problem.left.own < 0 || problem.right.own < 0) return false;
  problem.row_axis = left_role[problem.left.own];
  problem.column_axis = right_role[problem.right.own];
  std::vector<Id> outer_extents;
  std::vector<int> outer_of(next, -1);
  for (int axis = 0; axis < next; ++axis) {
    if (axis == problem.row_axis || axis == problem.column_axis) continue;
    outer_of[axis] = static_cast<int>(outer_extents.size());
    problem.outer_axes.push_back(axis);
    outer_extents.push_back(output->extents[axis]);
  }
  const auto finish = [&](PackedSide* side, const std::vector<int>& role) {
    for (int r : role) side->outer.push_back(r >= 0 ? outer_of[r] : -1);
    const int last = static_cast<int>(role.size()) - 1;
    side->lanes_along_inner =
        role[last] == -2 && side->inner.back() == last && side->inner.size() == 1;
    if (!side->lanes_along_inner && side->own != last) return;
    std::vector<SymbolicCoord> coords(role.size());
    coords[last].lane = SymbolicCoord::Lane::kUnit;
    WatchStrides(side->value, coords, &side->watch);
  };
  finish(&problem.left, left_role);
  finish(&problem.right, right_role);
  problem.rows = output->extents[problem.row_axis];
  problem.columns = output->extents[problem.column_axis];
  problem.inner = Product(problem.inner_extents);
  problem.outer_extents = std::move(outer_extents);
  return true;
}

bool Lowerer::PackedContract(const Op& op, const Binding& lhs, const Binding& rhs,
                             const ContractAttr& attr, const TensorPtr& output) {
  const DType acc = output->dtype;
  if (BitWidth(acc) < 32 || acc == DType::kIndex) return false;
  PackedProblem problem;
  if (!PlaceOperands(lhs, rhs, attr, output, &problem)) return false;
  const std::vector<Id>& outer_extents = problem.outer_extents;
  problem.lanes = std::max(1, options_.vector_bits / BitWidth(acc));
  // Without members every sum is zero, and no block would say so.
  const Id empty = b().Equal(problem.inner, b().Index(0));
  b().If(empty, [&] {
    StoreStage(Binding::Scalar(ZeroOf(acc)), output->extents, output->base, output->strides, {},
               false);
  });
  Report(op, "packed panels, register tile " + std::to_string(kRows) + "x" +
                 std::to_string(kVectors * problem.lanes) + Tasks());
  if (outer_extents.empty()) {
    RunPacked(problem, {});
    return true;
  }
  const Id points = Product(outer_extents);
  const auto run = [&](const Window& window) {
    b().For(window.low == kNoId ? b().Index(0) : window.low,
            window.high == kNoId ? points : window.high, b().Index(1), {},
            [&](const std::vector<Id>& arguments) {
              b().Poll();
              RunPacked(problem, Decode(arguments[0], outer_extents));
              return std::vector<Id>{};
            });
  };
  InParallel(points, Product({problem.rows, problem.columns, problem.inner}), run);
  return true;
}

Id Lowerer::SideElement(const PackedSide& side, const Coord& own, const Coord& inner,
                        const std::vector<Coord>& outer, const Context& context) {
  const int rank = side.value.tensor->rank();
  std::vector<Coord> coords(rank);
  std::vector<Id> extents;
  for (int axis : side.inner) extents.push_back(side.value.tensor->extents[axis]);
  const std::vector<Coord> members =
      side.inner.size() == 1 ? std::vector<Coord>{inner} : Decode(inner.base, extents);
  for (int axis = 0; axis < rank; ++axis) {
    if (side.outer[axis] >= 0) coords[axis] = outer[side.outer[axis]];
  }
  for (size_t i = 0; i < side.inner.size(); ++i) coords[side.inner[i]] = members[i];
  coords[side.own] = own;
  return Eval(side.value, coords, context);
}

// Fills packed[k*width + i] with element (first + i, inner + k) of one side for i < width and k <
// depth; past `limit` with zeros. Whole vectors are copied where the side's own axis is contiguous;
// elsewhere a few streams along the inner axis at a time, so that every line is read whole while it
// is near.
void Lowerer::PackPanel(const PackedSide& side, Id packed, int64_t width, Id first, Id limit,
                        Id inner, Id depth, const std::vector<Coord>& outer) {
  const DType dtype = b().type(packed).dtype;
  const int32_t lanes = std::max(1, options_.vector_bits / BitWidth(dtype));
  const Id zero = b().Index(0), one = b().Index(1), step = b().Index(width);
  const auto element = [&](const Coord& own, const Coord& k, const Context& context) {
    return b().Splat(b().Cast(SideElement(side, own, k, outer, context), dtype), context.lanes);
  };
  const bool vectors = !side.lanes_along_inner && width % lanes == 0 && lanes > 1;
  const int32_t across = vectors ? lanes : 1;
  const int64_t streams = vectors ? width : kStreams;
  const Id unit = vectors ? UnitCondition(side.watch) : b().Bool(true);
  const Id whole = b().And(unit, b().LessEqual(b().Add(first, step), limit));
  for (int64_t from = 0; from < width; from += streams) {
    const int64_t to = std::min(width, from + streams);
    const auto copy = [&](bool edge) {
      b().For(zero, depth, one, {}, [&](const std::vector<Id>& k) {
        const Coord member = CoordOf(b().Add(inner, k[0]));
        for (int64_t i = from; i < to; i += across) {
          Coord own;
          own.base = b().Add(first, b().Index(i));
          own.step = vectors ? 1 : 0;
          Context context;
          context.lanes = across;
          if (edge) {
            context.mask = vectors ? TailMask(own.base, limit, across) : b().Less(own.base, limit);
            context.guarded = true;
          } else if (vectors) {
            context.unit = &side.watch;
          }
          Id value = element(own, member, context);
          if (edge) value = b().Select(context.mask, value, ZeroOf(dtype));
          b().Store(packed, b().Add(b().Mul(k[0], step), b().Index(i)), value, one);
        }
        return std::vector<Id>{};
      });
      return std::vector<Id>{};
    };
    b().If(
        whole, [&] { return copy(false); }, [&] { return copy(true); });
  }
}

// One register tile: rows `row`.., columns `column`.. of the result take the products of two
// panels.
void Lowerer::MicroKernel(const PackedProblem& problem, Id a, Id c_base, Id b_panel, Id row,
                          Id column, Id depth, Id first_block) {
  const int32_t lanes = problem.lanes;
  const int64_t width = int64_t{kVectors} * lanes;
  const Id zero = b().Index(0), one = b().Index(1);
  const Id nothing = b().Splat(ZeroOf(problem.dtype), lanes);
  const std::vector<Id> start(kRows * kVectors, nothing);
  const std::vector<Id> tile =
      b().For(zero, depth, b().Index(kRun), start, [&](const std::vector<Id>& outer) {
        const Id stop = b().Min(b().Add(outer[0], b().Index(kRun)), depth);
        const std::vector<Id> run =
            b().For(outer[0], stop, one, start, [&](const std::vector<Id>& sums) {
              std::vector<Id> right, next;
              for (int v = 0; v < kVectors; ++v) {
                const Id at =
                    b().Add(b().Mul(sums[0], b().Index(width)), b().Index(int64_t{v} * lanes));
                right.push_back(b().Load(b_panel, at, lanes, one));
              }
              for (int r = 0; r < kRows; ++r) {
                const Id at = b().Add(b().Mul(sums[0], b().Index(kRows)), b().Index(r));
                const Id left = b().Splat(b().Load(a, at, 1, zero), lanes);
                for (int v = 0; v < kVectors; ++v) {
                  next.push_back(b().Add(b().Mul(left, right[v]), sums[1 + r * kVectors + v]));
                }
              }
              return next;
            });
        std::vector<Id> folded;
        for (size_t i = 0; i < run.size(); ++i) folded.push_back(b().Add(outer[1 + i], run[i]));
        return folded;
      });
  const Id row_stride = problem.output->strides[problem.row_axis];
  const Id column_stride = problem.output->strides[problem.column_axis];
  const auto store = [&](bool edge) {
    for (int r = 0; r < kRows; ++r) {
      const Id at_row = b().Add(row, b().Index(r));
      for (int v = 0; v < kVectors; ++v) {
        const Id at_column = b().Add(column, b().Index(int64_t{v} * lanes));
        const Id place = b().Add(b().Mul(at_row, row_stride), b().Mul(at_column, column_stride));
        const Id stride = b().IsIndex(column_stride, 1) ? one : column_stride;
        Id mask = kNoId;
        if (edge) {
          mask = b().And(TailMask(at_column, problem.columns, lanes),
                         b().Splat(b().Less(at_row, problem.rows), lanes));
        }
        const Id old =
            b().Select(first_block, nothing, b().Load(c_base, place, lanes, stride, mask));
        b().Store(c_base, place, b().Add(old, tile[r * kVectors + v]), stride, mask);
      }
    }
    return std::vector<Id>{};
  };
  const Id inside = b().And(b().LessEqual(b().Add(row, b().Index(kRows)), problem.rows),
                            b().LessEqual(b().Add(column, b().Index(width)), problem.columns));
  b().If(
      inside, [&] { return store(false); }, [&] { return store(true); });
}

void Lowerer::RunPacked(const PackedProblem& problem, const std::vector<Coord>& outer) {
  const int64_t width = int64_t{kVectors} * problem.lanes;
  const int64_t column_block = (kColumnBlock + width - 1) / width * width;
  const Id zero = b().Index(0), one = b().Index(1);
  Id c_base = problem.output->base;
  for (size_t i = 0; i < outer.size(); ++i) {
    c_base = b().MemOffset(c_base,
                           b().Mul(outer[i].base, problem.output->strides[problem.outer_axes[i]]));
  }
  const auto ceil_div = [&](Id a, int64_t d) {
    return b().FloorDiv(b().Add(a, b().Index(d - 1)), b().Index(d));
  };
  b().For(zero, problem.columns, b().Index(column_block), {}, [&](const std::vector<Id>& jc) {
    const Id columns = b().Min(b().Index(column_block), b().Sub(problem.columns, jc[0]));
    const Id panels = ceil_div(columns, width);
    b().For(zero, problem.inner, b().Index(kInner), {}, [&](const std::vector<Id>& pc) {
      b().Poll();
      const Id depth = b().Min(b().Index(kInner), b().Sub(problem.inner, pc[0]));
      const Id first_block = b().Equal(pc[0], zero);
      const Id packed_b =
          b().Alloc(problem.dtype, b().Mul(b().Mul(panels, b().Index(width)), depth));
      const auto panel_of = [&](Id mem, Id panel, int64_t wide) {
        return b().MemOffset(mem, b().Mul(b().Mul(panel, b().Index(wide)), depth));
      };
      InParallel(panels, b().Mul(b().Index(width), depth), [&](const Window& window) {
        b().For(window.low == kNoId ? zero : window.low,
                window.high == kNoId ? panels : window.high, one, {},
                [&](const std::vector<Id>& p) {
                  PackPanel(problem.right, panel_of(packed_b, p[0], width), width,
                            b().Add(jc[0], b().Mul(p[0], b().Index(width))), problem.columns, pc[0],
                            depth, outer);
                  return std::vector<Id>{};
                });
      });
      const Id row_blocks = ceil_div(problem.rows, kRowBlock);
      InParallel(
          row_blocks, Product({b().Index(kRowBlock), columns, depth}), [&](const Window& window) {
            b().For(window.low == kNoId ? zero : window.low,
                    window.high == kNoId ? row_blocks : window.high, one, {},
                    [&](const std::vector<Id>& ic) {
                      const Id row0 = b().Mul(ic[0], b().Index(kRowBlock));
                      const Id rows = b().Min(b().Index(kRowBlock), b().Sub(problem.rows, row0));
                      const Id row_panels = ceil_div(rows, kRows);
                      const Id packed_a = b().Alloc(
                          problem.dtype, b().Mul(b().Mul(row_panels, b().Index(kRows)), depth));
                      b().For(zero, row_panels, one, {}, [&](const std::vector<Id>& p) {
                        PackPanel(problem.left, panel_of(packed_a, p[0], kRows), kRows,
                                  b().Add(row0, b().Mul(p[0], b().Index(kRows))), problem.rows,
                                  pc[0], depth, outer);
                        return std::vector<Id>{};
                      });
                      b().For(zero, panels, one, {}, [&](const std::vector<Id>& jr) {
                        b().For(zero, row_panels, one, {}, [&](const std::vector<Id>& ir) {
                          MicroKernel(problem, panel_of(packed_a, ir[0], kRows), c_base,
                                      panel_of(packed_b, jr[0], width),
                                      b().Add(row0, b().Mul(ir[0], b().Index(kRows))),
                                      b().Add(jc[0], b().Mul(jr[0], b().Index(width))), depth,
                                      first_block);
                          return std::vector<Id>{};
                        });
                        return std::vector<Id>{};
                      });
                      return std::vector<Id>{};
                    });
          });
      return std::vector<Id>{};
    });
    return std::vector<Id>{};
  });
}

}  // namespace intent::lower
