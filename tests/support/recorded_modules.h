#pragma once

// The recorded modules of tests/wire: textual KIR beside the bytes that it encodes to. Tests run in
// the repository's root. BLESS=1 in the environment rewrites what differs.

#include <string>
#include <vector>

namespace intent::testing {

struct RecordedModule {
  std::string name;  // "saxpy"
  std::string path;  // of the text; the bytes are beside it as .hex
  std::string text;
  std::string bytes;  // empty if not recorded yet
};

// In order of their names; aborts if there are none.
std::vector<RecordedModule> RecordedModules();

bool Blessing();
std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& content);

// Lines of 32 bytes.
std::string ToHex(const std::string& bytes);
std::string FromHex(const std::string& text);

}  // namespace intent::testing
