// Windows of tensors, values of one schema side by side in memory, and folds of them in order.
//
// A fold keeps a stack of combined runs of 1, 2, 4, ... items: whenever two neighbours have equal
// length, they combine. So order is kept, a combined value passes through O(log n) combinations,
// and memory holds O(log n) values. The code has one copy of the combine.

#include <algorithm>

#include "compiler/lower/lowerer.h"

namespace intent::lower {
namespace {

constexpr int64_t kTaskElements = 1 << 14;  // below, threads cost more than they bring
constexpr int64_t kRanges = 64;             // folded apart when a fold is split among tasks

}  // namespace

Binding Lowerer::WindowOf(const Binding& source, const std::vector<WindowAxis>& axes,
                          std::vector<Id> extents) {
  const Tensor& tensor = *source.tensor;
  if (tensor.strided) {
    Id offset = b().Index(0);
    std::vector<Id> strides(extents.size());
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      offset = b().Add(offset, b().Mul(axes[axis].begin, tensor.strides[axis]));
      if (axes[axis].axis >= 0) strides[axes[axis].axis] = tensor.strides[axis];
    }
    TensorPtr window = NewStrided(tensor.dtype, std::move(extents),
                                  b().MemOffset(tensor.base, offset), strides, tensor.origin);
    window->separated = tensor.separated;
    return Binding::OfTensor(std::move(window));
  }
  auto window = std::make_shared<Tensor>();
  window->serial = ++serials_;
  window->dtype = tensor.dtype;
  window->extents = std::move(extents);
  window->operands = {source};
  window->window = axes;
  return Binding::OfTensor(std::move(window));
}

Lowerer::ValueArray Lowerer::MakeArray(const Type& schema, Id count) {
  ValueArray array;
  array.types = FlatTypes(schema);
  for (const Type& type : array.types) {
    std::vector<Id> extents;
    if (type.IsTensor()) extents = ExtentIds(type.shape());
    array.bases.push_back(b().Alloc(type.dtype(), Count({count, Count(extents)})));
    array.extents.push_back(std::move(extents));
  }
  return array;
}

Lowerer::Leaves Lowerer::GetValue(const ValueArray& array, Id index) {
  Leaves value;
  for (size_t i = 0; i < array.types.size(); ++i) {
    const DType dtype = array.types[i].dtype();
    if (!array.types[i].IsTensor()) {
      value.push_back(Binding::Scalar(b().Load(array.bases[i], index, 1, b().Index(0))));
      continue;
    }
    const Id base = b().MemOffset(array.bases[i], b().Mul(index, Product(array.extents[i])));
    value.push_back(Binding::OfTensor(
        NewStrided(dtype, array.extents[i], base, DenseStrides(array.extents[i]), {})));
  }
  return value;
}

void Lowerer::SetValue(const ValueArray& array, Id index, const Leaves& value) {
  for (size_t i = 0; i < array.types.size(); ++i) {
    if (!array.types[i].IsTensor()) {
      const Id scalar = Eval(value[i], {}, {});
      Fence();
      b().Store(array.bases[i], index, scalar, b().Index(0));
      Fence();
      continue;
    }
    const Id base = b().MemOffset(array.bases[i], b().Mul(index, Product(array.extents[i])));
    StoreStage(value[i], array.extents[i], base, DenseStrides(array.extents[i]), {}, true);
  }
}

Lowerer::CombineBody Lowerer::CombineBy(const Block& region, const Type& schema,
                                        std::vector<Binding> captures) {
  return [this, &region, schema, captures = std::move(captures)](const Leaves& lhs,
                                                                 const Leaves& rhs) {
    size_t left = 0, right = 0;
    std::vector<Binding> arguments{Unflatten(schema, lhs, &left), Unflatten(schema, rhs, &right)};
    arguments.insert(arguments.end(), captures.begin(), captures.end());
    return RunCallback(region, arguments);
  };
}

// Before an item is set, item i finds as many runs as i has bits set.
Id Lowerer::StackDepth(Id count) {
  if (const ScalarValue* known = b().ConstantOf(count)) {
    int64_t depth = 2;
    for (int64_t rest = static_cast<int64_t>(known->bits); rest > 1; rest /= 2) ++depth;
    return b().Index(depth);
  }
  const Id depth = b().While(
      {b().Index(2), count},
      [&](const std::vector<Id>& ids) { return b().Less(b().Index(1), ids[1]); },
      [&](const std::vector<Id>& ids) {
        return std::vector<Id>{b().Add(ids[0], b().Index(1)), b().FloorDiv(ids[1], b().Index(2))};
      })[0];
  if (!OnUnits()) return depth;
  // No less than that, and a launcher can bound it.
  const Id least = b().Index(2);
  return b().Max(b().Min(b().Min(depth, b().Index(66)), b().Add(count, least)), least);
}

Lowerer::RunStack Lowerer::MakeStack(const Type& schema, Id depth) {
  return {MakeArray(schema, depth), MakeArray(schema, b().Index(1))};
}

Id Lowerer::MergeRuns(const RunStack& stack, Id depth, Id ordinal, Id end,
                      const CombineBody& combine) {
  const Id zero = b().Index(0), one = b().Index(1), two = b().Index(2);
  // Item i completes as many pairs of equal runs as i ends in set bits.
  return b().While(
      {depth, ordinal},
      [&](const std::vector<Id>& ids) {
        return b().And(b().Less(one, ids[0]), b().Or(end, b().Equal(b().Mod(ids[1], two), one)));
      },
      [&](const std::vector<Id>& ids) {
        b().Poll();
        const Id left = b().Sub(ids[0], two), right = b().Sub(ids[0], one);
        Leaves merged = combine(GetValue(stack.runs, left), GetValue(stack.runs, right));
        // The result replaces what it is made of: whole values first.
        for (size_t i = 0; i < merged.size(); ++i) {
          if (!stack.runs.types[i].IsTensor()) merged[i] = Binding::Scalar(Eval(merged[i], {}, {}));
        }
        SetValue(stack.scratch, zero, merged);
        SetValue(stack.runs, left, GetValue(stack.scratch, zero));
        return std::vector<Id>{right, b().FloorDiv(ids[1], two)};
      })[0];
}

Lowerer::Leaves Lowerer::FoldRange(const OrderedFold& fold, Id first, Id count) {
  const Id zero = b().Index(0), one = b().Index(1);
  const RunStack stack = MakeStack(fold.schema, StackDepth(count));
  if (b().IsIndex(count, 1)) {
    SetValue(stack.runs, zero, fold.item(first));
    return GetValue(stack.runs, zero);
  }
  SetValue(stack.runs, zero, fold.identity);  // stays if there is no item
  b().For(zero, b().Add(count, one), one, {zero}, [&](const std::vector<Id>& arguments) {
    b().Poll();
    const Id at = arguments[0], depth = arguments[1];
    const Id end = b().Equal(at, count);
    b().If(b().Not(end), [&] { SetValue(stack.runs, depth, fold.item(b().Add(first, at))); });
    const Id filled = b().Select(end, depth, b().Add(depth, one));
    return std::vector<Id>{MergeRuns(stack, filled, at, end, fold.combine)};
  });
  return GetValue(stack.runs, zero);
}

// A split fold has its combine twice: folds in folds are not split, or code would grow with
// 2^depth.
bool Lowerer::MaySplit(Id count) {
  return options_.parallel && !in_parallel_ && callbacks_ == 0 && !b().IsIndex(count, 1);
}

Lowerer::Leaves Lowerer::FoldOrdered(const OrderedFold& fold, Id count, Id work) {
  const Id zero = b().Index(0), one = b().Index(1);
  if (!MaySplit(count)) return FoldRange(fold, zero, count);
  const auto ceil_div = [&](Id a, Id c) { return b().FloorDiv(b().Add(a, b().Sub(c, one)), c); };
  // Ranges follow from the extents alone: the result does not depend on the number of threads.
  const Id least = b().Add(b().FloorDiv(b().Index(kTaskElements), b().Max(work, one)), one);
  const Id size = b().Max(ceil_div(count, b().Index(kRanges)), least);
  const Id ranges = ceil_div(count, size);
  const ValueArray partials = MakeArray(fold.schema, ranges);
  in_parallel_ = true;
  b().Parallel(zero, ranges, one, [&](Id begin, Id end) {
    b().For(begin, end, one, {}, [&](const std::vector<Id>& arguments) {
      const Id low = b().Mul(arguments[0], size);
      const Id items = b().Min(size, b().Sub(count, low));
      SetValue(partials, arguments[0], FoldRange(fold, low, items));
      return std::vector<Id>{};
    });
  });
  in_parallel_ = false;
  OrderedFold rest = fold;
  rest.item = [&](Id range) { return GetValue(partials, range); };
  if (!OnUnits()) return FoldRange(rest, zero, ranges);
  const ValueArray total = MakeArray(fold.schema, one);
  Alone([&] { SetValue(total, zero, FoldRange(rest, zero, ranges)); });
  return GetValue(total, zero);
}

}  // namespace intent::lower
