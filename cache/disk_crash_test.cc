// kill -9 at any instant: what remains is an old entry, a new entry or none, and never a wrong one.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "cache/disk_store.h"
#include "cache/test_support.h"

namespace intent::cache {
namespace {

constexpr uint64_t kMaxBytes = 256 << 10;
constexpr int kKeys = 30;

std::unique_ptr<DiskStore> Open(const std::string& folder, uint64_t max_bytes = kMaxBytes) {
  auto store = DiskStore::Open({.folder = folder, .max_bytes = max_bytes, .reserve_bytes = 0});
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

std::string Object(int key, char letter) { return std::string(2000 + 700 * key, letter); }

// After a kill: every key answers with a whole entry or not at all, nothing counts as damaged, and
// the store works on.
void ExpectSound(const std::string& folder, const std::string& when) {
  for (const auto& file : FilesUnder(folder)) {
    if (file.parent_path().filename() == "tmp") SetModified(file, std::time(nullptr) - 3600);
  }
  {
    const auto store = Open(folder);
    for (int i = 0; i < kKeys; ++i) {
      const std::string found = ObjectIn(*store, TestKey(std::to_string(i)));
      if (found != "(miss)") {
        ASSERT_EQ(found, Object(i, found[0])) << when;
      }
    }
    EXPECT_EQ(store->Stats().corrupt, 0u) << when;
    store->Maintain();
    EXPECT_TRUE(std::filesystem::is_empty(folder + "/tmp")) << "leftovers stay: " << when;
  }
  // Under a bound that evicts nothing: the entries above all were used within one tick of the
  // clock.
  const auto store = Open(folder, 100 * kMaxBytes);
  ASSERT_TRUE(store->Put(TestEntry(TestKey("0"), Object(0, 'z'))).ok()) << when;
  EXPECT_EQ(ObjectIn(*store, TestKey("0")), Object(0, 'z')) << when;
}

TEST(Kill, OfABusyWriterAtRandomInstants) {
  TempDir folder;
  std::mt19937 random(3);
  for (int round = 0; round < 150; ++round) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto store = Open(folder.path());
      std::mt19937 keys(static_cast<unsigned>(round));
      for (int n = 0;; ++n) {
        const int key = static_cast<int>(keys() % kKeys);
        const char letter = static_cast<char>('a' + round % 20);
        store->Put(TestEntry(TestKey(std::to_string(key)), Object(key, letter))).IgnoreError();
        if (n == 0 && write(ready[1], "x", 1) != 1) _exit(1);
        if (n % 20 == 19) store->Maintain();
      }
    }
    close(ready[1]);
    char byte;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 3000);
    while (std::chrono::steady_clock::now() < deadline) {
    }
    ASSERT_EQ(kill(child, SIGKILL), 0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    if (round % 10 == 9) ExpectSound(folder.path(), "round " + std::to_string(round));
  }
}

enum class Outcome { kKilled, kFinished, kCannotTrace };

// Runs `work` in a child and kills it as it enters or leaves its `instant`-th system call.
template <typename Work>
Outcome KillAtSystemCall(int instant, Work work) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(2);
    raise(SIGSTOP);
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) return Outcome::kCannotTrace;
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL);
  for (int i = 0; i < instant; ++i) {
    ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) return Outcome::kFinished;
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return Outcome::kKilled;
}

// Prepares a folder with old entries, then does `work` again and again, each time killed one system
// call later, until it gets through.
template <typename Work>
void KillAtEverySystemCall(Work work) {
  for (int instant = 1; instant < 5000; ++instant) {
    TempDir folder;
    {
      const auto store = Open(folder.path());
      for (int i = 0; i < 4; ++i) {
        ASSERT_TRUE(store->Put(TestEntry(TestKey(std::to_string(i)), Object(i, 'o'))).ok());
      }
    }
    const Outcome outcome = KillAtSystemCall(instant, [&] { work(folder.path()); });
    if (outcome == Outcome::kCannotTrace) {
      GTEST_SKIP() << "SKIPPED: ptrace is not permitted here; the random kills ran";
    }
    ExpectSound(folder.path(), "system call " + std::to_string(instant));
    if (outcome == Outcome::kFinished) {
      EXPECT_GT(instant, 10) << "the work did not run";
      return;
    }
  }
  FAIL() << "the work never got through";
}

TEST(Kill, AtEverySystemCallOfAPut) {
  KillAtEverySystemCall([](const std::string& folder) {
    const auto store = Open(folder);
    store->Put(TestEntry(TestKey("1"), Object(1, 'n'))).IgnoreError();
    store->Put(TestEntry(TestKey("9"), Object(9, 'n'))).IgnoreError();
  });
}

}  // namespace
}  // namespace intent::cache
