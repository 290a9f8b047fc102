#include "cache/key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace intent::cache {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// The shape of the daemon's request key: each field is something the compiled code depends on.
struct Request {
  std::string kind = "request.1";
  std::string module = "module bytes";
  std::string bindings = "N=4";
  std::string target = "x86-64-v3";
  std::string options = "bounds=guard";
  std::string fingerprint = "worker+llvm";
  std::string salt = "tenant";
  uint64_t level = 2;
};

Key KeyOf(const Request& request) {
  return KeyBuilder()
      .AddBytes("kind", request.kind)
      .AddHashed("module", request.module)
      .AddBytes("bindings", request.bindings)
      .AddBytes("target", request.target)
      .AddBytes("options", request.options)
      .AddBytes("fingerprint", request.fingerprint)
      .AddBytes("salt", request.salt)
      .AddNumber("level", request.level)
      .Build();
}

TEST(Key, EqualFieldsGiveEqualKeys) { EXPECT_EQ(KeyOf({}), KeyOf({})); }

TEST(Key, DigestIsThatOfThePreimage) {
  const Key key = KeyOf({});
  EXPECT_EQ(key.digest, Digest::Of(key.preimage));
  EXPECT_EQ(key, Key::FromPreimage(key.preimage));
}

TEST(Key, EveryFieldCounts) {
  const std::vector<std::function<void(Request&)>> mutations = {
      [](Request& r) { r.kind = "request.2"; },
      [](Request& r) { r.module.back() ^= 1; },
      [](Request& r) { r.module += '\0'; },
      [](Request& r) { r.bindings = "N=5"; },
      [](Request& r) { r.target = "x86-64-v4"; },
      [](Request& r) { r.options = ""; },
      [](Request& r) { r.fingerprint += "!"; },
      [](Request& r) { r.salt.clear(); },
      [](Request& r) { r.level = 3; },
      [](Request& r) { r.level |= uint64_t{1} << 63; },
  };
  std::set<Digest> seen = {KeyOf({}).digest};
  for (const auto& mutate : mutations) {
    Request request;
    mutate(request);
    EXPECT_TRUE(seen.insert(KeyOf(request).digest).second) << Explain(KeyOf(request));
  }
}

TEST(Key, BytesCannotMoveBetweenFields) {
  const std::vector<Key> keys = {
      KeyBuilder().AddBytes("a", "xy").AddBytes("b", "z").Build(),
      KeyBuilder().AddBytes("a", "x").AddBytes("b", "yz").Build(),
      KeyBuilder().AddBytes("ax", "y").AddBytes("b", "z").Build(),
      KeyBuilder().AddBytes("a", "xyz").AddBytes("b", "").Build(),
      KeyBuilder().AddBytes("a", "xyz").Build(),
      KeyBuilder().AddBytes("b", "z").AddBytes("a", "xy").Build(),
  };
  std::set<Digest> seen;
  for (const Key& key : keys) EXPECT_TRUE(seen.insert(key.digest).second) << Explain(key);
}

TEST(Key, TypesAreToldApart) {
  const std::string eight(8, '\0');
  std::set<Digest> seen;
  EXPECT_TRUE(seen.insert(KeyBuilder().AddNumber("f", 0).Build().digest).second);
  EXPECT_TRUE(seen.insert(KeyBuilder().AddBytes("f", eight).Build().digest).second);
  EXPECT_TRUE(seen.insert(KeyBuilder().AddHashed("f", eight).Build().digest).second);
  EXPECT_TRUE(
      seen.insert(KeyBuilder().AddBytes("f", Digest::Of(eight).bytes()).Build().digest).second);
}

// A field's content may look like the encoding of further fields.
TEST(Key, FieldsCannotBeForgedByContent) {
  const Key two = KeyBuilder().AddBytes("a", "1").AddBytes("b", "2").Build();
  const Key tail = KeyBuilder().AddBytes("b", "2").Build();
  EXPECT_NE(KeyBuilder().AddBytes("a", "1" + tail.preimage).Build().digest, two.digest);
}

TEST(KeyBuilder, IsEmptyAfterBuild) {
  KeyBuilder builder;
  builder.AddBytes("a", "1").Build();
  EXPECT_EQ(builder.Build().preimage, "");
}

TEST(ParsePreimage, GivesTheFieldsBack) {
  const Key key = KeyOf({});
  const auto fields = ParsePreimage(key.preimage);
  ASSERT_TRUE(fields.ok()) << fields.status();
  ASSERT_THAT(*fields, SizeIs(8));
  EXPECT_EQ((*fields)[0].tag, "kind");
  EXPECT_EQ((*fields)[0].bytes, "request.1");
  EXPECT_EQ((*fields)[1].type, KeyField::Type::kHashed);
  EXPECT_EQ((*fields)[1].number, 12u);
  EXPECT_EQ((*fields)[1].digest, Digest::Of("module bytes"));
  EXPECT_EQ((*fields)[7].type, KeyField::Type::kNumber);
  EXPECT_EQ((*fields)[7].number, 2u);
}

TEST(ParsePreimage, AcceptsNoPrefixButWholeFields) {
  const std::string preimage = KeyOf({}).preimage;
  size_t whole = 0;
  for (size_t size = 0; size <= preimage.size(); ++size) {
    if (ParsePreimage(std::string_view(preimage).substr(0, size)).ok()) ++whole;
  }
  EXPECT_EQ(whole, 9u) << "the boundaries around eight fields";
}

TEST(ParsePreimage, IsTotal) {
  std::mt19937 random(1);
  for (int n = 0; n < 20000; ++n) {
    std::string bytes = KeyOf({}).preimage;
    for (int flips = 0; flips < 3; ++flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const auto fields = ParsePreimage(bytes);
    if (fields.ok()) {
      EXPECT_FALSE(fields->empty());
    }
  }
}

TEST(Explain, ShowsEachFieldSoThatTwoMissesCanBeDiffed) {
  Request request;
  request.options = std::string("a\n\0b", 4);
  const std::string text = Explain(KeyOf(request));
  EXPECT_THAT(text, HasSubstr("kind: \"request.1\"\n"));
  EXPECT_THAT(text, HasSubstr("module: 12 bytes, sha256 " + Digest::Of("module bytes").Hex()));
  EXPECT_THAT(text, HasSubstr("options: \"a\\n\\000b\"\n"));
  EXPECT_THAT(text, HasSubstr("level: 2\n"));
  EXPECT_THAT(text, HasSubstr("key: " + KeyOf(request).digest.Hex() + "\n"));
}

TEST(Explain, ReplacesLongBytes) {
  const std::string bytes(1000, 'x');
  EXPECT_THAT(Explain(KeyBuilder().AddBytes("long", bytes).Build()),
              HasSubstr("long: 1000 bytes, sha256 " + Digest::Of(bytes).Hex()));
}

TEST(Explain, ToleratesAnyPreimage) {
  EXPECT_THAT(Explain(Key::FromPreimage("what is this")), HasSubstr("not a list of fields"));
}

}  // namespace
}  // namespace intent::cache
