#include "compiler/driver/compile_cuda.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/cuda/device_library.h"
#include "compiler/cuda/emit.h"
#include "compiler/cuda/nvrtc.h"
#include "compiler/cuda/resources.h"
#include "compiler/driver/lowering.h"
#include "compiler/driver/manifest.h"
#include "compiler/driver/report.h"
#include "compiler/tile/print.h"

namespace intent {
namespace {

lower::LowerOptions LoweringFor(const Module& module, const CompileInput& input,
                                const PassRunner& passes) {
  const bool optimise = input.options.opt_level > 0;
  lower::LowerOptions options = cuda::Lowering(module);
  options.bounds = input.options.bounds;
  if (!optimise || !passes.Enabled("vectorize")) options.vector_bits = 0;
  options.materialize_all = !optimise || !passes.Enabled("fuse");
  options.parallel = optimise && passes.Enabled("parallel");
  options.row_groups = optimise && passes.Enabled("row_groups");
  options.packed_contractions = optimise && passes.Enabled("packed_contractions");
  options.owned_axes = optimise && passes.Enabled("owned_axes");
  options.fuse_multiply_add = optimise && passes.Enabled("fuse_multiply_add");
  return options;
}

cuda::EmitOptions EmitOptionsFor(const Module& module, const CompileOptions& options) {
  cuda::EmitOptions result{.resident_blocks = cuda::ResidentBlocks(module),
                           .unroll = options.opt_level == 2};
  const std::vector<Parameter>& parameters = module.kernel_function().parameters;
  for (uint32_t i = 0; i < parameters.size(); ++i) {
    (parameters[i].type.IsView() ? result.view_parameters : result.scalar_parameters).push_back(i);
  }
  return result;
}

Diagnostic NotCompiledFor(const Target& target, const cuda::Nvrtc* nvrtc) {
  const std::string why = nvrtc == nullptr
                              ? std::string("needs NVRTC, and there is none here")
                              : absl::StrCat("is not known to NVRTC ", nvrtc->VersionText());
  return Diagnostic{.code = DiagnosticCode::kUnknownTarget,
                    .message = absl::StrCat(target.ToString(), " ", why)};
}

// One line for each part of the budget that the kernel exceeds.
Diagnostics OverBudget(const ResourceBudget& budget, const cuda::KernelResources& resources) {
  Diagnostics diagnostics;
  const auto compare = [&](const char* what, uint32_t taken, std::optional<uint32_t> allowed) {
    if (!allowed.has_value() || taken <= *allowed) return;
    diagnostics.push_back(Diagnostic{.code = DiagnosticCode::kOverBudget,
                                     .message = absl::StrCat("the kernel takes ", taken, " ", what,
                                                             "; its budget is ", *allowed)});
  };
  compare("registers a thread", resources.registers, budget.registers);
  compare("bytes of local memory a thread", resources.local_bytes, budget.local_bytes);
  compare("bytes of static shared memory a block", resources.shared_bytes, budget.shared_bytes);
  if (!diagnostics.empty()) diagnostics[0].notes.push_back({.text = cuda::Describe(resources)});
  return diagnostics;
}

compile::v1::Resources ToWire(const cuda::KernelResources& resources) {
  compile::v1::Resources wire;
  wire.set_registers(resources.registers);
  wire.set_shared_bytes(resources.shared_bytes);
  wire.set_local_bytes(resources.local_bytes);
  wire.set_spill_store_bytes(resources.spill_store_bytes);
  wire.set_spill_load_bytes(resources.spill_load_bytes);
  return wire;
}

}  // namespace

absl::StatusOr<std::variant<CompiledArtifact, Diagnostics>> CompileForCuda(
    const CompileInput& input, Prepared prepared, const std::atomic<bool>* cancel,
    const CompileTools& tools, PassRunner& passes) {
  const Module& module = *prepared.module;
  const CompileOptions& options = input.options;
  if (tools.nvrtc == nullptr || !tools.nvrtc->Knows(input.target.base)) {
    return Diagnostics{NotCompiledFor(input.target, tools.nvrtc)};
  }
  const lower::LowerOptions lowering = LoweringFor(module, input, passes);
  lower::Lowered lowered;
  absl::Status status = LowerAndVerify(module, lowering, passes, &lowered);
  if (!status.ok()) return status;
  cuda::EmitOptions emission = EmitOptionsFor(module, options);
  emission.architecture = input.target.base;
  // Rows that turn out to be short have code of their own.
  if (options.opt_level == 2 && passes.Enabled("short_rows")) {
    for (const cuda::SpecialLowering& special : cuda::SpecialLowerings(module, lowering, lowered)) {
      lower::Lowered rows;
      status = LowerAndVerify(module, special.options, passes, &rows);
      if (!status.ok()) return status;
      if (special.options.row_tiles > 0 && rows.held_rows == 0) continue;
      emission.special.push_back({special.suffix, std::move(rows)});
    }
  }
  // CUDA C++ on our device library.
  cuda::CudaSource source;
  status = passes.Run("emit", [&] {
    absl::StatusOr<cuda::CudaSource> emitted = cuda::EmitCuda(*lowered.program, emission);
    if (!emitted.ok()) return emitted.status();
    source = *std::move(emitted);
    return absl::OkStatus();
  });
  if (absl::IsUnimplemented(status)) {
    return Diagnostics{Diagnostic{
        .code = DiagnosticCode::kUnsupportedOperation,
        .message = absl::StrCat(input.target.ToString(), ": ", std::string(status.message()))}};
  }
  if (!status.ok()) return status;
  // A cubin, and what it takes.
  cuda::NvrtcResult code;
  std::map<std::string, cuda::KernelResources> resources;  // by entry
  status = passes.Run("nvrtc", [&] {
    absl::StatusOr<cuda::NvrtcResult> compiled =
        tools.nvrtc->Compile({.source = source.text,
                              .headers = cuda::DeviceLibrary(),
                              .architecture = input.target.base,
                              .quick = options.opt_level < 2,
                              .cancel = cancel});
    if (!compiled.ok()) return compiled.status();
    code = *std::move(compiled);
    for (const compile::v1::Variant& variant : source.variants) {
      const std::string& entry = variant.entry_symbol();
      absl::StatusOr<cuda::KernelResources> taken = cuda::ReadResources(code.log, entry);
      if (!taken.ok()) return taken.status();
      resources[entry] = *taken;
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  for (const auto& [entry, taken] : resources) {
    if (Diagnostics over = OverBudget(options.budget, taken); !over.empty()) return over;
  }

  ManifestFacts facts{.entry_symbol = source.entry, .fingerprint = CudaFingerprint(*tools.nvrtc)};
  const int minimum = cuda::MinimumCuda(tools.nvrtc->major_version(), input.target.base);
  facts.minimum_cuda = static_cast<uint32_t>(minimum);
  facts.variants = std::move(source.variants);
  for (compile::v1::Variant& variant : facts.variants) {
    *variant.mutable_resources() = ToWire(resources.at(variant.entry_symbol()));
    variant.mutable_resources()->set_max_threads(cuda::kBlockThreads);
  }
  Report report = CompileReport(module, input, lowering, lowered);
  for (const auto& [entry, taken] : resources) {
    const std::string which =
        entry == source.entry ? "" : entry.substr(source.entry.size() + 1) + ": ";
    report.push_back({ReportTopic::kCode, kNoOrdinal, which + cuda::Describe(taken)});
  }
  report.push_back(
      {ReportTopic::kCode, kNoOrdinal,
       absl::StrCat("made by NVRTC ", tools.nvrtc->VersionText(), "; a driver of CUDA ",
                    minimum / 1000, ".", minimum % 1000 / 10, " or newer loads it")});
  CompiledArtifact artifact;
  artifact.manifest = MakeManifest(module, input.target, report, facts);
  artifact.payloads.emplace_back("cubin", std::move(code.cubin));
  artifact.payloads.emplace_back("kir", std::move(prepared.canonical_kir));
  artifact.payloads.emplace_back("report", ToString(report));
  if (options.keep_ptx) artifact.payloads.emplace_back("ptx", std::move(code.ptx));
  if (options.keep_source) {
    artifact.payloads.emplace_back("cuda", std::move(source.text));
    artifact.payloads.emplace_back("tile", tile::Print(*lowered.program));
    artifact.payloads.emplace_back("passes", prepared.dump + passes.dump());
  }
  artifact.times = std::move(prepared.times);
  for (StageTime& time : passes.times()) artifact.times.push_back(std::move(time));
  return artifact;
}

}  // namespace intent
