// Races in checked runs: accesses of unordered iterations that meet, and orders in which they do not.

#include <gmock/gmock.h>

#include <cctype>
#include <optional>
#include <string>
#include <vector>

#include "compiler/interp/marked_kernel.h"

namespace intent::interp::testing {
namespace {

using ::testing::HasSubstr;

struct RaceCase {
  const char* title;
  const char* body;
  std::optional<ErrorKind> kind;
};

class Races : public ::testing::TestWithParam<RaceCase> {};

TEST_P(Races, AreFoundAndNothingElse) {
  std::vector<int32_t> x(16, 3), y(16), c(4);
  const auto error =
      RunChecked("%x: view<in, i32, [16]>, %y: view<inout, i32, [16]>, %c: view<inout, i32, [4]>",
                 kLoops + std::string(GetParam().body), {View(x), View(y), View(c)});
  if (!GetParam().kind) {
    EXPECT_FALSE(error) << NameOf(error->kind) << ": " << error->message;
    return;
  }
  ASSERT_TRUE(error);
  EXPECT_EQ(NameOf(error->kind), NameOf(*GetParam().kind)) << error->message;
  EXPECT_THAT(error->message, HasSubstr("iteration ["));
}

INSTANTIATE_TEST_SUITE_P(
    All, Races,
    ::testing::Values(
        RaceCase{"two iterations write one element", R"(
    parallel %i = %d {
      %h = binary floordiv %i, %2 : index
      view_store %y [%h] = %one // <-
      yield
    })",
                 ErrorKind::kRace},
        RaceCase{"each iteration its own element", R"(
    parallel %i = %d {
      view_store %y [%i] = %one
      %v = view_load %y [%i] : i32
      view_store %y [%i] = %v
      yield
    })",
                 std::nullopt},
        RaceCase{"one reads what another writes", R"(
    parallel %i = %d {
      %v = view_load %y [%3] : i32 // other
      %n = binary add %i, %0 : index
      view_store %y [%n] = %v // <-
      yield
    })",
                 ErrorKind::kRace},
        RaceCase{"one reads what an earlier one wrote", R"(
    parallel %i = %d {
      view_store %y [%i] = %one // other
      %v = view_load %y [%0] : i32 // <-
      yield
    })",
                 ErrorKind::kRace},
        RaceCase{"all read one element", R"(
    parallel %i = %d {
      %v = view_load %x [%0] : i32
      view_store %y [%i] = %v
      yield
    })",
                 std::nullopt},
        RaceCase{"a second loop reads what the first wrote", R"(
    parallel %i = %d {
      view_store %y [%i] = %one
      yield
    }
    parallel %j = %d {
      %r = binary sub %3, %j : index
      %v = view_load %y [%r] : i32
      %a = binary add %j, %4 : index
      view_store %y [%a] = %v
      yield
    })",
                 std::nullopt},
        RaceCase{"an ordered loop around a parallel one", R"(
    for %t = %e {
      parallel %i = %d {
        view_store %y [%i] = %one
        yield
      }
      parallel %i2 = %d {
        %r = binary sub %3, %i2 : index
        %v = view_load %y [%r] : i32
        %a = binary add %i2, %4 : index
        view_store %y [%a] = %v
        yield
      }
      yield
    })",
                 std::nullopt},
        RaceCase{"inner iterations of one outer iteration", R"(
    parallel %i = %d {
      parallel %j = %e {
        view_store %y [%i] = %one // <-
        yield
      }
      yield
    })",
                 ErrorKind::kRace},
        RaceCase{"inner iterations of two outer iterations", R"(
    parallel %i = %d {
      parallel %j = %e {
        view_store %y [%j] = %one // <-
        yield
      }
      yield
    })",
                 ErrorKind::kRace},
        RaceCase{"nested iterations apart", R"(
    parallel %i = %d {
      %base = binary mul %i, %3 : index
      parallel %j = %e {
        %at = binary add %base, %j : index
        view_store %y [%at] = %one
        yield
      }
      %v = view_load %y [%base] : i32
      view_store %y [%base] = %v
      yield
    })",
                 std::nullopt},
        RaceCase{"inner loops one after another", R"(
    parallel %i = %d {
      %base = binary mul %i, %3 : index
      parallel %j = %e {
        %at = binary add %base, %j : index
        view_store %y [%at] = %one
        yield
      }
      parallel %k = %e {
        %r = binary sub %2, %k : index
        %at2 = binary add %base, %r : index
        view_store %y [%at2] = %one
        yield
      }
      yield
    })",
                 std::nullopt},
        RaceCase{"an inner iteration writes what another outer iteration read before its loop", R"(
    parallel %i = %d {
      %v = view_load %y [%3] : i32 // other
      %base = binary mul %i, %3 : index
      parallel %j = %e {
        %at = binary add %base, %j : index
        view_store %y [%at] = %v // <-
        yield
      }
      yield
    })",
                 ErrorKind::kRace},
        RaceCase{"a buffer that the iterations share", R"(
    %b = buffer %one : buffer<i32, [4]>
    parallel %i = %d {
      buffer_store %b [%0] = %one // <-
      yield
    })",
                 ErrorKind::kRace},
        RaceCase{"a buffer of each iteration", R"(
    parallel %i = %d {
      %b = buffer %one : buffer<i32, [4]>
      buffer_store %b [%0] = %one
      %v = buffer_load %b [%0] : i32
      view_store %y [%i] = %v
      yield
    })",
                 std::nullopt},
        RaceCase{"updates combine", R"(
    %v = view_load %x [%0:%4] : tensor<i32, [4]>
    %at = indices %d : tensor<index, [4]>
    parallel %i = %d {
      scatter_reduce %y [%at] = %v combine add
      yield
    })",
                 std::nullopt},
        RaceCase{"atomic updates of one element", R"(
    parallel %i = %d {
      %old = atomic_rmw add %c [%0] = %one order relaxed : i32
      %now = atomic_load %c [%0] order relaxed : i32
      yield
    })",
                 std::nullopt},
        RaceCase{"a plain read of an atomic's element", R"(
    parallel %i = %d {
      %old = atomic_rmw add %c [%0] = %one order relaxed : i32 // <-
      %v = view_load %c [%0] : i32 // other
      yield
    })",
                 ErrorKind::kAtomicRace},
        RaceCase{"a plain write of an atomic's element", R"(
    parallel %i = %d {
      %last = compare eq %i, %3 : bool
      if %last {
        view_store %c [%0] = %one // <-
        yield
      } else {
        %v = atomic_load %c [%0] order relaxed : i32 // other
        yield
      }
      yield
    })",
                 ErrorKind::kAtomicRace},
        RaceCase{"a release that the last iteration acquires publishes what was written", R"(
    %three = constant 3 : i32
    parallel %i = %d {
      view_store %y [%i] = %one
      %old = atomic_rmw add %c [%0] = %one order acq_rel : i32
      %last = compare eq %old, %three : bool
      if %last {
        %v = view_load %y [:] : tensor<i32, [16]>
        yield
      } else {
        yield
      }
      yield
    })",
                 std::nullopt},
        RaceCase{"a relaxed counter publishes nothing", R"(
    %three = constant 3 : i32
    parallel %i = %d {
      view_store %y [%i] = %one // other
      %old = atomic_rmw add %c [%0] = %one order relaxed : i32
      %last = compare eq %old, %three : bool
      if %last {
        %v = view_load %y [:] : tensor<i32, [16]> // <-
        yield
      } else {
        yield
      }
      yield
    })",
                 ErrorKind::kRace},
        RaceCase{"what is written after the release is not published", R"(
    %three = constant 3 : i32
    parallel %i = %d {
      %old = atomic_rmw add %c [%0] = %one order acq_rel : i32
      %last = compare eq %old, %three : bool
      if %last {
        %v = view_load %y [:] : tensor<i32, [16]> // <-
        yield
      } else {
        view_store %y [%i] = %one // other
        yield
      }
      yield
    })",
                 ErrorKind::kRace},
        RaceCase{"published through a second location", R"(
    parallel %i = %d {
      %first = compare eq %i, %0 : bool
      if %first {
        view_store %y [%0] = %one
        atomic_store %c [%0] = %one order release
        yield
      } else {
        %is1 = compare eq %i, %1 : bool
        if %is1 {
          %a = atomic_load %c [%0] order acquire : i32
          atomic_store %c [%1] = %one order release
          yield
        } else {
          %is2 = compare eq %i, %2 : bool
          if %is2 {
            %b = atomic_load %c [%1] order acquire : i32
            %v = view_load %y [%0] : i32
            yield
          } else {
            yield
          }
          yield
        }
        yield
      }
      yield
    })",
                 std::nullopt}),
    [](const auto& info) {
      std::string name;
      for (const char* c = info.param.title; *c != 0; ++c) {
        if (std::isalnum(static_cast<unsigned char>(*c))) name += *c;
      }
      return name;
    });

TEST(CheckedRaces, BetweenViewsThatOverlap) {
  std::vector<int32_t> x(5);
  const std::string body = kLoops + std::string(R"(
    parallel %i = %d {
      %v = view_load %x [%i] : i32 // other
      view_store %y [%i] = %v // <-
      yield
    })");
  const std::string signature = "%x: view<in, i32, [4]>, %y: view<inout, i32, [4]>";
  EXPECT_FALSE(RunChecked(signature, body, {View(x, {4}), View(x, {4})}));
  std::vector<int32_t> apart(4);
  EXPECT_FALSE(RunChecked(signature, body, {View(x, {4}), View(apart)}));
  // y[i] is x[i - 1]: iteration 1 writes what iteration 0 has read.
  const auto error = RunChecked(signature, body, {View(x, {4}, {1}, 1), View(x, {4}, {1}, 0)});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::kRace);
  EXPECT_THAT(error->message, HasSubstr("iteration [1] of a parallel loop writes element [1] of "
                                        "parameter 1, which iteration [0] reads"));
}

TEST(CheckedRaces, BetweenViewsOfDifferentDtypes) {
  std::vector<int32_t> memory(4);
  const ViewArgument bytes{.dtype = DType::kU8,
                           .allocation = memory.data(),
                           .allocation_bytes = 16,
                           .offset = 3,
                           .extents = {4},
                           .strides = {4}};
  const std::string body = kLoops + std::string(R"(
    parallel %i = %d {
      %j = binary sub %3, %i : index
      %v = view_load %b [%j] : u8 // <-
      view_store %y [%i] = %one // other
      yield
    })");
  const auto error =
      RunChecked("%b: view<in, u8, [4]>, %y: view<inout, i32, [4]>", body, {bytes, View(memory)});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::kRace);
}

TEST(CheckedRaces, IterationsOfAProductAreNamedByTheirCoordinates) {
  std::vector<int32_t> y(16);
  const auto error = RunChecked("%y: view<inout, i32, [16]>", kLoops + std::string(R"(
    %from = constant 10 : index
    %to = constant 16 : index
    %f = domain %from, %to, %2 : domain<[3]>
    %p = domain_product %d, %f : domain<[4, 3]>
    parallel %i, %j = %p {
      view_store %y [%i] = %one // <-
      yield
    })"),
                                {View(y)});
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message, HasSubstr("iteration [0, 12] of a parallel loop writes"));
  EXPECT_THAT(error->message, HasSubstr("which iteration [0, 10] writes"));
}

}  // namespace
}  // namespace intent::interp::testing
