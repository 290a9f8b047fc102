#pragma once

// ExecuteCall: one execution, unary or streamed, between its envelope and its result.
//
//   Open       checks the envelope, finds the artifact, lays the allocations out in an arena
//   Data       where a streamed chunk goes
//   Begin      hands the call to an executor, of the host, of a device or of the caller's session;
//              `done` comes later, from another thread
//
// The arena lives until the call is destroyed, so that results can be read from it. Belongs to one
// RPC, whose reactions are serial; Cancel may come from any thread.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "intent/execute/v1/execute.pb.h"
#include "server/artifact_index.h"
#include "server/pool/arena_pool.h"
#include "server/pool/cuda_pool.h"
#include "server/pool/execute_pool.h"
#include "server/session_table.h"

namespace intent {

struct ExecuteLimits {
  static constexpr uint64_t kInlineBytes = 1u << 20;  // of one call, either way
  static constexpr int kAllocations = 1024;
  static constexpr int kArguments = 4096;
  static constexpr int kRank = 64;
};

class ExecuteCall {
 public:
  // Where calls go and what they need.
  struct Parts {
    ArtifactIndex& index;
    ArenaPool& arenas;
    ExecutePool& pool;
    CudaPool& cuda;
    SessionTable& sessions;
  };

  explicit ExecuteCall(const Parts& parts) : parts_(parts) {}
  ExecuteCall(const ExecuteCall&) = delete;
  ExecuteCall& operator=(const ExecuteCall&) = delete;

  // `streamed`: allocations may come in chunks, and nothing bounds inline data but the message.
  absl::Status Open(const execute::v1::ExecuteRequest& request, bool streamed);

  // The memory for the next chunk of an allocation. InvalidArgument unless chunks come in order and
  // fit.
  absl::StatusOr<char*> Data(uint32_t allocation, uint64_t offset, uint64_t size);

  using Done = std::function<void(absl::StatusOr<ExecuteResult>)>;

  // InvalidArgument when chunks are missing, ResourceExhausted when too many calls wait; `done` is
  // then not called.
  absl::Status Begin(Done done);

  void Cancel() { cancel_->Set(); }

  struct Returned {
    uint32_t id;
    std::string_view data;
  };
  // What goes back, in the order of the request; valid while the call lives.
  const std::vector<Returned>& returned() const { return returned_; }

 private:
  struct Allocation {
    uint64_t offset = 0;  // in the arena
    uint64_t size = 0;
    uint64_t filled = 0;
    bool streamed = false;
  };

  absl::Status CheckEnvelope(const execute::v1::ExecuteRequest& request, bool streamed);
  absl::Status CheckAllocation(const execute::v1::Allocation& allocation, bool streamed,
                               bool in_session);
  absl::Status LayOut(const execute::v1::ExecuteRequest& request);
  absl::Status Submit(std::unique_ptr<ExecuteJob> job);

  const Parts parts_;
  std::shared_ptr<Session> session_;  // null: none
  std::string device_;                // as the caller named it
  const std::shared_ptr<CancelSignal> cancel_ = std::make_shared<CancelSignal>();
  ArtifactEntry artifact_;
  std::shared_ptr<ArenaPool::Arena> arena_;
  std::map<uint32_t, Allocation> allocations_;
  worker::v1::ExecuteTask task_;
  std::vector<Returned> returned_;
};

// The wire form of a result. `with_data`: returned allocations carry their bytes.
execute::v1::ExecuteResponse ToResponse(const ExecuteResult& result, const ExecuteCall& call,
                                        bool with_data);

}  // namespace intent
