#pragma once

// Counts what passed and prints what failed. Thread-safe.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace intent::gpu_test {

class Tally {
 public:
  // `failure` empty: a pass.
  void Add(const std::string& failure) {
    const std::lock_guard lock(mutex_);
    if (failure.empty()) {
      ++passed_;
      return;
    }
    ++failed_;
    std::cout << "FAIL " << failure << std::endl;
  }
  void Add(const Tally& other) {
    const std::lock_guard lock(mutex_);
    passed_ += other.passed_;
    failed_ += other.failed_;
  }
  size_t passed() const { return passed_; }
  size_t failed() const { return failed_; }

 private:
  std::mutex mutex_;
  size_t passed_ = 0, failed_ = 0;
};

// body(0) ... body(count - 1), on every core.
inline void InParallel(size_t count, const std::function<void(size_t)>& body) {
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      for (size_t k = next++; k < count; k = next++) body(k);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace intent::gpu_test
