// The device library on a GPU: every exact function against compiler/numerics, bit for bit; errors
// of real functions against MPFR, as the table of docs/numerics.md; approximate forms; atomics.
//
//   device_numerics [--images FOLDER] [--points N]    checks; N arguments where not all are tried
//   device_numerics --compile FOLDER [ARCHITECTURE]   makes the images of sm_90a with NVRTC; no GPU
//
// Images that FOLDER lacks, or all without one, are compiled by NVRTC. The last line is
// 'N passed, N failed'; the exit status is 0 only if none failed, and 77 where there is no GPU.

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/gpu/atomics_check.h"
#include "tests/gpu/device_session.h"
#include "tests/gpu/functions_check.h"
#include "tests/gpu/images.h"
#include "tests/gpu/tally.h"

namespace intent::gpu_test {
namespace {

constexpr int kSkipped = 77;

struct Options {
  std::string images, compile, architecture = "sm_90a";
  size_t points = size_t{1} << 16;
};

int Usage() {
  std::cerr << "usage: device_numerics [--images FOLDER] [--points N] |"
               " --compile FOLDER [ARCHITECTURE]\n";
  return 2;
}

int Check(const Options& options) {
  const auto session = DeviceSession::Open();
  if (!session.ok()) {
    std::cout << "SKIPPED: the device library was not run: " << session.status().message() << "\n";
    return kSkipped;
  }
  const DeviceSession& device = **session;
  std::cout << "device: " << device.name() << ", " << device.architecture() << ", driver "
            << device.driver().version << std::endl;
  const Images images(options.images, device.architecture());
  Tally all;
  const auto part = [&](const char* name, const auto& check) {
    const auto start = std::chrono::steady_clock::now();
    Tally tally;
    check(&tally);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::cout << name << ": " << tally.passed() << " passed, " << tally.failed() << " failed, "
              << seconds.count() << " s" << std::endl;
    all.Add(tally);
  };
  part("exact functions", [&](Tally* tally) { CheckExactFunctions(device, images, tally); });
  part("atomics", [&](Tally* tally) { CheckAtomics(device, images, tally); });
  part("approximate forms", [&](Tally* tally) { CheckApproximateForms(device, images, tally); });
  part("real functions",
       [&](Tally* tally) { CheckRealFunctions(device, images, options.points, tally); });
  std::cout << all.passed() << " passed, " << all.failed() << " failed" << std::endl;
  return all.failed() == 0 ? 0 : 1;
}

int Compile(const Options& options) {
  const absl::Status status = Images(options.compile, options.architecture).WriteAll();
  if (status.ok()) return 0;
  std::cerr << status << "\n";
  return 1;
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (++i == argc) return Usage();
    if (flag == "--images") {
      options.images = argv[i];
    } else if (flag == "--points") {
      options.points = std::strtoull(argv[i], nullptr, 10);
    } else if (flag == "--compile") {
      options.compile = argv[i];
      if (i + 1 < argc) options.architecture = argv[++i];
    } else {
      return Usage();
    }
  }
  return options.compile.empty() ? Check(options) : Compile(options);
}

}  // namespace
}  // namespace intent::gpu_test

int main(int argc, char** argv) { return intent::gpu_test::Main(argc, argv); }
