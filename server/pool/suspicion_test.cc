#include "server/pool/suspicion.h"

#include "gtest/gtest.h"

namespace intent {
namespace {

const cache::Digest kOne = cache::Digest::Of("one"), kOther = cache::Digest::Of("other");

TEST(Suspicion, FollowsAFaultUntilEnoughCallsDoWell) {
  Suspicion suspicion;
  EXPECT_FALSE(suspicion.Suspects(kOne));
  suspicion.RecordFault(kOne);
  EXPECT_TRUE(suspicion.Suspects(kOne));
  EXPECT_FALSE(suspicion.Suspects(kOther));
  for (int call = 1; call < Suspicion::kGoodCalls; ++call) suspicion.RecordSuccess(kOne);
  EXPECT_TRUE(suspicion.Suspects(kOne));
  suspicion.RecordFault(kOne);  // counts anew
  suspicion.RecordSuccess(kOne);
  EXPECT_TRUE(suspicion.Suspects(kOne));
  for (int call = 1; call < Suspicion::kGoodCalls; ++call) suspicion.RecordSuccess(kOne);
  EXPECT_FALSE(suspicion.Suspects(kOne));
  suspicion.RecordSuccess(kOne);
  EXPECT_FALSE(suspicion.Suspects(kOne));
}

TEST(Suspicion, EndsWithTime) {
  Suspicion suspicion;
  const Suspicion::Clock::time_point now = Suspicion::Clock::now();
  suspicion.RecordFault(kOne, now);
  EXPECT_TRUE(suspicion.Suspects(kOne, now + Suspicion::kMemory - std::chrono::seconds(1)));
  EXPECT_FALSE(suspicion.Suspects(kOne, now + Suspicion::kMemory));
}

}  // namespace
}  // namespace intent
