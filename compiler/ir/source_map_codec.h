#pragma once

// The wire form of a source map (kir.proto) to and from memory. Decoding is total and bounded, as
// in codec.h; a source map holds an author's text and is never part of a key.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/ir/module.h"

namespace intent {

struct SourceMapLimits {
  size_t bytes = 16u << 20;
  size_t objects = 400'000;  // spans, names and enums together
  size_t text_bytes = 4096;  // of one name or file
};

// Either a map, or nothing and at least one diagnostic (E0101, E0102, E0901).
struct DecodedSourceMap {
  std::optional<SourceMap> map;
  std::vector<Diagnostic> diagnostics;
  bool ok() const { return map.has_value(); }
};

DecodedSourceMap DecodeSourceMap(std::string_view bytes, const SourceMapLimits& limits = {});

// Deterministic. Names that are not UTF-8 are written with their offending bytes replaced by '?'.
std::string EncodeSourceMap(const SourceMap& map);

}  // namespace intent
