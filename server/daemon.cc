#include "server/daemon.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <sys/stat.h>

#include <atomic>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cache/disk_store.h"
#include "cache/memory_store.h"
#include "cache/tiered_store.h"
#include "server/activity.h"
#include "server/admin_service.h"
#include "server/artifact_index.h"
#include "server/back_ends.h"
#include "server/compile_flow.h"
#include "server/compile_request.h"
#include "server/compile_service.h"
#include "server/execute_service.h"
#include "server/pool/arena_pool.h"
#include "server/pool/compile_pool.h"
#include "server/pool/cuda_devices.h"
#include "server/pool/cuda_pool.h"
#include "server/pool/execute_pool.h"
#include "server/quarantine.h"
#include "server/session_table.h"
#include "server/socket_file.h"
#include "spdlog/spdlog.h"

namespace intent {
namespace {

// A frame holds one module with its bindings, or one artifact.
constexpr size_t kMaxFrameBytes = 512 << 20;
// A module and its source map at their limits, and the rest of the message.
constexpr int kMaxMessageBytes =
    RequestLimits::kModuleBytes + RequestLimits::kSourceMapBytes + (4 << 20);

// A cache that cannot be had is a warning: everything works without it.
std::unique_ptr<cache::Store> MakeStore(const ServerOptions& options) {
  auto memory = std::make_unique<cache::MemoryStore>(options.cache_memory);
  if (options.cache_dir.empty()) return memory;
  cache::DiskStoreOptions disk_options;
  disk_options.folder = options.cache_dir;
  disk_options.max_bytes = options.cache_size;
  absl::StatusOr<std::unique_ptr<cache::DiskStore>> disk = cache::DiskStore::Open(disk_options);
  if (!disk.ok()) {
    spdlog::warn("no disk cache: {}", std::string(disk.status().message()));
    return memory;
  }
  return std::make_unique<cache::TieredStore>(std::move(memory), *std::move(disk));
}

WorkerFactoryOptions FactoryOptions(const ServerOptions& options) {
  WorkerFactoryOptions result;
  result.worker_path = options.worker_path;
  result.max_frame_bytes = kMaxFrameBytes;
  result.executor_threads = options.executor_threads;
  result.executor_arena_bytes = static_cast<int64_t>(options.scratch_memory);
  return result;
}

CompilePoolOptions CompileOptionsOf(const ServerOptions& options) {
  CompilePoolOptions result;
  result.workers = options.workers;
  result.queue_jobs = options.queue_jobs;
  result.queue_bytes = options.queue_bytes;
  result.time_limit = std::chrono::milliseconds(options.compile_time_ms);
  result.memory_limit_bytes = static_cast<int64_t>(options.compile_memory);
  return result;
}

// Workers start with the first job, or at once where the configuration says for what.
CompilePoolOptions CudaOptionsOf(const ServerOptions& options) {
  CompilePoolOptions result = CompileOptionsOf(options);
  result.workers = options.cuda_workers;
  result.start_at_once = !options.cuda_ready.empty();
  result.ready_for = options.cuda_ready;
  return result;
}

WorkerFactoryOptions CudaFactoryOptions(const ServerOptions& options) {
  WorkerFactoryOptions result = FactoryOptions(options);
  result.cuda = true;
  result.nvrtc_path = options.nvrtc;
  return result;
}

// Null with `missing` where nothing can be compiled for CUDA: everything else works without.
std::unique_ptr<WorkerFactory> StartCuda(const ServerOptions& options,
                                         worker::v1::WorkerHello* hello) {
  absl::StatusOr<std::unique_ptr<WorkerFactory>> factory =
      WorkerFactory::Start(CudaFactoryOptions(options));
  if (!factory.ok()) {
    hello->set_missing(std::string(factory.status().message()));
    return nullptr;
  }
  *hello = (*factory)->hello();
  return hello->fingerprint().empty() ? nullptr : *std::move(factory);
}

ExecutorOptions ExecutorOptionsOf(const ServerOptions& options) {
  ExecutorOptions result;
  result.time_limit = std::chrono::milliseconds(options.execute_time_ms);
  result.memory_limit_bytes = static_cast<int64_t>(options.execute_memory);
  return result;
}

ExecutePoolOptions ExecuteOptionsOf(const ServerOptions& options, int executors) {
  ExecutePoolOptions result;
  result.executors = executors;
  result.queue_jobs = options.queue_jobs;
  result.executor = ExecutorOptionsOf(options);
  return result;
}

SessionTableOptions SessionOptionsOf(const ServerOptions& options) {
  SessionTableOptions result;
  result.sessions = options.sessions;
  result.idle_time = std::chrono::seconds(options.session_idle);
  result.host_bytes = options.tensor_memory;
  result.executor = ExecutorOptionsOf(options);
  result.queue_jobs = options.queue_jobs;
  return result;
}

}  // namespace

// In the order in which they are made; they go in the opposite one, the server first.
struct Daemon::Parts {
  Parts(const ServerOptions& options_in, std::unique_ptr<WorkerFactory> factory_in,
        std::unique_ptr<WorkerFactory> cuda_factory_in, const worker::v1::WorkerHello& cuda_hello,
        std::vector<std::unique_ptr<SocketFile>> sockets_in)
      : options(options_in),
        sockets(std::move(sockets_in)),
        factory(std::move(factory_in)),
        cuda_factory(std::move(cuda_factory_in)),
        store(MakeStore(options)),
        index(*store),
        quarantine(options.quarantine_crashes, std::chrono::milliseconds(options.quarantine_ms)),
        arenas(options.tensor_memory, options.tensor_memory / 4),
        compile_pool(*factory, CompileOptionsOf(options), counters),
        execute_pool(*factory, arenas, ExecuteOptionsOf(options, options.executors),
                     counters.executors),
        cuda_devices(*factory),
        cuda_pool(*factory, cuda_devices, arenas, ExecuteOptionsOf(options, options.cuda_executors),
                  counters),
        sessions(*factory, cuda_devices, arenas, SessionOptionsOf(options), counters),
        cuda_compile_pool(
            cuda_factory == nullptr
                ? nullptr
                : std::make_unique<CompilePool>(*cuda_factory, CudaOptionsOf(options), counters)),
        back_ends({&compile_pool, factory->hello()}, {cuda_compile_pool.get(), cuda_hello}),
        flow(*store, index, back_ends, quarantine, counters),
        compile_service(flow, index, counters, activity),
        execute_service({{index, arenas, execute_pool, cuda_pool, sessions}, counters, activity}),
        admin_service(options, back_ends, cuda_devices, *store, counters, draining) {}

  const ServerOptions options;
  Counters counters;
  Activity activity;
  std::atomic<bool> draining{false};
  const std::vector<std::unique_ptr<SocketFile>> sockets;
  const std::unique_ptr<WorkerFactory> factory;
  const std::unique_ptr<WorkerFactory> cuda_factory;  // null where nothing is compiled for CUDA
  const std::unique_ptr<cache::Store> store;
  ArtifactIndex index;
  Quarantine quarantine;
  ArenaPool arenas;
  CompilePool compile_pool;
  ExecutePool execute_pool;
  CudaDevices cuda_devices;
  CudaPool cuda_pool;
  SessionTable sessions;
  const std::unique_ptr<CompilePool> cuda_compile_pool;  // as its factory
  const BackEnds back_ends;
  CompileFlow flow;
  CompileServiceImpl compile_service;
  ExecuteServiceImpl execute_service;
  AdminServiceImpl admin_service;
  std::unique_ptr<grpc::Server> server;
};

Daemon::Daemon(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Daemon::~Daemon() { Drain(std::chrono::milliseconds(0)); }

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(const ServerOptions& options) {
  std::vector<std::unique_ptr<SocketFile>> sockets;
  std::vector<std::string> paths;
  for (const std::string& address : options.listen) {
    absl::StatusOr<std::string> path = SocketPath(address);
    if (!path.ok()) return path.status();
    absl::StatusOr<std::unique_ptr<SocketFile>> socket = SocketFile::Claim(*path);
    if (!socket.ok()) return socket.status();
    sockets.push_back(*std::move(socket));
    paths.push_back(*std::move(path));
  }
  // Both kinds of workers say what they can at the same time.
  worker::v1::WorkerHello cuda_hello;
  std::future<std::unique_ptr<WorkerFactory>> cuda_factory = std::async(
      std::launch::async, [&options, &cuda_hello] { return StartCuda(options, &cuda_hello); });
  absl::StatusOr<std::unique_ptr<WorkerFactory>> factory =
      WorkerFactory::Start(FactoryOptions(options));
  std::unique_ptr<WorkerFactory> cuda = cuda_factory.get();
  if (!factory.ok()) return factory.status();
  spdlog::info("{}", cuda == nullptr ? "nothing is compiled for CUDA: " + cuda_hello.missing()
                                     : "CUDA by NVRTC " + cuda_hello.nvrtc_version());
  auto parts = std::make_unique<Parts>(options, *std::move(factory), std::move(cuda), cuda_hello,
                                       std::move(sockets));

  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  for (const std::string& path : paths) {
    builder.AddListeningPort(absl::StrCat("unix:", path), grpc::InsecureServerCredentials());
  }
  builder.RegisterService(&parts->compile_service);
  builder.RegisterService(&parts->execute_service);
  builder.RegisterService(&parts->admin_service);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(-1);
  // The socket file must never be open to others, not for an instant.
  const mode_t mask = umask(0177);
  parts->server = builder.BuildAndStart();
  umask(mask);
  if (parts->server == nullptr) return absl::UnavailableError("cannot serve these addresses");
  parts->server->GetHealthCheckService()->SetServingStatus(true);
  for (const std::string& path : paths) spdlog::info("serving unix:{}", path);
  return std::unique_ptr<Daemon>(new Daemon(std::move(parts)));
}

void Daemon::Drain(std::chrono::milliseconds bound) {
  if (parts_->draining.exchange(true)) return;
  parts_->server->GetHealthCheckService()->SetServingStatus(false);
  parts_->server->Shutdown(std::chrono::system_clock::now() + bound);
  parts_->server->Wait();
  // Work that nobody waits for may still be ending; it uses everything that goes next.
  parts_->compile_pool.Stop();
  if (parts_->cuda_compile_pool != nullptr) parts_->cuda_compile_pool->Stop();
  parts_->execute_pool.Stop();
  parts_->cuda_pool.Stop();
  parts_->sessions.Stop();
}

std::chrono::steady_clock::duration Daemon::IdleFor() const { return parts_->activity.IdleFor(); }

}  // namespace intent
