#include "server/worker/host_backend.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "compiler/runtime/kernel_runtime.h"

namespace intent {
namespace {

class HostBackend final : public Backend {
 public:
  HostBackend(int threads, int64_t arena_bytes) : runtime_(threads, arena_bytes) {}
  ~HostBackend() override {
    for (const auto& [memory, size] : allocations_) munmap(memory, size);
  }

  absl::StatusOr<std::unique_ptr<Executable>> Load(const std::string& manifest,
                                                   const std::string& code) override {
    return MakeExecutable(manifest, code, runtime_);
  }

  absl::Status Enter(std::vector<ArenaTensor>& tensors) override {
    for (ArenaTensor& tensor : tensors) tensor.place = tensor.host;
    return absl::OkStatus();
  }
  absl::Status Leave(const std::vector<ArenaTensor>&, bool) override { return absl::OkStatus(); }

  absl::StatusOr<char*> Allocate(uint64_t bytes) override {
    const uint64_t size = std::max<uint64_t>(bytes, 1);
    void* const memory =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return absl::ErrnoToStatus(errno, "an allocation");
    allocations_[static_cast<char*>(memory)] = size;
    return static_cast<char*>(memory);
  }
  void Free(char* memory) override {
    const auto found = allocations_.find(memory);
    if (found == allocations_.end()) return;
    munmap(memory, found->second);
    allocations_.erase(found);
  }
  absl::Status CopyIn(char* memory, const char* from, uint64_t bytes) override {
    std::memcpy(memory, from, bytes);
    return absl::OkStatus();
  }
  absl::Status CopyOut(char* to, const char* memory, uint64_t bytes) override {
    std::memcpy(to, memory, bytes);
    return absl::OkStatus();
  }

 private:
  KernelRuntime runtime_;
  std::map<char*, uint64_t> allocations_;
};

}  // namespace

std::unique_ptr<Backend> MakeHostBackend(int threads, int64_t arena_bytes) {
  return std::make_unique<HostBackend>(threads, arena_bytes);
}

}  // namespace intent
