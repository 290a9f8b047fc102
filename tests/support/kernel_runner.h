#pragma once

// Test support: runs one kernel every way we can run it, on equal copies of its arguments, and says
// where two ways disagree.
//
// The ways are the interpreter (the meaning), the tile interpreter on the lowering's programs, and
// compiled code for every level of this host, serial and threaded. Views lie anywhere in
// allocations that may be larger and shared; every byte of every allocation is compared, so a stray
// write shows. Not thread-safe.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/lower/lower.h"

namespace intent::testing {

// What float results may differ by. All zero: bit for bit, but for payloads of NaNs and, since the
// sign of a zero sum is free, signs of zeros.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

struct Allocation {
  DType dtype = DType::kBool;  // of the views in it, for comparison
  std::vector<uint8_t> bytes;
  Tolerance tolerance;
};

struct ViewPlace {
  size_t allocation = 0;
  int64_t offset = 0;  // of the element at coordinates 0, in elements
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;
};

struct CallData {
  std::vector<Allocation> allocations;
  std::vector<ViewPlace> views;      // in order among views
  std::vector<ScalarValue> scalars;  // in order among scalars
};

// After a call: what it reported and what its allocations hold.
struct Outcome {
  bool failed = false;
  uint32_t ordinal = kNoOrdinal;
  int32_t parameter = -1;  // position among the kernel's parameters
  int32_t axis = -1;
  std::string message;
  std::vector<Allocation> allocations;
};

// One way to run a kernel beside the interpreter.
struct Way {
  std::string name;
  std::string code;  // ways of equal code run the same code, which is made once; empty: their own
  lower::LowerOptions lowering;
  std::string target;  // empty: the tile interpreter
  int opt_level = 2;
  int threads = 1;
  bool check_fences = false;  // of the tile interpreter: a missing fence fails the run
};

// The tile interpreter on the plain lowering, at every vector width and for units of threads, with
// long rows and with short ones, once more with a check of their fences
// (compiler/tile/fence_check.h), then compiled code for every level of this host, the lowest also
// unoptimised and the highest also quickly compiled and threaded.
const std::vector<Way>& AllWays();
// Compiled code for AArch64, where an emulator runs it (emulator.h): slower than all the others.
const std::vector<Way>& EmulatedWays();

// CUDA where NVRTC is there: run on a device, or compiled only.
const std::vector<Way>& CudaWays();

// A kernel, specialised. `text` must verify.
class TestKernel {
 public:
  // Null and a message if the text has errors.
  static std::unique_ptr<TestKernel> Parse(const std::string& text, std::string* error);
  // A module that verifies and has neither constexprs nor helpers without default.
  static std::unique_ptr<TestKernel> Make(const Module& module, std::string* error);

  TestKernel();
  ~TestKernel();

  const Function& function() const { return module_->kernel_function(); }
  const Module& module() const { return *module_; }
  // The place of an operation in the text; line 0 if unknown.
  Span SpanOf(uint32_t ordinal) const { return map_.SpanOf(ordinal); }

  Outcome Interpret(const CallData& data) const;
  // A way that cannot lower or compile the kernel fails with that message. Each way compiles once.
  Outcome Run(const CallData& data, const Way& way) const;
  // Empty if the outcomes agree: both fail at the same operation, parameter and axis, or every byte
  // is equal within tolerance. After a failure only bytes that no view may write must be equal.
  std::string Difference(const Outcome& expected, const Outcome& got, const CallData& data) const;
  // Interprets and runs every way: the first disagreement, or empty.
  std::string Disagreement(const CallData& data, const std::vector<Way>& ways) const;

 private:
  std::unique_ptr<Module> module_;     // specialised
  std::unique_ptr<Module> canonical_;  // what is lowered
  SourceMap map_;
  struct Ready;  // what one way runs
  const Ready& ReadyFor(const Way& way) const;
  mutable std::map<std::string, std::unique_ptr<Ready>> ready_;  // by name of the way
};

// Bytes that hold `values` as elements of `dtype`.
std::vector<uint8_t> Encode(DType dtype, const std::vector<double>& values);
std::string ElementText(DType dtype, const uint8_t* address);

}  // namespace intent::testing
