// Random kernels, run every way (tests/differential/README.md).
//
//   differential_test                                    what CI runs
//   differential_test --seeds=5417 --print               one kernel, and what disagrees
//   differential_test --long --seeds=5000:9000 --minutes=10
//   differential_test --coverage

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include "compiler/ir/print.h"
#include "compiler/specialize/specialize.h"
#include "tests/differential/campaign.h"
#include "tests/differential/coverage.h"
#include "tests/differential/kernel_generator.h"
#include "tests/differential/section.h"
#include "tests/differential/shrink.h"

namespace intent::testing {
namespace {

CampaignOptions settings;

// A folder of this run's own.
std::string Scratch() {
  std::string name = (std::filesystem::temp_directory_path() / "differential-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) std::abort();
  return name;
}

TEST(Differential, EveryWayGivesTheSameBytes) {
  if (settings.folder.empty()) settings.folder = Scratch();
  if (settings.end - settings.first > 100) settings.optimise_every = 3;
  const CampaignResult result = RunCampaign(settings);
  for (const Failure& failure : result.failures) {
    ADD_FAILURE() << "seed " << failure.seed << "\n" << failure.text;
  }
}

TEST(Differential, EveryOperationAndKindIsCovered) {
  Coverage coverage;
  for (uint64_t seed = settings.first; seed < settings.end; ++seed) {
    const GeneratedKernel kernel = GenerateKernel(seed);
    if (kernel.module != nullptr) coverage.Add(*kernel.module, kernel.data);
  }
  EXPECT_EQ(coverage.Missing(), std::vector<std::string>());
}

TEST(Differential, ASeedGivesTheSameKernel) {
  for (uint64_t seed : {3u, 4u, 5u}) {
    const GeneratedKernel a = GenerateKernel(seed), b = GenerateKernel(seed);
    ASSERT_NE(a.module, nullptr);
    EXPECT_EQ(PrintModule(*a.module), PrintModule(*b.module));
    ASSERT_EQ(a.data.allocations.size(), b.data.allocations.size());
    EXPECT_EQ(a.data.allocations[0].bytes, b.data.allocations[0].bytes);
  }
}

int64_t CountOps(const Module& module, std::optional<OpKind> kind) {
  int64_t count = 0;
  ForEachOp(module.kernel_function().body,
            [&](const Op& op) { count += !kind || op.kind == *kind; });
  return count;
}

// As if region folds were broken: what is left holds one, and little else.
TEST(Differential, ShrinkingKeepsWhatFails) {
  for (uint64_t seed = 1; seed < 200; ++seed) {
    GeneratedKernel kernel = GenerateKernel(seed);
    if (!Specialize(kernel.module.get(), {}).empty()) continue;
    Canonicalize(kernel.module.get());  // a fold that nobody uses is no failure
    if (kernel.may_fail || CountOps(*kernel.module, OpKind::kRegionFold) == 0) continue;
    const Case original = {std::move(kernel.module), std::move(kernel.data)};
    const Case smaller = Shrink(original, [](const Case& candidate) {
      return CountOps(*candidate.module, OpKind::kRegionFold) > 0;
    });
    EXPECT_EQ(CountOps(*smaller.module, OpKind::kRegionFold), 1);
    EXPECT_LE(CountOps(*smaller.module, std::nullopt), 60) << PrintModule(*smaller.module);
    EXPECT_LE(smaller.module->kernel_function().parameters.size(), 1u);
    std::string error;
    const auto runnable = TestKernel::Make(*smaller.module, &error);
    ASSERT_NE(runnable, nullptr) << error;
    EXPECT_FALSE(runnable->Interpret(smaller.data).failed);
    return;
  }
  ADD_FAILURE() << "no region fold among 200 kernels";
}

int PrintKernels() {
  for (uint64_t seed = settings.first; seed < settings.end; ++seed) {
    const GeneratedKernel kernel = GenerateKernel(seed);
    std::printf(
        "%s\n",
        kernel.module == nullptr
            ? kernel.refusal.c_str()
            : SectionOf("seed " + std::to_string(seed), "", *kernel.module, kernel.data).c_str());
  }
  return 0;
}

int PrintCoverage() {
  Coverage coverage;
  for (uint64_t seed = settings.first; seed < settings.end; ++seed) {
    const GeneratedKernel kernel = GenerateKernel(seed);
    if (kernel.module != nullptr) coverage.Add(*kernel.module, kernel.data);
  }
  std::printf("%s", coverage.Tables().c_str());
  for (const std::string& name : coverage.Missing()) std::printf("missing: %s\n", name.c_str());
  return 0;
}

// A row for ledger.md on standard output, what failed in files.
int LongRun() {
  if (settings.folder.empty()) settings.folder = Scratch();
  std::filesystem::create_directories(settings.folder);
  const CampaignResult result = RunCampaign(settings);
  for (const Failure& failure : result.failures) {
    std::printf("seed %llu failed: %s/%llu.kir\n", static_cast<unsigned long long>(failure.seed),
                settings.folder.c_str(), static_cast<unsigned long long>(failure.seed));
  }
  std::printf("| %llu:%llu | COMMIT | DATE | %lld | %zu |\n",
              static_cast<unsigned long long>(settings.first),
              static_cast<unsigned long long>(result.end), static_cast<long long>(result.kernels),
              result.failures.size());
  return result.failures.empty() ? 0 : 1;
}

}  // namespace
}  // namespace intent::testing

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto& settings = intent::testing::settings;
  settings.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  int (*mode)() = nullptr;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const auto value = [&](const char* name) { return flag.c_str() + std::strlen(name); };
    if (flag.starts_with("--seeds=")) {
      char* rest = nullptr;
      settings.first = std::strtoull(value("--seeds="), &rest, 10);
      settings.end = *rest == ':' ? std::strtoull(rest + 1, nullptr, 10) : settings.first + 1;
    } else if (flag.starts_with("--jobs=")) {
      settings.jobs = std::max(1, std::atoi(value("--jobs=")));
    } else if (flag.starts_with("--minutes=")) {
      settings.seconds = 60 * std::atof(value("--minutes="));
    } else if (flag.starts_with("--failures=")) {
      settings.stop_after = std::max(1, std::atoi(value("--failures=")));
    } else if (flag.starts_with("--folder=")) {
      settings.folder = value("--folder=");
    } else if (flag.starts_with("--optimise-every=")) {
      settings.optimise_every = std::max(1, std::atoi(value("--optimise-every=")));
    } else if (flag.starts_with("--way=")) {
      settings.way = value("--way=");
    } else if (flag == "--all-ways") {
      settings.all_ways = true;
    } else if (flag == "--shrink") {
      settings.shrink = true;
    } else if (flag == "--no-shrink") {
      settings.shrink = false;
    } else if (flag == "--print") {
      mode = intent::testing::PrintKernels;
    } else if (flag == "--coverage") {
      mode = intent::testing::PrintCoverage;
    } else if (flag == "--long") {
      mode = intent::testing::LongRun;
      settings.shrink = true;
    } else {
      std::fprintf(stderr, "unknown flag %s\n", flag.c_str());
      return 2;
    }
  }
  return mode != nullptr ? mode() : RUN_ALL_TESTS();
}
