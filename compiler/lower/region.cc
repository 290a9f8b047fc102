// Region folds and scans (language.md 8). The source is cut into slices of bounded extent, so that
// what a summary needs of its slice stays near; summaries combine in order, as a balanced tree.

#include <algorithm>

#include "compiler/diag/check.h"
#include "compiler/lower/lowerer.h"

namespace intent::lower {
namespace {

constexpr int64_t kScalarMembers = 4096;  // of a slice whose members are single elements
constexpr int64_t kSliceMembers = 256;    // of others, fewer where they are large
constexpr int64_t kLeastMembers = 16;
constexpr int64_t kSliceElements = 1 << 18;
// Of a task with products, whose block merges summaries more slowly than it reads a longer slice.
constexpr int64_t kTaskMembers = 1024;
constexpr int64_t kTaskElements = 1 << 19;
constexpr int64_t kTaskMultiple = 64;

}  // namespace

struct Lowerer::RegionSource {
  const Op* op = nullptr;
  Leaves components;
  size_t axis = 0;
  size_t first_capture = 2;
  Id extent = kNoId;  // members
  Id slice = kNoId;   // members of a slice, but for the last
  Id count = kNoId;   // slices
  Id work = kNoId;    // elements of a slice
  int64_t most = 0;   // bound of `slice`
};

Lowerer::RegionSource Lowerer::SourceOf(const Op& op) {
  RegionSource source{.op = &op};
  source.axis = static_cast<size_t>(op.attr<RegionAttr>().axis.value);
  source.first_capture = op.kind == OpKind::kRegionScan ? 3 : 2;
  Of(op.operands[0]).Leaves(&source.components);
  source.extent = source.components[0].tensor->extents[source.axis];
  Id member = b().Index(0);
  bool scalars = true;
  for (const Binding& component : source.components) {
    std::vector<Id> rest = component.tensor->extents;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(source.axis));
    scalars = scalars && rest.empty();
    member = b().Add(member, Count(rest));
  }
  const Id one = b().Index(1);
  source.most = options_.region_slice > 0 ? options_.region_slice
                : scalars                 ? kScalarMembers
                : HasParts()              ? kTaskMembers
                                          : kSliceMembers;
  source.slice = b().Index(source.most);
  if (options_.region_slice == 0 && !scalars) {
    const Id near =
        b().FloorDiv(b().Index(HasParts() ? kTaskElements : kSliceElements), b().Max(member, one));
    // Whole steps of a product, where a slice has some.
    Id fitting = near;
    if (HasParts()) {
      const Id multiple = b().Index(kTaskMultiple);
      fitting = b().Select(b().Less(near, multiple), near, b().Sub(near, b().Mod(near, multiple)));
    }
    source.slice = b().Max(b().Index(kLeastMembers), b().Min(source.slice, fitting));
  }
  source.slice = b().Min(source.slice, b().Max(source.extent, one));
  source.count = b().FloorDiv(b().Add(source.extent, b().Sub(source.slice, one)), source.slice);
  source.work = Count({source.slice, member});
  return source;
}

// Windows of the components; until the next call, the slice symbol stands for this slice's extent.
std::vector<Binding> Lowerer::SliceArguments(const RegionSource& source, Id slice) {
  const Id first = b().Mul(slice, source.slice);
  const Id extent = b().IsIndex(source.count, 1)
                        ? source.extent
                        : b().Min(source.slice, b().Sub(source.extent, first));
  symbols_[source.op->attr<RegionAttr>().slice_symbol] = extent;
  std::vector<Binding> arguments;
  for (const Binding& component : source.components) {
    std::vector<Id> extents = component.tensor->extents;
    extents[source.axis] = extent;
    std::vector<WindowAxis> axes(extents.size());
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      axes[axis] = {static_cast<int>(axis), axis == source.axis ? first : b().Index(0)};
    }
    arguments.push_back(WindowOf(component, axes, std::move(extents)));
  }
  return arguments;
}

void Lowerer::LowerRegionFold(const Op& op) {
  const RegionSource source = SourceOf(op);
  const Type& schema = ResultType(op);
  OrderedFold fold;
  fold.schema = schema;
  Of(op.operands[1]).Leaves(&fold.identity);
  fold.item = [&](Id slice) {
    std::vector<Binding> arguments = SliceArguments(source, slice);
    for (size_t i = source.first_capture; i < op.operands.size(); ++i)
      arguments.push_back(Of(op.operands[i]));
    return RunCallback(*op.regions[0], arguments);
  };
  fold.combine = CombineBy(*op.regions[1], schema, {});
  const bool split = MaySplit(source.count);
  const Leaves total = FoldOrdered(fold, source.count, source.work);
  size_t next = 0;
  Bind(op.result, Unflatten(schema, total, &next));
  ReportSlices(op, source, split);
}

void Lowerer::LowerRegionScan(const Op& op) {
  const RegionSource source = SourceOf(op);
  const Id zero = b().Index(0), one = b().Index(1);
  const Type &summary = TypeOf(op.operands[1]), &state = TypeOf(op.operands[2]);
  const uint32_t symbol = op.attr<RegionAttr>().slice_symbol;
  Leaves initial;
  Of(op.operands[2]).Leaves(&initial);
  std::vector<TensorPtr> outputs;
  std::vector<Binding> output_leaves;
  for (const Type& type : FlatTypes(ResultType(op).fields()[0])) {
    outputs.push_back(AllocateDense(type.dtype(), ExtentIds(type.shape())));
    output_leaves.push_back(Binding::OfTensor(outputs.back()));
  }
  const std::vector<Type> pieces = FlatTypes(TypeOf(op.regions[3]->ops.back()->operands[0]));
  const auto with_captures = [&](std::vector<Binding> arguments) {
    for (size_t i = source.first_capture; i < op.operands.size(); ++i)
      arguments.push_back(Of(op.operands[i]));
    return arguments;
  };
  const auto summarize = [&](Id slice) {
    return RunCallback(*op.regions[0], with_captures(SliceArguments(source, slice)));
  };
  const auto emit = [&](Id slice, const Leaves& before) {
    std::vector<Binding> arguments = SliceArguments(source, slice);
    size_t next = 0;
    arguments.push_back(Unflatten(state, before, &next));
    const Leaves emitted = RunCallback(*op.regions[3], with_captures(std::move(arguments)));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::vector<Extent>& shape = pieces[i].shape();
      const auto axis = std::find(shape.begin(), shape.end(), Extent::Symbol(symbol));
      INTENT_CHECK(axis != shape.end()) << "an emitted value without the slice's axis";
      const Id first =
          b().Mul(b().Mul(slice, source.slice), outputs[i]->strides[axis - shape.begin()]);
      StoreStage(emitted[i], ExtentIds(shape), b().MemOffset(outputs[i]->base, first),
                 outputs[i]->strides, {}, true);
    }
  };
  // State d is what the runs below d of the stack make of the initial one.
  const Id levels = StackDepth(source.count);
  const RunStack stack = MakeStack(summary, levels);
  const ValueArray states = MakeArray(state, b().Add(levels, one));
  const CombineBody combine = CombineBy(*op.regions[1], summary, {});
  const auto run = [&](const std::function<Leaves(Id)>& item,
                       const std::function<void(Id, const Leaves&)>& use) {
    SetValue(states, zero, initial);
    const Id depth =
        b().For(zero, source.count, one, {zero}, [&](const std::vector<Id>& arguments) {
          b().Poll();
          const Id slice = arguments[0];
          use(slice, GetValue(states, arguments[1]));
          SetValue(stack.runs, arguments[1], item(slice));
          const Id depth =
              MergeRuns(stack, b().Add(arguments[1], one), slice, b().Bool(false), combine);
          const Id below = b().Sub(depth, one);
          size_t run = 0, before = 0;
          SetValue(
              states, depth,
              RunCallback(*op.regions[2], {Unflatten(summary, GetValue(stack.runs, below), &run),
                                           Unflatten(state, GetValue(states, below), &before)}));
          return std::vector<Id>{depth};
        })[0];
    return GetValue(states, depth);
  };
  const bool split = MaySplit(source.count);
  Leaves last;
  if (!split) {
    last = run(summarize, emit);
  } else {
    // Summaries and outputs of the slices are independent; only the states between pass in order.
    const ValueArray summaries = MakeArray(summary, source.count);
    const ValueArray before = MakeArray(state, source.count);
    const auto in_tasks = [&](const std::function<void(Id)>& body) {
      InParallel(source.count, source.work, [&](const Window& window) {
        b().For(window.low, window.high, one, {}, [&](const std::vector<Id>& arguments) {
          b().Poll();
          body(arguments[0]);
          return std::vector<Id>{};
        });
      });
    };
    in_tasks([&](Id slice) { SetValue(summaries, slice, summarize(slice)); });
    last = run([&](Id slice) { return GetValue(summaries, slice); },
               [&](Id slice, const Leaves& value) { SetValue(before, slice, value); });
    in_tasks([&](Id slice) { emit(slice, GetValue(before, slice)); });
  }
  size_t next = 0, next_state = 0;
  const Type& outputs_type = ResultType(op).fields()[0];
  Bind(op.result, Binding::Product({Unflatten(outputs_type, output_leaves, &next),
                                    Unflatten(state, last, &next_state)}));
  ReportSlices(op, source, split);
}

void Lowerer::ReportSlices(const Op& op, const RegionSource& source, bool split) {
  Report(op, "slices of at most " + std::to_string(source.most) +
                 " members, summaries combined in order as a tree" +
                 (split          ? ", slices split among tasks"
                  : in_parallel_ ? ", slices one after another in each task"
                                 : ", slices one after another"));
}

}  // namespace intent::lower
