#include "cache/digest.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace intent::cache {
namespace {

constexpr char kOfAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr char kOfNothing[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(Digest, IsSha256) {
  EXPECT_EQ(Digest::Of("abc").Hex(), kOfAbc);
  EXPECT_EQ(Digest::Of("").Hex(), kOfNothing);
}

TEST(Digest, HexAndBytesRoundTrip) {
  const Digest digest = Digest::Of("abc");
  EXPECT_EQ(Digest::FromHex(digest.Hex()).value(), digest);
  EXPECT_EQ(Digest::FromBytes(digest.bytes()).value(), digest);
}

TEST(Digest, RefusesWhatIsNoDigest) {
  const std::string hex = kOfAbc;
  EXPECT_FALSE(Digest::FromHex("").ok());
  EXPECT_FALSE(Digest::FromHex(hex.substr(1)).ok());
  EXPECT_FALSE(Digest::FromHex(hex + "00").ok());
  EXPECT_FALSE(Digest::FromHex("BA" + hex.substr(2)).ok()) << "one digest, one spelling";
  EXPECT_FALSE(Digest::FromHex("g" + hex.substr(1)).ok());
  EXPECT_FALSE(Digest::FromBytes("short").ok());
}

TEST(Digest, OrdersByBytes) {
  const Digest low = Digest::FromHex(std::string(62, '0') + "01").value();
  const Digest high = Digest::FromHex("01" + std::string(62, '0')).value();
  EXPECT_LT(Digest(), low);
  EXPECT_LT(low, high);
}

TEST(Hasher, PiecesEqualTheirConcatenation) {
  Hasher hasher;
  hasher.Update("a");
  hasher.Update("");
  hasher.Update("bc");
  EXPECT_EQ(hasher.Finish().Hex(), kOfAbc);
}

TEST(Hasher, StartsAnewAfterFinish) {
  Hasher hasher;
  hasher.Update("something");
  hasher.Finish();
  EXPECT_EQ(hasher.Finish().Hex(), kOfNothing);
}

TEST(Digest, IsComputedFromManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int n = 0; n < 1000; ++n) ASSERT_EQ(Digest::Of("abc").Hex(), kOfAbc);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace intent::cache
