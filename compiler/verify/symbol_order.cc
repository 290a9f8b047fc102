#include "compiler/verify/symbol_order.h"

#include <algorithm>
#include <unordered_map>

namespace intent {

std::vector<uint32_t> OrderSymbols(Function* function) {
  std::unordered_map<uint32_t, uint32_t> number;
  std::vector<uint32_t> order;
  const auto use = [&](uint32_t symbol) {
    const auto next = static_cast<uint32_t>(order.size());
    if (number.try_emplace(symbol, next).second) order.push_back(symbol);
  };
  for (const Parameter& parameter : function->parameters) {
    parameter.type.ForEachExtent([&](const Extent& extent) {
      extent.ForEachLeaf([&](AtomKind kind, uint32_t index) {
        if (kind == AtomKind::kSymbol) use(index);
      });
    });
  }
  std::vector<Op*> regions;
  ForEachOp(function->body, [&](const Op& op) {
    if (op.kind != OpKind::kRegionFold && op.kind != OpKind::kRegionScan) return;
    use(op.attr<RegionAttr>().slice_symbol);
    regions.push_back(function->value(op.result).op);
  });
  const bool ordered = number.size() == function->symbol_count &&
                       std::all_of(number.begin(), number.end(),
                                   [](const auto& entry) { return entry.first == entry.second; });
  if (ordered) return order;
  const auto map = [&](AtomKind kind, uint32_t index) -> std::optional<Extent> {
    if (kind != AtomKind::kSymbol) return std::nullopt;
    const auto found = number.find(index);
    return Extent::Symbol(found == number.end() ? index : found->second);
  };
  for (Parameter& parameter : function->parameters) {
    parameter.type = parameter.type.Substitute(map);
  }
  function->result = function->result.Substitute(map);
  for (ValueId id = 0; id < function->value_count(); ++id) {
    Value& value = function->value(id);
    value.type = value.type.Substitute(map);
  }
  for (Op* op : regions) {
    uint32_t& symbol = op->attr<RegionAttr>().slice_symbol;
    symbol = number.at(symbol);
  }
  function->symbol_count = static_cast<uint32_t>(order.size());
  return order;
}

}  // namespace intent
