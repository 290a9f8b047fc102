#include "cache/disk_folder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache/test_support.h"

namespace intent::cache {
namespace {

class DiskFolderTest : public ::testing::Test {
 protected:
  void Write(const std::string& bytes) {
    const absl::Status status = folder_->Write(digest_, bytes, 0);
    ASSERT_TRUE(status.ok()) << status;
  }

  std::vector<DiskFolder::ScannedFile> Scan() const {
    const std::atomic<bool> stop{false};
    return folder_->Scan(stop);
  }

  bool Exists() const { return folder_->Read(digest_).ok(); }

  TempDir temp_;
  const std::shared_ptr<DiskFolder> folder_ = DiskFolder::Open(temp_.path()).value();
  const Digest digest_ = Digest::Of("key");
};

TEST_F(DiskFolderTest, ReadsWhatWasWritten) {
  EXPECT_EQ(folder_->Read(digest_).status().code(), absl::StatusCode::kNotFound);
  Write("bytes");
  EXPECT_EQ(folder_->Read(digest_)->bytes, "bytes");
}

TEST_F(DiskFolderTest, AScanFindsEntriesWithTheirSizeAndUse) {
  Write(std::string(10'000, 'x'));
  const std::string hex = digest_.Hex();
  SetModified(temp_ / (hex.substr(0, 2) + "/" + hex.substr(2)), 1000);
  const auto files = Scan();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].digest, digest_);
  EXPECT_GE(files[0].bytes, 10'000u);
  EXPECT_EQ(files[0].used_at, 1000'000'000'000);
}

TEST_F(DiskFolderTest, AScanEndsWhenToldTo) {
  Write("x");
  const std::atomic<bool> stop{true};
  EXPECT_TRUE(folder_->Scan(stop).empty());
}

TEST_F(DiskFolderTest, EvictsWhatWasScanned) {
  Write("x");
  const auto files = Scan();
  EXPECT_EQ(folder_->Evict(files[0]), DiskFolder::Eviction::kEvicted);
  EXPECT_FALSE(Exists());
  EXPECT_EQ(folder_->Evict(files[0]), DiskFolder::Eviction::kAlreadyGone);
}

TEST_F(DiskFolderTest, KeepsWhatWasUsedOrReplacedSinceTheScan) {
  Write("x");
  auto scanned = Scan()[0];
  scanned.used_at -= 1;
  EXPECT_EQ(folder_->Evict(scanned), DiskFolder::Eviction::kKept);
  EXPECT_TRUE(Exists());
}

TEST_F(DiskFolderTest, RemovesABadFileButNotItsReplacement) {
  Write("bad");
  const ino_t bad = folder_->Read(digest_)->inode;
  Write("good");
  folder_->RemoveIfSame(digest_, bad);
  ASSERT_TRUE(Exists());
  folder_->RemoveIfSame(digest_, folder_->Read(digest_)->inode);
  EXPECT_FALSE(Exists());
}

TEST_F(DiskFolderTest, OneHolderOfTheLockAtATime) {
  auto lock = folder_->TryLock();
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_EQ(folder_->TryLock().status().code(), absl::StatusCode::kUnavailable);
  *lock = FileDescriptor();
  EXPECT_TRUE(folder_->TryLock().ok());
}

}  // namespace
}  // namespace intent::cache
