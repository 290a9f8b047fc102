#include "compiler/interp/machine.h"

#include <cfenv>
#include <utility>

#include "compiler/interp/checked_run.h"
#include "compiler/interp/law_check.h"
#include "compiler/interp/liveness.h"
#include "compiler/numerics/scalar.h"

namespace intent::interp {
namespace {

std::string Text(int64_t value) { return std::to_string(value); }

std::string Place(size_t parameter, size_t axis) {
  return "axis " + std::to_string(axis) + " of parameter " + std::to_string(parameter);
}

// The parameter and axis that gave a symbol its value.
struct Binding {
  int64_t value;
  size_t parameter, axis;
};

// Rounding to nearest with subnormals, whatever mode the calling thread is in.
class FloatEnvironment {
 public:
  FloatEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnvironment() { std::fesetenv(&saved_); }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  std::fenv_t saved_;
};

RuntimeError ArgumentError(size_t parameter, std::string message, int32_t axis = -1) {
  return {.kind = ErrorKind::kBadArguments,
          .parameter = static_cast<int32_t>(parameter),
          .axis = axis,
          .message = std::move(message)};
}

// Every coordinate's element lies inside the allocation.
std::optional<RuntimeError> CheckView(size_t parameter, const Type& type,
                                      const ViewArgument& view) {
  if (view.dtype != type.dtype()) {
    return ArgumentError(parameter, "a view of " + std::string(DTypeName(view.dtype)) +
                                        " where the kernel takes " +
                                        std::string(DTypeName(type.dtype())));
  }
  const size_t rank = static_cast<size_t>(type.rank());
  if (view.extents.size() != rank || view.strides.size() != rank) {
    return ArgumentError(parameter, "a view of rank " + std::to_string(view.extents.size()) +
                                        " where the kernel takes rank " + std::to_string(rank));
  }
  bool empty = false;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (view.extents[axis] < 0) {
      return ArgumentError(parameter, "a negative extent " + Text(view.extents[axis]),
                           static_cast<int32_t>(axis));
    }
    empty |= view.extents[axis] == 0;
  }
  if (empty) return std::nullopt;
  // The lowest and highest element; both only move outwards, so a step outside is final and the
  // sums stay far from overflow.
  const __int128 elements = view.allocation_bytes / StorageBytes(type.dtype());
  __int128 low = view.offset, high = view.offset;
  bool inside = low >= 0 && high < elements;
  for (size_t axis = 0; inside && axis < rank; ++axis) {
    const __int128 reach = static_cast<__int128>(view.extents[axis] - 1) * view.strides[axis];
    (reach < 0 ? low : high) += reach;
    inside = low >= 0 && high < elements;
  }
  if (!inside) {
    return ArgumentError(parameter, "a view that leaves its allocation of " +
                                        Text(view.allocation_bytes) + " bytes");
  }
  return std::nullopt;
}

std::optional<int64_t> SymbolOf(const Extent& extent) {
  const std::vector<Extent::Term> terms = extent.Terms();
  if (terms.size() != 1 || terms[0].coefficient != 1 || terms[0].factors.size() != 1) {
    return std::nullopt;
  }
  const Extent::Factor& factor = terms[0].factors[0];
  if (factor.power != 1 || factor.atom->kind != AtomKind::kSymbol) return std::nullopt;
  return factor.atom->index;
}

}  // namespace

std::string_view NameOf(ErrorKind kind) {
  switch (kind) {
#define INTENT_RUN_ERROR(name, code, text, summary) \
  case ErrorKind::name:                             \
    return text;
#include "compiler/interp/errors.def"
#undef INTENT_RUN_ERROR
  }
  return "";
}

std::string_view CodeOf(ErrorKind kind) {
  switch (kind) {
#define INTENT_RUN_ERROR(name, code, text, summary) \
  case ErrorKind::name:                             \
    return code;
#include "compiler/interp/errors.def"
#undef INTENT_RUN_ERROR
  }
  return "";
}

std::optional<RuntimeError> Run(const Module& module, std::span<const Argument> arguments,
                                const Options& options) {
  const FloatEnvironment environment;
  return Machine(module, options).RunKernel(arguments);
}

Machine::Machine(const Module& module, const Options& options)
    : module_(module),
      options_(options),
      budget_(options.memory_limit),
      checked_(options.check ? std::make_unique<CheckedRun>(module, options) : nullptr),
      laws_(options.laws ? std::make_unique<Laws>(this) : nullptr),
      frames_(module.functions.size()),
      pointwise_(module) {}

Machine::~Machine() = default;

std::optional<RuntimeError> Machine::RunKernel(std::span<const Argument> arguments) {
  const Function& kernel = module_.kernel_function();
  if (arguments.size() != kernel.parameters.size()) {
    return RuntimeError{.message = std::to_string(arguments.size()) + " arguments for " +
                                   std::to_string(kernel.parameters.size()) + " parameters"};
  }
  frame_ = &FrameOf(module_.kernel);
  std::vector<std::optional<Binding>> bindings(kernel.symbol_count);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Type& type = kernel.parameters[i].type;
    RuntimeValue& slot = frame_->values[kernel.body.arguments[i]];
    if (const auto* scalar = std::get_if<ScalarValue>(&arguments[i])) {
      if (!type.IsScalar(scalar->dtype)) {
        return ArgumentError(i, "a scalar of " + std::string(DTypeName(scalar->dtype)) +
                                    " where the kernel takes " + type.ToString());
      }
      // Through memory: bits beyond the dtype's do not count.
      slot = numerics::LoadScalar(scalar->dtype, &scalar->bits);
      continue;
    }
    const auto& view = std::get<ViewArgument>(arguments[i]);
    if (!type.IsView()) {
      return ArgumentError(i, "a view where the kernel takes " + type.ToString());
    }
    if (auto error = CheckView(i, type, view)) return error;
    Resource resource{.dtype = view.dtype,
                      .extents = view.extents,
                      .strides = view.strides,
                      .origin = static_cast<std::byte*>(view.allocation),
                      .parameter = static_cast<int32_t>(i)};
    if (view.allocation != nullptr) resource.origin += view.offset * StorageBytes(view.dtype);
    slot = RuntimeValue(std::move(resource));
    for (size_t axis = 0; axis < view.extents.size(); ++axis) {
      const std::optional<int64_t> symbol = SymbolOf(type.shape()[axis]);
      if (!symbol || *symbol >= kernel.symbol_count) continue;
      std::optional<Binding>& binding = bindings[static_cast<size_t>(*symbol)];
      if (!binding) {
        binding = Binding{view.extents[axis], i, axis};
        frame_->symbols[static_cast<size_t>(*symbol)] = view.extents[axis];
      } else if (binding->value != view.extents[axis]) {
        return ArgumentError(i,
                             Place(i, axis) + " is " + Text(view.extents[axis]) + ", " +
                                 Place(binding->parameter, binding->axis) + " is " +
                                 Text(binding->value) + ": they must be equal",
                             static_cast<int32_t>(axis));
      }
    }
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Type& type = kernel.parameters[i].type;
    if (!type.IsView()) continue;
    const auto& view = std::get<ViewArgument>(arguments[i]);
    for (size_t axis = 0; axis < view.extents.size(); ++axis) {
      const std::optional<int64_t> expected = Evaluate(type.shape()[axis]);
      if (expected == view.extents[axis]) continue;
      return ArgumentError(i,
                           Place(i, axis) + " is " + Text(view.extents[axis]) +
                               " where the kernel takes " +
                               (expected ? Text(*expected) : type.shape()[axis].ToString()),
                           static_cast<int32_t>(axis));
    }
  }
  if (checked_ != nullptr) {
    if (auto error = CheckViews(arguments)) return error;
  }
  RunBlock(kernel.body);
  return error_;
}

void Machine::Fail(ErrorKind kind, const Op& op, std::string message, int32_t parameter,
                   int32_t axis) {
  if (failed()) return;
  error_ = RuntimeError{.kind = kind,
                        .ordinal = op.ordinal,
                        .parameter = parameter,
                        .axis = axis,
                        .message = std::move(message)};
}

bool Machine::Interrupted(const Op& op) {
  if (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed)) {
    Fail(ErrorKind::kCancelled, op, "the call was cancelled");
  } else if (options_.max_steps != 0 && steps_ > options_.max_steps) {
    Fail(ErrorKind::kStepLimit, op,
         "more than " + std::to_string(options_.max_steps) + " operations executed");
  }
  return failed();
}

Machine::Frame& Machine::FrameOf(uint32_t function) {
  std::unique_ptr<Frame>& frame = frames_[function];
  if (frame == nullptr) {
    frame = std::make_unique<Frame>();
    frame->function = module_.functions[function].get();
    frame->values.resize(frame->function->value_count());
    frame->released = LastUses(*frame->function);
  }
  frame->symbols.assign(frame->function->symbol_count, std::nullopt);
  return *frame;
}

int64_t Machine::GetIndex(const Op& op, size_t operand) const {
  return numerics::AsIndex(Get(op, operand).scalar());
}

std::optional<int64_t> Machine::Evaluate(const Extent& extent) const {
  if (extent.IsConstant()) return extent.constant();
  return extent.Evaluate([&](AtomKind kind, uint32_t index) -> std::optional<int64_t> {
    if (kind == AtomKind::kSymbol && index < frame_->symbols.size()) return frame_->symbols[index];
    if (kind == AtomKind::kValue) return numerics::AsIndex(frame_->values[index].scalar());
    return std::nullopt;
  });
}

std::optional<Shape> Machine::EvaluateShape(const Op& op, const Type& type) {
  Shape shape;
  for (const Extent& extent : type.shape()) {
    const std::optional<int64_t> value = Evaluate(extent);
    if (!value) {
      Fail(ErrorKind::kBadShape, op, "the extent " + extent.ToString() + " overflows");
      return std::nullopt;
    }
    if (*value < 0) {
      Fail(ErrorKind::kNegativeExtent, op, "a negative extent " + Text(*value));
      return std::nullopt;
    }
    shape.push_back(*value);
  }
  return shape;
}

bool Machine::BindShape(const Op& op, const Type& type, const RuntimeValue& value,
                        const std::string& place) {
  if (type.IsProduct()) {
    const auto fields = value.fields();
    for (size_t i = 0; i < fields.size(); ++i) {
      if (!BindShape(op, type.fields()[i], fields[i], place)) return false;
    }
    return true;
  }
  if (type.IsNone() || type.IsScalar()) return true;
  const Shape shape = value.shape();
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const std::optional<int64_t> symbol = SymbolOf(type.shape()[axis]);
    if (symbol && static_cast<size_t>(*symbol) < frame_->symbols.size() &&
        !frame_->symbols[static_cast<size_t>(*symbol)]) {
      frame_->symbols[static_cast<size_t>(*symbol)] = shape[axis];
      continue;
    }
    const std::optional<int64_t> expected = Evaluate(type.shape()[axis]);
    // An expression over symbols that later parameters bind is not known yet.
    if (!expected || *expected == shape[axis]) continue;
    Fail(ErrorKind::kBadShape, op,
         "axis " + std::to_string(axis) + " of " + place + " is " + Text(shape[axis]) +
             " where its type says " + Text(*expected));
    return false;
  }
  return true;
}

std::shared_ptr<Tensor> Machine::NewTensor(const Op& op, DType dtype, Shape shape) {
  int64_t bytes = StorageBytes(dtype);
  bool overflow = false, empty = false;
  for (int64_t extent : shape) {
    INTENT_CHECK(extent >= 0) << "a negative extent";
    empty |= extent == 0;
    overflow |= __builtin_mul_overflow(bytes, extent, &bytes);
  }
  if (empty) {
    bytes = 0;
    overflow = false;
  }
  std::shared_ptr<Storage> storage;
  if (!overflow) storage = Storage::Allocate(&budget_, bytes);
  if (storage == nullptr) {
    Fail(ErrorKind::kMemoryLimit, op,
         "temporaries need more than the limit of " + Text(budget_.limit()) + " bytes");
    return nullptr;
  }
  return std::make_shared<Tensor>(dtype, std::move(shape), std::move(storage));
}

RuntimeValue Machine::Shaped(const Type& type, Tensor tensor) {
  if (type.IsScalar()) {
    INTENT_CHECK(tensor.count() == 1) << "a scalar of several elements";
    return tensor.At(0);
  }
  return tensor;
}

RuntimeValue Machine::Rebuild(const Type& type, const Leaves& leaves, size_t* next) {
  if (!type.IsProduct()) return leaves[(*next)++];
  Fields fields;
  for (const Type& field : type.fields()) fields.push_back(Rebuild(field, leaves, next));
  return RuntimeValue::Product(std::move(fields));
}

}  // namespace intent::interp
