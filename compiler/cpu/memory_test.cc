// Loads and stores of every shape: strides of all signs, masks, fills, gathers and scatters, dtypes
// of every size. Whole allocations are compared, so a lane that strays shows.

#include "compiler/cpu/memory.h"

#include <gtest/gtest.h>

#include "compiler/cpu/kernel_fixture.h"

namespace intent::cpu {
namespace {

struct Case {
  std::string dtype;
  int lanes;
  int64_t stride;
  bool dynamic, mask, fill;
};

std::string Type(const std::string& dtype, int lanes) {
  return dtype + (lanes == 1 ? "" : "x" + std::to_string(lanes));
}

// Lanes whose number, times 5 plus the loop's number, is not divisible by 3, are active.
std::string Head(const Case& c) {
  const std::string index = Type("index", c.lanes), flags = Type("bool", c.lanes);
  return "tile {\n  view " + c.dtype + " rank 1 read\n  view " + c.dtype +
         " rank 1 read write\n  scalar index\n"
         "  %a: mem<" +
         c.dtype +
         "> = view_base {view=0}\n"
         "  %o: mem<" +
         c.dtype +
         "> = view_base {view=1}\n"
         "  %s: index = scalar_arg {scalar=0}\n"
         "  %zero: index = const 0\n  %two: index = const 2\n  %one: index = const 1\n"
         "  %zeros: " +
         index + " = const 0\n  %five: " + index +
         " = const 5\n"
         "  %three: " +
         index + " = const 3\n  %iota: " + index +
         " = iota\n"
         "  %lane: " +
         index +
         " = binary.mul(%iota, %five)\n"
         "  for(%zero, %two, %one) (%i: index) {\n"
         "    %is: " +
         index + " = " + (c.lanes == 1 ? "binary.add(%i, %zero)" : "splat(%i)") +
         "\n"
         "    %mixed: " +
         index +
         " = binary.add(%lane, %is)\n"
         "    %rest: " +
         index +
         " = binary.mod(%mixed, %three)\n"
         "    %p: " +
         flags +
         " = compare.ne(%rest, %zeros)\n"
         "    %v: " +
         Type(c.dtype, c.lanes) + " = load(%o, %zero) {stride=1}\n";
}

std::string Attributes(const Case& c, bool load) {
  std::string operands = c.dynamic ? ", %s" : "";
  std::string text = c.dynamic ? "strided" : "stride=" + std::to_string(c.stride);
  if (c.mask) operands += ", %p", text += " mask";
  if (c.mask && c.fill && load) operands += ", %v", text += " fill";
  return operands + ") {" + text + "}";
}

// Everything starts in the middle of the allocation: negative strides have room.
void Check(const std::string& text, const Case& c, int element_bytes) {
  std::vector<uint8_t> bytes(static_cast<size_t>(400 * element_bytes));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 + i / 11);
  std::vector<uint8_t> target(bytes.rbegin(), bytes.rend());
  if (c.dtype == "bool") {
    for (uint8_t& byte : target) byte &= 1;
  }
  ExpectSame(text, {{bytes, 200, {1}, {1}}, {target, 200, {1}, {1}}},
             {static_cast<uint64_t>(c.stride)});
}

constexpr std::pair<const char*, int> kDTypes[] = {{"bool", 1}, {"f16", 2}, {"f32", 4}, {"f64", 8}};

TEST(MemoryTest, StridedAccess) {
  for (const auto& [dtype, size] : kDTypes) {
    for (int lanes : {1, 16}) {
      for (int64_t stride : {0, 1, -1, -3}) {
        for (int variant = 0; variant < 4; ++variant) {
          const Case c = {dtype, lanes, stride, variant == 3, variant != 0, variant != 1};
          // Loads from one view and stores into the other, both strided.
          Check(Head(c) + "    %x: " + Type(dtype, lanes) + " = load(%a, %i" + Attributes(c, true) +
                    "\n    store(%o, %i, %x" + Attributes(c, false) + "\n    yield\n  }\n}",
                c, size);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(MemoryTest, IndexedAccess) {
  for (const auto& [dtype, size] : kDTypes) {
    for (int lanes : {1, 8}) {
      for (int variant = 0; variant < 3; ++variant) {
        const Case c = {dtype, lanes, 1, false, variant != 0, variant == 2};
        const std::string mask = c.mask ? ", %p" : "";
        const std::string flags = c.mask ? " {mask" + std::string(c.fill ? " fill}" : "}") : "";
        // Offsets repeat: the last active lane of a scatter stays.
        Check(Head(c) + "    %x: " + Type(dtype, lanes) + " = gather(%a, %mixed" + mask +
                  (c.fill ? ", %v" : "") + ")" + flags + "\n    scatter(%o, %rest, %x" + mask +
                  ")" + (c.mask ? " {mask}" : "") + "\n    scatter(%o, %mixed, %x" + mask + ")" +
                  (c.mask ? " {mask}" : "") + "\n    yield\n  }\n}",
              c, size);
        if (HasFailure()) return;
      }
    }
  }
}

// The masked half of these accesses lies beyond the allocation's end, at an unmapped page's
// distance.
TEST(MemoryTest, InactiveLanesTouchNothing) {
  for (const auto& [dtype, size] : kDTypes) {
    for (int64_t stride : {1, -1, 0, 1 << 28}) {
      const std::string type = std::string(dtype) + "x16";
      const std::string text =
          "tile { view " + std::string(dtype) + " rank 1 read write %m: mem<" + dtype +
          "> = view_base {view=0} %far: index = const " + std::to_string(int64_t{1} << 44) +
          " %none: boolx16 = const 0 %v: " + type +
          " = load(%m, %far, %none) {stride=" + std::to_string(stride) +
          " mask} store(%m, %far, %v, %none) {stride=" + std::to_string(stride) +
          " mask} %no: bool = const 0 %x: " + dtype +
          " = load(%m, %far, %no) {stride=1 mask} store(%m, %far, %x, %no) {stride=1 mask} }";
      ExpectSame(text, {Contiguous(std::vector<uint8_t>(64), size)});
    }
  }
}

}  // namespace
}  // namespace intent::cpu
