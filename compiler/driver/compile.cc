#include "compiler/driver/compile.h"

#include "compiler/cpu/emit.h"
#include "compiler/cpu/link_shared_object.h"
#include "compiler/driver/compile_cuda.h"
#include "compiler/driver/lowering.h"
#include "compiler/driver/manifest.h"
#include "compiler/driver/pass_runner.h"
#include "compiler/driver/report.h"
#include "compiler/ir/codec.h"
#include "compiler/ir/print.h"
#include "compiler/lower/lower.h"
#include "compiler/specialize/specialize.h"
#include "compiler/tile/print.h"
#include "compiler/verify/verify.h"

namespace intent {
namespace {

constexpr char kEntrySymbol[] = "intent_kernel";

lower::LowerOptions LoweringFor(const CompileInput& input, const PassRunner& passes) {
  const CpuFacts facts = FactsOf(input.target);
  const bool optimise = input.options.opt_level > 0;
  lower::LowerOptions options;
  options.bounds = input.options.bounds;
  options.vector_bits = optimise && passes.Enabled("vectorize") ? facts.vector_bits : 0;
  options.vector_registers = facts.vector_registers;
  options.materialize_all = !optimise || !passes.Enabled("fuse");
  options.parallel = optimise && passes.Enabled("parallel");
  options.row_groups = optimise && passes.Enabled("row_groups");
  options.packed_contractions = optimise && passes.Enabled("packed_contractions");
  options.owned_axes = optimise && passes.Enabled("owned_axes");
  options.fuse_multiply_add = optimise && facts.fma && passes.Enabled("fuse_multiply_add");
  return options;
}

// What is left of a module between passes.
PassRunner::Result ModuleResult(const std::unique_ptr<Module>& module,
                                const Diagnostics& diagnostics, bool specialized) {
  return {.verify =
              [&module, &diagnostics, specialized] {
                if (module == nullptr || !diagnostics.empty()) return std::string();
                const Diagnostics found = Verify(*module, {.specialized = specialized});
                return found.empty() ? std::string() : ToString(found[0]);
              },
          .print = [&module] { return module == nullptr ? std::string() : PrintModule(*module); }};
}

}  // namespace

absl::StatusOr<std::variant<Prepared, Diagnostics>> Prepare(const CompileInput& input,
                                                            const std::atomic<bool>* cancel) {
  PassRunner passes(input.options, cancel);
  Diagnostics diagnostics;
  std::unique_ptr<Module> module;
  // Bytes become a module that is structurally sound.
  absl::Status status = passes.Run("decode",
                                   [&] {
                                     DecodedModule decoded = DecodeModule(input.module);
                                     module = std::move(decoded.module);
                                     diagnostics = std::move(decoded.diagnostics);
                                     return absl::OkStatus();
                                   },
                                   {.print = ModuleResult(module, diagnostics, false).print});
  if (!status.ok()) return status;
  if (module == nullptr) return diagnostics;
  // From here on it is KIR: every rule of the language that does not need bound constexprs holds.
  status = passes.Run("verify", [&] {
    diagnostics = Verify(*module);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  if (!diagnostics.empty()) return diagnostics;
  // No constexpr, call or helper is left; shapes have been checked again.
  status = passes.Run(
      "specialize",
      [&] {
        diagnostics = Specialize(module.get(), input.bindings);
        return absl::OkStatus();
      },
      ModuleResult(module, diagnostics, true));
  if (!status.ok()) return status;
  if (!diagnostics.empty()) return diagnostics;
  // Programs that mean the same by rename, dead code or helper order have equal bytes.
  Prepared prepared;
  status = passes.Run(
      "canonicalize",
      [&] {
        Canonicalize(module.get());
        prepared.canonical_kir = EncodeCanonical(*module);
        NumberOperations(module.get(), nullptr);
        return absl::OkStatus();
      },
      ModuleResult(module, diagnostics, true));
  if (!status.ok()) return status;
  prepared.module = std::move(module);
  prepared.dump = passes.dump();
  prepared.times = std::move(passes.times());
  return prepared;
}

absl::StatusOr<std::variant<CompiledArtifact, Diagnostics>> Compile(const CompileInput& input,
                                                                    Prepared prepared,
                                                                    const std::atomic<bool>* cancel,
                                                                    const CompileTools& tools) {
  PassRunner passes(input.options, cancel);
  CompiledArtifact artifact;
  const Module& module = *prepared.module;
  if (input.target.kind == TargetKind::kCuda) {
    return CompileForCuda(input, std::move(prepared), cancel, tools, passes);
  }
  if (input.target.kind == TargetKind::kInterpreter) {
    artifact.manifest =
        MakeManifest(module, input.target, InterpreterReport(),
                     {.fingerprint = CompilerFingerprint(), .numerics = input.options.numerics});
    artifact.payloads.emplace_back("kir", prepared.canonical_kir);
    artifact.times = std::move(prepared.times);
    return artifact;
  }
  const lower::LowerOptions lowering = LoweringFor(input, passes);
  lower::Lowered lowered;
  absl::Status status = LowerAndVerify(module, lowering, passes, &lowered);
  if (!status.ok()) return status;
  // An object with the C ABI of intent_call.h.
  cpu::CpuObject object;
  status = passes.Run("emit", [&] {
    absl::StatusOr<cpu::CpuObject> emitted = cpu::EmitObject(*lowered.program, input.target,
                                                             {.opt_level = input.options.opt_level,
                                                              .keep_ir = input.options.keep_source,
                                                              .cancel = cancel});
    if (!emitted.ok()) return emitted.status();
    object = *std::move(emitted);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  passes.AddTime("llvm_ir", object.ir_nanoseconds);
  passes.AddTime("llvm_passes", object.passes_nanoseconds);
  passes.AddTime("llvm_codegen", object.codegen_nanoseconds);
  // The same code for whoever has no linker: a loader maps it, a C program links it.
  std::string shared_object;
  status = passes.Run("link", [&] {
    absl::StatusOr<std::string> linked =
        cpu::LinkSharedObject(object.object, input.target, kEntrySymbol);
    if (!linked.ok()) return linked.status();
    shared_object = *std::move(linked);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;

  const Report report = CompileReport(module, input, lowering, lowered);
  artifact.manifest =
      MakeManifest(module, input.target, report,
                   {.entry_symbol = kEntrySymbol, .fingerprint = CompilerFingerprint()});
  artifact.payloads.emplace_back("object", std::move(object.object));
  artifact.payloads.emplace_back("shared_object", std::move(shared_object));
  artifact.payloads.emplace_back("kir", std::move(prepared.canonical_kir));
  artifact.payloads.emplace_back("report", ToString(report));
  if (input.options.keep_source) {
    artifact.payloads.emplace_back("tile", tile::Print(*lowered.program));
    artifact.payloads.emplace_back("llvm", std::move(object.llvm_ir));
    artifact.payloads.emplace_back("passes", prepared.dump + passes.dump());
  }
  artifact.times = std::move(prepared.times);
  for (StageTime& time : passes.times()) artifact.times.push_back(std::move(time));
  return artifact;
}

}  // namespace intent
