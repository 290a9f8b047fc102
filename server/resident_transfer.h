#pragma once

// Streams between a caller and a session's memory, a window of shared memory at a time: what has
// come is copied before more is read, so a slow device slows its caller, and nothing else grows.
//
// Each belongs to one RPC, whose reactions are serial; `done` callbacks come from the session's
// thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "server/pool/arena_pool.h"
#include "server/session.h"

namespace intent {

class ResidentTransfer {
 public:
  static constexpr uint64_t kWindowBytes = 16 << 20;
  static constexpr uint64_t kChunkBytes = 4 << 20;  // the largest

  using Done = std::function<void(absl::Status)>;

  // For bytes [offset, offset + size) of the allocation. OutOfRange unless they are in it;
  // ResourceExhausted when there is no shared memory for the window.
  static absl::StatusOr<std::unique_ptr<ResidentTransfer>> Make(std::shared_ptr<Session> session,
                                                                const std::string& handle,
                                                                uint64_t offset, uint64_t size,
                                                                ArenaPool& arenas);

  // Upload: takes the next chunk, which begins `at` bytes into the transfer; true when Flush must
  // come before the next one. InvalidArgument unless chunks come in order, fit and are small
  // enough.
  absl::StatusOr<bool> Take(uint64_t at, std::string_view chunk);
  // Copies what was taken to the session's memory.
  void Flush(Done done);

  // Download: fills the window with what comes next; empty at the end.
  void Fill(Done done);
  std::string_view window() const { return {arena_->data(), filled_}; }

  // Whether everything is in the window or has gone through it.
  bool complete() const { return moved_ + filled_ == size_; }

 private:
  ResidentTransfer(std::shared_ptr<Session> session, std::string handle, uint64_t offset,
                   uint64_t size, std::shared_ptr<ArenaPool::Arena> arena)
      : session_(std::move(session)),
        handle_(std::move(handle)),
        offset_(offset),
        size_(size),
        arena_(std::move(arena)) {}

  void Copy(bool out, uint64_t bytes, Done done);

  const std::shared_ptr<Session> session_;
  const std::string handle_;
  const uint64_t offset_, size_;
  const std::shared_ptr<ArenaPool::Arena> arena_;
  uint64_t moved_ = 0;   // whole windows that are done
  uint64_t filled_ = 0;  // of the present window
};

}  // namespace intent
