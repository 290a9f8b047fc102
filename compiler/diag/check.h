#pragma once

// INTENT_CHECK(condition) << "context": a broken invariant of ours. Prints the condition, the place
// and the context, then aborts: in the daemon only workers and executors run this code, and one
// request pays.

#include <cstdlib>
#include <iostream>
#include <sstream>

namespace intent::internal {

class CheckFailure {
 public:
  CheckFailure(const char* condition, const char* file, int line) {
    stream_ << file << ":" << line << ": broken invariant: " << condition << " ";
  }
  [[noreturn]] ~CheckFailure() {
    std::cerr << stream_.str() << std::endl;
    std::abort();
  }
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

}  // namespace intent::internal

#define INTENT_CHECK(condition) \
  if (condition) [[likely]] {   \
  } else                        \
    ::intent::internal::CheckFailure(#condition, __FILE__, __LINE__).stream()

#define INTENT_UNREACHABLE() \
  ::intent::internal::CheckFailure("unreachable", __FILE__, __LINE__).stream()
