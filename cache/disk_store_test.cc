#include "cache/disk_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "cache/test_support.h"

namespace intent::cache {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr uint64_t kMaxBytes = 1 << 20;

std::unique_ptr<DiskStore> Open(const std::string& folder, uint64_t max_bytes = kMaxBytes) {
  auto store = DiskStore::Open({.folder = folder, .max_bytes = max_bytes, .reserve_bytes = 0});
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

absl::Status OpenStatus(const std::string& folder) {
  return DiskStore::Open({.folder = folder, .max_bytes = kMaxBytes, .reserve_bytes = 0}).status();
}

mode_t ModeOf(const fs::path& path) {
  struct stat info;
  EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

TEST(DiskStore, OutlivesItsProcess) {
  TempDir folder;
  const Key key = TestKey("k");
  ASSERT_TRUE(Open(folder.path())->Put(TestEntry(key, "x")).ok());
  EXPECT_EQ(ObjectIn(*Open(folder.path()), key), "x");
}

TEST(DiskStore, NamesAnEntryByItsKey) {
  TempDir folder;
  const Key key = TestKey("k");
  const auto entry = TestEntry(key, "x");
  ASSERT_TRUE(Open(folder.path())->Put(entry).ok());
  EXPECT_EQ(ReadFile(EntryFile(folder.path(), key)), entry->bytes());
}

// ---- the folder

TEST(DiskStoreFolder, IsCreatedForItsOwnerAlone) {
  TempDir temp;
  const std::string folder = temp / "a/b/cache";
  const Key key = TestKey("k");
  ASSERT_TRUE(Open(folder)->Put(TestEntry(key, "x")).ok());
  EXPECT_EQ(ModeOf(temp / "a"), 0700u);
  EXPECT_EQ(ModeOf(folder), 0700u);
  EXPECT_EQ(ModeOf(EntryFile(folder, key).parent_path()), 0700u);
  EXPECT_EQ(ModeOf(EntryFile(folder, key)), 0600u);
}

TEST(DiskStoreFolder, RefusesASymbolicLink) {
  TempDir temp;
  fs::create_directory(temp / "real");
  fs::create_symlink(temp / "real", temp / "link");
  for (const char* name : {"link", "link/", "link//"}) {
    const absl::Status status = OpenStatus(temp / name);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr("is a symbolic link"));
  }
}

TEST(DiskStoreFolder, RefusesAFile) {
  TempDir temp;
  WriteFile(temp / "file", "x");
  const absl::Status status = OpenStatus(temp / "file");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is not a folder"));
  EXPECT_FALSE(OpenStatus(temp / "file/below").ok());
}

TEST(DiskStoreFolder, RefusesAnotherUsersFolder) {
  TempDir temp;
  std::string folder = "/";
  if (geteuid() == 0) {
    folder = temp / "foreign";
    fs::create_directory(folder);
    ASSERT_EQ(chown(folder.c_str(), 12345, 12345), 0);
  }
  const absl::Status status = OpenStatus(folder);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("belongs to user"));
}

TEST(DiskStoreFolder, RefusesAFolderThatOthersMayWrite) {
  TempDir folder;
  for (const mode_t mode : {0770, 0707, 0720, 0702}) {
    ASSERT_EQ(chmod(folder.path().c_str(), mode), 0);
    EXPECT_EQ(OpenStatus(folder.path()).code(), absl::StatusCode::kFailedPrecondition) << mode;
  }
}

TEST(DiskStoreFolder, LeavesTheModeOfAnExistingFolderAlone) {
  TempDir folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  Open(folder.path());
  EXPECT_EQ(ModeOf(folder.path()), 0755u);
}

TEST(DiskStoreFolder, RefusesAnEmptyName) {
  EXPECT_EQ(OpenStatus("").code(), absl::StatusCode::kInvalidArgument);
}

TEST(DiskStoreFolder, MayBeEmptiedUnderARunningDaemon) {
  TempDir folder;
  const auto store = Open(folder.path());
  ASSERT_TRUE(store->Put(TestEntry(TestKey("a"), "x")).ok());
  for (const auto& child : fs::directory_iterator(folder.path())) fs::remove_all(child.path());
  EXPECT_EQ(ObjectIn(*store, TestKey("a")), "(miss)");
  EXPECT_TRUE(store->Put(TestEntry(TestKey("a"), "y")).ok());
  EXPECT_EQ(ObjectIn(*store, TestKey("a")), "y");
}

TEST(DiskStoreFolder, IsCreatedAnewWhenItVanished) {
  TempDir temp;
  const std::string folder = temp / "cache";
  const auto store = Open(folder);
  ASSERT_TRUE(store->Put(TestEntry(TestKey("a"), "x")).ok());
  // The scan at start may be putting its lock file into the folder.
  for (std::error_code error; fs::exists(folder);) fs::remove_all(folder, error);
  EXPECT_EQ(ObjectIn(*store, TestKey("a")), "(miss)");
  EXPECT_TRUE(store->Put(TestEntry(TestKey("a"), "y")).ok());
  EXPECT_EQ(ObjectIn(*store, TestKey("a")), "y");
  EXPECT_EQ(ModeOf(folder), 0700u);
}

// ---- damage

class DamagedEntry : public ::testing::Test {
 protected:
  // Puts `bytes` in the entry's place and expects a miss that a Put mends.
  void ExpectReplaced(std::string_view bytes, const std::string& what) {
    WriteFile(file_, bytes);
    const StoreStats before = store_->Stats();
    EXPECT_EQ(ObjectIn(*store_, key_), "(miss)") << what;
    const StoreStats after = store_->Stats();
    EXPECT_EQ(after.corrupt, before.corrupt + 1) << what;
    EXPECT_EQ(after.misses, before.misses + 1) << what;
    EXPECT_EQ(after.hits_disk, before.hits_disk) << what;
    EXPECT_FALSE(fs::exists(file_)) << what;
    ASSERT_TRUE(store_->Put(entry_).ok()) << what;
    EXPECT_EQ(ObjectIn(*store_, key_), "some machine code") << what;
  }

  TempDir folder_;
  const Key key_ = TestKey("k");
  const std::shared_ptr<const Entry> entry_ = TestEntry(key_, "some machine code");
  const std::unique_ptr<DiskStore> store_ = Open(folder_.path());
  const fs::path file_ = EntryFile(folder_.path(), key_);
};

TEST_F(DamagedEntry, OneFlippedByteAtEveryOffsetIsReplaced) {
  for (size_t offset = 0; offset < entry_->bytes().size(); ++offset) {
    std::string bytes(entry_->bytes());
    bytes[offset] = static_cast<char>(~bytes[offset]);
    ExpectReplaced(bytes, "offset " + std::to_string(offset));
  }
}

TEST_F(DamagedEntry, TruncationAtEveryLengthIsReplaced) {
  for (size_t size = 0; size < entry_->bytes().size(); ++size) {
    ExpectReplaced(entry_->bytes().substr(0, size), "length " + std::to_string(size));
  }
}

TEST_F(DamagedEntry, TrailingBytesAreReplaced) {
  ExpectReplaced(std::string(entry_->bytes()) + "x", "one byte more");
}

TEST_F(DamagedEntry, ZerosLeftByAPowerFailureAreReplaced) {
  ExpectReplaced(std::string(entry_->bytes().size(), '\0'), "zeros");
}

TEST_F(DamagedEntry, AValidEntryOfAnotherKeyIsReplaced) {
  ExpectReplaced(TestEntry(TestKey("other"), "other code")->bytes(), "poison");
}

TEST_F(DamagedEntry, AnEnormousFileIsNotRead) {
  WriteFile(file_, "");
  ASSERT_EQ(truncate(file_.c_str(), off_t{1} << 40), 0);
  EXPECT_EQ(ObjectIn(*store_, key_), "(miss)");
  EXPECT_EQ(store_->Stats().corrupt, 1u);
  ASSERT_TRUE(store_->Put(entry_).ok());
  EXPECT_EQ(ObjectIn(*store_, key_), "some machine code");
}

TEST_F(DamagedEntry, ANamedPipeOrLinkDoesNotHoldTheReader) {
  fs::create_directories(file_.parent_path());
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  EXPECT_EQ(ObjectIn(*store_, key_), "(miss)");
  fs::remove(file_);
  WriteFile(folder_ / "elsewhere", entry_->bytes());
  fs::create_symlink(folder_ / "elsewhere", file_);
  EXPECT_EQ(ObjectIn(*store_, key_), "(miss)") << "links are not followed";
  EXPECT_EQ(store_->Stats().corrupt, 2u);
  ASSERT_TRUE(store_->Put(entry_).ok());
  EXPECT_EQ(ObjectIn(*store_, key_), "some machine code");
}

TEST_F(DamagedEntry, AFolderInItsPlaceMakesPutFailAndNothingElse) {
  fs::create_directories(file_ / "x");
  EXPECT_EQ(ObjectIn(*store_, key_), "(miss)");
  EXPECT_FALSE(store_->Put(entry_).ok());
  EXPECT_EQ(store_->Stats().write_failures, 1u);
  EXPECT_TRUE(store_->Put(TestEntry(TestKey("other"), "x")).ok());
}

// ---- size

fs::path PutAt(DiskStore& store, const std::string& folder, const std::string& name,
               long modified) {
  const Key key = TestKey(name);
  EXPECT_TRUE(store.Put(TestEntry(key, std::string(30'000, 'x'))).ok());
  SetModified(EntryFile(folder, key), modified);
  return EntryFile(folder, key);
}

uint64_t BytesUnder(const std::string& folder) {
  uint64_t bytes = 0;
  for (const fs::path& file : FilesUnder(folder)) {
    std::error_code evicted_meanwhile;
    const uint64_t size = fs::file_size(file, evicted_meanwhile);
    if (!evicted_meanwhile) bytes += size;
  }
  return bytes;
}

TEST(DiskStoreSize, EvictsWhatWasUsedLongestAgo) {
  TempDir folder;
  {
    const auto large = Open(folder.path(), 100 * kMaxBytes);
    for (int i = 0; i < 64; ++i) PutAt(*large, folder.path(), std::to_string(i), 1000 + i);
    ASSERT_TRUE(large->Get(TestKey("0")).ok());  // used now
  }
  const auto store = Open(folder.path());
  store->Maintain();
  EXPECT_LE(BytesUnder(folder.path()), kMaxBytes);
  EXPECT_GT(BytesUnder(folder.path()), kMaxBytes / 2) << "no more than needed";
  EXPECT_TRUE(fs::exists(EntryFile(folder.path(), TestKey("0"))));
  EXPECT_TRUE(fs::exists(EntryFile(folder.path(), TestKey("63"))));
  EXPECT_FALSE(fs::exists(EntryFile(folder.path(), TestKey("1"))));
  // Whoever removed what was too much, the scan at start or ours, counted it.
  EXPECT_EQ(store->Stats().evictions, 64 - FilesUnder(folder.path()).size() + 1 /* the lock */);
}

TEST(DiskStoreSize, AHitIsAUse) {
  TempDir folder;
  const auto store = Open(folder.path());
  const fs::path file = PutAt(*store, folder.path(), "a", 1000);
  const std::time_t before = std::time(nullptr);
  ASSERT_TRUE(store->Get(TestKey("a")).ok());
  struct stat info;
  ASSERT_EQ(stat(file.c_str(), &info), 0);
  EXPECT_GE(info.st_mtim.tv_sec, before - 1);
}

TEST(DiskStoreSize, KnowsTheFolderAfterAScan) {
  TempDir folder;
  {
    const auto store = Open(folder.path());
    for (int i = 0; i < 4; ++i) PutAt(*store, folder.path(), std::to_string(i), 1000);
  }
  const auto store = Open(folder.path());
  store->Maintain();
  EXPECT_GE(store->Stats().bytes_disk, 120'000u);
  EXPECT_LT(store->Stats().bytes_disk, 150'000u);
}

TEST(DiskStoreSize, StaysBoundedUnderAFastWriter) {
  TempDir folder;
  const auto store = Open(folder.path());
  uint64_t largest = 0;
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(store->Put(TestEntry(TestKey(std::to_string(i)), std::string(30'000, 'x'))).ok());
    if (i % 10 == 0) largest = std::max(largest, BytesUnder(folder.path()));
  }
  EXPECT_LE(largest, kMaxBytes + kMaxBytes / 4);
}

// The second Put is over the bound already, long before the background thread has scanned.
TEST(DiskStoreSize, AWriterThatOutrunsTheBackgroundEvictsByItself) {
  TempDir folder;
  const auto store = Open(folder.path(), 64 << 10);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(store->Put(TestEntry(TestKey(std::to_string(i)), std::string(50'000, 'x'))).ok());
  }
  EXPECT_EQ(store->Stats().write_failures, 0u);
}

TEST(DiskStoreSize, RefusesPutsFarOverTheBoundWhileAnotherProcessHoldsTheLock) {
  TempDir folder;
  const auto store = Open(folder.path());
  store->Maintain();
  const int lock = open((folder / "lock").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  int kept = 0;
  for (int i = 0; i < 100; ++i) {
    kept += store->Put(TestEntry(TestKey(std::to_string(i)), std::string(30'000, 'x'))).ok();
  }
  EXPECT_LE(BytesUnder(folder.path()), kMaxBytes + kMaxBytes / 4);
  EXPECT_EQ(store->Stats().evictions, 0u);
  EXPECT_EQ(store->Stats().write_failures, static_cast<uint64_t>(100 - kept));
  EXPECT_LT(kept, 100);
  close(lock);
  store->Maintain();
  EXPECT_GT(store->Stats().evictions, 0u);
  EXPECT_TRUE(store->Put(TestEntry(TestKey("after"), "x")).ok());
}

TEST(DiskStoreSize, ForeignFilesAreLeftAlone) {
  TempDir folder;
  WriteFile(folder / "README", std::string(2 * kMaxBytes, 'x'));
  WriteFile(folder / "ab/not an entry", std::string(2 * kMaxBytes, 'x'));
  const auto store = Open(folder.path());
  ASSERT_TRUE(store->Put(TestEntry(TestKey("a"), "x")).ok());
  store->Maintain();
  EXPECT_EQ(store->Stats().evictions, 0u);
  EXPECT_EQ(ObjectIn(*store, TestKey("a")), "x");
  EXPECT_TRUE(fs::exists(folder / "ab/not an entry"));
}

TEST(DiskStoreSize, TemporariesOfKilledWritersGoWhenTheyAreStale) {
  TempDir folder;
  const fs::path stale = folder / "tmp/0123-1";
  const fs::path fresh = folder / "tmp/0123-2";
  WriteFile(stale, "half an ent");
  SetModified(stale, std::time(nullptr) - 3600);
  WriteFile(fresh, "another daemon writes thi");
  Open(folder.path())->Maintain();
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_TRUE(fs::exists(fresh));
}

TEST(DiskStoreSize, AFinishedPutLeavesNoTemporary) {
  TempDir folder;
  const auto store = Open(folder.path());
  ASSERT_TRUE(store->Put(TestEntry(TestKey("a"), "x")).ok());
  EXPECT_TRUE(fs::is_empty(folder / "tmp"));
}

// Stopping is prompt: the destructor joins a thread that may be in the middle of a scan.
TEST(DiskStoreSize, MayBeClosedAtOnce) {
  TempDir folder;
  for (int i = 0; i < 50; ++i) Open(folder.path());
}

}  // namespace
}  // namespace intent::cache
