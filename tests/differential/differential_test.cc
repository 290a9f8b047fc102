// Random kernels, run every way (tests/differential/README.md).
//
//   differential_test                          what CI runs
//   differential_test --seeds=5000:6000        a longer run
//   differential_test --seeds=5417 --all-ways --shrink --print

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "compiler/ir/print.h"
#include "tests/differential/kernel_generator.h"
#include "tests/differential/shrink.h"

namespace intent::testing {
namespace {

struct Settings {
  uint64_t first = 1;
  uint64_t end = 331;
  bool all_ways = false;  // otherwise some ways for each kernel, all of them over a few kernels
  bool shrink = false;
  bool print = false;
} settings;

// What a crash leaves behind.
char crash_note[64];

void NoteCrash(int signal) {
  const ssize_t written = write(STDERR_FILENO, crash_note, std::strlen(crash_note));
  static_cast<void>(written);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::vector<Way> WaysFor(uint64_t seed) {
  const std::vector<Way>& all = AllWays();
  if (settings.all_ways) return all;
  std::vector<Way> ways, compiled;
  for (const Way& way : all) (way.target.empty() ? ways : compiled).push_back(way);
  // The threaded one stands last.
  ways.push_back(compiled.back());
  ways.push_back(compiled[seed % compiled.size()]);
  return ways;
}

std::string Layouts(const CallData& data) {
  std::string text;
  for (const ViewPlace& place : data.views) {
    text += "// allocation " + std::to_string(place.allocation) + " of " +
            std::to_string(data.allocations[place.allocation].bytes.size()) + " bytes, offset " +
            std::to_string(place.offset) + ", extents";
    for (int64_t extent : place.extents) text += " " + std::to_string(extent);
    text += ", strides";
    for (int64_t stride : place.strides) text += " " + std::to_string(stride);
    text += "\n";
  }
  for (const ScalarValue& scalar : data.scalars) {
    text += "// scalar bits " + std::to_string(static_cast<uint64_t>(scalar.bits)) + "\n";
  }
  return text;
}

std::string DisagreementOf(const Module& module, const CallData& data,
                           const std::vector<Way>& ways) {
  std::string error;
  const auto kernel = TestKernel::Make(module, &error);
  return kernel == nullptr ? "" : kernel->Disagreement(data, ways);
}

TEST(Differential, EveryWayGivesTheSameBytes) {
  int refused = 0, failed = 0, errors = 0;
  for (uint64_t seed = settings.first; seed < settings.end; ++seed) {
    std::snprintf(crash_note, sizeof crash_note, "\ncrashed at seed %llu\n",
                  static_cast<unsigned long long>(seed));
    const GeneratedKernel generated = GenerateKernel(seed);
    if (generated.module == nullptr) {
      if (settings.print) std::printf("seed %lu: %s\n", seed, generated.refusal.c_str());
      ++refused;
      continue;
    }
    if (settings.print) {
      std::printf("// seed %lu\n%s%s", seed, Layouts(generated.data).c_str(),
                  PrintModule(*generated.module).c_str());
      std::fflush(stdout);
    }
    std::string error;
    const auto kernel = TestKernel::Make(*generated.module, &error);
    ASSERT_NE(kernel, nullptr) << "seed " << seed << ": " << error;
    const Outcome expected = kernel->Interpret(generated.data);
    if (expected.failed) {
      if (settings.print) std::printf("interpreter: %s\n", expected.message.c_str());
      ++errors;
    }
    if (std::getenv("INTERP")) continue;
    const std::vector<Way> ways = WaysFor(seed);
    const std::string disagreement = kernel->Disagreement(generated.data, ways);
    if (disagreement.empty()) continue;
    const Module* shown = generated.module.get();
    std::unique_ptr<Module> smaller;
    if (settings.shrink) {
      // The same kind of failure in the same way, so that shrinking does not wander off.
      const std::string name = disagreement.substr(0, disagreement.find(':'));
      std::vector<Way> failing;
      for (const Way& way : ways) {
        if (way.name == name) failing.push_back(way);
      }
      const std::string kind = disagreement.substr(0, name.size() + 8);
      smaller = Shrink(*shown, [&](const Module& module) {
        return DisagreementOf(module, generated.data, failing).starts_with(kind);
      });
      shown = smaller.get();
    }
    ADD_FAILURE() << "seed " << seed << ": " << disagreement << "\n"
                  << Layouts(generated.data) << PrintModule(*shown);
    if (++failed == 10) break;
  }
  const auto count = static_cast<int>(settings.end - settings.first);
  std::printf("%d kernels, %d refused by the builder, %d ended by a run-time error\n", count,
              refused, errors);
  // The generator is only worth its time while nearly everything it writes runs to the end.
  EXPECT_LE(refused, count / 20 + 1);
  EXPECT_LE(errors, count / 20 + 1);
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

}  // namespace
}  // namespace intent::testing

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto& settings = intent::testing::settings;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag.starts_with("--seeds=")) {
      char* rest = nullptr;
      settings.first = std::strtoull(flag.c_str() + 8, &rest, 10);
      settings.end = *rest == ':' ? std::strtoull(rest + 1, nullptr, 10) : settings.first + 1;
    } else if (flag == "--all-ways") {
      settings.all_ways = true;
    } else if (flag == "--shrink") {
      settings.shrink = true;
    } else if (flag == "--print") {
      settings.print = true;
    } else {
      std::fprintf(stderr, "unknown flag %s\n", flag.c_str());
      return 2;
    }
  }
  for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS}) {
    std::signal(signal, intent::testing::NoteCrash);
  }
  return RUN_ALL_TESTS();
}
