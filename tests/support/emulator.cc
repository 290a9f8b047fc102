#include "tests/support/emulator.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "compiler/cpu/link_shared_object.h"
#include "compiler/diag/check.h"
#include "compiler/target/target.h"

namespace intent::testing {
namespace {

constexpr char kCompiler[] = "aarch64-linux-gnu-gcc";
constexpr char kEmulator[] = "qemu-aarch64";
constexpr char kSystem[] = "/usr/aarch64-linux-gnu";

bool OnPath(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    if (access((std::string(rest.substr(0, end)) + "/" + program).c_str(), X_OK) == 0) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

// Starts a program of the path; its standard input and output are the descriptors given, or ours.
pid_t Spawn(const std::vector<std::string>& command, int in = -1, int out = -1) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (in >= 0) posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  if (out >= 0) posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  pid_t pid = -1;
  const int error =
      posix_spawnp(&pid, command[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : -1;
}

int Wait(pid_t pid) {
  int status = -1;
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

absl::Status RunTool(const std::vector<std::string>& command) {
  if (Wait(Spawn(command)) == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(command[0], " failed"));
}

void PutWord(std::string* bytes, int64_t word) {
  bytes->append(reinterpret_cast<const char*>(&word), sizeof(word));
}

std::string Serialize(const EmulatedCall& call) {
  std::string bytes;
  PutWord(&bytes, static_cast<int64_t>(call.allocations.size()));
  PutWord(&bytes, static_cast<int64_t>(call.views.size()));
  PutWord(&bytes, static_cast<int64_t>(call.scalars.size()));
  for (const auto& allocation : call.allocations) {
    PutWord(&bytes, static_cast<int64_t>(allocation.size()));
    bytes.append(reinterpret_cast<const char*>(allocation.data()), allocation.size());
    bytes.resize((bytes.size() + 7) / 8 * 8);
  }
  for (const EmulatedCall::View& view : call.views) {
    PutWord(&bytes, static_cast<int64_t>(view.allocation));
    PutWord(&bytes, view.offset_bytes);
    PutWord(&bytes, view.element_bytes);
    PutWord(&bytes, static_cast<int64_t>(view.extents.size()));
    for (int64_t extent : view.extents) PutWord(&bytes, extent);
    for (int64_t stride : view.strides) PutWord(&bytes, stride);
  }
  for (uint64_t scalar : call.scalars) PutWord(&bytes, static_cast<int64_t>(scalar));
  return bytes;
}

void WriteFile(const std::string& path, std::string_view bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

absl::StatusOr<int32_t> ReadResult(const std::string& path, EmulatedCall* call) {
  std::ifstream stream(path, std::ios::binary);
  int64_t head[6] = {};
  stream.read(reinterpret_cast<char*>(head), sizeof(head));
  for (auto& allocation : call->allocations) {
    stream.read(reinterpret_cast<char*>(allocation.data()),
                static_cast<std::streamsize>(allocation.size()));
    stream.ignore(static_cast<std::streamsize>((8 - allocation.size() % 8) % 8));
  }
  if (!stream) return absl::InternalError("the emulated process left no result");
  call->error = {static_cast<int32_t>(head[0]),
                 static_cast<uint32_t>(head[1]),
                 static_cast<int32_t>(head[2]),
                 static_cast<int32_t>(head[3]),
                 head[4],
                 head[5]};
  return static_cast<int32_t>(head[0]);
}

}  // namespace

struct Emulator::Process {
  pid_t pid = -1;
  FILE* requests = nullptr;
  FILE* answers = nullptr;
  ~Process() {
    if (requests != nullptr) fclose(requests);
    if (answers != nullptr) fclose(answers);
    Wait(pid);
  }
};

std::string Emulator::Missing() {
  for (const char* program : {kCompiler, kEmulator}) {
    if (!OnPath(program)) return absl::StrCat(program, " is not here (deploy/install-deps.sh)");
  }
  return "";
}

Emulator::Emulator() {
  char name[] = "/tmp/intent-emulator-XXXXXX";
  INTENT_CHECK(mkdtemp(name) != nullptr) << "no temporary folder";
  folder_ = name;
  const absl::Status built = RunTool({kCompiler, "-std=c11", "-O1", "-I.", "-o",
                                      folder_ + "/run_kernel", "tests/targets/run_kernel.c",
                                      // Kernels import from libm, and name no library.
                                      "-Wl,--no-as-needed", "-lm"});
  INTENT_CHECK(built.ok()) << built.ToString();
}

Emulator::~Emulator() {
  process_.reset();
  std::filesystem::remove_all(folder_);
}

absl::Status Emulator::Start() {
  int requests[2], answers[2];
  if (pipe2(requests, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0) {
    return absl::InternalError("no pipe");
  }
  process_ = std::make_unique<Process>();
  process_->pid =
      Spawn({kEmulator, "-L", kSystem, folder_ + "/run_kernel"}, requests[0], answers[1]);
  close(requests[0]);
  close(answers[1]);
  process_->requests = fdopen(requests[1], "w");
  process_->answers = fdopen(answers[0], "r");
  return process_->pid > 0 ? absl::OkStatus() : absl::InternalError("qemu does not start");
}

absl::StatusOr<std::string> Emulator::Link(std::string_view object) {
  const absl::StatusOr<std::string> linked =
      cpu::LinkSharedObject(object, Target{TargetKind::kCpu, "aarch64", {}}, "intent_kernel");
  if (!linked.ok()) return linked.status();
  const std::string name = absl::StrCat(folder_, "/kernel", linked_++, ".so");
  WriteFile(name, *linked);
  return name;
}

absl::StatusOr<int32_t> Emulator::Run(const std::string& library, EmulatedCall* call) {
  if (process_ == nullptr) {
    const absl::Status status = Start();
    if (!status.ok()) return status;
  }
  const std::string request = folder_ + "/call", result = folder_ + "/result";
  WriteFile(request, Serialize(*call));
  fprintf(process_->requests, "%s\n%s\n%s\n", library.c_str(), request.c_str(), result.c_str());
  fflush(process_->requests);
  char answer[16] = {};
  if (fgets(answer, sizeof(answer), process_->answers) == nullptr ||
      std::string_view(answer) != "done\n") {
    process_.reset();
    return absl::InternalError("the emulated process has ended");
  }
  return ReadResult(result, call);
}

}  // namespace intent::testing
