// Every operation on every dtype: what seed 000 and language.md 6 to 12 admit verifies, the rest is
// refused with its code. The tables are written from those pages, not from the verifier.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "compiler/ir/parse.h"
#include "compiler/verify/verify.h"

namespace intent {
namespace {

// Names of sets of dtypes, and of single dtypes, in the tables.
const std::vector<std::pair<std::string, std::string>>& Sets() {
  static const std::vector<std::pair<std::string, std::string>> sets = {
      {"signed", "i8 i16 i32 i64"},
      {"unsigned", "u8 u16 u32 u64"},
      {"float", "f16 bf16 f32 f64 f8e4m3fn f8e5m2"},
      // Of the arithmetic layer: values only.
      {"wide", "i4 i128 u128"},
      {"narrow", "f8e4m3 f8e4m3fnuz f8e4m3b11fnuz f8e8m0fnu f6e2m3fn f6e3m2fn f4e2m1fn"},
      {"integers", "index signed unsigned"},  // that memory holds
      {"numbers", "integers float"},
      {"addressable", "bool numbers"},
      {"any_integer", "integers wide"},
      {"any_float", "float narrow"},
      {"any_number", "any_integer any_float"},
      {"all", "bool any_number"},
  };
  return sets;
}

std::vector<std::string> Expand(const std::string& names) {
  std::vector<std::string> dtypes;
  std::istringstream words(names);
  for (std::string word; words >> word;) {
    const auto set = std::find_if(Sets().begin(), Sets().end(),
                                  [&](const auto& entry) { return entry.first == word; });
    const std::vector<std::string> found =
        set == Sets().end() ? std::vector<std::string>{word} : Expand(set->second);
    dtypes.insert(dtypes.end(), found.begin(), found.end());
  }
  return dtypes;
}

bool Holds(const std::string& set, const std::string& dtype) {
  const std::vector<std::string> dtypes = Expand(set);
  return std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end();
}

std::string Replace(std::string text, std::string_view what, const std::string& with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
  return text;
}

// The codes of a module's errors, each once; empty if it verifies.
std::string Codes(const std::string& text) {
  const ParsedModule parsed = ParseModule(text);
  const std::vector<Diagnostic> found = parsed.ok() ? Verify(*parsed.module) : parsed.diagnostics;
  std::string codes;
  for (const Diagnostic& diagnostic : found) {
    const std::string code(CodeText(diagnostic.code));
    if (codes.find(code) == std::string::npos) codes += (codes.empty() ? "" : " ") + code;
  }
  return codes;
}

// `operation` with @ for the dtype of scalars %a, %b and tensors %x, %y, and # for that of %c, %z.
// %m is a tensor of bool, %at one of index, %i an index.
std::string Values(const std::string& operation, const std::string& dtype,
                   const std::string& other) {
  std::string text = R"(
kernel (%p: i32, %i: index, %t: bool, %seed: u64) {
  %a = cast %p : @
  %b = cast %p : @
  %c = cast %p : #
  %x = full %a : tensor<@, [4]>
  %y = full %b : tensor<@, [4]>
  %z = full %c : tensor<#, [4]>
  %m = full %t : tensor<bool, [4]>
  %at = full %i : tensor<index, [4]>
)" + operation + "\n  return\n}\n";
  return Replace(Replace(text, "@", dtype), "#", other);
}

// As Values, with a view %v and a buffer %w of @ in reach.
std::string Memory(const std::string& operation, const std::string& dtype) {
  std::string text = R"(
kernel (%v: view<inout, @, [4]>, %n: view<in, @, [4]>, %p: i32, %i: index, %at: view<in, index, [3]>) {
  %a = cast %p : @
  %x = full %a : tensor<@, [4]>
  %w = buffer %a : buffer<@, [4]>
  %places = view_load %at [:] : tensor<index, [3]>
  %y = full %a : tensor<@, [3]>
)" + operation + "\n  return\n}\n";
  return Replace(text, "@", dtype);
}

struct Rule {
  std::string operation;
  std::string admits;  // sets of dtypes
  std::string code = "E0202";
  // Sets that are refused with another code.
  std::vector<std::pair<std::string, std::string>> others = {};
};

using MakeModule = std::string (*)(const std::string& operation, const std::string& dtype);

void ExpectRules(const std::vector<Rule>& rules, MakeModule module,
                 const std::string& dtypes = "all") {
  for (const Rule& rule : rules) {
    for (const std::string& dtype : Expand(dtypes)) {
      std::string want = Holds(rule.admits, dtype) ? "" : rule.code;
      for (const auto& [set, code] : rule.others) {
        if (Holds(set, dtype)) want = code;
      }
      EXPECT_EQ(Codes(module(rule.operation, dtype)), want) << rule.operation << " of " << dtype;
    }
  }
}

std::string OfOneDType(const std::string& operation, const std::string& dtype) {
  return Values(operation, dtype, dtype);
}

// Two operands of different dtypes never mix.
void ExpectNoMixing(const std::vector<std::string>& operations, const std::string& code) {
  for (const std::string& operation : operations) {
    for (const std::string& dtype : Expand("all")) {
      for (const std::string& other : Expand("all")) {
        if (dtype == other) continue;
        ASSERT_EQ(Codes(Values(operation, dtype, other)), code)
            << operation << " of " << dtype << " and " << other;
      }
    }
  }
}

TEST(TypeRules, EveryDTypeIsInTheTables) {
  EXPECT_EQ(Expand("all").size(), static_cast<size_t>(kNumDTypes));
  for (const std::string& dtype : Expand("all")) EXPECT_TRUE(DTypeFromName(dtype)) << dtype;
}

TEST(TypeRules, UnaryOperations) {
  const std::map<std::string, std::string> admits = {
      {"negate", "any_number"}, {"abs", "any_number"}, {"not", "bool any_integer"}};
  const std::vector<std::string> kinds = {
#define INTENT_UNARY(name, text) text,
#include "compiler/ir/kinds.def"
#undef INTENT_UNARY
  };
  for (const std::string& kind : kinds) {
    const auto found = admits.find(kind);
    ExpectRules({{"%r = unary " + kind + " %x : tensor<@, [4]>",
                  found == admits.end() ? "any_float" : found->second}},
                OfOneDType);
  }
}

TEST(TypeRules, BinaryOperations) {
  const std::string bits = "bool any_integer", integers = "any_integer", floats = "any_float";
  const std::map<std::string, std::string> admits = {{"div", floats},
                                                     {"float_floor_div", floats},
                                                     {"float_floor_mod", floats},
                                                     {"floordiv", integers},
                                                     {"mod", integers},
                                                     {"shl", integers},
                                                     {"shr", integers},
                                                     {"ipow_trunc", integers},
                                                     {"and", bits},
                                                     {"or", bits},
                                                     {"xor", bits}};
  const std::vector<std::string> kinds = {
#define INTENT_BINARY(name, text) text,
#include "compiler/ir/kinds.def"
#undef INTENT_BINARY
  };
  for (const std::string& kind : kinds) {
    const auto found = admits.find(kind);
    const std::string set = found == admits.end() ? "any_number" : found->second;
    ExpectRules({{"%r = binary " + kind + " %x, %y : tensor<@, [4]>", set}}, OfOneDType);
    ExpectRules({{"%r = binary " + kind + " %a, %b : @", set}}, OfOneDType);
  }
}

TEST(TypeRules, ApproximateModesAreOfF32) {
  const std::vector<std::pair<std::string, std::string>> not_floats = {
      {"bool any_integer", "E0202"}};
  for (const char* flags : {" approximate", " approximate flush_to_zero"}) {
    ExpectRules({{std::string("%r = unary exp2 %x") + flags + " : tensor<@, [4]>", "f32", "E0605",
                  not_floats},
                 {std::string("%r = binary div %x, %y") + flags + " : tensor<@, [4]>", "f32",
                  "E0605", not_floats}},
                OfOneDType);
  }
  ExpectRules(
      {{"%r = unary tanh %x approximate : tensor<@, [4]>", "f32", "E0605", not_floats},
       {"%r = unary tanh %x approximate flush_to_zero : tensor<@, [4]>", "", "E0605", not_floats},
       {"%r = unary exp2 %x flush_to_zero : tensor<@, [4]>", "", "E0605", not_floats}},
      OfOneDType);
}

TEST(TypeRules, ComparisonsGiveBoolAndBoolHasNoOrder) {
  for (const char* kind : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    const bool equality = kind[0] == 'e' || kind[0] == 'n';
    ExpectRules({{std::string("%r = compare ") + kind + " %x, %y : tensor<bool, [4]>",
                  equality ? "all" : "any_number"}},
                OfOneDType);
  }
  ExpectRules({{"%r = compare eq %a, %b : @", "bool", "E0205"}}, OfOneDType);
}

TEST(TypeRules, DifferentDTypesNeverMix) {
  ExpectNoMixing(
      {"%r = binary add %x, %z : tensor<@, [4]>", "%r = compare eq %x, %z : tensor<bool, [4]>",
       "%r = select %m, %x, %z : tensor<@, [4]>", "%r = mask %x, %m, %z : tensor<@, [4]>",
       "%r = join %x, %z : tensor<@, [4, 2]>", "%r = reduce %x, %c axes [0] combine maximum : @",
       "%r = scan %x, %c axis 0 inclusive combine maximum : tensor<@, [4]>",
       "%r = contract %x, %z reduce [(0, 0)] : tensor<f32, []>"},
      "E0201");
  ExpectNoMixing({"%r = gather %x [0] fill %c : @", "%r = gather %x [:] fill %z : tensor<@, [4]>"},
                 "E0204");
}

TEST(TypeRules, SelectionMovementAndShapesTakeEveryDType) {
  ExpectRules({{"%r = select %m, %x, %y : tensor<@, [4]>", "all"},
               {"%r = mask %x, %m, %y : tensor<@, [4]>", "all"},
               {"%r = join %x, %y : tensor<@, [4, 2]>", "all"},
               {"%r = reshape %x : tensor<@, [2, 2]>", "all"},
               {"%r = transpose %x axes [0] : tensor<@, [4]>", "all"},
               {"%r = broadcast %a : tensor<@, [2, 4]>", "all"},
               {"%r = full %a : tensor<@, []>", "all"},
               {"%r = gather %x [%at] : tensor<@, [4]>", "all"},
               {"%r = gather %x [%i] fill %a : @", "all"},
               {"%r = make_tuple %a, %x : tuple<@, tensor<@, [4]>>", "all"},
               {"%r = if %t {\n yield %a\n} else {\n yield %b\n} : tuple<@>", "all"}},
              OfOneDType);
}

TEST(TypeRules, WhatTakesBoolTakesNothingElse) {
  ExpectRules({{"%r = select %x, %x, %y : tensor<@, [4]>", "bool", "E0204"},
               {"%r = mask %x, %x, %y : tensor<@, [4]>", "bool", "E0204"},
               {"%r = gather %x [:] valid %x : tensor<@, [4]>", "bool", "E0204"},
               {"if %a {\n yield\n} else {\n yield\n}", "bool", "E0401"},
               {"while () {\n yield %a\n} do () {\n yield\n}", "bool", "E0401"}},
              OfOneDType);
}

TEST(TypeRules, CastsAreBetweenAnyTwoDTypes) {
  for (const std::string& from : Expand("all")) {
    for (const std::string& to : Expand("all")) {
      EXPECT_EQ(Codes(Values("%r = cast %x : tensor<#, [4]>", from, to)), "") << from << to;
      const bool logical = from == "bool" || to == "bool";
      EXPECT_EQ(Codes(Values("%r = saturating_cast %x : tensor<#, [4]>", from, to)),
                logical ? "E0202" : "")
          << from << " to " << to;
      const bool fits = BitWidth(*DTypeFromName(from)) == BitWidth(*DTypeFromName(to));
      EXPECT_EQ(Codes(Values("%r = bitcast %a : #", from, to)), fits ? "" : "E0202")
          << from << " to " << to;
    }
  }
}

TEST(TypeRules, BuiltinCombines) {
  for (const std::string kind : {"add", "maximum", "minimum", "and", "or"}) {
    const std::string set = kind == "and" || kind == "or" ? "bool" : "any_number";
    ExpectRules({{"%r = reduce %x, %a axes [0] combine " + kind + " : @", set},
                 {"%r = scan %x, %a axis 0 reverse combine " + kind + " : tensor<@, [4]>", set}},
                OfOneDType);
    ExpectRules(
        {{"scatter_reduce %v [%places] = %y combine " + kind, set == "bool" ? "bool" : "numbers"}},
        Memory, "addressable");
  }
  const std::string arg_max =
      "%u = make_tuple %x, %at : tuple<tensor<@, [4]>, tensor<index, [4]>>\n"
      "%e = make_tuple %a, %i : tuple<@, index>\n"
      "%r = reduce %u, %e axes [0] combine arg_max : tuple<@, index>";
  ExpectRules({{arg_max, "any_number", "E0601"}}, OfOneDType);
  const std::string positions =
      "%u = make_tuple %at, %x : tuple<tensor<index, [4]>, tensor<@, [4]>>\n"
      "%e = make_tuple %i, %a : tuple<index, @>\n"
      "%r = reduce %u, %e axes [0] combine arg_max : tuple<index, @>";
  ExpectRules({{positions, "index", "E0601"}}, OfOneDType);
}

TEST(TypeRules, Contractions) {
  ExpectRules({{"%r = contract %x, %y reduce [(0, 0)] : tensor<f64, []>", "any_number"}},
              OfOneDType);
  ExpectRules({{"%l = full %i : tensor<index, [4]>\n"
                "%r = contract %l, %at reduce [(0, 0)] : tensor<@, []>",
                "numbers"}},
              OfOneDType);
  const std::string dense = "%d = full %a : tensor<@, [8]>\n";
  ExpectRules(
      {{dense + "%r = sparse_contract %x, %at, %d format one_of_two axis 0 reduce [(0, 0)] : "
                "tensor<f32, []>",
        "any_number"},
       {dense + "%r = sparse_contract %x, %y, %d format one_of_two axis 0 reduce [(0, 0)] : "
                "tensor<f32, []>",
        "index",
        "E0603",
        {{"bool", "E0202"}}}},
      OfOneDType);
}

TEST(TypeRules, HistogramsCountIntegersInFixedWidths) {
  ExpectRules({{"%n = constant 8 : index\n"
                "%r = histogram %x, %n, %m : tensor<i32, [8]>",
                "any_integer"},
               {"%n = constant 8 : index\n"
                "%r = histogram %at, %n, %m : tensor<@, [8]>",
                "signed unsigned"}},
              OfOneDType);
}

TEST(TypeRules, RandomBitsTakeAU64SeedAndAU64OrIndexCounter) {
  ExpectRules({{"%r = random_bits %a, %seed : u32", "u64", "E0204"},
               {"%r = random_bits %seed, %x : tensor<u32, [4]>", "u64 index"}},
              OfOneDType);
}

TEST(TypeRules, CarriersOfScaledAndQuantisedFormats) {
  const std::string operands =
      "%l = full %a : tensor<@, [2, 3, 4]>\n%ls = full %a : tensor<@, [2, 3]>\n"
      "%r = full %a : tensor<@, [3, 4, 5]>\n%rs = full %a : tensor<@, [5, 3]>\n"
      "%u = full %p8 : tensor<u8, [2, 3]>\n%us = full %p8 : tensor<u8, [5, 3]>\n";
  const std::string bytes = "%p8 = cast %p : u8\n";
  ExpectRules({{bytes + operands +
                    "%k = scaled_contract %l, %ls, %r, %rs lhs e2m1_e8m0 rhs e2m1_e8m0 group 8 : "
                    "tensor<f32, [2, 5]>",
                "u8", "E0603"},
               {bytes + operands +
                    "%k = scaled_contract %l, %ls, %r, %rs lhs e4m3_e4m3 rhs e4m3_e4m3 group 4 : "
                    "tensor<f32, [2, 5]>",
                "f8e4m3fn", "E0603"},
               {bytes + operands +
                    "%k = scaled_contract %l, %u, %r, %us lhs e4m3_e8m0 rhs e4m3_e8m0 group 4 : "
                    "tensor<f32, [2, 5]>",
                "f8e4m3fn", "E0603"},
               {"%q = full %a : tensor<@, [3, 256]>\n"
                "%k = quantize %q lhs q8_k rhs q8_k : tensor<u8, [3, 292]>",
                "f32", "E0603"},
               {"%l = full %a : tensor<@, [3, 144]>\n%r = full %a : tensor<@, [3, 292]>\n"
                "%k = quantized_dot %l, %r lhs q4_k rhs q8_k : tensor<f32, []>",
                "u8", "E0603"}},
              OfOneDType);
}

TEST(TypeRules, DomainsAreOfIndex) {
  ExpectRules({{"%k = constant 1 : index\n%r = domain %a, %i, %k : domain<[9]>",
                "",
                "E0307",
                {{"index", "E0205"}}},
               {"%k = constant 1 : index\n%r = domain %i, %i, %a : domain<[9]>",
                "",
                "E0307",
                {{"index", "E0205"}}}},
              OfOneDType);
}

TEST(TypeRules, ConstexprsMeetDTypesAsLiteralsDo) {
  const auto module = [](const char* kind, const std::string& dtype) {
    return std::string("enum e0 {1}\nconstexpr c0: ") + kind +
           "\nkernel () {\n  %r = constexpr c0 : " + dtype + "\n  return\n}\n";
  };
  for (const std::string& dtype : Expand("all")) {
    EXPECT_EQ(Codes(module("i64", dtype)), dtype == "bool" ? "E0203" : "") << dtype;
    EXPECT_EQ(Codes(module("f64", dtype)), Holds("any_float", dtype) ? "" : "E0203") << dtype;
    EXPECT_EQ(Codes(module("bool", dtype)), dtype == "bool" ? "" : "E0203") << dtype;
    EXPECT_EQ(Codes(module("e0", dtype)), "E0202") << dtype;
  }
}

TEST(TypeRules, ElementsOfViewsAndBuffersAndParameters) {
  ExpectRules({{"", "addressable", "E0206"}}, Memory);
  ExpectRules({{"", "addressable", "E0206"}}, [](const std::string&, const std::string& dtype) {
    return "kernel (%a: " + dtype + ") {\n  return\n}\n";
  });
}

TEST(TypeRules, MemoryAccesses) {
  ExpectRules({{"%r = view_load %v [:] : tensor<@, [4]>", "all"},
               {"view_store %v [%places] = %y", "all"},
               {"%r = buffer_load %w [%places] fill %a : tensor<@, [3]>", "all"},
               {"buffer_store %w [%i] = %a", "all"},
               {"scatter_unique %v [%places] = %y", "all"},
               {"%r = dim %v axis 0 : index", "all"}},
              Memory, "addressable");
}

TEST(TypeRules, IndicesAreIntegersOfMemory) {
  ExpectRules(
      {{"%r = gather %at [%a] : index", "integers", "E0307"},
       {"%r = gather %at [%x] : tensor<index, [4]>", "integers", "E0307"},
       {"%w = buffer : buffer<f32, [4]>\n  assume_in_bounds %x, %w axis 0", "integers", "E0307"}},
      OfOneDType);
}

TEST(TypeRules, Atomics) {
  const std::string words = "index i32 i64 u32 u64", any = words + " f16 bf16 f32 f64";
  ExpectRules({{"%r = atomic_load %n [%i] order acquire : @", any},
               {"atomic_store %v [%i] = %a order release", any},
               {"%r = atomic_cas %v [%i] = %a, %a order acq_rel : record<old_value: @, success: "
                "bool>",
                any}},
              Memory, "addressable");
  for (const std::string kind : {"exchange", "add", "max", "min", "and", "or", "xor"}) {
    const bool bits = kind == "and" || kind == "or" || kind == "xor";
    ExpectRules(
        {{"%r = atomic_rmw " + kind + " %v [%i] = %a order relaxed : @", bits ? words : any}},
        Memory, "addressable");
  }
}

}  // namespace
}  // namespace intent
