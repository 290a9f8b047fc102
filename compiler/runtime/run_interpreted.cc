#include "compiler/runtime/run_interpreted.h"

#include <utility>
#include <vector>

#include "compiler/interp/interp.h"
#include "compiler/ir/dtype.h"

namespace intent {
namespace {

using execute::v1::RunError;

RunError::Kind KindOf(interp::ErrorKind kind) {
  switch (kind) {
    case interp::ErrorKind::kBadArguments:
      return RunError::KIND_BAD_ARGUMENT;
    case interp::ErrorKind::kOutOfBounds:
      return RunError::KIND_OUT_OF_BOUNDS;
    case interp::ErrorKind::kBadShape:
      return RunError::KIND_BAD_SHAPE;
    case interp::ErrorKind::kBadValue:
    case interp::ErrorKind::kUnsupported:
      return RunError::KIND_INVALID_VALUE;
    case interp::ErrorKind::kMemoryLimit:
    case interp::ErrorKind::kStepLimit:
    case interp::ErrorKind::kDepthLimit:
      return RunError::KIND_NO_MEMORY;
    case interp::ErrorKind::kCancelled:
      return RunError::KIND_CANCELLED;
  }
  return RunError::KIND_UNSPECIFIED;
}

RunError ToWire(const interp::RuntimeError& error) {
  RunError wire;
  wire.set_kind(KindOf(error.kind));
  if (error.ordinal != kNoOrdinal) wire.set_ordinal(error.ordinal);
  if (error.parameter >= 0) wire.set_parameter(error.parameter);
  if (error.axis >= 0) wire.set_axis(error.axis);
  wire.set_value(error.value);
  wire.set_limit(error.limit);
  wire.set_message(error.message);
  return wire;
}

interp::ViewArgument ToView(const compile::v1::ViewParameter& parameter, const BoundCall& call,
                            size_t index) {
  const intent_view& bound = call.views[index];
  interp::ViewArgument view;
  view.dtype = DTypeFromName(parameter.dtype()).value_or(DType::kBool);
  view.allocation = static_cast<char*>(bound.data) + bound.low;
  view.allocation_bytes = bound.high - bound.low;
  view.offset = -bound.low / StorageBytes(view.dtype);
  view.extents = call.extents[index];
  view.strides = call.strides[index];
  return view;
}

}  // namespace

std::optional<RunError> RunInterpreted(const Module& module, const compile::v1::Manifest& manifest,
                                       const BoundCall& call, const std::atomic<bool>* cancel) {
  std::vector<interp::Argument> arguments;
  size_t view = 0, scalar = 0;
  for (const compile::v1::Parameter& parameter : manifest.parameters()) {
    if (parameter.has_view()) {
      arguments.push_back(ToView(parameter.view(), call, view++));
    } else {
      const DType dtype = DTypeFromName(parameter.scalar().dtype()).value_or(DType::kBool);
      arguments.push_back(ScalarValue{dtype, call.scalars[scalar++]});
    }
  }
  interp::Options options;
  options.cancel = cancel;
  const std::optional<interp::RuntimeError> error = interp::Run(module, arguments, options);
  if (!error.has_value()) return std::nullopt;
  return ToWire(*error);
}

}  // namespace intent
