#include "server/compile_call.h"

#include <utility>

#include "server/compile_request.h"

namespace intent {
namespace {

using compile::v1::CacheInfo;

void CountHit(CacheInfo::Where where, Counters& counters) {
  switch (where) {
    case CacheInfo::WHERE_MEMORY:
      ++counters.hits_memory;
      break;
    case CacheInfo::WHERE_REMOTE:
      ++counters.hits_remote;
      break;
    default:
      ++counters.hits_disk;
  }
}

}  // namespace

bool CompileCall::Run(const compile::v1::CompileRequest& request,
                      compile::v1::CompileResponse* response, absl::Status* status, Done done) {
  request_ = &request;
  ++counters_.requests;
  ++counters_.in_flight;
  const absl::StatusOr<std::string> target = CheckCompileRequest(request);
  if (!target.ok()) {
    CompileOutcome outcome;
    outcome.status = target.status();
    Answer(outcome, response, status);
    return true;
  }
  bypass_ = request.cache() == compile::v1::CACHE_POLICY_BYPASS;
  BackEnds::Choice choice = flow_.back_ends().For(*target);
  if (auto* diagnostics = std::get_if<compile::v1::Diagnostics>(&choice)) {
    CompileOutcome outcome;
    outcome.diagnostics = std::move(*diagnostics);
    Answer(outcome, response, status);
    return true;
  }
  const BackEnd* const back_end = std::get<const BackEnd*>(choice);
  cache::Key key = RequestKey(request, *target, back_end->hello.fingerprint());
  if (!bypass_) {
    if (const std::optional<CompileOutcome> found = flow_.Find(key)) {
      Answer(*found, response, status);
      return true;
    }
  }
  auto work = std::make_shared<CompileWork>();
  work->back_end = back_end;
  work->key = std::move(key);
  work->prepare = ToPrepare(request, *target);
  work->bypass = bypass_;
  std::shared_ptr<CompileFlow::Waiter> waiter =
      flow_.Begin(std::move(work), [this, response, done](const CompileOutcome& outcome) {
        absl::Status ending;
        Answer(outcome, response, &ending);
        done(ending);
      });
  bool left;
  {
    std::lock_guard lock(mutex_);
    waiter_ = waiter;
    left = left_;
  }
  if (left && CountLeft(*waiter)) done(absl::CancelledError("the caller has gone"));
  return false;
}

bool CompileCall::Leave() {
  std::shared_ptr<CompileFlow::Waiter> waiter;
  {
    std::lock_guard lock(mutex_);
    left_ = true;
    waiter = waiter_;
  }
  return waiter != nullptr && CountLeft(*waiter);
}

bool CompileCall::CountLeft(CompileFlow::Waiter& waiter) {
  if (!waiter.Leave()) return false;
  ++counters_.errors;
  --counters_.in_flight;
  return true;
}

void CompileCall::Answer(const CompileOutcome& outcome, compile::v1::CompileResponse* response,
                         absl::Status* status) {
  *status = outcome.status;
  if (!outcome.status.ok()) {
    ++counters_.errors;
    --counters_.in_flight;
    return;
  }
  const CacheInfo::Where where = outcome.cache.where();
  const bool missed = outcome.diagnostics.has_value() || where == CacheInfo::WHERE_COMPILED ||
                      where == CacheInfo::WHERE_JOINED;
  if (bypass_) {
    ++counters_.bypasses;
  } else if (missed) {
    ++counters_.misses;
    if (where == CacheInfo::WHERE_JOINED) ++counters_.joined;
  } else {
    CountHit(where, counters_);
    if (outcome.cache.canonical()) ++counters_.canonical_hits;
  }
  if (outcome.diagnostics.has_value()) {
    ++counters_.diagnosed;
    *response->mutable_diagnostics() = *outcome.diagnostics;
  } else {
    compile::v1::Artifact& artifact = *response->mutable_artifact();
    FillArtifact(*outcome.entry, request_->inline_payloads(), &artifact);
    *artifact.mutable_cache() = outcome.cache;
  }
  --counters_.in_flight;
}

}  // namespace intent
