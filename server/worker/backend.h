#pragma once

// Backend: where an executor's kernels run and where its tensors lie, on this host or on a CUDA
// device. One thread, one call at a time.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/worker/executable.h"

namespace intent {

// One allocation of a call that lies in the arena.
struct ArenaTensor {
  char* host = nullptr;  // in the arena
  uint64_t size = 0;
  bool filled = false;    // otherwise it is zero
  bool returned = false;  // its content is wanted in the arena when the call has succeeded
  char* place = nullptr;  // where the kernel has it, after Enter
};

// Aborted of any of these: the process is of no use any more.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual absl::StatusOr<std::unique_ptr<Executable>> Load(const std::string& manifest,
                                                           const std::string& code) = 0;

  // Brings the tensors of a call to where its kernel runs.
  virtual absl::Status Enter(std::vector<ArenaTensor>& tensors) = 0;

  // Ends the call. `completed`: brings back what is wanted. Nothing of the call is left for the
  // next one.
  virtual absl::Status Leave(const std::vector<ArenaTensor>& tensors, bool completed) = 0;

  // Memory that outlives calls: zero-filled; `bytes` may be 0. Copies are whole when they return.
  virtual absl::StatusOr<char*> Allocate(uint64_t bytes) = 0;
  virtual void Free(char* memory) = 0;
  virtual absl::Status CopyIn(char* memory, const char* from, uint64_t bytes) = 0;
  virtual absl::Status CopyOut(char* to, const char* memory, uint64_t bytes) = 0;
};

}  // namespace intent
