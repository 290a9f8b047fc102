#include "server/compile_flow.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "cache/alias.h"
#include "server/compile_request.h"
#include "server/retry_after.h"
#include "spdlog/spdlog.h"

namespace intent {
namespace {

using compile::v1::CacheInfo;

constexpr uint64_t kBusyRetryMs = 100;

CacheInfo::Where WhereOf(cache::Tier tier) {
  switch (tier) {
    case cache::Tier::kMemory:
      return CacheInfo::WHERE_MEMORY;
    case cache::Tier::kDisk:
      return CacheInfo::WHERE_DISK;
  }
  return CacheInfo::WHERE_DISK;
}

CompileOutcome Failed(absl::Status status, bool crashed = false) {
  CompileOutcome outcome;
  outcome.status = std::move(status);
  outcome.crashed = crashed;
  return outcome;
}

CompileOutcome Found(cache::Hit hit) {
  CompileOutcome outcome;
  outcome.cache.set_where(WhereOf(hit.tier));
  outcome.entry = std::move(hit.entry);
  return outcome;
}

}  // namespace

std::optional<CompileOutcome> CompileFlow::Find(const cache::Key& key) {
  absl::StatusOr<cache::Hit> hit = cache::Lookup(store_, key);
  if (!hit.ok()) return std::nullopt;
  index_.Remember(hit->entry, /*hold=*/false);
  return Found(*std::move(hit));
}

std::shared_ptr<CompileFlow::Waiter> CompileFlow::Begin(std::shared_ptr<const CompileWork> work,
                                                        Done done) {
  auto waiter = std::make_shared<Waiter>(*this, std::move(work), std::move(done));
  waiter->Run();
  return waiter;
}

std::function<void()> CompileFlow::Start(const CompileWork& work, Finish finish) {
  if (!work.bypass) {
    // An equal flight may have landed between the caller's lookup and now.
    if (std::optional<CompileOutcome> found = Find(work.key)) {
      finish(*std::move(found));
      return nullptr;
    }
  }
  const std::chrono::milliseconds refused = quarantine_.RefusedFor(work.key.digest);
  if (refused.count() > 0) {
    ++counters_.quarantined;
    finish(Failed(WithRetryAfter(absl::InternalError(absl::StrCat(
                                     "the input has crashed the compiler before and is refused ",
                                     "for a while; input ", work.key.digest.Hex())),
                                 refused.count())));
    return nullptr;
  }

  // What the two callbacks of the job share; they run on one thread, one after the other.
  struct Progress {
    CompileWork work;
    cache::Key canonical;
    std::optional<cache::Hit> hit;
    Finish finish;
  };
  auto progress = std::make_shared<Progress>();
  progress->work.back_end = work.back_end;
  progress->work.key = work.key;
  progress->work.bypass = work.bypass;
  *progress->work.prepare.mutable_options() = work.prepare.options();
  progress->work.prepare.set_target(work.prepare.target());
  progress->finish = std::move(finish);

  auto job = std::make_unique<CompileJob>();
  job->prepare = work.prepare;
  job->input = work.key.digest;
  job->cancel = std::make_shared<CancelSignal>();
  job->proceed = [this, progress](const std::string& canonical_kir) {
    const worker::v1::Prepare& prepare = progress->work.prepare;
    progress->canonical = CanonicalKey(canonical_kir, prepare.options(), prepare.target(),
                                       progress->work.back_end->hello.fingerprint());
    if (!progress->work.bypass) {
      absl::StatusOr<cache::Hit> hit = store_.Get(progress->canonical);
      if (hit.ok()) {
        progress->hit = *std::move(hit);
        return false;
      }
    }
    ++counters_.compiles;
    return true;
  };
  job->done = [this, progress](CompileResult result) {
    if (std::holds_alternative<Dropped>(result.content) && progress->hit.has_value()) {
      (void)cache::PutAlias(store_, progress->work.key, progress->canonical);
      CompileOutcome outcome = Found(*std::move(progress->hit));
      outcome.cache.set_canonical(true);
      index_.Remember(outcome.entry, /*hold=*/false);
      progress->finish(std::move(outcome));
      return;
    }
    progress->finish(Conclude(progress->work, progress->canonical, std::move(result)));
  };
  const std::shared_ptr<CancelSignal> cancel = job->cancel;
  if (!work.back_end->pool->Submit(job)) {
    job->done = nullptr;
    ++counters_.rejected;
    progress->finish(Failed(WithRetryAfter(
        absl::ResourceExhaustedError("too many compiles wait for a worker"), kBusyRetryMs)));
    return nullptr;
  }
  return [cancel] { cancel->Set(); };
}

CompileOutcome CompileFlow::Conclude(const CompileWork& work, const cache::Key& canonical,
                                     CompileResult result) {
  if (auto* status = std::get_if<absl::Status>(&result.content)) {
    if (result.crashed) quarantine_.RecordCrash(work.key.digest);
    return Failed(std::move(*status), result.crashed);
  }
  CompileOutcome outcome;
  if (auto* diagnostics = std::get_if<compile::v1::Diagnostics>(&result.content)) {
    outcome.diagnostics = std::move(*diagnostics);
    return outcome;
  }
  auto* compiled = std::get_if<worker::v1::Compiled>(&result.content);
  if (compiled == nullptr) return Failed(absl::InternalError("a worker dropped what was wanted"));
  absl::StatusOr<ArtifactEntry> entry = MakeArtifactEntry(canonical, *compiled);
  if (!entry.ok()) return Failed(entry.status());
  bool stored = false;
  if (!work.bypass) {
    absl::Status status = store_.Put(*entry);
    stored = status.ok();
    if (stored) status = cache::PutAlias(store_, work.key, canonical);
    if (!status.ok()) spdlog::warn("cache: {}", std::string(status.message()));
  }
  index_.Remember(*entry, /*hold=*/!stored);
  outcome.entry = *std::move(entry);
  outcome.cache.set_where(CacheInfo::WHERE_COMPILED);
  return outcome;
}

void CompileFlow::Waiter::Run() {
  if (!work_->bypass) return Join();
  std::function<void()> cancel =
      flow_.Start(*work_, [self = shared_from_this()](CompileOutcome outcome) {
        if (!self->ended_.exchange(true)) self->done_(outcome);
      });
  std::unique_lock lock(mutex_);
  if (ended_ && cancel) {
    lock.unlock();
    cancel();
  } else {
    cancel_ = std::move(cancel);
  }
}

void CompileFlow::Waiter::Join() {
  auto leader = std::make_shared<std::atomic<bool>>(false);
  Flights::Ticket ticket = flow_.flights_.Join(
      work_->key.digest,
      [self = shared_from_this(), leader](Flights::Completion completion) {
        *leader = true;
        return self->flow_.Start(*self->work_, [completion](CompileOutcome outcome) {
          completion.Finish(std::make_shared<const CompileOutcome>(std::move(outcome)));
        });
      },
      [self = shared_from_this(), leader](const absl::StatusOr<Shared>& outcome) {
        self->OnOutcome(outcome, *leader);
      });
  {
    std::lock_guard lock(mutex_);
    ticket_ = ticket;
  }
  if (ended_) ticket.Leave();
}

void CompileFlow::Waiter::OnOutcome(const absl::StatusOr<Shared>& shared, bool leader) {
  if (!shared.ok()) {
    if (!ended_.exchange(true)) done_(Failed(shared.status()));
    return;
  }
  const CompileOutcome& outcome = **shared;
  if (outcome.crashed && !leader) {
    if (!ended_) Join();
    return;
  }
  if (ended_.exchange(true)) return;
  if (leader || !outcome.entry || outcome.cache.where() != CacheInfo::WHERE_COMPILED) {
    done_(outcome);
    return;
  }
  CompileOutcome joined = outcome;
  joined.cache.set_where(CacheInfo::WHERE_JOINED);
  done_(joined);
}

bool CompileFlow::Waiter::Leave() {
  if (ended_.exchange(true)) return false;
  std::unique_lock lock(mutex_);
  const Flights::Ticket ticket = ticket_;
  const std::function<void()> cancel = std::exchange(cancel_, nullptr);
  lock.unlock();
  ticket.Leave();
  if (cancel) cancel();
  return true;
}

}  // namespace intent
