#include "server/admin_service.h"

#include <unistd.h>

#include <fstream>
#include <set>
#include <string>

#include "compiler/diag/failpoint.h"
#include "compiler/target/target.h"
#include "proto/protocol_version.h"
#include "server/compile_request.h"
#include "server/execute_call.h"

namespace intent {
namespace {

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

grpc::ServerUnaryReactor* Finished(grpc::CallbackServerContext* context) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

void AddCudaDevices(const worker::v1::DeviceList& list, admin::v1::Capabilities* response) {
  std::set<std::string> targets;
  for (const worker::v1::Device& from : list.devices()) {
    admin::v1::CudaDevice& to = *response->add_cuda_devices();
    to.set_index(from.index());
    to.set_uuid(from.uuid());
    to.set_name(from.name());
    to.set_architecture(from.architecture());
    to.set_memory_bytes(from.memory_bytes());
    targets.insert(from.targets().begin(), from.targets().end());
  }
  for (const std::string& target : targets) response->add_execute_targets(target);
  response->set_cuda_devices_missing(list.missing());
}

}  // namespace

grpc::ServerUnaryReactor* AdminServiceImpl::GetCapabilities(
    grpc::CallbackServerContext* context, const admin::v1::GetCapabilitiesRequest*,
    admin::v1::Capabilities* response) {
  response->set_version("0.1.0");
  response->set_protocol_major(kProtocolMajor);
  response->set_protocol_minor(kProtocolMinor);
  response->set_protocol_minor_min(kOldestProtocolMinor);
  const worker::v1::WorkerHello& host = back_ends_.host().hello;
  const worker::v1::WorkerHello& cuda = back_ends_.cuda().hello;
  response->set_fingerprint(host.fingerprint());
  *response->mutable_targets() = host.targets();
  response->mutable_targets()->MergeFrom(cuda.targets());
  response->set_host_target(host.host_target());
  response->mutable_cuda()->set_nvrtc_version(cuda.nvrtc_version());
  response->mutable_cuda()->set_fingerprint(cuda.fingerprint());
  response->mutable_cuda()->set_missing(cuda.missing());
  for (const std::string& name : host.targets()) {
    const absl::StatusOr<Target> target = ParseTarget(name);
    if (target.ok() && MissingOnHost(*target).empty()) response->add_execute_targets(name);
  }
  AddCudaDevices(devices_.Get(), response);
  admin::v1::Limits& limits = *response->mutable_limits();
  limits.set_module_bytes(RequestLimits::kModuleBytes);
  limits.set_source_map_bytes(RequestLimits::kSourceMapBytes);
  limits.set_bindings(RequestLimits::kBindings);
  limits.set_inline_payload_bytes(RequestLimits::kInlinePayloadBytes);
  limits.set_inline_execute_bytes(ExecuteLimits::kInlineBytes);
  limits.set_execute_bytes(options_.tensor_memory);
  limits.set_compile_milliseconds(options_.compile_time_ms);
  limits.set_execute_milliseconds(options_.execute_time_ms);
  for (const char* feature : {"compile", "compile_many", "execute", "execute_stream", "sessions"}) {
    response->add_features(feature);
  }
  if (FailpointsLinked()) response->add_features("failpoints");
  return Finished(context);
}

grpc::ServerUnaryReactor* AdminServiceImpl::GetStatistics(grpc::CallbackServerContext* context,
                                                          const admin::v1::GetStatisticsRequest*,
                                                          admin::v1::Statistics* response) {
  const Counters& from = counters_;
  admin::v1::Statistics& to = *response;
  to.set_requests(from.requests);
  to.set_hits_memory(from.hits_memory);
  to.set_hits_disk(from.hits_disk);
  to.set_hits_remote(from.hits_remote);
  to.set_misses(from.misses);
  to.set_compiles(from.compiles);
  to.set_bypasses(from.bypasses);
  to.set_errors(from.errors);
  to.set_in_flight(from.in_flight);
  to.set_diagnosed(from.diagnosed);
  to.set_joined(from.joined);
  to.set_canonical_hits(from.canonical_hits);
  to.set_executions(from.executions);
  to.set_execution_errors(from.execution_errors);
  to.set_run_errors(from.run_errors);
  to.set_lookups(from.lookups);
  to.set_lookup_hits(from.lookup_hits);
  to.set_worker_starts(from.workers.starts);
  to.set_worker_crashes(from.workers.crashes);
  to.set_worker_timeouts(from.workers.timeouts);
  to.set_worker_memory_kills(from.workers.memory_kills);
  to.set_worker_recycles(from.workers.recycles);
  to.set_executor_starts(from.executors.starts);
  to.set_executor_crashes(from.executors.crashes);
  to.set_executor_timeouts(from.executors.timeouts);
  to.set_cuda_executor_starts(from.cuda_executors.starts);
  to.set_cuda_executor_crashes(from.cuda_executors.crashes);
  to.set_cuda_executor_timeouts(from.cuda_executors.timeouts);
  to.set_cuda_reruns(from.cuda_reruns);
  to.set_sessions(from.sessions);
  to.set_quarantined(from.quarantined);
  to.set_rejected(from.rejected);
  const cache::StoreStats stats = store_.Stats();
  to.set_cache_bytes_memory(stats.bytes_memory);
  to.set_cache_bytes_disk(stats.bytes_disk);
  to.set_cache_corrupt(stats.corrupt);
  to.set_cache_evictions(stats.evictions);
  to.set_cache_write_failures(stats.write_failures);
  to.set_resident_bytes(ResidentBytes());
  to.set_uptime_milliseconds(std::chrono::duration_cast<std::chrono::milliseconds>(
                                 std::chrono::steady_clock::now() - started_)
                                 .count());
  to.set_state(draining_ ? "draining" : "serving");
  return Finished(context);
}

grpc::ServerUnaryReactor* AdminServiceImpl::GetConfig(grpc::CallbackServerContext* context,
                                                      const admin::v1::GetConfigRequest*,
                                                      admin::v1::Config* response) {
  for (const auto& [key, values] : options_.Settings()) {
    admin::v1::Setting& setting = *response->add_settings();
    setting.set_key(key);
    setting.mutable_values()->Assign(values.begin(), values.end());
  }
  return Finished(context);
}

}  // namespace intent
