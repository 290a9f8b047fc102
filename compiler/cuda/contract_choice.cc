#include "compiler/cuda/contract_choice.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/cuda/emit.h"
#include "compiler/cuda/emitter.h"

namespace intent::cuda {
namespace {

// What of a tile lies in shared memory: `stages` steps of operands, and later the sums.
int SharedBytes(int rows, int columns, int stages, int stage_bytes, int gap, int sum_bytes) {
  return std::max(stages * stage_bytes, rows * (columns + gap) * sum_bytes);
}

// 99 KiB of shared memory a block, static and dynamic together; others have 163 and more.
bool HasLittleSharedMemory(const std::string& architecture) {
  return architecture == "sm_86" || architecture == "sm_89" || architecture.starts_with("sm_12");
}

}  // namespace

ContractChoice ChooseContract(DType left, DType right, DType sum, const std::string& architecture,
                              bool shares) {
  const std::string l = TypeName(left), r = TypeName(right), acc = TypeName(sum);
  const int sum_bytes = static_cast<int>(StorageBytes(sum));
  constexpr int kRows = 128, kColumns = 128;
  const bool little = shares || HasLittleSharedMemory(architecture);
  if (left != sum) {
    // A step is 128 bytes of the inner axis.
    const int step = (kRows + kColumns) * 128;
    if (architecture == "sm_90a") {
      const int stages = shares ? 2 : 4;
      return {absl::StrCat("WarpgroupCores<", l, ", ", r, ", ", acc, ", 2, 128, ", stages, ">"),
              kRows, kColumns, SharedBytes(kRows, kColumns, stages, step, 8, sum_bytes)};
    }
    const int stages = little ? 2 : 3;
    return {absl::StrCat("TensorCores<", l, ", ", r, ", ", acc, ", 128, 128, ",
                         128 / StorageBytes(left), ", 2, 4, ", stages, ">"),
            kRows, kColumns, SharedBytes(kRows, kColumns, stages, step, 8, sum_bytes)};
  }
  constexpr int kDepth = 16;
  if (sum == DType::kF64) {
    const int stages = little ? 2 : 4;
    return {absl::StrCat("DoubleCores<128, 64, 4, 2, ", stages, ">"), kRows, 64,
            SharedBytes(kRows, 64, stages, (kRows + 64) * kDepth * 8, 4, sum_bytes)};
  }
  const int columns = sum_bytes == 4 ? 128 : 64;
  return {absl::StrCat("ScalarCores<", acc, ", 128, ", columns, ", 16, 16, 3>"), kRows, columns,
          SharedBytes(kRows, columns, 3, kDepth * ((kRows + columns) * sum_bytes + 32),
                      16 / sum_bytes, sum_bytes)};
}

}  // namespace intent::cuda
