// What a cache hit costs beside a bare gRPC call that returns the same bytes.
//
//   hit_bench ADDRESS [ROUNDS]      ADDRESS: a running daemon, unix:/path
//
// A child process serves the daemon's own reply from memory over another Unix socket: same library,
// same transport, no work. Calls to both alternate; the row gives the medians and the median of the
// ratios.

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include "compiler/ir/codec.h"
#include "compiler/ir/parse.h"
#include "intent/compile/v1/compile.pb.h"

namespace {

constexpr char kMethod[] = "/intent.compile.v1.CompileService/Compile";
constexpr char kKernel[] = R"(
kernel (%0: view<in, f32, [s0]>, %1: view<out, f32, [s0]>) {
  %2 = view_load %0 [:] : tensor<f32, [s0]>
  %3 = binary add %2, %2 : tensor<f32, [s0]>
  view_store %1 [:] = %3
  return
}
)";

grpc::ByteBuffer Buffer(const std::string& bytes) {
  grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string Bytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return "";
  std::string bytes;
  for (const grpc::Slice& slice : slices)
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

// Answers every unary call with the same bytes, by the callback API as the daemon does.
class Echo : public grpc::CallbackGenericService {
 public:
  explicit Echo(std::string reply) : reply_(Buffer(reply)) {}

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    class Reactor : public grpc::ServerGenericBidiReactor {
     public:
      explicit Reactor(const grpc::ByteBuffer& reply) : reply_(reply) { StartRead(&request_); }
      void OnReadDone(bool ok) override {
        if (!ok) return Finish(grpc::Status::CANCELLED);
        StartWriteAndFinish(&reply_, {}, grpc::Status::OK);
      }
      void OnDone() override { delete this; }

     private:
      grpc::ByteBuffer request_, reply_;
    };
    return new Reactor(reply_);
  }

 private:
  grpc::ByteBuffer reply_;
};

// Blocks until the reply is there; empty on failure.
std::string Call(grpc::GenericStub* stub, const std::string& request) {
  grpc::ClientContext context;
  grpc::ByteBuffer in = Buffer(request), out;
  std::mutex mutex;
  std::condition_variable done_changed;
  bool done = false, ok = false;
  stub->UnaryCall(&context, kMethod, grpc::StubOptions(), &in, &out, [&](grpc::Status status) {
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.error_message().c_str());
    std::lock_guard lock(mutex);
    ok = status.ok();
    done = true;
    done_changed.notify_one();
  });
  std::unique_lock lock(mutex);
  done_changed.wait(lock, [&] { return done; });
  return ok ? Bytes(out) : "";
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: hit_bench ADDRESS [ROUNDS]\n");
    return 2;
  }
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 2000;
  intent::compile::v1::CompileRequest request;
  request.mutable_client()->set_protocol_major(1);
  request.mutable_client()->set_producer("hit_bench");
  request.set_module(intent::EncodeModule(*intent::ParseModule(kKernel).module));
  request.set_target("native");
  request.add_inline_payloads("object");
  const std::string bytes = request.SerializeAsString();

  // The reply to repeat: asked for in a child, so that this process forks before it has threads.
  const std::string socket = "/tmp/intent_hit_bench_" + std::to_string(getpid()) + ".sock";
  const pid_t child = fork();
  if (child == 0) {
    grpc::GenericStub stub(grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials()));
    Echo echo(Call(&stub, bytes));
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.RegisterCallbackGenericService(&echo);
    builder.BuildAndStart()->Wait();
    _exit(0);
  }
  while (access(socket.c_str(), F_OK) != 0) usleep(10'000);
  grpc::GenericStub daemon(grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials()));
  grpc::GenericStub bare(grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials()));
  std::vector<double> hit_times, bare_times, ratios;
  size_t size = 0;
  for (int i = 0; i < rounds + 50; ++i) {
    double spent[2];
    for (int side = 0; side < 2; ++side) {
      const auto start = std::chrono::steady_clock::now();
      const std::string reply = Call(side == 0 ? &daemon : &bare, bytes);
      spent[side] =
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
              .count();
      if (reply.empty()) return 1;
      size = reply.size();
    }
    if (i < 50) continue;
    hit_times.push_back(spent[0]);
    bare_times.push_back(spent[1]);
    ratios.push_back(spent[0] / spent[1]);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  unlink(socket.c_str());
  std::printf(
      "a hit of %zu bytes: %.0f us, bare gRPC call of the same bytes: %.0f us, ratio %.2f\n", size,
      Median(hit_times), Median(bare_times), Median(ratios));
  return 0;
}
