#include "cache/single_flight.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cache/alias.h"
#include "cache/memory_store.h"
#include "cache/test_support.h"

namespace intent::cache {
namespace {

using Flights = SingleFlight<std::shared_ptr<const std::string>>;

Flights::Outcome Value(const std::string& text) {
  return std::make_shared<const std::string>(text);
}

// Work under the test's control: takes off, then waits for the test to finish it.
struct Work {
  std::optional<Flights::Completion> completion;
  int started = 0;
  int cancelled = 0;

  Flights::Start start() {
    return [this](Flights::Completion given) {
      ++started;
      completion = std::move(given);
      return [this] { ++cancelled; };
    };
  }
};

// A waiter that remembers what it was told. It is declared before its work, whose end may still
// tell it.
struct Waiter {
  std::vector<std::string> heard;

  Flights::Done done() {
    return [this](const Flights::Outcome& outcome) {
      heard.push_back(outcome.ok() ? **outcome : std::string(outcome.status().message()));
    };
  }
};

using Heard = std::vector<std::string>;

const Digest kKey = Digest::Of("key");

TEST(SingleFlight, EqualKeysShareOneComputation) {
  Flights flights;
  Waiter a, b, c;
  Work work;
  flights.Join(kKey, work.start(), a.done());
  flights.Join(kKey, work.start(), b.done());
  flights.Join(kKey, work.start(), c.done());
  EXPECT_EQ(work.started, 1);
  EXPECT_EQ(flights.flights(), 1u);
  EXPECT_TRUE(a.heard.empty());
  work.completion->Finish(Value("code"));
  EXPECT_EQ(a.heard, Heard{"code"});
  EXPECT_EQ(b.heard, Heard{"code"});
  EXPECT_EQ(c.heard, Heard{"code"});
  EXPECT_EQ(work.cancelled, 0);
  EXPECT_EQ(flights.flights(), 0u);
}

TEST(SingleFlight, DifferentKeysDoNot) {
  Flights flights;
  Waiter a, b;
  Work one, two;
  flights.Join(kKey, one.start(), a.done());
  flights.Join(Digest::Of("other"), two.start(), b.done());
  EXPECT_EQ(one.started + two.started, 2);
  one.completion->Finish(Value("1"));
  EXPECT_EQ(a.heard, Heard{"1"});
  EXPECT_TRUE(b.heard.empty());
  two.completion->Finish(Value("2"));
  EXPECT_EQ(b.heard, Heard{"2"});
}

TEST(SingleFlight, WorkMayFinishBeforeJoinReturns) {
  Flights flights;
  Waiter a;
  const auto ticket = flights.Join(
      kKey,
      [](Flights::Completion completion) -> Flights::Cancel {
        completion.Finish(Value("at once"));
        return nullptr;
      },
      a.done());
  EXPECT_EQ(a.heard, Heard{"at once"});
  EXPECT_FALSE(ticket.Leave());
}

TEST(SingleFlight, OnlyTheFirstFinishCounts) {
  Flights flights;
  Waiter a;
  Work work;
  flights.Join(kKey, work.start(), a.done());
  work.completion->Finish(Value("first"));
  work.completion->Finish(Value("second"));
  EXPECT_EQ(a.heard, Heard{"first"});
}

// ---- leaving

TEST(SingleFlight, ALeaderThatLeavesDoesNotTakeItsFollowersWithIt) {
  Flights flights;
  Waiter leader, follower;
  Work work;
  const auto ticket = flights.Join(kKey, work.start(), leader.done());
  flights.Join(kKey, work.start(), follower.done());
  EXPECT_TRUE(ticket.Leave());
  EXPECT_EQ(work.cancelled, 0);
  work.completion->Finish(Value("code"));
  EXPECT_TRUE(leader.heard.empty());
  EXPECT_EQ(follower.heard, Heard{"code"});
}

TEST(SingleFlight, TheDeadlineOfOneWaiterEndsThatWaiterOnly) {
  Flights flights;
  Waiter leader, hasty, late;
  Work work;
  flights.Join(kKey, work.start(), leader.done());
  const auto ticket = flights.Join(kKey, work.start(), hasty.done());
  EXPECT_TRUE(ticket.Leave());
  EXPECT_FALSE(ticket.Leave()) << "one waiter has one ending";
  flights.Join(kKey, work.start(), late.done());
  EXPECT_EQ(work.started, 1);
  work.completion->Finish(Value("code"));
  EXPECT_TRUE(hasty.heard.empty());
  EXPECT_EQ(leader.heard, Heard{"code"});
  EXPECT_EQ(late.heard, Heard{"code"});
}

TEST(SingleFlight, WorkIsCancelledOnceWhenNobodyWaits) {
  Flights flights;
  Waiter a, b;
  Work work;
  const auto first = flights.Join(kKey, work.start(), a.done());
  const auto second = flights.Join(kKey, work.start(), b.done());
  EXPECT_TRUE(second.Leave());
  EXPECT_EQ(work.cancelled, 0);
  EXPECT_TRUE(first.Leave());
  EXPECT_EQ(work.cancelled, 1);
  EXPECT_EQ(flights.flights(), 0u);
  work.completion->Finish(Value("too late"));
  EXPECT_TRUE(a.heard.empty());
  EXPECT_TRUE(b.heard.empty());
  EXPECT_EQ(work.cancelled, 1);
}

TEST(SingleFlight, ACallerAfterACancelStartsAnew) {
  Flights flights;
  Waiter a, b;
  Work cancelled, fresh;
  EXPECT_TRUE(flights.Join(kKey, cancelled.start(), a.done()).Leave());
  flights.Join(kKey, fresh.start(), b.done());
  EXPECT_EQ(fresh.started, 1);
  cancelled.completion->Finish(Value("of the cancelled work"));
  EXPECT_TRUE(b.heard.empty());
  EXPECT_EQ(flights.flights(), 1u);
  fresh.completion->Finish(Value("fresh"));
  EXPECT_EQ(b.heard, Heard{"fresh"});
}

TEST(SingleFlight, LeavingWhileTheWorkStartsCancelsItOnceItHas) {
  Flights flights;
  Waiter follower;
  int cancelled = 0;
  Flights::Ticket early;
  Flights::Completion held;
  const auto leader = flights.Join(
      kKey,
      [&](Flights::Completion completion) -> Flights::Cancel {
        held = completion;
        early = flights.Join(kKey, nullptr, follower.done());
        return [&] { ++cancelled; };
      },
      [](const Flights::Outcome&) { FAIL(); });
  EXPECT_TRUE(leader.Leave());
  EXPECT_EQ(cancelled, 0);
  EXPECT_TRUE(early.Leave());
  EXPECT_EQ(cancelled, 1);
}

TEST(SingleFlight, AnAbsentCancelIsAllowed) {
  Flights flights;
  Waiter a;
  Flights::Completion held;
  const auto ticket = flights.Join(
      kKey,
      [&](Flights::Completion completion) -> Flights::Cancel {
        held = completion;
        return nullptr;
      },
      a.done());
  EXPECT_TRUE(ticket.Leave());
}

TEST(SingleFlight, ALeaveAfterTheAnswerSaysSo) {
  Flights flights;
  Waiter a;
  Work work;
  const auto ticket = flights.Join(kKey, work.start(), a.done());
  work.completion->Finish(Value("code"));
  EXPECT_FALSE(ticket.Leave());
  EXPECT_EQ(work.cancelled, 0);
  EXPECT_FALSE(Flights::Ticket().Leave());
}

// ---- errors

TEST(SingleFlight, AnErrorReachesThoseWhoWaitAndNobodyLater) {
  Flights flights;
  Waiter a, b, later;
  Work crashed, retried;
  flights.Join(kKey, crashed.start(), a.done());
  flights.Join(kKey, crashed.start(), b.done());
  crashed.completion->Finish(absl::UnavailableError("worker crashed"));
  EXPECT_EQ(a.heard, Heard{"worker crashed"});
  EXPECT_EQ(b.heard, Heard{"worker crashed"});
  flights.Join(kKey, retried.start(), later.done());
  EXPECT_EQ(retried.started, 1);
  retried.completion->Finish(Value("code"));
  EXPECT_EQ(later.heard, Heard{"code"});
}

TEST(SingleFlight, WorkThatLosesItsCompletionEndsTheFlight) {
  Flights flights;
  Waiter a;
  Work work;
  flights.Join(kKey, work.start(), a.done());
  Flights::Completion copy = *work.completion;
  work.completion.reset();
  EXPECT_TRUE(a.heard.empty()) << "a copy is left";
  copy = Flights::Completion();
  EXPECT_EQ(a.heard, Heard{"the computation was given up"});
  EXPECT_EQ(flights.flights(), 0u);
}

// ---- reentrancy and lifetime

TEST(SingleFlight, AWaiterMayJoinAgainFromItsCallback) {
  Flights flights;
  Waiter again;
  Work first, second;
  flights.Join(kKey, first.start(),
               [&](const Flights::Outcome&) { flights.Join(kKey, second.start(), again.done()); });
  first.completion->Finish(absl::UnavailableError("try again"));
  EXPECT_EQ(second.started, 1);
  second.completion->Finish(Value("code"));
  EXPECT_EQ(again.heard, Heard{"code"});
}

TEST(SingleFlight, TicketsAndCompletionsMayOutliveIt) {
  Waiter a, b;
  Work work;
  Flights::Ticket ticket;
  {
    Flights flights;
    flights.Join(kKey, work.start(), a.done());
    ticket = flights.Join(kKey, work.start(), b.done());
  }
  EXPECT_TRUE(ticket.Leave());
  work.completion->Finish(Value("code"));
  EXPECT_EQ(a.heard, Heard{"code"});
}

// ---- threads

// Every thread asks for the same few keys; each flight is finished by a thread of its own, and some
// callers leave. However they interleave, each caller has one ending and no two computations of a
// key overlap.
TEST(SingleFlight, ManyThreadsJoinLeaveAndFinish) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 400;
  constexpr int kKeys = 3;
  Flights flights;
  std::atomic<int> endings{0}, wrong{0}, running[kKeys] = {};
  std::mutex mutex;
  std::vector<std::thread> finishers;
  std::vector<std::thread> callers;
  for (int t = 0; t < kThreads; ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        const int key = (t + i) % kKeys;
        auto ended = std::make_shared<std::atomic<int>>(0);
        const auto ticket = flights.Join(
            Digest::Of(std::to_string(key)),
            [&, key](Flights::Completion completion) -> Flights::Cancel {
              if (running[key].fetch_add(1) != 0) ++wrong;
              // Not overlapping, cancelled work excepted: whoever ends the flight gives the slot
              // back before a new one can begin.
              auto slot = std::make_shared<std::atomic<bool>>(true);
              const auto give_back = [&, key, slot] {
                if (slot->exchange(false)) running[key].fetch_sub(1);
              };
              std::lock_guard lock(mutex);
              finishers.emplace_back([completion, give_back] {
                give_back();
                completion.Finish(Value("code"));
              });
              return give_back;
            },
            [&, ended](const Flights::Outcome& outcome) {
              if (!outcome.ok() || **outcome != "code" || ended->fetch_add(1) != 0) ++wrong;
              ++endings;
            });
        if ((t * 31 + i) % 5 == 0 && ticket.Leave()) {
          if (ended->fetch_add(1) != 0) ++wrong;
          ++endings;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (std::thread& finisher : finishers) finisher.join();
  EXPECT_EQ(endings, kThreads * kRounds);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(flights.flights(), 0u);
}

// The recipe of the header: lookup, join, second lookup inside start, put before finish.
TEST(SingleFlight, SixtyFourEqualColdRequestsWithADelayedLeaderCompileOnce) {
  constexpr int kRequests = 64;
  using EntryFlights = SingleFlight<std::shared_ptr<const Entry>>;
  for (int round = 0; round < 20; ++round) {
    MemoryStore store(1 << 20);
    EntryFlights flights;
    const Key key = TestKey("k");
    std::atomic<int> compiles{0}, answers{0};
    std::barrier all_looked_up(kRequests);
    std::mutex mutex;
    std::vector<std::thread> workers;
    std::vector<std::thread> requests;
    for (int i = 0; i < kRequests; ++i) {
      requests.emplace_back([&] {
        const bool cold = !Lookup(store, key).ok();
        all_looked_up.arrive_and_wait();
        ASSERT_TRUE(cold);
        flights.Join(
            key.digest,
            [&](EntryFlights::Completion completion) -> EntryFlights::Cancel {
              if (const auto hit = Lookup(store, key); hit.ok()) {
                completion.Finish(hit->entry);
                return nullptr;
              }
              std::lock_guard lock(mutex);
              workers.emplace_back([&, completion] {
                ++compiles;
                for (int n = 0; n < 100; ++n) std::this_thread::yield();
                const auto entry = TestEntry(key, "code");
                store.Put(entry).IgnoreError();
                completion.Finish(entry);
              });
              return nullptr;
            },
            [&](const EntryFlights::Outcome& outcome) {
              if (outcome.ok() && (*outcome)->Find("object") == "code") ++answers;
            });
      });
    }
    for (std::thread& request : requests) request.join();
    for (std::thread& worker : workers) worker.join();
    EXPECT_EQ(compiles, 1);
    EXPECT_EQ(answers, kRequests);
  }
}

}  // namespace
}  // namespace intent::cache
