#include "compiler/cuda_runtime/launch_shape.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/runtime/launch_program.h"

namespace intent::gpu {
namespace {

using compile::v1::Manifest;
using compile::v1::Program;
using compile::v1::Variant;
using execute::v1::RunError;

constexpr int64_t kMaxGridX = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxGridYZ = 65'535;
constexpr int64_t kMaxBlockThreads = 1024;
constexpr int64_t kMaxSharedBytes = 1 << 20;  // far above any device's
constexpr int64_t kMaxScratchBytes = int64_t{1} << 46;

RunError Unlaunchable(RunError::Kind kind, std::string message) {
  RunError error;
  error.set_kind(kind);
  error.set_message(std::move(message));
  return error;
}

// Evaluates one variant's programs; keeps the first trouble.
class Shaper {
 public:
  Shaper(const Manifest& manifest, const BoundCall& call) : manifest_(manifest), call_(call) {}

  std::variant<LaunchShape, RunError> Shape(int position) {
    const Variant& variant = manifest_.variants(position);
    LaunchShape shape;
    shape.variant = position;
    if (variant.grid_size() != 3 || variant.block_size() != 3) {
      return Unlaunchable(RunError::KIND_BAD_ARGUMENT, "the manifest has no grid or no block");
    }
    for (int axis = 0; axis < 3; ++axis) {
      // Fewer blocks than have work do it all; with no work one block still checks its guards.
      const int64_t blocks = ValueOf(variant.grid(axis), "grid");
      shape.grid[axis] = axis == 0 ? std::clamp<int64_t>(blocks, 1, kMaxGridX)
                                   : Within(blocks, 1, kMaxGridYZ, "grid");
      shape.block[axis] =
          Within(ValueOf(variant.block(axis), "block"), 1, kMaxBlockThreads, "block");
    }
    Within(int64_t{shape.block[0]} * shape.block[1] * shape.block[2], 1, kMaxBlockThreads, "block");
    if (variant.has_shared_bytes()) {
      shape.shared_bytes = Within(ValueOf(variant.shared_bytes(), "shared memory"), 0,
                                  kMaxSharedBytes, "shared memory");
    }
    if (variant.has_scratch_bytes()) shape.scratch_bytes = Scratch(variant.scratch_bytes());
    if (variant.has_block_scratch_bytes()) {
      shape.block_scratch_bytes = Scratch(variant.block_scratch_bytes());
    }
    if (trouble_.has_value()) return *std::move(trouble_);
    return shape;
  }

  bool Holds(const Program& guard) const {
    if (guard.instructions_size() == 0) return true;
    return Evaluate(guard).value_or(0) != 0;
  }

 private:
  std::optional<int64_t> Evaluate(const Program& program) const {
    return intent::Evaluate(program, [this](const compile::v1::Instruction& instruction) {
      return LeafValue(manifest_, call_, instruction);
    });
  }

  int64_t ValueOf(const Program& program, const char* what) {
    const std::optional<int64_t> value = Evaluate(program);
    if (!value.has_value() && !trouble_.has_value()) {
      trouble_ =
          Unlaunchable(RunError::KIND_BAD_SHAPE,
                       absl::StrCat("the launch's ", what, " is undefined for these shapes"));
    }
    return value.value_or(1);
  }

  int64_t Within(int64_t value, int64_t least, int64_t most, const char* what) {
    if (value >= least && value <= most) return value;
    if (!trouble_.has_value()) {
      trouble_ = Unlaunchable(RunError::KIND_BAD_SHAPE,
                              absl::StrCat("the launch's ", what, " is ", value,
                                           ", which is not in ", least, " to ", most));
    }
    return least;
  }

  int64_t Scratch(const Program& program) {
    // More than any device has, or than i64 counts: the kernel itself finds out, and can say which
    // operation asked for it.
    int64_t bytes = Evaluate(program).value_or(0);
    if (bytes > kMaxScratchBytes) bytes = 0;
    if (bytes < 0 && !trouble_.has_value()) {
      trouble_ = Unlaunchable(RunError::KIND_NO_MEMORY,
                              absl::StrCat("the kernel needs ", bytes, " bytes of scratch memory"));
    }
    return trouble_.has_value()
               ? 0
               : (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  }

  const Manifest& manifest_;
  const BoundCall& call_;
  std::optional<RunError> trouble_;
};

}  // namespace

std::variant<LaunchShape, RunError> ShapeLaunch(const Manifest& manifest, const BoundCall& call) {
  Shaper shaper(manifest, call);
  for (int i = 0; i < manifest.variants_size(); ++i) {
    if (shaper.Holds(manifest.variants(i).guard())) return shaper.Shape(i);
  }
  return Unlaunchable(RunError::KIND_BAD_ARGUMENT,
                      "no variant of the artifact serves these arguments");
}

std::vector<uint64_t> LaunchWords(const BoundCall& call) {
  std::vector<uint64_t> words;
  for (size_t i = 0; i < call.views.size(); ++i) {
    const intent_view& view = call.views[i];
    words.push_back(reinterpret_cast<uintptr_t>(view.data));
    words.insert(words.end(), call.extents[i].begin(), call.extents[i].end());
    words.insert(words.end(), call.strides[i].begin(), call.strides[i].end());
    words.push_back(static_cast<uint64_t>(view.low));
    words.push_back(static_cast<uint64_t>(view.high));
  }
  words.insert(words.end(), call.scalars.begin(), call.scalars.end());
  words.insert(words.end(), kTrailingWords, 0);
  return words;
}

}  // namespace intent::gpu
