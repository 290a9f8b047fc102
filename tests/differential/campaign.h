#pragma once

// Runs a range of seeds every way, over several processes, so that a kernel that crashes or does
// not end is a failure like any other. Not thread-safe; the calling process runs no kernel before.

#include <cstdint>
#include <string>
#include <vector>

namespace intent::testing {

struct CampaignOptions {
  uint64_t first = 1;
  uint64_t end = 2001;
  int jobs = 2;
  double seconds = 0;     // start no kernel after that; 0: no limit
  bool all_ways = false;  // otherwise a few for each kernel, and all of them for every hundredth
  uint64_t optimise_every = 1;  // seeds that optimised code runs, too
  std::string way;              // only the ways whose name has this in it
  bool shrink = false;
  int stop_after = 10;  // failures
  std::string folder;   // where what fails is written, one file for each seed; must exist
};

// Ways disagree, or the generator broke its word: the builder or the interpreter refused the
// kernel.
struct Failure {
  uint64_t seed;
  std::string text;  // what happened, and the kernel as a section of tests/conformance/run
};

struct CampaignResult {
  uint64_t end = 0;     // every seed below has run
  int64_t kernels = 0;  // that ran
  std::vector<Failure> failures;
};

CampaignResult RunCampaign(const CampaignOptions& options);

}  // namespace intent::testing
