// The small rules of the front process: what is refused, what enters keys, who is quarantined,
// which artifacts are found by id.

#include <chrono>
#include <memory>
#include <string>

#include "cache/memory_store.h"
#include "gtest/gtest.h"
#include "server/artifact_index.h"
#include "server/back_ends.h"
#include "server/compile_request.h"
#include "server/options.h"
#include "server/quarantine.h"
#include "server/retry_after.h"
#include "server/strict.h"

namespace intent {
namespace {

using std::chrono::milliseconds;

compile::v1::CompileRequest Good() {
  compile::v1::CompileRequest request;
  request.mutable_client()->set_protocol_major(1);
  request.set_module("module");
  request.set_target("x86-64-v3");
  return request;
}

TEST(CheckKnown, FindsUnknownFieldsAtAnyDepth) {
  compile::v1::CompileRequest request = Good();
  EXPECT_TRUE(CheckKnown(request).ok());
  request.add_bindings()
      ->GetReflection()
      ->MutableUnknownFields(request.mutable_bindings(0))
      ->AddVarint(99, 1);
  EXPECT_EQ(CheckKnown(request).code(), absl::StatusCode::kInvalidArgument);
}

TEST(CheckKnown, FindsUnknownEnumValues) {
  compile::v1::CompileRequest request = Good();
  request.mutable_options()->set_bounds(static_cast<compile::v1::Bounds>(9));
  EXPECT_EQ(CheckKnown(request).code(), absl::StatusCode::kInvalidArgument);
}

TEST(RequestKey, ABoundOfNothingIsNoMissingBound) {
  compile::v1::CompileRequest free = Good(), bound = Good();
  bound.mutable_options()->mutable_resource_budget()->set_registers(0);
  EXPECT_NE(RequestKey(free, "t", "f"), RequestKey(bound, "t", "f"));
  bound.mutable_options()->mutable_resource_budget()->clear_registers();
  EXPECT_EQ(RequestKey(free, "t", "f"), RequestKey(bound, "t", "f"));
}

// The code and message of what is said instead of compiling.
compile::v1::Diagnostic Refusal(const BackEnds& back_ends, const std::string& target) {
  const BackEnds::Choice choice = back_ends.For(target);
  const auto* diagnostics = std::get_if<compile::v1::Diagnostics>(&choice);
  return diagnostics == nullptr ? compile::v1::Diagnostic() : diagnostics->diagnostics(0);
}

TEST(BackEnds, EachTargetHasTheCompilerThatMakesItsCode) {
  auto* const pool = reinterpret_cast<CompilePool*>(64);  // never called
  BackEnd host{pool}, cuda{pool};
  host.hello.set_fingerprint("host");
  cuda.hello.set_fingerprint("cuda");
  cuda.hello.set_nvrtc_version("12.4");
  cuda.hello.add_targets("sm_90a");
  const BackEnds back_ends(host, cuda);
  for (const char* target : {"x86-64-v3", "interp+check", "aarch64+lse"}) {
    EXPECT_EQ(std::get<const BackEnd*>(back_ends.For(target))->hello.fingerprint(), "host");
  }
  EXPECT_EQ(std::get<const BackEnd*>(back_ends.For("sm_90a"))->hello.fingerprint(), "cuda");
  const compile::v1::Diagnostic unknown = Refusal(back_ends, "sm_120");
  EXPECT_EQ(unknown.code(), "E1002");
  EXPECT_NE(unknown.message().find("its NVRTC 12.4 knows sm_90a"), std::string::npos);
}

TEST(BackEnds, WithoutNvrtcWhatIsMissingIsSaid) {
  BackEnd host{reinterpret_cast<CompilePool*>(64)}, cuda;
  cuda.hello.set_missing("no library");
  const compile::v1::Diagnostic refusal = Refusal(BackEnds(host, cuda), "sm_90a");
  EXPECT_EQ(refusal.code(), "E1002");
  EXPECT_NE(refusal.message().find("no library"), std::string::npos);
  EXPECT_NE(refusal.notes(0).text().find("--nvrtc PATH"), std::string::npos);
}

TEST(RequestKey, DoesNotDependOnTheOrderOfBindings) {
  compile::v1::CompileRequest forward = Good(), backward = Good();
  for (const int i : {0, 1}) {
    compile::v1::Binding binding;
    binding.set_parameter(i);
    binding.set_int_value(10 + i);
    *forward.add_bindings() = binding;
  }
  *backward.add_bindings() = forward.bindings(1);
  *backward.add_bindings() = forward.bindings(0);
  EXPECT_EQ(RequestKey(forward, "t", "f"), RequestKey(backward, "t", "f"));
}

TEST(RequestKey, ValuesOfDifferentKindsDiffer) {
  compile::v1::CompileRequest integer = Good(), floating = Good(), boolean = Good();
  integer.add_bindings()->set_int_value(1);
  floating.add_bindings()->set_float_value(1);
  boolean.add_bindings()->set_bool_value(true);
  EXPECT_NE(RequestKey(integer, "t", "f"), RequestKey(floating, "t", "f"));
  EXPECT_NE(RequestKey(integer, "t", "f"), RequestKey(boolean, "t", "f"));
  EXPECT_NE(RequestKey(integer, "t", "f"), RequestKey(integer, "u", "f"));
  EXPECT_NE(RequestKey(integer, "t", "f"), RequestKey(integer, "t", "g"));
}

TEST(RequestKey, SourceMapAndClientDoNotEnter) {
  compile::v1::CompileRequest other = Good();
  other.set_source_map("names");
  other.mutable_client()->set_producer("somebody");
  other.add_inline_payloads("object");
  EXPECT_EQ(RequestKey(Good(), "t", "f"), RequestKey(other, "t", "f"));
}

TEST(Quarantine, RefusesAfterSoManyCrashesForSoLong) {
  Quarantine quarantine(2, milliseconds(100));
  const cache::Digest input = cache::Digest::Of("input");
  const Quarantine::Clock::time_point start{};
  quarantine.RecordCrash(input, start);
  EXPECT_EQ(quarantine.RefusedFor(input, start).count(), 0);
  quarantine.RecordCrash(input, start + milliseconds(10));
  EXPECT_EQ(quarantine.RefusedFor(input, start + milliseconds(20)), milliseconds(90));
  EXPECT_EQ(quarantine.RefusedFor(cache::Digest::Of("other"), start).count(), 0);
  EXPECT_EQ(quarantine.RefusedFor(input, start + milliseconds(110)).count(), 0);
  quarantine.RecordCrash(input, start + milliseconds(120));
  EXPECT_EQ(quarantine.RefusedFor(input, start + milliseconds(121)).count(), 0)
      << "old crashes are forgotten";
}

ArtifactEntry MakeEntry(const std::string& name) {
  cache::KeyBuilder key;
  key.AddBytes("name", name);
  const cache::Payload payload{"object", name};
  return *cache::Entry::Make(key.Build(), {&payload, 1});
}

TEST(ArtifactIndex, FindsWhatAStoreHasAndWhatIsHeld) {
  cache::MemoryStore store(1 << 20);
  ArtifactIndex index(store);
  const ArtifactEntry stored = MakeEntry("stored"), held = MakeEntry("held");
  ASSERT_TRUE(store.Put(stored).ok());
  index.Remember(stored, /*hold=*/false);
  index.Remember(held, /*hold=*/true);
  for (const ArtifactEntry& entry : {stored, held}) {
    const auto found = index.Find(entry->key_digest().bytes());
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->entry, entry);
  }
  EXPECT_EQ(index.Find("short").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(index.Find(std::string(32, 'x')).status().code(), absl::StatusCode::kNotFound);
}

TEST(ArtifactIndex, HoldsABoundedNumber) {
  cache::MemoryStore store(0);
  ArtifactIndex index(store);
  std::vector<ArtifactEntry> entries;
  for (size_t i = 0; i <= ArtifactIndex::kMaxHeld; ++i) {
    entries.push_back(MakeEntry(std::to_string(i)));
    index.Remember(entries.back(), /*hold=*/true);
  }
  EXPECT_EQ(index.Find(entries.front()->key_digest().bytes()).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(index.Find(entries.back()->key_digest().bytes()).ok());
}

TEST(SocketPath, OnlyUnixSocketsAreServed) {
  EXPECT_EQ(*SocketPath("unix:/tmp/a"), "/tmp/a");
  EXPECT_EQ(*SocketPath("unix:///tmp/a"), "/tmp/a");
  for (const char* address : {"localhost:1", "unix:", "unix:a", "unix-abstract:a", "/tmp/a", ""}) {
    EXPECT_EQ(SocketPath(address).status().code(), absl::StatusCode::kInvalidArgument) << address;
  }
}

TEST(RetryAfter, TravelsInsideAStatus) {
  EXPECT_EQ(RetryAfter(WithRetryAfter(absl::ResourceExhaustedError("full"), 250)), 250u);
  EXPECT_EQ(RetryAfter(absl::ResourceExhaustedError("full")), 0u);
}

}  // namespace
}  // namespace intent
