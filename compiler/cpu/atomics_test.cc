// Atomics: compiled code against the tile interpreter, and what only several threads can show.

#include <gtest/gtest.h>

#include "compiler/cpu/kernel_fixture.h"

namespace intent::cpu {
namespace {

constexpr std::pair<const char*, int> kDTypes[] = {{"i8", 1},  {"u8", 1},  {"i16", 2},
                                                   {"u16", 2}, {"i32", 4}, {"u32", 4},
                                                   {"i64", 8}, {"u64", 8}, {"index", 8}};

// Every operation in turn on element 1; what each gave stands in the elements after it.
TEST(AtomicsTest, EveryKindOrderAndWidth) {
  for (const auto& [dtype, size] : kDTypes) {
    for (const char* order : {"relaxed", "acquire", "release", "acq_rel"}) {
      const std::string d = dtype, o = std::string(" {order=") + order + "} ";
      std::string text = "tile { view " + d + " rank 1 read write %m: mem<" + d +
                         "> = view_base {view=0} %one: index = const 1 %x: " + d +
                         " = load(%m, %one) {stride=1} ";
      int next = 2;
      const auto keep = [&](const std::string& value) {
        const std::string at = "%i" + std::to_string(next);
        text += at + ": index = const " + std::to_string(next++) + " store(%m, " + at + ", " +
                value + ") {stride=1} ";
      };
      for (const char* kind : {"add", "max", "min", "and", "or", "xor", "exchange"}) {
        const std::string operand = std::string("%v") + kind, old = std::string("%") + kind;
        text += operand + ": " + d + " = load(%m, %i" + kind + ") {stride=1} ";
        text.insert(text.find("%x: "), std::string("%i") + kind + ": index = const " +
                                           std::to_string(20 + next) + " ");
        text += old + ": " + d + " = atomic_rmw." + kind + "(%m, %one, " + operand + ")" + o;
        keep(old);
      }
      text += "%c: " + d + ", %yes: bool = atomic_cas(%m, %one, %vexchange, %x)" + o;
      text += "%e: " + d + ", %no: bool = atomic_cas(%m, %one, %vexchange, %c)" + o;
      keep("%c");
      keep("%e");
      for (const char* flag : {"%yes", "%no"}) {
        text += std::string(flag) + "n: " + d + " = cast(" + flag + ") ";
        keep(std::string(flag) + "n");
      }
      const std::string name = order;
      if (name == "relaxed" || name == "release") {
        text += "atomic_store(%m, %i2, %e)" + o;
      }
      if (name == "relaxed" || name == "acquire") {
        text += "%l: " + d + " = atomic_load(%m, %one)" + o;
        keep("%l");
      }
      std::vector<uint8_t> bytes(static_cast<size_t>(40 * size));
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 89 + 131);
      ExpectSame(text + "}", {Contiguous(bytes, size)});
      if (HasFailure()) return;
    }
  }
}

// Tasks of an iteration each, over one counter; and a loop of compare and exchange over another.
TEST(AtomicsTest, NothingIsLostAmongThreads) {
  const auto program = ParseOrDie(R"(tile {
  view u32 rank 1 read write
  view f32 rank 1 read write
  scalar index
  %m: mem<u32> = view_base {view=0}
  %f: mem<f32> = view_base {view=1}
  %bits: mem<u32> = mem_cast(%f)
  %n: index = scalar_arg {scalar=0}
  %zero: index = const 0
  %one: index = const 1
  %unit: u32 = const 1
  %half: f32 = const 0.5
  parallel(%zero, %n, %one) (%b: index, %e: index) {
    for(%b, %e, %one) (%i: index) {
      %old: u32 = atomic_rmw.add(%m, %zero, %unit) {order=relaxed}
      %start: u32 = atomic_load(%bits, %zero) {order=relaxed}
      %no: bool = const 0
      %seen: u32, %done: bool = while(%start, %no) (%s: u32, %d: bool) {
        %more: bool = unary.not(%d)
        yield(%more)
      } (%t: u32, %u: bool) {
        %value: f32 = bitcast(%t)
        %sum: f32 = binary.add(%value, %half)
        %next: u32 = bitcast(%sum)
        %was: u32, %took: bool = atomic_cas(%bits, %zero, %t, %next) {order=acq_rel}
        yield(%was, %took)
      }
      yield
    }
    yield
  }
})");
  const uint64_t n = 20'000;
  const Outcome outcome = RunCompiled(
      *program, {Contiguous(std::vector<uint8_t>(4), 4), Contiguous(std::vector<uint8_t>(4), 4)},
      {n}, "native", 2, ThreadedRuntime());
  ASSERT_EQ(outcome.status, 0);
  EXPECT_EQ(ValuesOf<uint32_t>(outcome.allocations[0])[0], n);
  EXPECT_EQ(ValuesOf<float>(outcome.allocations[1])[0], 0.5f * static_cast<float>(n));
}

}  // namespace
}  // namespace intent::cpu
