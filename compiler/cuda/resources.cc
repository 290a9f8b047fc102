#include "compiler/cuda/resources.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace intent::cuda {
namespace {

// The number that stands before `what` in a line: 12 in "..., 12 bytes smem, ..." for " bytes
// smem".
std::optional<uint32_t> NumberBefore(std::string_view line, std::string_view what) {
  const size_t at = line.find(what);
  if (at == line.npos) return std::nullopt;
  size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(line.data() + begin, line.data() + at, number);
  if (error != std::errc() || end != line.data() + at) return std::nullopt;
  return number;
}

// What stands between `before` and the end of the line or the next quote.
std::string_view NameAfter(std::string_view line, std::string_view before) {
  const size_t at = line.find(before);
  if (at == line.npos) return {};
  const std::string_view rest = line.substr(at + before.size());
  return rest.substr(0, rest.find('\''));
}

}  // namespace

// ptxas -v writes, for each function,
//   ptxas info    : Compiling entry function 'intent_kernel' for 'sm_90a'      (of kernels)
//   ptxas info    : Function properties for intent_kernel
//   ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 74 registers, used 1 barriers, 48 bytes cumulative stack size, 1344 bytes
//   smem
// where the last line, and functions that it calls, belong to the kernel that was compiled last.
absl::StatusOr<KernelResources> ReadResources(std::string_view log, std::string_view entry) {
  KernelResources resources;
  std::string_view kernel, function;
  bool used = false, framed = false;
  for (size_t at = 0; at < log.size();) {
    const size_t end = std::min(log.find('\n', at), log.size());
    const std::string_view line = log.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with("ptxas")) continue;
    if (const auto name = NameAfter(line, "Compiling entry function '"); !name.empty()) {
      kernel = name;
    } else if (const auto name = NameAfter(line, "Function properties for "); !name.empty()) {
      function = name;
    } else if (const auto frame = NumberBefore(line, " bytes stack frame")) {
      if (kernel == entry) {
        resources.spill_store_bytes += NumberBefore(line, " bytes spill stores").value_or(0);
        resources.spill_load_bytes += NumberBefore(line, " bytes spill loads").value_or(0);
      }
      if (function == entry) {
        resources.local_bytes = std::max(resources.local_bytes, *frame);
        framed = true;
      }
    } else if (const auto registers = NumberBefore(line, " registers");
               registers && kernel == entry) {
      resources.registers = *registers;
      resources.shared_bytes = NumberBefore(line, " bytes smem").value_or(0);
      resources.local_bytes = std::max(
          resources.local_bytes, NumberBefore(line, " bytes cumulative stack size").value_or(0));
      used = true;
    }
  }
  if (used && framed) return resources;
  return absl::InternalError(
      absl::StrCat("the assembler does not say what '", std::string(entry), "' takes"));
}

std::string Describe(const KernelResources& resources) {
  std::string text = absl::StrCat(resources.registers, " registers and ", resources.local_bytes,
                                  " bytes of local memory a thread, ", resources.shared_bytes,
                                  " bytes of static shared memory a block; ");
  if (resources.spill_store_bytes == 0 && resources.spill_load_bytes == 0) {
    return absl::StrCat(text, "no spills");
  }
  return absl::StrCat(text, "spills: ", resources.spill_store_bytes, " bytes stored, ",
                      resources.spill_load_bytes, " loaded");
}

int MinimumCuda(int major, std::string_view architecture) {
  int least = 0;
  if (architecture.starts_with("sm_100") || architecture.starts_with("sm_120")) least = 12080;
  if (architecture.starts_with("sm_103")) least = 12090;
  return std::max(major * 1000, least);
}

}  // namespace intent::cuda
