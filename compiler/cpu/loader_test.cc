#include "compiler/cpu/loader.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "compiler/cpu/imports.h"
#include "compiler/cpu/kernel_fixture.h"
#include "compiler/cpu/pointwise_sweep.h"
#include "compiler/ir/module.h"
#include "compiler/numerics/loops.h"

namespace intent::cpu {
namespace {

// Names of an object's undefined symbols.
std::set<std::string> Imports(const std::string& object) {
  const auto at = [&](size_t offset) { return object.data() + offset; };
  Elf64_Ehdr header;
  std::memcpy(&header, at(0), sizeof(header));
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), at(header.e_shoff), sizeof(Elf64_Shdr) * header.e_shnum);
  std::set<std::string> names;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    for (size_t i = 0; i < section.sh_size / sizeof(Elf64_Sym); ++i) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, at(section.sh_offset + i * sizeof(symbol)), sizeof(symbol));
      const char* name = at(sections[section.sh_link].sh_offset + symbol.st_name);
      if (symbol.st_shndx == SHN_UNDEF && *name != '\0') names.insert(name);
    }
  }
  return names;
}

std::string ObjectOf(const std::string& text, const std::string& target, int level) {
  const auto program = ParseOrDie(text);
  EmitOptions options;
  options.opt_level = level;
  const auto object = EmitObject(*program, *ParseTarget(target), options);
  EXPECT_TRUE(object.ok()) << target << ": " << object.status();
  return object.ok() ? object->object : "";
}

// Every operation that could tempt a code generator into a runtime library.
std::string Tempting(const std::string& dtype, int lanes) {
  const std::string type = dtype + (lanes == 1 ? "" : "x" + std::to_string(lanes));
  const bool is_float = dtype[0] == 'f' || dtype[0] == 'b';
  std::string text = "tile { view " + dtype + " rank 1 read write %m: mem<" + dtype +
                     "> = view_base {view=0} %z: index = const 0 %x: " + type +
                     " = load(%m, %z) {stride=1} ";
  int next = 0;
  const auto use = [&](const std::string& expression) {
    const std::string name = "%r" + std::to_string(next++);
    text += name + ": " + type + " = " + expression + " store(%m, %z, " + name + ") {stride=1} ";
  };
  if (is_float) {
    for (const char* unary : {"exp", "exp2", "log", "log1p", "sin", "cos", "asin", "floor", "erf",
                              "erfc", "rsqrt", "sqrt", "sigmoid", "tanh", "lgamma", "i0"}) {
      use(std::string("unary.") + unary + "(%x)");
    }
    for (const char* binary : {"div", "pow", "maximum", "minimum_num", "float_floor_mod"}) {
      use(std::string("binary.") + binary + "(%x, %x)");
    }
    if (dtype == "f32" || dtype == "f64") use("fma(%x, %x, %x)");
  } else {
    for (const char* binary : {"floordiv", "mod", "pow", "mul", "shl"}) {
      use(std::string("binary.") + binary + "(%x, %x)");
    }
  }
  for (const char* other : {"i8", "u64", "i64", "f16", "bf16", "f32", "f64", "f8e5m2"}) {
    const std::string wide = other + (lanes == 1 ? "" : "x" + std::to_string(lanes));
    const std::string name = "%c" + std::to_string(next);
    text += name + ": " + wide + " = cast(%x) ";
    use("cast(" + name + ")");
  }
  return text + "}";
}

TEST(LoaderTest, ObjectsImportNothingBeyondTheAllowlist) {
  std::set<std::string> allowed;
  for (const Import& import : AllowedImports()) allowed.insert(std::string(import.name));
  for (const char* target : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"}) {
    for (int level : {0, 2}) {
      for (const char* dtype : {"f16", "bf16", "f32", "f64", "i64", "u8", "u64"}) {
        for (int lanes : {1, 16}) {
          for (const std::string& name : Imports(ObjectOf(Tempting(dtype, lanes), target, level))) {
            EXPECT_TRUE(allowed.count(name)) << name << " for " << dtype << " on " << target;
          }
        }
      }
    }
  }
}

// 128-bit division and conversions, above all.
TEST(LoaderTest, ValueOnlyDTypesImportNothingMore) {
  std::set<std::string> allowed;
  for (const Import& import : AllowedImports()) allowed.insert(std::string(import.name));
  for (DType dtype : {DType::kI4, DType::kI128, DType::kU128, DType::kF4E2M1FN, DType::kF6E2M3FN,
                      DType::kF8E8M0FNU, DType::kF8E4M3FNUZ}) {
    for (int lanes : {1, 4}) {
      Sweep sweep(dtype, lanes);
      for (BinaryKind kind :
           {BinaryKind::kMul, BinaryKind::kDiv, BinaryKind::kFloorDiv, BinaryKind::kMod,
            BinaryKind::kPow, BinaryKind::kIpowTrunc, BinaryKind::kShl, BinaryKind::kShr,
            BinaryKind::kFloatFloorDiv, BinaryKind::kFloatFloorMod}) {
        if (!numerics::IsDefined(kind, dtype)) continue;
        sweep.Add("binary." + std::string(NameOf(kind)) + "(%x, %y)", dtype);
      }
#define INTENT_DTYPE(name, text, bits, bytes, cls) \
  sweep.Add("cast(%x)", DType::name);              \
  sweep.Add("saturating_cast(%x)", DType::name);
#include "compiler/ir/dtypes.def"
#undef INTENT_DTYPE
      for (const char* target : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"}) {
        for (const std::string& name : Imports(ObjectOf(sweep.Text(), target, 2))) {
          EXPECT_TRUE(allowed.count(name))
              << name << " for " << DTypeName(dtype) << " on " << target;
        }
      }
    }
  }
}

constexpr char kStoreOne[] = R"(tile {
  view i32 rank 1 write
  %m: mem<i32> = view_base {view=0}
  %z: index = const 0
  %one: i32 = const 1
  store(%m, %z, %one) {stride=1}
})";

TEST(LoaderTest, EqualProgramsGiveEqualObjects) {
  EXPECT_EQ(ObjectOf(kStoreOne, "x86-64-v3", 2), ObjectOf(kStoreOne, "x86-64-v3", 2));
  const std::string text = Tempting("f32", 16);
  EXPECT_EQ(ObjectOf(text, "x86-64-v4", 2), ObjectOf(text, "x86-64-v4", 2));
}

TEST(LoaderTest, ManyKernelsLiveAndDie) {
  const std::string object = ObjectOf(kStoreOne, "native", 1);
  std::vector<std::unique_ptr<LoadedKernel>> kernels;
  for (int i = 0; i < 500; ++i) {
    auto kernel = LoadObject(object, "intent_kernel");
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    if (i % 2 == 0) kernels.push_back(*std::move(kernel));
  }
  int32_t out = 0;
  const int64_t one = 1;
  const intent_view view = {&out, &one, &one, 0, 4};
  intent_error error = {};
  const intent_call call = {&view, nullptr, &SerialRuntime(), nullptr, &error};
  EXPECT_EQ(kernels.back()->entry()(&call), 0);
  EXPECT_EQ(out, 1);
}

TEST(LoaderTest, BadObjectsAreRefused) {
  const std::string object = ObjectOf(kStoreOne, "native", 1);
  EXPECT_EQ(LoadObject("", "intent_kernel").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(LoadObject("not an object at all", "intent_kernel").ok());
  EXPECT_FALSE(LoadObject(object.substr(0, 100), "intent_kernel").ok());
  EXPECT_FALSE(LoadObject(object, "another_name").ok());
  const bool arm = HostTarget().base == "aarch64";
  EXPECT_FALSE(
      LoadObject(ObjectOf(kStoreOne, arm ? "x86-64-v2" : "aarch64", 1), "intent_kernel").ok());
  EXPECT_TRUE(LoadObject(object, "intent_kernel").ok());
}

TEST(LoaderTest, SymbolsOfTheProcessStayOutOfReach) {
  std::string object = ObjectOf(Tempting("f64", 1), "native", 1);
  ASSERT_TRUE(LoadObject(object, "intent_kernel").ok());
  // Renames an import to another function of libc.
  const size_t at = object.find(std::string("erfc\0", 5));
  ASSERT_NE(at, std::string::npos);
  object.replace(at, 4, "puts");
  EXPECT_FALSE(LoadObject(object, "intent_kernel").ok());
}

TEST(EmitTest, CancelEndsTheCompile) {
  const auto program = ParseOrDie(Tempting("f32", 16));
  std::atomic<bool> cancel{true};
  EmitOptions options;
  options.cancel = &cancel;
  EXPECT_EQ(EmitObject(*program, HostTarget(), options).status().code(),
            absl::StatusCode::kCancelled);
}

TEST(EmitTest, OtherTargetsAreRefused) {
  const auto program = ParseOrDie(kStoreOne);
  EXPECT_EQ(EmitObject(*program, *ParseTarget("sm_90"), {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace intent::cpu
