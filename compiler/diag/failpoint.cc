#include "compiler/diag/failpoint.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>

namespace intent {
namespace {

std::string Settings() {
  const char* text = std::getenv("INTENT_FAILPOINT");
  if (text == nullptr) return "";
  if (text[0] != '@') return text;
  std::ifstream file(text + 1);
  std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  while (!content.empty() && content.back() == '\n') content.pop_back();
  return content;
}

[[noreturn]] void Hang() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  while (true) pause();
}

void Perform(std::string_view action) {
  const std::string number(action.substr(action.find(':') + 1));
  if (action == "crash") {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  } else if (action == "hang") {
    Hang();
  } else if (action.starts_with("slow:")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atol(number.c_str())));
  } else if (action.starts_with("eat:")) {
    const size_t bytes = size_t(std::atol(number.c_str())) << 20;
    volatile char* memory = static_cast<char*>(std::malloc(bytes));
    for (size_t i = 0; i < bytes; i += 4096) memory[i] = 1;
    Hang();
  }
}

void HitFailpoint(const char* stage) {
  const std::string settings = Settings();
  std::string_view rest = settings;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    if (entry.size() > std::strlen(stage) && entry.starts_with(stage) &&
        entry[std::strlen(stage)] == ':') {
      Perform(entry.substr(std::strlen(stage) + 1));
    }
  }
}

[[maybe_unused]] const bool linked = [] {
  failpoint_hook = HitFailpoint;
  return true;
}();

}  // namespace
}  // namespace intent
