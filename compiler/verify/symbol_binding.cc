#include "compiler/verify/symbol_binding.h"

namespace intent {
namespace {

// The symbol that an extent consists of.
std::optional<uint32_t> PlainSymbol(const Extent& extent) {
  const std::vector<Extent::Term> terms = extent.Terms();
  if (terms.size() != 1 || terms[0].coefficient != 1 || terms[0].factors.size() != 1) {
    return std::nullopt;
  }
  const Extent::Factor& factor = terms[0].factors[0];
  if (factor.power != 1 || factor.atom->kind != AtomKind::kSymbol) return std::nullopt;
  return factor.atom->index;
}

}  // namespace

bool SymbolBinding::Match(const Type& parameter, const Type& argument) {
  if (parameter.kind() != argument.kind() || parameter.dtype() != argument.dtype() ||
      parameter.shape().size() != argument.shape().size() ||
      parameter.fields().size() != argument.fields().size() ||
      parameter.names() != argument.names()) {
    return false;
  }
  for (size_t i = 0; i < parameter.shape().size(); ++i) {
    if (!MatchExtent(parameter.shape()[i], argument.shape()[i])) return false;
  }
  for (size_t i = 0; i < parameter.fields().size(); ++i) {
    if (!Match(parameter.fields()[i], argument.fields()[i])) return false;
  }
  return true;
}

bool SymbolBinding::MatchExtent(const Extent& parameter, const Extent& argument) {
  if (const auto symbol = PlainSymbol(parameter)) {
    return symbols_.emplace(*symbol, argument).first->second == argument;
  }
  return Apply(Type::Domain({parameter})).shape()[0] == argument;
}

Type SymbolBinding::Apply(const Type& type) const {
  return type.Substitute([&](AtomKind kind, uint32_t index) -> std::optional<Extent> {
    if (kind != AtomKind::kSymbol) return std::nullopt;
    return Find(index);
  });
}

Extent SymbolBinding::Find(uint32_t symbol) const {
  const auto bound = symbols_.find(symbol);
  return bound == symbols_.end() ? Extent::Invalid() : bound->second;
}

}  // namespace intent
