#include "cache/entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "cache/test_support.h"
#include "cache/wire.h"

namespace intent::cache {
namespace {

// Re-signs `body`, so that what stands behind the digest is reached.
std::string WithDigest(std::string body) {
  body.append(Digest::Of(body).bytes());
  return body;
}

std::string Body(const Entry& entry) {
  return std::string(entry.bytes().substr(0, entry.bytes().size() - Digest::kSize));
}

TEST(Entry, RoundTrips) {
  const Key key = TestKey("k");
  const std::string binary("\0\xFF\n", 3);
  const Payload payloads[] = {{"manifest", "{}"}, {"object", binary}, {"diagnostics", ""}};
  const auto made = Entry::Make(key, payloads);
  ASSERT_TRUE(made.ok()) << made.status();

  const auto decoded = Entry::Decode(std::string((*made)->bytes()));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  const Entry& entry = **decoded;
  EXPECT_EQ(entry.preimage(), key.preimage);
  EXPECT_EQ(entry.key_digest(), key.digest);
  EXPECT_TRUE(entry.IsFor(key));
  ASSERT_EQ(entry.payloads().size(), 3u);
  EXPECT_EQ(entry.payloads()[1].name, "object");
  EXPECT_EQ(entry.Find("object"), binary);
  EXPECT_EQ(entry.Find("diagnostics"), "");
  EXPECT_EQ(entry.Find("kir"), std::nullopt);
  EXPECT_EQ(entry.bytes(), (*made)->bytes());
}

TEST(Entry, MayHaveNoPayloads) {
  const auto entry = Entry::Make(TestKey("k"), {});
  ASSERT_TRUE(entry.ok());
  EXPECT_TRUE((*entry)->payloads().empty());
}

TEST(Entry, IsForItsWholePreimageOnly) {
  const auto entry = TestEntry(TestKey("a"), "x");
  Key forged = TestKey("b");
  forged.digest = TestKey("a").digest;
  EXPECT_FALSE(entry->IsFor(forged));
}

TEST(Entry, CountsItsMemory) {
  const auto small = TestEntry(TestKey("k"), "x");
  const auto large = TestEntry(TestKey("k"), std::string(100'000, 'x'));
  EXPECT_GT(small->MemoryBytes(), small->bytes().size());
  EXPECT_GE(large->MemoryBytes(), 100'000u);
  EXPECT_LT(large->MemoryBytes(), 101'000u);
}

// Recorded when version 1 was made: entries of this format lie on users' disks.
TEST(Entry, Version1IsReadAndWrittenForEver) {
  const std::string recorded = absl::HexStringToBytes(
      "494e54454e54cae5"  // magic
      "01000000"          // version
      "0300000000000000"
      "6b6579"    // preimage "key"
      "01000000"  // one payload
      "06000000"
      "6f626a656374"  // "object"
      "0200000000000000"
      "00ff"                              // its bytes
      "8918847a4a0f2fd81a7d894f79b7c62f"  // SHA-256
      "8f3f24aca90f810ae1ae227e4da4a9a9");
  const Payload payload{"object", std::string_view("\0\xFF", 2)};
  const auto made = Entry::Make(Key::FromPreimage("key"), {&payload, 1});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(absl::BytesToHexString(std::string((*made)->bytes())),
            absl::BytesToHexString(recorded));
  EXPECT_TRUE(Entry::Decode(recorded).ok());
}

TEST(EntryMake, RefusesBadPayloads) {
  const auto make = [](std::vector<Payload> payloads) {
    return Entry::Make(TestKey("k"), payloads).status().code();
  };
  EXPECT_EQ(make({{"", "x"}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(make({{"Object", "x"}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(make({{"a/b", "x"}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(make({{"twice", "x"}, {"twice", "y"}}), absl::StatusCode::kInvalidArgument);
  const std::string longest(Entry::kMaxNameBytes, 'n');
  EXPECT_EQ(make({{longest, "x"}}), absl::StatusCode::kOk);
  const std::string longer = longest + "n";
  EXPECT_EQ(make({{longer, "x"}}), absl::StatusCode::kInvalidArgument);
}

TEST(EntryMake, RefusesTooManyPayloads) {
  std::vector<std::string> names;
  for (size_t i = 0; i <= Entry::kMaxPayloads; ++i) names.push_back("p" + std::to_string(i));
  std::vector<Payload> payloads;
  for (const std::string& name : names) payloads.push_back({name, ""});
  EXPECT_EQ(Entry::Make(TestKey("k"), payloads).status().code(),
            absl::StatusCode::kInvalidArgument);
  payloads.pop_back();
  EXPECT_TRUE(Entry::Make(TestKey("k"), payloads).ok());
}

TEST(EntryMake, RefusesWhatIsTooLarge) {
  const std::string shared(Entry::kMaxBytes / 32, 'x');
  std::vector<std::string> names;
  for (int i = 0; i < 32; ++i) names.push_back("p" + std::to_string(i));
  std::vector<Payload> payloads;
  for (const std::string& name : names) payloads.push_back({name, shared});
  EXPECT_EQ(Entry::Make(TestKey("k"), payloads).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(EntryDecode, FindsOneFlippedBitAtEveryOffset) {
  const auto entry = TestEntry(TestKey("k"), "some machine code");
  for (size_t offset = 0; offset < entry->bytes().size(); ++offset) {
    for (const char mask : {'\x01', '\x80', '\xFF'}) {
      std::string bytes(entry->bytes());
      bytes[offset] ^= mask;
      EXPECT_EQ(Entry::Decode(bytes).status().code(), absl::StatusCode::kDataLoss) << offset;
    }
  }
}

TEST(EntryDecode, FindsTruncationAtEveryLength) {
  const auto entry = TestEntry(TestKey("k"), "some machine code");
  for (size_t size = 0; size < entry->bytes().size(); ++size) {
    EXPECT_EQ(Entry::Decode(std::string(entry->bytes().substr(0, size))).status().code(),
              absl::StatusCode::kDataLoss)
        << size;
  }
}

TEST(EntryDecode, RefusesTrailingBytes) {
  const auto entry = TestEntry(TestKey("k"), "x");
  EXPECT_FALSE(Entry::Decode(std::string(entry->bytes()) + '\0').ok());
  EXPECT_FALSE(Entry::Decode(WithDigest(Body(*entry) + '\0')).ok());
}

TEST(EntryDecode, RefusesAnotherVersion) {
  std::string body = Body(*TestEntry(TestKey("k"), "x"));
  ASSERT_TRUE(Entry::Decode(WithDigest(body)).ok());
  body[8] = 2;
  EXPECT_FALSE(Entry::Decode(WithDigest(body)).ok());
}

// Everything below has a valid digest: a poisoned entry, not a damaged one.
TEST(EntryDecode, ChecksStructureBehindTheDigest) {
  const auto header = [](uint64_t preimage_size, std::string_view preimage, uint32_t count) {
    std::string body("INTENT\xCA\xE5", 8);
    wire::Append<uint32_t>(body, 1);
    wire::Append<uint64_t>(body, preimage_size);
    body.append(preimage);
    wire::Append<uint32_t>(body, count);
    return body;
  };
  const auto payload = [](uint32_t name_size, std::string_view name, uint64_t size,
                          std::string_view bytes) {
    std::string body;
    wire::Append<uint32_t>(body, name_size);
    body.append(name);
    wire::Append<uint64_t>(body, size);
    body.append(bytes);
    return body;
  };
  const auto ok = [](std::string body) { return Entry::Decode(WithDigest(std::move(body))).ok(); };

  ASSERT_TRUE(ok(header(1, "k", 1) + payload(1, "a", 1, "x")));
  EXPECT_FALSE(ok(header(~uint64_t{0}, "k", 0))) << "preimage beyond the end";
  EXPECT_FALSE(ok(header(1, "k", 0xFFFFFFFF))) << "more payloads than bytes";
  EXPECT_FALSE(ok(header(1, "k", 2) + payload(1, "a", 1, "x"))) << "a payload is missing";
  EXPECT_FALSE(ok(header(1, "k", 0) + payload(1, "a", 1, "x"))) << "a payload too many";
  EXPECT_FALSE(ok(header(1, "k", 1) + payload(0xFFFFFFFF, "a", 1, "x"))) << "endless name";
  EXPECT_FALSE(ok(header(1, "k", 1) + payload(1, "a", ~uint64_t{0}, "x"))) << "endless payload";
  EXPECT_FALSE(ok(header(1, "k", 1) + payload(1, "a", 33, "x"))) << "payload runs into the digest";
  EXPECT_FALSE(ok(header(1, "k", 1) + payload(0, "", 1, "x"))) << "no name";
  EXPECT_FALSE(ok(header(1, "k", 1) + payload(1, "/", 1, "x"))) << "bad name";
  EXPECT_FALSE(ok(header(1, "k", 2) + payload(1, "a", 1, "x") + payload(1, "a", 1, "y")))
      << "a name twice";
}

TEST(EntryDecode, IsTotal) {
  std::mt19937 random(7);
  const std::string body = Body(*TestEntry(TestKey("k"), "some machine code"));
  int decoded = 0;
  for (int n = 0; n < 50'000; ++n) {
    std::string bytes = body;
    bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 1));
    bytes = WithDigest(std::move(bytes));
    const auto entry = Entry::Decode(bytes);
    if (!entry.ok()) continue;
    ++decoded;
    // What decodes is canonical: making it again gives the same bytes.
    const auto again =
        Entry::Make(Key::FromPreimage(std::string((*entry)->preimage())), (*entry)->payloads());
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_EQ((*again)->bytes(), bytes);
  }
  EXPECT_GT(decoded, 1000) << "the mutations no longer reach past the structure";
}

}  // namespace
}  // namespace intent::cache
