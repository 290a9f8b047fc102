// NVRTC for hosts without a GPU: libnvrtc.so.12 with the part of its API that compiler/cuda uses.
// Our kernels are compiled for this machine's processor by its C++ compiler, on the device library
// with stand-ins for machine instructions (compiler/cuda/device_on_host). The "cubin" is a shared
// object, which the fake driver runs (tests/support/fake_cuda).

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

namespace {

enum Result { kSuccess = 0, kOutOfMemory = 1, kInvalidInput = 3, kCompilation = 6 };

struct Program {
  std::string source, log, image;
};
Program* Of(void* program) { return static_cast<Program*>(program); }

// "a|b|c" in parts.
std::vector<std::string> Parts(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const size_t end = std::min(list.find('|'), list.size());
    parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

std::string Contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The status of the process; what it says goes to `log`.
int Spawn(const std::vector<std::string>& arguments, const std::filesystem::path& log) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child;
  int status = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (status != 0) return -1;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// What the assembler says of each function; there are no registers to count.
void Report(const std::string& kernel, std::string* log) {
  *log += "ptxas info    : Compiling entry function '" + kernel + "' for 'sm_90a'\n";
  *log += "ptxas info    : Function properties for " + kernel + "\n";
  *log += "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
  *log += "ptxas info    : Used 32 registers, used 1 barriers\n";
}

Result Compile(Program* program, const std::filesystem::path& folder) {
  static const std::regex kKernel(
      R"(extern "C" __global__ void __launch_bounds__\([\d, ]+\) (\w+)\(const __grid_constant__ Arguments )");
  std::string text = program->source;
  std::vector<std::string> kernels;
  for (std::sregex_iterator at(text.begin(), text.end(), kKernel), end; at != end; ++at) {
    kernels.push_back((*at)[1]);
  }
  if (kernels.empty()) {
    program->log = "intent.cu: error: the software GPU runs kernels of the emitter\n";
    return kCompilation;
  }
  for (const std::string& kernel : kernels) text += "INTENT_SOFTWARE_KERNEL(" + kernel + ")\n";
  std::ofstream(folder / "kernel.cc") << text;
  std::vector<std::string> command = Parts(INTENT_SOFTWARE_COMPILER);
  for (const char* argument : {"-include", INTENT_SOFTWARE_PRELUDE, "-shared", "-o"}) {
    command.push_back(argument);
  }
  command.push_back(folder / "kernel.so");
  command.push_back(folder / "kernel.cc");
  command.push_back(INTENT_SOFTWARE_LIBRARY);
  command.push_back("-Wl,-rpath," +
                    std::filesystem::path(INTENT_SOFTWARE_LIBRARY).parent_path().string());
  const int status = Spawn(command, folder / "log");
  program->log = Contents(folder / "log");
  if (status != 0) return kCompilation;
  for (const std::string& kernel : kernels) Report(kernel, &program->log);
  program->image = Contents(folder / "kernel.so");
  return program->image.empty() ? kOutOfMemory : kSuccess;
}

void Copy(const std::string& from, bool terminated, char* to) {
  std::memcpy(to, from.data(), from.size());
  if (terminated) to[from.size()] = '\0';
}

constexpr char kPtx[] = "// the software GPU has no PTX\n";
constexpr int kArchitectures[] = {80, 86, 89, 90};

}  // namespace

extern "C" {

// The last version of which nothing is asked that a C++ compiler does differently (precompiled
// headers in memory, a cache of its own).
Result nvrtcVersion(int* major, int* minor) {
  *major = 12;
  *minor = 4;
  return kSuccess;
}

Result nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(std::size(kArchitectures));
  return kSuccess;
}

Result nvrtcGetSupportedArchs(int* architectures) {
  std::copy(std::begin(kArchitectures), std::end(kArchitectures), architectures);
  return kSuccess;
}

// The headers that come along are those that the prelude was made of.
Result nvrtcCreateProgram(void** program, const char* source, const char*, int, const char* const*,
                          const char* const*) {
  *program = new Program{.source = source, .log = "", .image = ""};
  return kSuccess;
}

Result nvrtcDestroyProgram(void** program) {
  delete Of(*program);
  *program = nullptr;
  return kSuccess;
}

Result nvrtcCompileProgram(void* program, int, const char* const*) {
  char folder[] = "/tmp/intent-software-gpu-XXXXXX";
  if (mkdtemp(folder) == nullptr) return kOutOfMemory;
  const Result result = Compile(Of(program), folder);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return result;
}

Result nvrtcGetProgramLogSize(void* program, size_t* size) {
  *size = Of(program)->log.size() + 1;
  return kSuccess;
}
Result nvrtcGetProgramLog(void* program, char* log) {
  Copy(Of(program)->log, true, log);
  return kSuccess;
}
Result nvrtcGetCUBINSize(void* program, size_t* size) {
  *size = Of(program)->image.size();
  return kSuccess;
}
Result nvrtcGetCUBIN(void* program, char* image) {
  Copy(Of(program)->image, false, image);
  return kSuccess;
}
Result nvrtcGetPTXSize(void*, size_t* size) {
  *size = sizeof kPtx;
  return kSuccess;
}
Result nvrtcGetPTX(void*, char* ptx) {
  Copy(kPtx, true, ptx);
  return kSuccess;
}
const char* nvrtcGetErrorString(Result result) {
  return result == kOutOfMemory ? "no file could be written" : "an error of the software GPU";
}
}
