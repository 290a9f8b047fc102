#pragma once

// CompileFlow: the life of a compile request behind the RPC: key, caches, single flight, worker,
// store.
//
// A hit is answered by Find, on the caller's thread and without any hop. Everything else goes
// through Begin, which never blocks:
//
//   request key -> flight -> Prepare in a worker -> canonical key -> caches -> Continue or Drop
//   -> entry under the canonical key, alias from the request key -> every waiter
//
// A crash of a worker costs one request an error: the one that started the flight. The others start
// another flight, of which one of them is the first, until the input is quarantined. Thread-safe.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cache/key.h"
#include "cache/single_flight.h"
#include "cache/store.h"
#include "intent/compile/v1/compile.pb.h"
#include "server/artifact.h"
#include "server/artifact_index.h"
#include "server/back_ends.h"
#include "server/pool/compile_pool.h"
#include "server/pool/counters.h"
#include "server/quarantine.h"

namespace intent {

struct CompileWork {
  const BackEnd* back_end = nullptr;  // outlives the work
  cache::Key key;                     // request key
  worker::v1::Prepare prepare;
  bool bypass = false;
};

// How a compile ended: an entry, diagnostics, or a status that is not OK.
struct CompileOutcome {
  absl::Status status;
  bool crashed = false;
  ArtifactEntry entry;
  std::optional<compile::v1::Diagnostics> diagnostics;
  compile::v1::CacheInfo cache;
};

class CompileFlow {
 public:
  CompileFlow(cache::Store& store, ArtifactIndex& index, const BackEnds& back_ends,
              Quarantine& quarantine, Counters& counters)
      : store_(store),
        index_(index),
        back_ends_(back_ends),
        quarantine_(quarantine),
        counters_(counters) {}

  const BackEnds& back_ends() const { return back_ends_; }

  // The caches' answer.
  std::optional<CompileOutcome> Find(const cache::Key& key);

  using Done = std::function<void(const CompileOutcome&)>;

  // One request's wait. Either `done` is called, once, or Leave has returned true.
  class Waiter;
  std::shared_ptr<Waiter> Begin(std::shared_ptr<const CompileWork> work, Done done);

 private:
  using Shared = std::shared_ptr<const CompileOutcome>;
  using Flights = cache::SingleFlight<Shared>;
  using Finish = std::function<void(CompileOutcome)>;

  // Starts the work and returns how to cancel it; null when `finish` has been called already.
  std::function<void()> Start(const CompileWork& work, Finish finish);
  CompileOutcome Conclude(const CompileWork& work, const cache::Key& canonical,
                          CompileResult result);

  cache::Store& store_;
  ArtifactIndex& index_;
  const BackEnds& back_ends_;
  Quarantine& quarantine_;
  Counters& counters_;
  Flights flights_;
};

class CompileFlow::Waiter : public std::enable_shared_from_this<Waiter> {
 public:
  Waiter(CompileFlow& flow, std::shared_ptr<const CompileWork> work, Done done)
      : flow_(flow), work_(std::move(work)), done_(std::move(done)) {}

  // Stops waiting; the work goes on while others wait for it. True: `done` will not be called.
  bool Leave();

 private:
  friend class CompileFlow;

  void Run();
  void Join();
  void OnOutcome(const absl::StatusOr<Shared>& outcome, bool leader);

  CompileFlow& flow_;
  const std::shared_ptr<const CompileWork> work_;
  const Done done_;
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
  Flights::Ticket ticket_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> cancel_ ABSL_GUARDED_BY(mutex_);  // of work that goes past the flights
};

}  // namespace intent
