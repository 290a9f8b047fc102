#pragma once

// Layouts of a call's arguments: elements, symbols, and simpler calls made from them.

#include <map>
#include <optional>

#include "tests/support/kernel_runner.h"

namespace intent::testing {

int64_t ElementCount(const ViewPlace& place);
// Where the element at row-major position `linear` lies in its allocation, in elements.
int64_t ElementAt(const ViewPlace& place, int64_t linear);

// The symbols that extents of views are, and their values in this call.
std::map<uint32_t, int64_t> SymbolsOf(const Function& kernel, const CallData& data);

// Every view in an allocation of its own, dense, with the same elements.
CallData Densified(const CallData& data);

// Dense views with other values of the symbols: elements at coordinates that both have are kept,
// others are ones. Nothing if an extent has no value.
std::optional<CallData> Resized(const Function& kernel, const CallData& data,
                                const std::map<uint32_t, int64_t>& symbols);

}  // namespace intent::testing
