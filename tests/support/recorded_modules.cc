#include "tests/support/recorded_modules.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/diag/check.h"

namespace intent::testing {

std::vector<RecordedModule> RecordedModules() {
  std::vector<RecordedModule> modules;
  for (const auto& entry : std::filesystem::directory_iterator("tests/wire/v1")) {
    if (entry.path().extension() != ".kir") continue;
    RecordedModule module;
    module.name = entry.path().stem();
    module.path = entry.path();
    module.text = ReadFile(module.path);
    std::filesystem::path hex = entry.path();
    hex.replace_extension(".hex");
    if (std::filesystem::exists(hex)) module.bytes = FromHex(ReadFile(hex));
    modules.push_back(std::move(module));
  }
  std::sort(modules.begin(), modules.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  INTENT_CHECK(!modules.empty()) << "run tests in the repository's root";
  return modules;
}

bool Blessing() { return std::getenv("BLESS") != nullptr; }

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  INTENT_CHECK(file.good()) << path;
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  INTENT_CHECK(file.good()) << path;
}

std::string ToHex(const std::string& bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
    if (i % 32 == 31 || i + 1 == bytes.size()) text += '\n';
  }
  return text;
}

std::string FromHex(const std::string& text) {
  std::string digits;
  for (char c : text) {
    if (c != '\n') digits += c;
  }
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

}  // namespace intent::testing
