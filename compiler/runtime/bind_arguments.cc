#include "compiler/runtime/bind_arguments.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/ir/dtype.h"
#include "compiler/runtime/launch_program.h"

namespace intent {
namespace {

using compile::v1::Instruction;
using compile::v1::Manifest;
using compile::v1::Parameter;
using execute::v1::Argument;
using execute::v1::RunError;

RunError Problem(RunError::Kind kind, std::optional<int> parameter, std::string message) {
  RunError error;
  error.set_kind(kind);
  if (parameter.has_value()) error.set_parameter(*parameter);
  error.set_message(std::move(message));
  return error;
}

RunError BadArgument(int parameter, std::string message) {
  return Problem(RunError::KIND_BAD_ARGUMENT, parameter, std::move(message));
}

RunError BadShape(int parameter, int axis, int64_t found, int64_t expected, std::string message) {
  RunError error = Problem(RunError::KIND_BAD_SHAPE, parameter, std::move(message));
  error.set_axis(axis);
  error.set_value(found);
  error.set_limit(expected);
  return error;
}

// First and one-past-last byte that the view's coordinates touch, relative to the element at 0, 0,
// ...
struct Reach {
  int64_t low = 0;
  int64_t high = 0;
};

std::optional<Reach> ReachOf(const ViewArgument& view, int64_t element_bytes) {
  if (std::find(view.extents.begin(), view.extents.end(), 0) != view.extents.end()) {
    return Reach{};
  }
  Reach reach{0, 0};
  for (size_t axis = 0; axis < view.extents.size(); ++axis) {
    int64_t span = 0;
    if (__builtin_mul_overflow(view.extents[axis] - 1, view.strides[axis], &span)) {
      return std::nullopt;
    }
    int64_t& end = span < 0 ? reach.low : reach.high;
    if (__builtin_add_overflow(end, span, &end)) return std::nullopt;
  }
  if (__builtin_add_overflow(reach.high, 1, &reach.high) ||
      __builtin_mul_overflow(reach.low, element_bytes, &reach.low) ||
      __builtin_mul_overflow(reach.high, element_bytes, &reach.high)) {
    return std::nullopt;
  }
  return reach;
}

class Binder {
 public:
  Binder(const Manifest& manifest, const std::vector<BoundAllocation>& allocations,
         const std::vector<CallArgument>& arguments)
      : manifest_(manifest), allocations_(allocations), arguments_(arguments) {
    call_.symbols.resize(manifest.symbol_count());
  }

  std::variant<BoundCall, RunError> Run() {
    if (arguments_.size() != static_cast<size_t>(manifest_.parameters_size())) {
      return Problem(RunError::KIND_BAD_ARGUMENT, std::nullopt,
                     absl::StrCat("the kernel has ", manifest_.parameters_size(),
                                  " parameters, the call ", arguments_.size(), " arguments"));
    }
    for (int i = 0; i < manifest_.parameters_size(); ++i) {
      const Parameter& parameter = manifest_.parameters(i);
      std::optional<RunError> error = parameter.has_view()
                                          ? BindView(i, parameter.view(), arguments_[i])
                                          : BindScalar(i, parameter.scalar(), arguments_[i]);
      if (error.has_value()) return *std::move(error);
    }
    if (std::optional<RunError> error = CheckAxes()) return *std::move(error);
    if (std::optional<RunError> error = CheckConditions()) return *std::move(error);
    if (std::optional<RunError> error = CheckOverlaps()) return *std::move(error);
    return std::move(call_);
  }

 private:
  std::optional<RunError> BindView(int position, const compile::v1::ViewParameter& parameter,
                                   const CallArgument& argument) {
    const auto* found = std::get_if<ViewArgument>(&argument);
    if (found == nullptr) return BadArgument(position, "a view is needed here, not a scalar");
    const ViewArgument& view = *found;
    const std::optional<DType> dtype = DTypeFromName(parameter.dtype());
    if (!dtype.has_value()) return BadArgument(position, "the manifest names an unknown dtype");
    const int64_t element_bytes = StorageBytes(*dtype);
    const size_t rank = static_cast<size_t>(parameter.axes_size());
    if (view.extents.size() != rank || view.strides.size() != rank) {
      return BadArgument(position,
                         absl::StrCat("rank ", rank, " is needed, got ", view.extents.size(),
                                      " extents and ", view.strides.size(), " strides"));
    }
    for (size_t axis = 0; axis < rank; ++axis) {
      if (view.extents[axis] >= 0) continue;
      RunError error =
          Problem(RunError::KIND_NEGATIVE_EXTENT, position, "a view has a negative extent");
      error.set_axis(static_cast<int32_t>(axis));
      error.set_value(view.extents[axis]);
      return error;
    }
    // Kernels count elements in 64 bits; strides of zero would let a small allocation hold more.
    int64_t count = 1;
    for (const int64_t extent : view.extents) {
      if (__builtin_mul_overflow(count, std::max<int64_t>(extent, 1), &count)) {
        return BadArgument(position, "the view has more than 2^63 - 1 elements");
      }
    }
    const auto allocation =
        std::find_if(allocations_.begin(), allocations_.end(),
                     [&](const BoundAllocation& a) { return a.id == view.allocation; });
    if (allocation == allocations_.end()) {
      return BadArgument(position, absl::StrCat("there is no allocation ", view.allocation));
    }
    const std::optional<Reach> reach = ReachOf(view, element_bytes);
    int64_t offset = 0, first = 0, last = 0;
    if (!reach.has_value() || __builtin_mul_overflow(view.offset, element_bytes, &offset) ||
        __builtin_add_overflow(offset, reach->low, &first) ||
        __builtin_add_overflow(offset, reach->high, &last) || first < 0 ||
        static_cast<uint64_t>(last) > allocation->size) {
      return BadArgument(position, absl::StrCat("the view leaves allocation ", allocation->id,
                                                " of ", allocation->size, " bytes"));
    }
    call_.extents.emplace_back(view.extents.begin(), view.extents.end());
    call_.strides.emplace_back(view.strides.begin(), view.strides.end());
    call_.views.push_back({allocation->data + offset, call_.extents.back().data(),
                           call_.strides.back().data(), reach->low, reach->high});
    call_.places.push_back(view_positions_.size());
    view_positions_.push_back(position);
    return std::nullopt;
  }

  std::optional<RunError> BindScalar(int position, const compile::v1::ScalarParameter& parameter,
                                     const CallArgument& argument) {
    if (!std::holds_alternative<uint64_t>(argument)) {
      return BadArgument(position, "a scalar is needed here, not a view");
    }
    const std::optional<DType> dtype = DTypeFromName(parameter.dtype());
    if (!dtype.has_value() || StorageBytes(*dtype) > 8) {
      return BadArgument(position, "the manifest names an unknown dtype");
    }
    const uint64_t bits = std::get<uint64_t>(argument);
    const int width = BitWidth(*dtype);
    if (width < 64 && (bits >> width) != 0) {
      return BadArgument(position, absl::StrCat("a ", parameter.dtype(), " has ", width,
                                                " bits, the argument has more"));
    }
    call_.places.push_back(call_.scalars.size());
    call_.scalars.push_back(bits);
    return std::nullopt;
  }

  // The first axis that names a symbol binds it; expressions come last, for they may use any
  // symbol.
  std::optional<RunError> CheckAxes() {
    for (const bool expressions : {false, true}) {
      for (size_t v = 0; v < view_positions_.size(); ++v) {
        const compile::v1::ViewParameter& view = manifest_.parameters(view_positions_[v]).view();
        for (int axis = 0; axis < view.axes_size(); ++axis) {
          if (view.axes(axis).has_expression() != expressions) continue;
          std::optional<RunError> error =
              CheckAxis(view.axes(axis), view_positions_[v], axis, call_.extents[v][axis]);
          if (error.has_value()) return error;
        }
      }
    }
    return std::nullopt;
  }

  std::optional<RunError> CheckAxis(const compile::v1::Axis& axis, int position, int number,
                                    int64_t found) {
    std::optional<int64_t> expected;
    if (axis.has_expression()) {
      expected = EvaluateHere(axis.expression());
      if (!expected.has_value()) {
        return BadShape(position, number, found, 0, "the extent it should have is undefined");
      }
    } else if (axis.extent_case() == compile::v1::Axis::kConstant) {
      expected = axis.constant();
    } else {
      if (axis.symbol() >= call_.symbols.size()) {
        return BadArgument(position, "the manifest names an unknown symbol");
      }
      std::optional<int64_t>& symbol = call_.symbols[axis.symbol()];
      if (!symbol.has_value()) symbol = found;
      expected = symbol;
    }
    if (found == *expected) return std::nullopt;
    return BadShape(position, number, found, *expected,
                    absl::StrCat("extent ", found, ", but ", *expected, " is needed"));
  }

  std::optional<RunError> CheckConditions() {
    for (const compile::v1::Check& check : manifest_.checks()) {
      const std::optional<int64_t> holds = EvaluateHere(check.condition());
      if (holds.has_value() && *holds != 0) continue;
      RunError error =
          Problem(RunError::KIND_BAD_SHAPE, std::nullopt, "shapes that must agree do not");
      if (check.has_ordinal()) error.set_ordinal(check.ordinal());
      return error;
    }
    return std::nullopt;
  }

  // A violated promise is refused, for code may rely on it.
  std::optional<RunError> CheckOverlaps() {
    for (size_t a = 0; a < view_positions_.size(); ++a) {
      for (size_t b = a + 1; b < view_positions_.size(); ++b) {
        const auto& left = manifest_.parameters(view_positions_[a]).view();
        const auto& right = manifest_.parameters(view_positions_[b]).view();
        if (!left.noalias() && !right.noalias()) continue;
        const intent_view& l = call_.views[a];
        const intent_view& r = call_.views[b];
        const char* l_data = static_cast<const char*>(l.data);
        const char* r_data = static_cast<const char*>(r.data);
        if (l.low == l.high || r.low == r.high) continue;
        if (l_data + l.high <= r_data + r.low || r_data + r.high <= l_data + l.low) continue;
        RunError error =
            Problem(RunError::KIND_BAD_OVERLAP, view_positions_[left.noalias() ? a : b],
                    absl::StrCat("a noalias view overlaps parameter ",
                                 view_positions_[left.noalias() ? b : a]));
        error.set_code("E1117");  // as in compiler/interp/errors.def
        return error;
      }
    }
    return std::nullopt;
  }

  std::optional<int64_t> EvaluateHere(const compile::v1::Program& program) const {
    return Evaluate(program, [this](const Instruction& instruction) {
      return LeafValue(manifest_, call_, instruction);
    });
  }

  const Manifest& manifest_;
  const std::vector<BoundAllocation>& allocations_;
  const std::vector<CallArgument>& arguments_;
  std::vector<int> view_positions_;
  BoundCall call_;
};

std::optional<int64_t> ScalarValue(const std::string& name, uint64_t bits) {
  const std::optional<DType> dtype = DTypeFromName(name);
  if (!dtype.has_value() || !(IsInteger(*dtype) || *dtype == DType::kBool)) return std::nullopt;
  if (!IsSignedInteger(*dtype)) return static_cast<int64_t>(bits);
  const int unused = 64 - BitWidth(*dtype);
  return static_cast<int64_t>(bits << unused) >> unused;
}

RunError::Kind KindOf(int32_t status) {
  switch (status) {
    case INTENT_OUT_OF_BOUNDS:
      return RunError::KIND_OUT_OF_BOUNDS;
    case INTENT_BAD_SHAPE:
      return RunError::KIND_BAD_SHAPE;
    case INTENT_NEGATIVE_EXTENT:
      return RunError::KIND_NEGATIVE_EXTENT;
    case INTENT_NO_MEMORY:
      return RunError::KIND_NO_MEMORY;
    case INTENT_CANCELLED:
      return RunError::KIND_CANCELLED;
    case INTENT_BAD_STEP:
      return RunError::KIND_BAD_STEP;
    case INTENT_BAD_VALUE:
      return RunError::KIND_INVALID_VALUE;
    default:
      return RunError::KIND_UNSPECIFIED;
  }
}

std::string Describe(const RunError& error) {
  const std::string where =
      error.has_axis() ? absl::StrCat(" of axis ", error.axis()) : std::string();
  switch (error.kind()) {
    case RunError::KIND_OUT_OF_BOUNDS:
      return absl::StrCat("index ", error.value(), where, " is outside [0, ", error.limit(), ")");
    case RunError::KIND_BAD_SHAPE:
      return absl::StrCat("extent ", error.value(), where, ", but ", error.limit(), " is needed");
    case RunError::KIND_NEGATIVE_EXTENT:
      return absl::StrCat("extent ", error.value(), where, " is negative");
    case RunError::KIND_NO_MEMORY:
      return "the kernel's scratch memory is exhausted";
    case RunError::KIND_CANCELLED:
      return "cancelled";
    case RunError::KIND_BAD_STEP:
      return absl::StrCat("a domain's step or bounds are wrong: ", error.value(), " against ",
                          error.limit());
    case RunError::KIND_INVALID_VALUE:
      return absl::StrCat("the value ", error.value(), " is invalid here");
    default:
      return "the kernel failed";
  }
}

}  // namespace

std::variant<BoundCall, RunError> Bind(const Manifest& manifest,
                                       const std::vector<BoundAllocation>& allocations,
                                       const std::vector<CallArgument>& arguments) {
  return Binder(manifest, allocations, arguments).Run();
}

std::variant<BoundCall, RunError> Bind(
    const Manifest& manifest, const std::vector<BoundAllocation>& allocations,
    const google::protobuf::RepeatedPtrField<Argument>& arguments) {
  std::vector<CallArgument> values(static_cast<size_t>(arguments.size()));
  for (int i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    if (argument.has_view()) {
      values[i] = ViewArgument{argument.view().allocation(), argument.view().offset(),
                               argument.view().extents(), argument.view().strides()};
    } else if (argument.kind_case() == Argument::kScalarBits) {
      values[i] = argument.scalar_bits();
    }
  }
  return Bind(manifest, allocations, values);
}

namespace {

// As kOverlap and kSameView of the tile program.
std::optional<int64_t> Compare(const Manifest& manifest, const BoundCall& call,
                               const Instruction& instruction) {
  if (std::max(instruction.index(), instruction.axis()) >= call.places.size()) return std::nullopt;
  const Parameter& one = manifest.parameters(static_cast<int>(instruction.index()));
  const Parameter& other = manifest.parameters(static_cast<int>(instruction.axis()));
  if (!one.has_view() || !other.has_view()) return std::nullopt;
  const size_t i = call.places[instruction.index()], j = call.places[instruction.axis()];
  const intent_view &a = call.views[i], &b = call.views[j];
  const auto first = reinterpret_cast<uintptr_t>(a.data),
             second = reinterpret_cast<uintptr_t>(b.data);
  if (instruction.opcode() == Instruction::OPCODE_OVERLAP) {
    return a.low < a.high && b.low < b.high &&
           first + static_cast<uintptr_t>(a.low) < second + static_cast<uintptr_t>(b.high) &&
           second + static_cast<uintptr_t>(b.low) < first + static_cast<uintptr_t>(a.high);
  }
  const auto size = [](const Parameter& view) {
    const std::optional<DType> dtype = DTypeFromName(view.view().dtype());
    return dtype.has_value() ? StorageBytes(*dtype) : 0;
  };
  bool same = first == second && size(one) == size(other) && call.extents[i] == call.extents[j];
  for (size_t axis = 0; same && axis < call.extents[i].size(); ++axis) {
    same = call.extents[i][axis] <= 1 || call.strides[i][axis] == call.strides[j][axis];
  }
  return same;
}

}  // namespace

std::optional<int64_t> LeafValue(const Manifest& manifest, const BoundCall& call,
                                 const Instruction& instruction) {
  const uint32_t index = instruction.index();
  if (instruction.opcode() == Instruction::OPCODE_OVERLAP ||
      instruction.opcode() == Instruction::OPCODE_SAME_VIEW) {
    return Compare(manifest, call, instruction);
  }
  if (instruction.opcode() == Instruction::OPCODE_SYMBOL) {
    return index < call.symbols.size() ? call.symbols[index] : std::nullopt;
  }
  if (index >= call.places.size()) return std::nullopt;
  const Parameter& parameter = manifest.parameters(static_cast<int>(index));
  const size_t place = call.places[index];
  if (instruction.opcode() == Instruction::OPCODE_SCALAR) {
    if (!parameter.has_scalar()) return std::nullopt;
    return ScalarValue(parameter.scalar().dtype(), call.scalars[place]);
  }
  if (!parameter.has_view()) return std::nullopt;
  if (instruction.opcode() == Instruction::OPCODE_ADDRESS)
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(call.views[place].data));
  const std::vector<int64_t>& numbers = instruction.opcode() == Instruction::OPCODE_EXTENT
                                            ? call.extents[place]
                                            : call.strides[place];
  if (instruction.axis() >= numbers.size()) return std::nullopt;
  return numbers[instruction.axis()];
}

RunError ToRunError(const intent_error& error, const Manifest& manifest) {
  RunError result;
  result.set_kind(KindOf(error.status));
  if (error.ordinal != 0xffffffffu) result.set_ordinal(error.ordinal);
  if (error.parameter >= 0) {
    int view = 0;
    for (int i = 0; i < manifest.parameters_size(); ++i) {
      if (!manifest.parameters(i).has_view()) continue;
      if (view++ == error.parameter) result.set_parameter(i);
    }
  }
  if (error.axis >= 0) result.set_axis(error.axis);
  result.set_value(error.value);
  result.set_limit(error.limit);
  result.set_message(Describe(result));
  return result;
}

}  // namespace intent
