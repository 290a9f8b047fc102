#include "compiler/cpu/loader.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <thread>

#include "compiler/cpu/imports.h"
#include "compiler/cpu/kernel_fixture.h"
#include "compiler/cpu/link_shared_object.h"
#include "compiler/cpu/pointwise_sweep.h"
#include "compiler/ir/module.h"
#include "compiler/numerics/loops.h"

namespace intent::cpu {
namespace {

// Names of the undefined symbols of an object, or of a shared object.
std::set<std::string> Imports(const std::string& object, Elf64_Word table = SHT_SYMTAB) {
  const auto at = [&](size_t offset) { return object.data() + offset; };
  Elf64_Ehdr header;
  std::memcpy(&header, at(0), sizeof(header));
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), at(header.e_shoff), sizeof(Elf64_Shdr) * header.e_shnum);
  std::set<std::string> names;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != table) continue;
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

TEST(LoaderTest, SharedObjectsOfEveryTargetImportTheSame) {
  for (const char* target : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64", "aarch64+lse"}) {
    const std::string object = ObjectOf(Tempting("f64", 1), target, 2);
    const auto linked = LinkSharedObject(object, *ParseTarget(target), "intent_kernel");
    ASSERT_TRUE(linked.ok()) << target << ": " << linked.status();
    EXPECT_EQ(Imports(*linked, SHT_DYNSYM), Imports(object)) << target;
    EXPECT_FALSE(Imports(object).empty()) << target;
    EXPECT_EQ(*linked, *LinkSharedObject(object, *ParseTarget(target), "intent_kernel"));
  }
}

TEST(LinkTest, WhatCannotBeLinkedIsAStatusAndTheNextLinkWorks) {
  const std::string object = ObjectOf(kStoreOne, "native", 1);
  EXPECT_EQ(LinkSharedObject("not an object", HostTarget(), "intent_kernel").status().code(),
            absl::StatusCode::kInternal);
  const bool arm = HostTarget().base == "aarch64";
  const Target other = *ParseTarget(arm ? "x86-64-v2" : "aarch64");
  EXPECT_FALSE(LinkSharedObject(object, other, "intent_kernel").ok());
  EXPECT_FALSE(LinkSharedObject(object, HostTarget(), "no_such_entry").ok());
  EXPECT_TRUE(LinkSharedObject(object, HostTarget(), "intent_kernel").ok());
}

TEST(LinkTest, ThreadsLinkAtOnce) {
  const std::string object = ObjectOf(kStoreOne, "native", 1);
  const std::string expected = *LinkSharedObject(object, HostTarget(), "intent_kernel");
  std::vector<std::thread> threads;
  std::atomic<int> equal{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 10; ++k) {
        const auto linked = LinkSharedObject(object, HostTarget(), "intent_kernel");
        equal += linked.ok() && *linked == expected;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, 40);
}

TEST(LoaderTest, EqualProgramsGiveEqualObjects) {
  EXPECT_EQ(ObjectOf(kStoreOne, "x86-64-v3", 2), ObjectOf(kStoreOne, "x86-64-v3", 2));
  const std::string text = Tempting("f32", 16);
  EXPECT_EQ(ObjectOf(text, "x86-64-v4", 2), ObjectOf(text, "x86-64-v4", 2));
}

std::string SharedObjectOf(const std::string& text, const std::string& target) {
  const auto linked =
      LinkSharedObject(ObjectOf(text, target, 1), *ParseTarget(target), "intent_kernel");
  EXPECT_TRUE(linked.ok()) << linked.status();
  return linked.value_or("");
}

// Runs a kernel of one view of one i32; gives what it stored.
int32_t StoredBy(const LoadedKernel& kernel) {
  int32_t out = 0;
  const int64_t one = 1;
  const intent_view view = {&out, &one, &one, 0, 4};
  intent_error error = {};
  const intent_call call = {&view, nullptr, &SerialRuntime(), nullptr, &error};
  EXPECT_EQ(kernel.entry()(&call), 0);
  return out;
}

TEST(LoaderTest, ManyKernelsLiveAndDie) {
  const std::string object = SharedObjectOf(kStoreOne, "native");
  std::vector<std::unique_ptr<LoadedKernel>> kernels;
  for (int i = 0; i < 500; ++i) {
    auto kernel = LoadSharedObject(object, "intent_kernel");
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    if (i % 2 == 0) kernels.push_back(*std::move(kernel));
  }
  EXPECT_EQ(StoredBy(*kernels.back()), 1);
}

TEST(LoaderTest, TheEntryHasASecondNameThatNoOtherKernelHas) {
  const std::string object = ObjectOf(kStoreOne, "native", 1);
  const auto linked = LinkSharedObject(object, HostTarget(), "intent_kernel");
  ASSERT_TRUE(linked.ok()) << linked.status();
  const std::string unique = UniqueSymbol(object, "intent_kernel");
  const auto kernel = LoadSharedObject(*linked, unique);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(StoredBy(**kernel), 1);
  EXPECT_NE(unique, UniqueSymbol(ObjectOf(Tempting("f32", 1), "native", 1), "intent_kernel"));
}

TEST(LoaderTest, OtherThingsAreRefused) {
  const std::string object = SharedObjectOf(kStoreOne, "native");
  const auto load = [](const std::string& bytes, const char* entry = "intent_kernel") {
    return LoadSharedObject(bytes, entry).status().code();
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(load(""), kInvalid);
  EXPECT_EQ(load("not an object at all"), kInvalid);
  EXPECT_EQ(load(object.substr(0, 100)), kInvalid);
  EXPECT_EQ(load(object, "another_name"), kInvalid);
  EXPECT_EQ(load(ObjectOf(kStoreOne, "native", 1)), kInvalid) << "not linked";
  const bool arm = HostTarget().base == "aarch64";
  EXPECT_EQ(load(SharedObjectOf(kStoreOne, arm ? "x86-64-v2" : "aarch64")), kInvalid);
  EXPECT_EQ(load(object), absl::StatusCode::kOk);
}

TEST(LoaderTest, SymbolsOfTheProcessStayOutOfReach) {
  std::string object = SharedObjectOf(Tempting("f64", 1), "native");
  ASSERT_TRUE(LoadSharedObject(object, "intent_kernel").ok());
  // Renames an import to another function of libc.
  const size_t at = object.find(std::string("\0erfc\0", 6));
  ASSERT_NE(at, std::string::npos);
  object.replace(at + 1, 4, "puts");
  EXPECT_THAT(LoadSharedObject(object, "intent_kernel").status().message(),
              testing::HasSubstr("imports puts"));
}

// A table that claims four billion symbols is read as far as there are any.
TEST(LoaderTest, ACountOfSymbolsIsNotBelieved) {
  std::string object = SharedObjectOf(kStoreOne, "native");
  Elf64_Ehdr header;
  std::memcpy(&header, object.data(), sizeof(header));
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, object.data() + header.e_shoff + i * sizeof(section), sizeof(section));
    if (section.sh_type == SHT_HASH) std::memset(&object[section.sh_offset + 4], 0xff, 4);
  }
  EXPECT_NE(object, SharedObjectOf(kStoreOne, "native"));
  EXPECT_TRUE(LoadSharedObject(object, "intent_kernel").ok());
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(LoadSharedObject(object, "another_name").ok());
}

// What is damaged is refused or loaded, but hurts nobody; its code is not run.
TEST(LoaderTest, DamagedObjectsHurtNobody) {
  const std::string object = SharedObjectOf(Tempting("f64", 1), "native");
  std::mt19937_64 random(1);
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = object;
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < changes; ++i) {
      // Headers and tables are more likely to be hit than code.
      const size_t within = random() % 2 == 0 ? 0x400 : damaged.size();
      damaged[random() % within] = static_cast<char>(random());
    }
    if (round % 8 == 0) damaged.resize(random() % damaged.size());
    refused += !LoadSharedObject(damaged, "intent_kernel").ok();
  }
  EXPECT_GT(refused, 1000);
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
