#pragma once

// BackEnds: which compiler serves a target, that is, whose workers make its code and whose identity
// enters its keys. Artifacts for CUDA depend on NVRTC, others do not: a daemon that gets another
// NVRTC, or none, keeps the rest of its cache.
//
// Thread-safe; set up before the first call.

#include <string>
#include <variant>

#include "intent/compile/v1/compile.pb.h"
#include "intent/worker/v1/worker.pb.h"
#include "server/pool/compile_pool.h"

namespace intent {

struct BackEnd {
  CompilePool* pool = nullptr;
  worker::v1::WorkerHello hello;
};

class BackEnds {
 public:
  // `cuda`: without a pool where nothing is compiled for CUDA; its hello says why.
  BackEnds(BackEnd host, BackEnd cuda) : host_(std::move(host)), cuda_(std::move(cuda)) {}

  const BackEnd& host() const { return host_; }
  const BackEnd& cuda() const { return cuda_; }

  // Of a resolved target, a name of the table. Where it is not compiled for: the diagnostic that
  // says what is missing.
  using Choice = std::variant<const BackEnd*, compile::v1::Diagnostics>;
  Choice For(const std::string& target) const;

 private:
  const BackEnd host_, cuda_;
};

}  // namespace intent
