#include "compiler/target/target.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace intent {
namespace {

enum class Architecture : uint8_t { kNone, kX86, kArm, kInterpreter };

struct Base {
  std::string_view name;
  TargetKind kind;
  Architecture architecture = Architecture::kNone;
  int level = 0;  // order among the levels of one architecture
};
constexpr Base kBases[] = {
    {"interp", TargetKind::kInterpreter, Architecture::kInterpreter},
    {"x86-64-v2", TargetKind::kCpu, Architecture::kX86, 2},
    {"x86-64-v3", TargetKind::kCpu, Architecture::kX86, 3},
    {"x86-64-v4", TargetKind::kCpu, Architecture::kX86, 4},
    {"aarch64", TargetKind::kCpu, Architecture::kArm, 8},
    {"sm_80", TargetKind::kCuda},
    {"sm_86", TargetKind::kCuda},
    {"sm_87", TargetKind::kCuda},
    {"sm_89", TargetKind::kCuda},
    {"sm_90", TargetKind::kCuda},
    {"sm_90a", TargetKind::kCuda},
    {"sm_100", TargetKind::kCuda},
    {"sm_100a", TargetKind::kCuda},
    {"sm_103", TargetKind::kCuda},
    {"sm_103a", TargetKind::kCuda},
    {"sm_120", TargetKind::kCuda},
    {"sm_120a", TargetKind::kCuda},
};

// Features beyond a level, each with the least level that it makes sense on. Those of machines have
// LLVM's names, those of the interpreter are ours.
struct Feature {
  std::string_view name;
  Architecture architecture;
  int level;
};
constexpr Feature kFeatures[] = {
    {"avx512bf16", Architecture::kX86, 4},    {"avx512fp16", Architecture::kX86, 4},
    {"avx512vbmi", Architecture::kX86, 4},    {"avx512vnni", Architecture::kX86, 4},
    {"avxvnni", Architecture::kX86, 3},       {"lse", Architecture::kArm, 8},
    {"check", Architecture::kInterpreter, 0}, {"laws", Architecture::kInterpreter, 0},
};

const Base* FindBase(std::string_view name) {
  for (const Base& base : kBases) {
    if (base.name == name) return &base;
  }
  return nullptr;
}

const Feature* FindFeature(std::string_view name) {
  for (const Feature& feature : kFeatures) {
    if (feature.name == name) return &feature;
  }
  return nullptr;
}

bool Serves(const Base& base, const Feature& feature) {
  return base.architecture == feature.architecture && base.level >= feature.level;
}

std::string Table() {
  std::vector<std::string> names = {"native"};
  for (const Base& base : kBases) names.emplace_back(base.name);
  return absl::StrJoin(names, ", ");
}

Target DetectHost() {
  Target target;
#if defined(__x86_64__)
  __builtin_cpu_init();
  int level = 2;
  if (__builtin_cpu_supports("x86-64-v4")) {
    level = 4;
  } else if (__builtin_cpu_supports("x86-64-v3")) {
    level = 3;
  }
  target.base = absl::StrCat("x86-64-v", level);
  unsigned a = 0, b = 0, c = 0, d = 0;
  unsigned a1 = 0, b1 = 0, c1 = 0, d1 = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && a >= 1) {
    __get_cpuid_count(7, 1, &a1, &b1, &c1, &d1);
  }
  const auto add = [&](std::string_view name, bool present) {
    if (present && level >= FindFeature(name)->level) target.features.emplace_back(name);
  };
  add("avx512bf16", (a1 >> 5) & 1);
  add("avx512fp16", (d >> 23) & 1);
  add("avx512vbmi", (c >> 1) & 1);
  add("avx512vnni", (c >> 11) & 1);
  add("avxvnni", (a1 >> 4) & 1);
#elif defined(__aarch64__)
  target.base = "aarch64";
  if ((getauxval(AT_HWCAP) & HWCAP_ATOMICS) != 0) target.features.emplace_back("lse");
#else
  target.kind = TargetKind::kInterpreter;
  target.base = "interp";
#endif
  return target;
}

}  // namespace

std::string Target::ToString() const {
  std::string text = base;
  for (const std::string& feature : features) absl::StrAppend(&text, "+", feature);
  return text;
}

bool Target::Has(std::string_view feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

absl::StatusOr<Target> ParseTarget(std::string_view text) {
  if (text == "native") return HostTarget();
  if (text.size() > 256) return absl::InvalidArgumentError("a target name longer than 256 bytes");
  const std::vector<std::string> parts = absl::StrSplit(std::string(text), '+');
  const Base* base = FindBase(parts[0]);
  if (base == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown target '", parts[0], "'; known are ", Table()));
  }
  Target target;
  target.kind = base->kind;
  target.base = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    const Feature* feature = FindFeature(parts[i]);
    if (feature == nullptr || !Serves(*base, *feature)) {
      std::vector<std::string> known;
      for (const Feature& f : kFeatures) {
        if (Serves(*base, f)) known.emplace_back(f.name);
      }
      return absl::InvalidArgumentError(
          absl::StrCat("target ", parts[0], " has no feature '", parts[i], "'; it has ",
                       known.empty() ? std::string("none") : absl::StrJoin(known, ", ")));
    }
    target.features.push_back(parts[i]);
  }
  std::sort(target.features.begin(), target.features.end());
  target.features.erase(std::unique(target.features.begin(), target.features.end()),
                        target.features.end());
  return target;
}

std::vector<std::string> CudaTargets() {
  std::vector<std::string> names;
  for (const Base& base : kBases) {
    if (base.kind == TargetKind::kCuda) names.emplace_back(base.name);
  }
  return names;
}

const Target& HostTarget() {
  static const Target* const kHost = new Target(DetectHost());
  return *kHost;
}

std::string MissingOnHost(const Target& target) {
  if (target.kind == TargetKind::kInterpreter) return "";
  const Target& host = HostTarget();
  if (target.kind == TargetKind::kCuda) return "a CUDA device";
  const Base* wanted = FindBase(target.base);
  const Base* present = FindBase(host.base);
  if (wanted == nullptr || wanted->architecture != present->architecture ||
      wanted->level > present->level) {
    return target.base;
  }
  std::vector<std::string> missing;
  for (const std::string& feature : target.features) {
    if (!std::binary_search(host.features.begin(), host.features.end(), feature)) {
      missing.push_back(feature);
    }
  }
  return absl::StrJoin(missing, "+");
}

LlvmTargetNames LlvmNames(const Target& target) {
  const bool arm = FindBase(target.base)->architecture == Architecture::kArm;
  // Atomics are instructions, not calls of helpers that pick one at run time.
  std::string features = arm ? "+neon,-outline-atomics" : "";
  for (const std::string& feature : target.features) {
    absl::StrAppend(&features, features.empty() ? "+" : ",+", feature);
  }
  if (arm) return {"aarch64-unknown-linux-gnu", "generic", features};
  return {"x86_64-unknown-linux-gnu", target.base, features};
}

CpuFacts FactsOf(const Target& target) {
  CpuFacts facts;
  if (target.kind == TargetKind::kCuda) {
    facts.fma = true;
  } else if (target.base == "aarch64") {  // NEON always multiplies and adds with one rounding
    facts.vector_registers = 32;
    facts.fma = facts.aarch64 = true;
  } else if (target.base == "x86-64-v3") {
    facts.vector_bits = 256;
    facts.fma = facts.f16c = true;
  } else if (target.base == "x86-64-v4") {
    facts.vector_bits = 512;
    facts.vector_registers = 32;
    facts.fma = facts.f16c = facts.avx512 = true;
  }
  return facts;
}

}  // namespace intent
