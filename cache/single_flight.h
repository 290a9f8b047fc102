#pragma once

// SingleFlight: equal requests share one computation, and no thread waits for it.
//
// A hundred equal cold requests compile once. Everything is a callback, so that a waiter costs a
// closure and not a thread, and so that a gRPC callback server can use it directly:
//
//   using Flights = SingleFlight<std::shared_ptr<const Entry>>;
//   Flights::Ticket ticket = flights.Join(
//       key.digest,
//       [=](Flights::Completion completion) -> Flights::Cancel {  // runs for the first caller only
//         if (auto hit = Lookup(store, key); hit.ok()) {
//           completion.Finish(hit->entry);
//           return nullptr;
//         }
//         StartWork(key, completion);  // which puts its result into the store, then finishes
//         return [=] { StopWork(key); };
//       },
//       [=](const Flights::Outcome& outcome) { Reply(outcome); });
//   …
//   if (ticket.Leave()) Reply(deadline exceeded);  // when this caller's deadline passes or it
//   hangs up
//
// Rules:
//
// - The work belongs to no caller. When the one that started it leaves, the others go on waiting.
// When
//   nobody waits any more, the work's cancel callback runs, once, and the flight is over: the next
//   caller starts a new one.
// - Each waiter gets exactly one of two endings: its `done` is called, or its Leave() returned
// true.
// - An outcome, be it an error or not, reaches those who wait at that moment and nobody later.
// Keeping
//   results is the store's business, so the failure of a worker is not handed to a later caller.
// - A completion that is dropped, all copies of it, without Finish ends the flight with Aborted.
// The
//   cancel callback must not hold one.
// - Flights have no time limit; the work is expected to have its own, and to finish when it is
// reached.
// - To compile once, work must put its result into the store before it finishes, and `start` must
// look
//   there again: its caller's own lookup may have been too early to see the flight before.
//
// Threads: everything may be called from any thread, and from inside any of the callbacks. No lock
// is held while a callback runs. `start` runs inside Join, the cancel callback inside the last
// Leave (or Join), `done` inside Finish; they should hand long work to somebody else. Tickets and
// completions may outlive the SingleFlight object. T must be copyable and cheap to share, such as a
// shared_ptr.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cache/digest.h"

namespace intent::cache {

template <typename T>
class SingleFlight {
  struct Flight;
  struct Board;

 public:
  using Outcome = absl::StatusOr<T>;
  using Done = std::function<void(const Outcome&)>;
  using Cancel = std::function<void()>;  // may be empty: work that cannot be ended

  // The work's side of a flight; copies are the same flight.
  class Completion {
   public:
    // Ends the flight for everybody who waits. Only the first call on a flight counts, and none
    // after it was cancelled.
    void Finish(Outcome outcome) const { guard_->board->Finish(*guard_->flight, outcome); }

   private:
    friend class SingleFlight;

    struct Guard {
      ~Guard() { board->Finish(*flight, absl::AbortedError("the computation was given up")); }
      std::shared_ptr<Board> board;
      std::shared_ptr<Flight> flight;
    };

    std::shared_ptr<Guard> guard_;
  };

  using Start = std::function<Cancel(Completion)>;

  // A waiter's side of a flight; copies are the same waiter.
  class Ticket {
   public:
    Ticket() = default;

    // Stops waiting. True: `done` has not been called and will not be. False: it has been called,
    // is being called on another thread, or the waiter left before.
    bool Leave() const { return board_ != nullptr && board_->Leave(*flight_, waiter_); }

   private:
    friend class SingleFlight;

    std::shared_ptr<Board> board_;
    std::shared_ptr<Flight> flight_;
    uint64_t waiter_ = 0;
  };

  // Waits for the flight of `key`; takes off with `start` when there is none. `done` may be called
  // before Join returns.
  Ticket Join(const Digest& key, const Start& start, Done done) {
    Ticket ticket;
    ticket.board_ = board_;
    const bool first = board_->Enter(key, std::move(done), ticket);
    if (first) {
      Completion completion;
      completion.guard_.reset(new typename Completion::Guard{board_, ticket.flight_});
      board_->SetCancel(*ticket.flight_, start(std::move(completion)));
    }
    return ticket;
  }

  // Computations that somebody waits for.
  size_t flights() const {
    std::lock_guard lock(board_->mutex);
    return board_->flights.size();
  }

 private:
  struct Flight {
    Digest key;
    // All guarded by the board's mutex.
    enum class State { kFlying, kFinished, kCancelled } state = State::kFlying;
    std::map<uint64_t, Done> waiters;  // by order of arrival
    uint64_t next_waiter = 0;
    Cancel cancel;
  };

  struct Board {
    std::mutex mutex;
    absl::flat_hash_map<Digest, std::shared_ptr<Flight>> flights ABSL_GUARDED_BY(mutex);

    // True when the flight is new and the caller must start it.
    bool Enter(const Digest& key, Done done, Ticket& ticket) {
      std::lock_guard lock(mutex);
      std::shared_ptr<Flight>& flight = flights[key];
      const bool first = flight == nullptr;
      if (first) {
        flight = std::make_shared<Flight>();
        flight->key = key;
      }
      ticket.flight_ = flight;
      ticket.waiter_ = flight->next_waiter++;
      flight->waiters.emplace(ticket.waiter_, std::move(done));
      return first;
    }

    // Everybody may have left while `start` was still running.
    void SetCancel(Flight& flight, Cancel cancel) {
      {
        std::lock_guard lock(mutex);
        if (flight.state == Flight::State::kFlying) flight.cancel = std::exchange(cancel, nullptr);
        if (flight.state == Flight::State::kFinished) return;
      }
      if (cancel) cancel();
    }

    bool Leave(Flight& flight, uint64_t waiter) {
      Done unused;  // like the cancel callback, destroyed without the lock: closures own things
      Cancel cancel;
      {
        std::lock_guard lock(mutex);
        const auto found = flight.waiters.find(waiter);
        if (found == flight.waiters.end()) return false;
        unused = std::move(found->second);
        flight.waiters.erase(found);
        if (!flight.waiters.empty()) return true;
        flight.state = Flight::State::kCancelled;
        cancel = std::exchange(flight.cancel, nullptr);
        flights.erase(flight.key);
      }
      if (cancel) cancel();
      return true;
    }

    void Finish(Flight& flight, const Outcome& outcome) {
      std::map<uint64_t, Done> waiters;
      Cancel unused;
      {
        std::lock_guard lock(mutex);
        if (flight.state != Flight::State::kFlying) return;
        flight.state = Flight::State::kFinished;
        waiters.swap(flight.waiters);
        unused = std::exchange(flight.cancel, nullptr);
        flights.erase(flight.key);
      }
      for (const auto& [waiter, done] : waiters) done(outcome);
    }
  };

  const std::shared_ptr<Board> board_ = std::make_shared<Board>();
};

}  // namespace intent::cache
