#include "server/worker/compile_worker.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "compiler/cuda/device_library.h"
#include "compiler/diag/failpoint.h"
#include "compiler/driver/compile.h"
#include "intent/worker/v1/worker.pb.h"
#include "server/worker/cancel_flag.h"

namespace intent {
namespace {

using worker::v1::FromWorker;
using worker::v1::ToWorker;

Binding ToBinding(const compile::v1::Binding& wire) {
  Binding binding;
  binding.parameter = wire.parameter();
  ConstexprValue& value = binding.value;
  switch (wire.value_case()) {
    case compile::v1::Binding::kIntValue:
      value.kind = ConstexprKind::kInt;
      value.int_value = wire.int_value();
      break;
    case compile::v1::Binding::kFloatValue:
      value.kind = ConstexprKind::kFloat;
      value.float_value = wire.float_value();
      break;
    case compile::v1::Binding::kBoolValue:
      value.kind = ConstexprKind::kBool;
      value.int_value = wire.bool_value();
      break;
    case compile::v1::Binding::kEnumValue:
      value.kind = ConstexprKind::kEnum;
      value.enum_type = wire.enum_value().enum_type();
      value.int_value = wire.enum_value().value();
      break;
    case compile::v1::Binding::VALUE_NOT_SET:
      break;
  }
  return binding;
}

absl::StatusOr<CompileInput> ToInput(worker::v1::Prepare& wire) {
  CompileInput input;
  input.module = std::move(*wire.mutable_module());
  for (const compile::v1::Binding& binding : wire.bindings()) {
    input.bindings.push_back(ToBinding(binding));
  }
  std::sort(input.bindings.begin(), input.bindings.end(),
            [](const Binding& a, const Binding& b) { return a.parameter < b.parameter; });
  absl::StatusOr<Target> target = ParseTarget(wire.target());
  if (!target.ok()) return target.status();
  input.target = *std::move(target);
  const compile::v1::CompileOptions& options = wire.options();
  input.options.numerics = options.numerics() == compile::v1::NUMERICS_RELAXED_NORMALIZATION
                               ? Numerics::kRelaxedNormalization
                               : Numerics::kSource;
  if (options.has_online_reduction()) {
    input.options.online_reduction = options.online_reduction();
  }
  input.options.bounds =
      options.bounds() == compile::v1::BOUNDS_TRUST ? Bounds::kTrust : Bounds::kGuard;
  if (options.has_opt_level()) input.options.opt_level = static_cast<int>(options.opt_level());
  input.options.disabled_passes.assign(options.disabled_passes().begin(),
                                       options.disabled_passes().end());
  std::sort(input.options.disabled_passes.begin(), input.options.disabled_passes.end());
  input.options.disabled_passes.erase(
      std::unique(input.options.disabled_passes.begin(), input.options.disabled_passes.end()),
      input.options.disabled_passes.end());
  input.options.keep_source = options.keep_source();
  input.options.keep_ptx = options.keep_ptx();
  const compile::v1::ResourceBudget& budget = options.resource_budget();
  if (budget.has_registers()) input.options.budget.registers = budget.registers();
  if (budget.has_local_bytes()) input.options.budget.local_bytes = budget.local_bytes();
  if (budget.has_shared_bytes()) input.options.budget.shared_bytes = budget.shared_bytes();
  return input;
}

FromWorker ToFrame(const absl::Status& status) {
  FromWorker frame;
  frame.mutable_failed()->set_code(static_cast<uint32_t>(status.raw_code()));
  frame.mutable_failed()->set_message(std::string(status.message()));
  return frame;
}

FromWorker ToFrame(const Diagnostics& diagnostics) {
  FromWorker frame;
  compile::v1::Diagnostics& wire = *frame.mutable_diagnosed()->mutable_diagnostics();
  for (const Diagnostic& diagnostic : diagnostics) {
    compile::v1::Diagnostic& item = *wire.add_diagnostics();
    item.set_severity(diagnostic.severity == Severity::kWarning ? compile::v1::SEVERITY_WARNING
                                                                : compile::v1::SEVERITY_ERROR);
    item.set_code(std::string(CodeText(diagnostic.code)));
    if (diagnostic.ordinal != kNoOrdinal) item.set_ordinal(diagnostic.ordinal);
    item.set_message(diagnostic.message);
    for (const DiagnosticNote& note : diagnostic.notes) {
      compile::v1::DiagnosticNote& wire_note = *item.add_notes();
      if (note.ordinal != kNoOrdinal) wire_note.set_ordinal(note.ordinal);
      wire_note.set_text(note.text);
    }
  }
  return frame;
}

class CompileWorker {
 public:
  CompileWorker(FrameChannel& channel, cuda::Nvrtc* nvrtc) : channel_(channel), nvrtc_(nvrtc) {}

  int Run(const FromWorker& hello) {
    if (!channel_.Send(hello).ok()) return 1;
    ToWorker frame;
    while (channel_.Receive(&frame).ok()) {
      if (!frame.has_prepare() || !RunTask(*frame.mutable_prepare()).ok()) return 1;
      // Between tasks, when nobody waits. An NVRTC that cannot do it reads the library each time.
      if (nvrtc_ != nullptr && nvrtc_->Knows(frame.prepare().target())) {
        (void)nvrtc_->Precompile(frame.prepare().target(), cuda::DeviceLibrary());
      }
    }
    return 0;
  }

 private:
  absl::Status RunTask(worker::v1::Prepare& request) {
    cancel_.Reset();
    INTENT_FAILPOINT_AT("prepare");
    const absl::StatusOr<CompileInput> input = ToInput(request);
    if (!input.ok()) return channel_.Send(ToFrame(input.status()));
    auto prepared = Prepare(*input, &cancel_.requested);
    if (!prepared.ok()) return channel_.Send(ToFrame(prepared.status()));
    if (const auto* diagnostics = std::get_if<Diagnostics>(&*prepared)) {
      return channel_.Send(ToFrame(*diagnostics));
    }
    INTENT_FAILPOINT_AT("prepared");
    Prepared& ready = std::get<Prepared>(*prepared);
    FromWorker answer;
    answer.mutable_prepared()->set_canonical_kir(ready.canonical_kir);
    if (absl::Status status = channel_.Send(answer); !status.ok()) return status;

    ToWorker decision;
    if (absl::Status status = channel_.Receive(&decision); !status.ok()) return status;
    if (decision.has_drop()) return absl::OkStatus();
    if (!decision.has_proceed()) return absl::InvalidArgumentError("unexpected frame");
    return Finish(*input, std::move(ready));
  }

  absl::Status Finish(const CompileInput& input, Prepared prepared) {
    INTENT_FAILPOINT_AT("compile");
    auto compiled = Compile(input, std::move(prepared), &cancel_.requested, {.nvrtc = nvrtc_});
    INTENT_FAILPOINT_AT("compiled");
    if (!compiled.ok()) return channel_.Send(ToFrame(compiled.status()));
    if (const auto* diagnostics = std::get_if<Diagnostics>(&*compiled)) {
      return channel_.Send(ToFrame(*diagnostics));
    }
    CompiledArtifact& artifact = std::get<CompiledArtifact>(*compiled);
    FromWorker answer;
    worker::v1::Compiled& wire = *answer.mutable_compiled();
    wire.set_manifest(std::move(artifact.manifest));
    for (auto& [name, bytes] : artifact.payloads) {
      compile::v1::Payload& payload = *wire.add_payloads();
      payload.set_name(name);
      payload.set_size(bytes.size());
      payload.set_data(std::move(bytes));
    }
    for (const StageTime& time : artifact.times) {
      compile::v1::StageTime& item = *wire.add_times();
      item.set_stage(time.stage);
      item.set_nanoseconds(time.nanoseconds);
    }
    return channel_.Send(answer);
  }

  FrameChannel& channel_;
  cuda::Nvrtc* const nvrtc_;
  CancelFlag& cancel_ = TaskCancelFlag();
};

}  // namespace

int RunCompileWorker(FrameChannel& channel, const FromWorker& hello, cuda::Nvrtc* nvrtc) {
  return CompileWorker(channel, nvrtc).Run(hello);
}

}  // namespace intent
