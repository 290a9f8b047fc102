#include "compiler/runtime/run_interpreted.h"

#include <utility>
#include <vector>

#include "compiler/interp/interp.h"
#include "compiler/ir/dtype.h"
#include "compiler/target/target.h"

namespace intent {
namespace {

using execute::v1::RunError;

RunError::Kind KindOf(interp::ErrorKind kind) {
  using interp::ErrorKind;
  switch (kind) {
    case ErrorKind::kBadArguments:
      return RunError::KIND_BAD_ARGUMENT;
    case ErrorKind::kOutOfBounds:
    case ErrorKind::kSubregion:
    case ErrorKind::kHistogramValue:
      return RunError::KIND_OUT_OF_BOUNDS;
    case ErrorKind::kBadShape:
    case ErrorKind::kHistogramBins:
      return RunError::KIND_BAD_SHAPE;
    case ErrorKind::kNegativeExtent:
      return RunError::KIND_NEGATIVE_EXTENT;
    case ErrorKind::kOverlap:
      return RunError::KIND_BAD_OVERLAP;
    case ErrorKind::kMemoryLimit:
    case ErrorKind::kStepLimit:
    case ErrorKind::kDepthLimit:
      return RunError::KIND_NO_MEMORY;
    case ErrorKind::kCancelled:
      return RunError::KIND_CANCELLED;
    case ErrorKind::kUnsupported:
    case ErrorKind::kSparseMetadata:
    case ErrorKind::kAssumption:
    case ErrorKind::kUnwrittenRead:
    case ErrorKind::kRepeatedDestination:
    case ErrorKind::kCollidingStrides:
    case ErrorKind::kRace:
    case ErrorKind::kAtomicRace:
    case ErrorKind::kDivisionByZero:
    case ErrorKind::kDivisionOverflow:
    case ErrorKind::kShiftAmount:
    case ErrorKind::kNegativeExponent:
    case ErrorKind::kCastRange:
    case ErrorKind::kFloatRange:
    case ErrorKind::kNegativeCounter:
    case ErrorKind::kQuantized:
    case ErrorKind::kRelaxed:
    case ErrorKind::kIdentityLaw:
    case ErrorKind::kAssociativeLaw:
    case ErrorKind::kCommutativeLaw:
    case ErrorKind::kSummaryLaw:
    case ErrorKind::kActionLaw:
    case ErrorKind::kEmitLaw:
      return RunError::KIND_INVALID_VALUE;
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
  wire.set_code(std::string(interp::CodeOf(error.kind)));
  if (error.other != kNoOrdinal) wire.set_other_ordinal(error.other);
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
  if (const absl::StatusOr<Target> target = ParseTarget(manifest.target()); target.ok()) {
    options.check = target->Has("check");
    options.laws = target->Has("laws");
  }
  options.relaxed_normalization =
      manifest.numerics() == compile::v1::NUMERICS_RELAXED_NORMALIZATION;
  const std::optional<interp::RuntimeError> error = interp::Run(module, arguments, options);
  if (!error.has_value()) return std::nullopt;
  return ToWire(*error);
}

}  // namespace intent
