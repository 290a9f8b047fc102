#pragma once

// CompileCall: one compile request, of Compile or of CompileMany, from its arrival to its answer;
// the counters' event is its end.
//
// Run either answers at once or later, from another thread; `done` is called once unless Leave has
// returned true. The request must live until then.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "intent/compile/v1/compile.pb.h"
#include "server/compile_flow.h"
#include "server/pool/counters.h"

namespace intent {

class CompileCall {
 public:
  CompileCall(CompileFlow& flow, Counters& counters) : flow_(flow), counters_(counters) {}
  CompileCall(const CompileCall&) = delete;
  CompileCall& operator=(const CompileCall&) = delete;

  using Done = std::function<void(const absl::Status&)>;

  // True: `response` or `status` holds the answer and `done` will not be called. False: wait.
  bool Run(const compile::v1::CompileRequest& request, compile::v1::CompileResponse* response,
           absl::Status* status, Done done);

  // The caller has gone; from any thread. True: `done` will not be called.
  bool Leave();

 private:
  bool CountLeft(CompileFlow::Waiter& waiter);
  void Answer(const CompileOutcome& outcome, compile::v1::CompileResponse* response,
              absl::Status* status);

  CompileFlow& flow_;
  Counters& counters_;
  const compile::v1::CompileRequest* request_ = nullptr;
  bool bypass_ = false;
  std::mutex mutex_;
  bool left_ ABSL_GUARDED_BY(mutex_) = false;  // the caller went before there was a waiter
  std::shared_ptr<CompileFlow::Waiter> waiter_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace intent
