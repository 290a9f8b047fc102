#include "server/compile_request.h"

#include <algorithm>
#include <bit>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/target/target.h"
#include "proto/protocol_version.h"
#include "server/strict.h"

namespace intent {
namespace {

using cache::Key;
using cache::KeyBuilder;
using compile::v1::Binding;
using compile::v1::CompileOptions;
using compile::v1::CompileRequest;

absl::Status Exceeds(const char* what, uint64_t value, uint64_t limit) {
  return absl::ResourceExhaustedError(absl::StrCat(what, " is ", value, ", the limit ", limit));
}

absl::Status CheckBindings(const CompileRequest& request) {
  if (request.bindings_size() > RequestLimits::kBindings) {
    return Exceeds("the number of bindings", request.bindings_size(), RequestLimits::kBindings);
  }
  std::set<uint32_t> seen;
  for (const Binding& binding : request.bindings()) {
    if (binding.value_case() == Binding::VALUE_NOT_SET) {
      return absl::InvalidArgumentError(
          absl::StrCat("the binding of constexpr ", binding.parameter(), " has no value"));
    }
    if (!seen.insert(binding.parameter()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("constexpr ", binding.parameter(), " is bound twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const CompileOptions& options) {
  if (options.opt_level() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("opt_level is ", options.opt_level(), ", not 0, 1 or 2"));
  }
  if (options.disabled_passes_size() > RequestLimits::kDisabledPasses) {
    return Exceeds("the number of disabled passes", options.disabled_passes_size(),
                   RequestLimits::kDisabledPasses);
  }
  for (const std::string& name : options.disabled_passes()) {
    if (name.size() > RequestLimits::kNameBytes) {
      return Exceeds("the length of a pass name", name.size(), RequestLimits::kNameBytes);
    }
  }
  return absl::OkStatus();
}

void AddBinding(const Binding& binding, KeyBuilder& key) {
  key.AddNumber("binding", binding.parameter());
  switch (binding.value_case()) {
    case Binding::kIntValue:
      key.AddNumber("int", static_cast<uint64_t>(binding.int_value()));
      break;
    case Binding::kFloatValue:
      key.AddNumber("float", std::bit_cast<uint64_t>(binding.float_value()));
      break;
    case Binding::kBoolValue:
      key.AddNumber("bool", binding.bool_value());
      break;
    case Binding::kEnumValue:
      key.AddNumber("enum", binding.enum_value().enum_type());
      key.AddNumber("member", static_cast<uint64_t>(binding.enum_value().value()));
      break;
    case Binding::VALUE_NOT_SET:
      break;
  }
}

// No bound is not a bound of 0.
void AddBudget(const compile::v1::ResourceBudget& budget, KeyBuilder& key) {
  if (budget.has_registers()) key.AddNumber("budget_registers", budget.registers());
  if (budget.has_local_bytes()) key.AddNumber("budget_local_bytes", budget.local_bytes());
  if (budget.has_shared_bytes()) key.AddNumber("budget_shared_bytes", budget.shared_bytes());
}

// An absent option equals its default, so that both give one key.
void AddRest(const CompileOptions& options, const std::string& target,
             const std::string& fingerprint, KeyBuilder& key) {
  key.AddBytes("target", target);
  key.AddNumber("numerics", options.numerics());
  key.AddNumber("online_reduction",
                options.has_online_reduction() ? options.online_reduction() : 1);
  key.AddNumber("bounds", options.bounds());
  key.AddNumber("opt_level", options.has_opt_level() ? options.opt_level() : 2);
  const std::set<std::string> disabled(options.disabled_passes().begin(),
                                       options.disabled_passes().end());
  for (const std::string& pass : disabled) key.AddBytes("disabled_pass", pass);
  key.AddNumber("keep_source", options.keep_source());
  key.AddNumber("keep_ptx", options.keep_ptx());
  AddBudget(options.resource_budget(), key);
  key.AddBytes("fingerprint", fingerprint);
  key.AddBytes("tenant", "");
}

}  // namespace

absl::Status CheckClient(const compile::v1::ClientInfo& client) {
  if (client.protocol_major() != kProtocolMajor || client.protocol_minor() > kProtocolMinor ||
      client.protocol_minor() < kOldestProtocolMinor) {
    return absl::FailedPreconditionError(
        absl::StrCat("protocol ", client.protocol_major(), ".", client.protocol_minor(),
                     " is not served; this daemon serves ", kProtocolMajor, ".",
                     kOldestProtocolMinor, " to ", kProtocolMajor, ".", kProtocolMinor));
  }
  if (client.producer().size() > RequestLimits::kNameBytes) {
    return Exceeds("the length of client.producer", client.producer().size(),
                   RequestLimits::kNameBytes);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> CheckCompileRequest(const CompileRequest& request) {
  if (absl::Status status = CheckKnown(request); !status.ok()) return status;
  if (absl::Status status = CheckClient(request.client()); !status.ok()) return status;
  if (request.module().empty()) return absl::InvalidArgumentError("the request has no module");
  if (request.module().size() > RequestLimits::kModuleBytes) {
    return Exceeds("the size of the module", request.module().size(), RequestLimits::kModuleBytes);
  }
  if (request.source_map().size() > RequestLimits::kSourceMapBytes) {
    return Exceeds("the size of the source map", request.source_map().size(),
                   RequestLimits::kSourceMapBytes);
  }
  if (request.inline_payloads_size() > RequestLimits::kInlinePayloads) {
    return Exceeds("the number of inline payloads", request.inline_payloads_size(),
                   RequestLimits::kInlinePayloads);
  }
  if (absl::Status status = CheckBindings(request); !status.ok()) return status;
  if (absl::Status status = CheckOptions(request.options()); !status.ok()) return status;
  if (request.target().size() > 4 * RequestLimits::kNameBytes) {
    return Exceeds("the length of the target", request.target().size(),
                   4 * RequestLimits::kNameBytes);
  }
  const absl::StatusOr<Target> target = ParseTarget(request.target());
  if (!target.ok()) return absl::FailedPreconditionError(target.status().message());
  return target->ToString();
}

Key RequestKey(const CompileRequest& request, const std::string& target,
               const std::string& fingerprint) {
  KeyBuilder key;
  key.AddBytes("kind", "request.1");
  key.AddHashed("module", request.module());
  std::vector<const Binding*> bindings;
  for (const Binding& binding : request.bindings()) bindings.push_back(&binding);
  std::sort(bindings.begin(), bindings.end(),
            [](const Binding* a, const Binding* b) { return a->parameter() < b->parameter(); });
  for (const Binding* binding : bindings) AddBinding(*binding, key);
  AddRest(request.options(), target, fingerprint, key);
  return key.Build();
}

Key CanonicalKey(const std::string& canonical_kir, const CompileOptions& options,
                 const std::string& target, const std::string& fingerprint) {
  KeyBuilder key;
  key.AddBytes("kind", "canonical.1");
  key.AddHashed("kir", canonical_kir);
  AddRest(options, target, fingerprint, key);
  return key.Build();
}

worker::v1::Prepare ToPrepare(const CompileRequest& request, const std::string& target) {
  worker::v1::Prepare prepare;
  prepare.set_module(request.module());
  *prepare.mutable_bindings() = request.bindings();
  prepare.set_target(target);
  *prepare.mutable_options() = request.options();
  return prepare;
}

}  // namespace intent
