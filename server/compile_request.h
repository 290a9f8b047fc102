#pragma once

// From a wire request to a checked one with its key. What the worker will read is exactly what the
// key is made of (pitfalls: a key that misses an input gives silent wrong code).
//
// Thread-safe; no state.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cache/key.h"
#include "intent/compile/v1/compile.pb.h"
#include "intent/worker/v1/worker.pb.h"

namespace intent {

struct RequestLimits {
  static constexpr uint64_t kModuleBytes = 16u << 20;
  static constexpr uint64_t kSourceMapBytes = 16u << 20;
  static constexpr int kBindings = 1024;
  static constexpr int kDisabledPasses = 64;
  static constexpr int kInlinePayloads = 64;
  static constexpr uint64_t kNameBytes = 128;
  static constexpr uint64_t kInlinePayloadBytes = 1u << 20;
};

// FailedPrecondition for a protocol version that this daemon does not serve.
absl::Status CheckClient(const compile::v1::ClientInfo& client);

// The checks of a request that need no compiler: unknown fields, version, limits, bindings. Gives
// the target resolved by `ParseTarget`. ResourceExhausted beyond a limit, InvalidArgument when
// malformed, FailedPrecondition for a version or target.
absl::StatusOr<std::string> CheckCompileRequest(const compile::v1::CompileRequest& request);

// The request key: of the module's bytes as they came.
cache::Key RequestKey(const compile::v1::CompileRequest& request, const std::string& target,
                      const std::string& fingerprint);

// The canonical key: of the specialised canonical module; bindings are part of it. The target,
// options and fingerprint are the same as in the request key.
cache::Key CanonicalKey(const std::string& canonical_kir,
                        const compile::v1::CompileOptions& options, const std::string& target,
                        const std::string& fingerprint);

// What the worker gets. `request` is copied.
worker::v1::Prepare ToPrepare(const compile::v1::CompileRequest& request,
                              const std::string& target);

}  // namespace intent
