#include "compiler/specialize/specialize.h"

#include "compiler/specialize/inline.h"
#include "compiler/verify/verify.h"

namespace intent {

std::vector<Diagnostic> Specialize(Module* module, const std::vector<Binding>& bindings) {
  DiagnosticSink sink;
  const auto parameters = specialize::BindParameters(*module, bindings, &sink);
  if (!parameters) return sink.Take();
  const auto nodes = specialize::EvaluateNodes(*module, *parameters);
  std::unique_ptr<Function> kernel = specialize::InlineKernel(*module, *parameters, nodes, &sink);
  if (kernel == nullptr) return sink.Take();
  module->functions.clear();
  module->functions.push_back(std::move(kernel));
  module->kernel = 0;
  module->constexprs.clear();
  module->constexpr_nodes.clear();
  module->enums.clear();
  return Verify(*module, {.specialized = true});
}

}  // namespace intent
