// mutation_corpus COUNT SEED MODULE.kir... writes COUNT damaged modules to standard output: for
// each a byte (0: does not decode, 1: decodes, 2: verifies), its length (u32, little endian) and
// its bytes. A file may hold several modules; each begins with a line "// --- title".

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "compiler/diag/check.h"
#include "compiler/ir/codec.h"
#include "compiler/ir/parse.h"
#include "compiler/specialize/specialize.h"
#include "compiler/verify/verify.h"
#include "tests/support/module_mutator.h"
#include "tests/support/recorded_modules.h"

namespace intent {
namespace {

void AddModule(const std::string& text, std::vector<std::string>* seeds) {
  const ParsedModule parsed = ParseModule(text);
  INTENT_CHECK(parsed.ok()) << ToString(parsed.diagnostics[0]) << text;
  const std::vector<Diagnostic> diagnostics = Verify(*parsed.module);
  INTENT_CHECK(diagnostics.empty()) << ToString(diagnostics[0]) << text;
  seeds->push_back(EncodeModule(*parsed.module));
}

std::vector<std::string> Seeds(int count, char** paths) {
  std::vector<std::string> seeds;
  for (int i = 0; i < count; ++i) {
    std::istringstream stream(testing::ReadFile(paths[i]));
    std::string line, text;
    while (std::getline(stream, line)) {
      if (line.starts_with("// --- ") && !text.empty()) AddModule(std::exchange(text, ""), &seeds);
      text += line + "\n";
    }
    AddModule(text, &seeds);
  }
  return seeds;
}

uint8_t Verdict(const std::string& bytes) {
  const DecodedModule decoded = DecodeModule(bytes);
  if (!decoded.ok()) return 0;
  const bool good = Verify(*decoded.module).empty() && Specialize(decoded.module.get(), {}).empty();
  return good ? 2 : 1;
}

void Write(const std::string& bytes) {
  const auto size = static_cast<uint32_t>(bytes.size());
  std::fputc(Verdict(bytes), stdout);
  for (int shift = 0; shift < 32; shift += 8) std::fputc(size >> shift & 0xff, stdout);
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
}

int Main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: mutation_corpus COUNT SEED MODULE.kir...\n", stderr);
    return 2;
  }
  const std::vector<std::string> seeds = Seeds(argc - 3, argv + 3);
  testing::ModuleMutator mutator(std::strtoull(argv[2], nullptr, 10));
  for (int i = std::atoi(argv[1]); i > 0; --i) {
    std::string bytes;
    while (bytes.empty()) bytes = mutator.Mutate(seeds[mutator.Below(seeds.size())]);
    Write(bytes);
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace intent

int main(int argc, char** argv) { return intent::Main(argc, argv); }
