#pragma once

// Reads textual KIR. Total, as DecodeModule: any text gives a structurally sound module or
// diagnostics, within DecodeLimits. Syntax errors are E0105 and carry their place; one is reported
// per text. The result need not verify.
//
//   text      = { enum | constexpr | expr | function }
//   enum      = "enum" e<N> "{" [int {"," int}] "}"
//   constexpr = "constexpr" c<N> ":" ctype ["=" cliteral] ["fixed"]        ctype: i64 f64 bool e<N>
//   expr      = "expr" x<N> ":" ctype "=" (cliteral | "parameter" int | NAME cvalue {"," cvalue})
//   cvalue    = c<N> | x<N> | cliteral            cliteral: 3, 1.5, true, e<N>(3), bits(0x...)
//   function  = ("kernel" | "fn" f<N>) "(" [param {"," param}] ")" ["->" type] ["symbols" int]
//   block param     = %name ":" type ["alias" int] ["noalias"] block     = "{" { op } "}" op =
//   [%name "="] (form | "generic" NAME prefix operands clauses {region}) [":" type] region    = "("
//   [%name ":" type {"," ...}] ")" block type      = "none" | dtype | "tensor<" dtype "," shape ">"
//   | "tuple<" [type {"," type}] ">"
//             | "record<" field ":" type {"," ...} ">" | "view<" access "," dtype "," shape ">"
//             | "buffer<" dtype "," shape ">" | "domain<" shape ">"       shape: "[" extents "]"
//   static    = int | c<N> | x<N>                 (attribute integers; c<N> names a parameter)
//
// Forms, by operation (flags, lists and optional parts in brackets):
//   constant LITERAL ["as" dtype]           constexpr STATIC          dim %x axis N
//   unary KIND %x [approximate[=static]] [flush_to_zero[=static]]     binary KIND %a, %b ...
//   compare KIND %a, %b                     call f<N> %a, ...         transpose %x axes [1, 0]
//   view_load %v INDEX [valid %m] [fill %f] (also gather, buffer_load)
//   view_store %v INDEX = %x [valid %m]     (also buffer_store, scatter_unique)
//   scatter_reduce %v INDEX = %x [captures(%c, ...)] COMBINE
//   atomic_load %v INDEX order ORDER        atomic_store %v INDEX = %x order ORDER
//   atomic_rmw KIND %v INDEX = %x order ORDER    atomic_cas %v INDEX = %expected, %desired order
//   ... subregion %d [%a:%b]                    parallel %i, ... = %d BLOCK for %i, ... = %d
//   [carry(%c = %init : type, ...)] BLOCK while (%c = %init : type, ...) BLOCK do (%c : type, ...)
//   BLOCK if %c BLOCK else BLOCK                  constexpr_if STATIC BLOCK else BLOCK reduce %v,
//   %identity, ... axes [0] COMBINE   scan %v, %identity, ... axis 0 [inclusive] [reverse] COMBINE
//   region_fold %s, %identity, ... axis 0 slice s<N> summarize REGION combine REGION
//   region_scan (the same) apply REGION emit REGION
//   contract %a, %b reduce [(1, 0)] [batch [(0, 0)]]
//   everything else: NAME %a, %b
//   INDEX   = "[" ":" | static | %i | "region" %d | %a:%b | "new" , ... "]"
//   COMBINE = "combine" (add | maximum | minimum | and | or | arg_max | REGION)
//
// `generic` is what printing falls back to for operations whose operands or regions do not fit
// their form. Line comments start with //. Names of values are %[A-Za-z0-9_]+, local to a function.

#include <memory>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/ir/decode_limits.h"
#include "compiler/ir/module.h"

namespace intent {

// Either a module with its source map, or null and a diagnostic with a span into the text.
struct ParsedModule {
  std::unique_ptr<Module> module;
  SourceMap source_map;  // spans of operations point into the text, file 0 is `file`
  std::vector<Diagnostic> diagnostics;
  bool ok() const { return module != nullptr; }
};

ParsedModule ParseModule(std::string_view text, std::string_view file = "module.kir",
                         const DecodeLimits& limits = {});

}  // namespace intent
