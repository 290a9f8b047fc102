#include "server/resident_transfer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace intent {

absl::StatusOr<std::unique_ptr<ResidentTransfer>> ResidentTransfer::Make(
    std::shared_ptr<Session> session, const std::string& handle, uint64_t offset, uint64_t size,
    ArenaPool& arenas) {
  const absl::StatusOr<Resident> resident = session->Find(handle);
  if (!resident.ok()) return resident.status();
  if (offset > resident->size || size > resident->size - offset) {
    return absl::OutOfRangeError(absl::StrCat(
        size, " bytes at ", offset, " are not in an allocation of ", resident->size, " bytes"));
  }
  absl::StatusOr<std::shared_ptr<ArenaPool::Arena>> arena =
      arenas.Acquire(std::min(size, kWindowBytes));
  if (!arena.ok()) return arena.status();
  return std::unique_ptr<ResidentTransfer>(
      new ResidentTransfer(std::move(session), handle, offset, size, *std::move(arena)));
}

absl::StatusOr<bool> ResidentTransfer::Take(uint64_t at, std::string_view chunk) {
  if (chunk.size() > kChunkBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a chunk has ", chunk.size(), " bytes, the limit is ", kChunkBytes));
  }
  if (at != moved_ + filled_ || chunk.size() > size_ - at) {
    return absl::InvalidArgumentError(absl::StrCat("a chunk at ", at, " of ", chunk.size(),
                                                   " bytes does not continue an upload of ", size_,
                                                   ", of which ", moved_ + filled_, " have come"));
  }
  std::memcpy(arena_->data() + filled_, chunk.data(), chunk.size());
  filled_ += chunk.size();
  return complete() || filled_ + kChunkBytes > kWindowBytes;
}

void ResidentTransfer::Flush(Done done) { Copy(/*out=*/false, filled_, std::move(done)); }

void ResidentTransfer::Fill(Done done) {
  moved_ += std::exchange(filled_, 0);
  Copy(/*out=*/true, std::min(size_ - moved_, kWindowBytes), std::move(done));
}

void ResidentTransfer::Copy(bool out, uint64_t bytes, Done done) {
  const absl::Status status = session_->Submit([this, out, bytes, done](Executor* executor) {
    if (executor == nullptr) return done(SessionLost());
    // It may have been freed meanwhile.
    const absl::StatusOr<Resident> resident = session_->Find(handle_);
    if (!resident.ok()) return done(resident.status());
    const uint64_t offset = offset_ + moved_;
    absl::Status copied = out ? executor->CopyOut(*arena_, resident->id, offset, bytes)
                              : executor->CopyIn(resident->id, offset, *arena_, bytes);
    if (copied.ok() && out) filled_ = bytes;
    if (copied.ok() && !out) moved_ += std::exchange(filled_, 0);
    done(std::move(copied));
  });
  if (!status.ok()) done(status);
}

}  // namespace intent
