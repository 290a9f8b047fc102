#pragma once

// Damaged modules for tests that feed hostile input to decoders, verifiers and daemons. Everything
// follows from the seed; the same seed gives the same mutations on every machine. Not thread-safe.

#include <cstdint>
#include <string>
#include <string_view>

namespace intent::testing {

class ModuleMutator {
 public:
  explicit ModuleMutator(uint64_t seed) : state_(seed) {}

  // A mutation of an encoded module: one in five of its bytes, else of its fields, so that well
  // over half of the results decode.
  std::string Mutate(const std::string& bytes);

  // Flips, truncation, insertion, removal and repetition of bytes: works on any file, text too.
  std::string MutateBytes(const std::string& bytes);

  // One to three changes of single fields that mostly keep the module's structure: another operand,
  // type, kind, extent, constant or flag, operations swapped. `bytes` unchanged if they are no
  // message.
  std::string MutateFields(const std::string& bytes);

  // Words, numbers and lines of a text exchanged, repeated or dropped.
  std::string MutateText(const std::string& text);

  uint64_t Next();             // 64 random bits
  size_t Below(size_t bound);  // bound > 0
  bool OneIn(size_t n) { return Below(n) == 0; }

 private:
  uint64_t state_;
};

}  // namespace intent::testing
