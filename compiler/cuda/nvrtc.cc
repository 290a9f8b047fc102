#include "compiler/cuda/nvrtc.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace intent::cuda {
namespace {

using Program = void*;
// Called while a program compiles; anything but 0 ends it.
using FlowCallback = int (*)(void* payload, void* reserved);

// Results of NVRTC that we tell apart; the numbers have been the same since CUDA 7.
constexpr int kSuccess = 0;
constexpr int kOutOfMemory = 1;
constexpr int kCompilation = 6;
constexpr int kCancelledResult = 16;

constexpr char kSourceName[] = "intent.cu";
constexpr size_t kMaxErrorBytes = 600;  // of a log in a status, whose text travels in a trailer
constexpr size_t kMaxPrecompiledBytes = size_t{256} << 20;

// NVRTC says in the log whether it could use a precompiled header.
constexpr std::string_view kUsesPrecompiled = "using precompiled header file";

constexpr const char* kSonames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
constexpr const char* kToolkitFolder = "/usr/local/cuda/lib64";

std::string PathOf(void* library) {
  link_map* map = nullptr;
  return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : "";
}

void* OpenLibrary(const std::string& name, std::vector<std::string>& tried) {
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* why = dlerror();
  tried.push_back(why == nullptr ? name : why);
  return nullptr;
}

std::vector<std::string> Candidates(const std::string& path) {
  std::vector<std::string> names;
  const auto within = [&](const std::string& folder) {
    for (const char* soname : kSonames) names.push_back(absl::StrCat(folder, "/", soname));
  };
  if (path.empty()) {
    names.assign(std::begin(kSonames), std::end(kSonames));
    within(kToolkitFolder);
  } else if (access(absl::StrCat(path, "/.").c_str(), F_OK) == 0) {
    within(path);
  } else {
    names.push_back(path);
  }
  return names;
}

// The number in "sm_90a"; 0 if it has another form.
int NumberOf(std::string_view architecture) {
  int number = 0;
  if (!architecture.starts_with("sm_")) return 0;
  architecture.remove_prefix(3);
  if (architecture.ends_with("a")) architecture.remove_suffix(1);
  const auto [end, error] =
      std::from_chars(architecture.data(), architecture.data() + architecture.size(), number);
  const bool whole = end == architecture.data() + architecture.size();
  return error == std::errc() && whole ? number : 0;
}

// The lines of a log that say what is wrong, bounded.
std::string FirstErrors(std::string_view log) {
  std::string errors;
  for (size_t at = 0; at < log.size() && errors.size() < kMaxErrorBytes;) {
    const size_t end = std::min(log.find('\n', at), log.size());
    const std::string_view line = log.substr(at, end - at);
    if (line.find("error") != line.npos) {
      if (!errors.empty()) errors += " | ";
      errors += line;
    }
    at = end + 1;
  }
  return (errors.empty() ? std::string(log) : errors).substr(0, kMaxErrorBytes);
}

// Source that reads all headers but the tables that others include (.inc), and lets what follows it
// count its lines from 1.
std::string IncludesOf(std::span<const NvrtcHeader> headers) {
  std::string text;
  for (const NvrtcHeader& header : headers) {
    if (header.name.ends_with(".inc")) continue;
    absl::StrAppend(&text, "#include \"", std::string(header.name), "\"\n");
  }
  return absl::StrCat(text, "#line 1\n");
}

int Poll(void* cancel, void*) {
  return static_cast<const std::atomic<bool>*>(cancel)->load(std::memory_order_relaxed) ? 1 : 0;
}

// A file without a name that holds what `path` holds.
absl::StatusOr<int> IntoMemory(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file || bytes.empty() || bytes.size() > kMaxPrecompiledBytes) {
    return absl::InternalError("NVRTC left no precompiled header");
  }
  const int fd = memfd_create("intent-pch", 0);
  if (fd < 0) return absl::ErrnoToStatus(errno, "memfd_create");
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = write(fd, bytes.data() + done, bytes.size() - done);
    if (count <= 0) {
      const absl::Status status = absl::ErrnoToStatus(errno, "a precompiled header");
      close(fd);
      return status;
    }
    done += static_cast<size_t>(count);
  }
  return fd;
}

}  // namespace

struct Nvrtc::Api {
  int (*version)(int*, int*);
  int (*architecture_count)(int*);
  int (*architectures)(int*);
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*destroy)(Program*);
  int (*compile)(Program, int, const char* const*);
  int (*log_size)(Program, size_t*);
  int (*log)(Program, char*);
  int (*cubin_size)(Program, size_t*);
  int (*cubin)(Program, char*);
  int (*ptx_size)(Program, size_t*);
  int (*ptx)(Program, char*);
  const char* (*error_string)(int);
  int (*set_flow_callback)(Program, FlowCallback, void*);  // since CUDA 12.8; null before

  // The first required entry that the library lacks, or null.
  const char* Bind(void* library) {
    const char* missing = nullptr;
    const auto bind = [&](auto* entry, const char* name, bool required = true) {
      *entry = reinterpret_cast<std::remove_pointer_t<decltype(entry)>>(dlsym(library, name));
      if (required && *entry == nullptr && missing == nullptr) missing = name;
    };
    bind(&version, "nvrtcVersion");
    bind(&architecture_count, "nvrtcGetNumSupportedArchs");
    bind(&architectures, "nvrtcGetSupportedArchs");
    bind(&create, "nvrtcCreateProgram");
    bind(&destroy, "nvrtcDestroyProgram");
    bind(&compile, "nvrtcCompileProgram");
    bind(&log_size, "nvrtcGetProgramLogSize");
    bind(&log, "nvrtcGetProgramLog");
    bind(&cubin_size, "nvrtcGetCUBINSize");
    bind(&cubin, "nvrtcGetCUBIN");
    bind(&ptx_size, "nvrtcGetPTXSize");
    bind(&ptx, "nvrtcGetPTX");
    bind(&error_string, "nvrtcGetErrorString");
    bind(&set_flow_callback, "nvrtcSetFlowCallback", false);
    return missing;
  }

  // What one of the pairs of entries (size, bytes) gives.
  static std::string Get(Program program, int (*size_of)(Program, size_t*),
                         int (*get)(Program, char*)) {
    size_t size = 0;
    if (size_of(program, &size) != kSuccess) return "";
    std::string bytes(size, '\0');
    return get(program, bytes.data()) == kSuccess ? bytes : "";
  }
  // As Get, of text, which NVRTC ends with a null character.
  static std::string GetText(Program program, int (*size_of)(Program, size_t*),
                             int (*get)(Program, char*)) {
    std::string text = Get(program, size_of, get);
    if (!text.empty()) text.pop_back();
    return text;
  }
};

// Headers that were read ahead, as a file in memory: NVRTC wants a name for it, which /proc gives.
struct Nvrtc::Precompiled {
  explicit Precompiled(std::string prefix, int fd) : prefix(std::move(prefix)), fd(fd) {}
  ~Precompiled() { close(fd); }
  std::string Path() const { return absl::StrCat("/proc/self/fd/", fd); }
  const std::string prefix;
  const int fd;
};

Nvrtc::Nvrtc() : api_(std::make_unique<Api>()) {}
Nvrtc::~Nvrtc() = default;

absl::StatusOr<std::unique_ptr<Nvrtc>> Nvrtc::Open(const std::string& path) {
  std::vector<std::string> tried;
  void* library = nullptr;
  for (const std::string& name : Candidates(path)) {
    library = OpenLibrary(name, tried);
    if (library != nullptr) break;
  }
  if (library == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("NVRTC of CUDA 12 or 13 is not to be had (", absl::StrJoin(tried, "; "), ")"));
  }
  std::unique_ptr<Nvrtc> nvrtc(new Nvrtc);
  Api& api = *nvrtc->api_;
  nvrtc->library_path_ = PathOf(library);
  const std::string& file = nvrtc->library_path_;
  if (const char* missing = api.Bind(library); missing != nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(file, " is no NVRTC of CUDA 12 or 13: it has no ", missing));
  }
  int count = 0;
  if (api.version(&nvrtc->major_, &nvrtc->minor_) != kSuccess ||
      api.architecture_count(&count) != kSuccess || count < 0 || count > 1024) {
    return absl::FailedPreconditionError(absl::StrCat(file, " does not say what it is"));
  }
  if (nvrtc->major_ < 12) {
    return absl::FailedPreconditionError(
        absl::StrCat(file, " is of CUDA ", nvrtc->VersionText(), "; 12 or 13 is needed"));
  }
  nvrtc->architectures_.resize(count);
  if (count > 0) (void)api.architectures(nvrtc->architectures_.data());
  // Opened here, so that it is the one beside the library and no compile looks for a file.
  nvrtc->builtins_path_ = absl::StrCat(file.substr(0, file.rfind('/') + 1), "libnvrtc-builtins.so.",
                                       nvrtc->VersionText());
  tried.clear();
  if (OpenLibrary(nvrtc->builtins_path_, tried) == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(file, " lacks its builtins: ", absl::StrJoin(tried, "; ")));
  }
  return nvrtc;
}

std::string Nvrtc::VersionText() const { return absl::StrCat(major_, ".", minor_); }

bool Nvrtc::IsAtLeast(int major, int minor) const {
  return major_ > major || (major_ == major && minor_ >= minor);
}

bool Nvrtc::Knows(std::string_view architecture) const {
  const int number = NumberOf(architecture);
  return number != 0 &&
         std::find(architectures_.begin(), architectures_.end(), number) != architectures_.end();
}

std::vector<std::string> Nvrtc::Options(const NvrtcJob& job) const {
  std::vector<std::string> options = {
      absl::StrCat("--gpu-architecture=", std::string(job.architecture)),
      "--std=c++17",
      // Arithmetic as the language defines it.
      "--fmad=false",
      "--prec-div=true",
      "--prec-sqrt=true",
      "--ftz=false",
      // Functions of the device library need no __device__.
      "--device-as-default-execution-space",
      "--device-int128",
      // No file of the machine is found.
      "--no-source-include",
      // Registers and spills of each function in the log.
      "--ptxas-options=-v",
  };
  // Without the runtime's types and textures.
  if (IsAtLeast(12, 4)) options.push_back("--minimal");
  // Our cache is the only one, and equal text gives equal code.
  if (IsAtLeast(12, 9)) {
    options.push_back("--no-cache");
    options.push_back("--frandom-seed=0");
  }
  if (job.quick) {
    options.push_back(IsAtLeast(12, 9) ? "--Ofast-compile=mid" : "--ptxas-options=-O1");
  }
  return options;
}

absl::StatusOr<NvrtcResult> Nvrtc::Compile(const NvrtcJob& job) const {
  if (!Knows(job.architecture)) {
    return absl::FailedPreconditionError(absl::StrCat("NVRTC ", VersionText(), " (", library_path_,
                                                      ") does not know ",
                                                      std::string(job.architecture)));
  }
  std::vector<std::string> options = Options(job);
  const auto found = precompiled_.find(job.architecture);
  if (found == precompiled_.end()) return Run(job, std::string(job.source), std::move(options));
  options.push_back("--use-pch=" + found->second->Path());
  absl::StatusOr<NvrtcResult> result =
      Run(job, absl::StrCat(found->second->prefix, std::string(job.source)), std::move(options));
  if (result.ok()) result->precompiled = result->log.find(kUsesPrecompiled) != std::string::npos;
  return result;
}

absl::StatusOr<NvrtcResult> Nvrtc::Run(const NvrtcJob& job, const std::string& source,
                                       std::vector<std::string> options) const {
  std::vector<std::string> names, texts;
  for (const NvrtcHeader& header : job.headers) {
    names.emplace_back(header.name);
    texts.emplace_back(header.text);
  }
  const auto pointers = [](const std::vector<std::string>& strings) {
    std::vector<const char*> result;
    for (const std::string& string : strings) result.push_back(string.c_str());
    return result;
  };
  Program created = nullptr;
  if (const int result =
          api_->create(&created, source.c_str(), kSourceName, static_cast<int>(names.size()),
                       pointers(texts).data(), pointers(names).data());
      result != kSuccess) {
    return absl::InternalError(absl::StrCat("nvrtcCreateProgram: ", api_->error_string(result)));
  }
  const auto destroy = [this](void* program) { (void)api_->destroy(&program); };
  const std::unique_ptr<void, decltype(destroy)> program(created, destroy);
  if (job.cancel != nullptr && api_->set_flow_callback != nullptr) {
    (void)api_->set_flow_callback(program.get(), Poll, const_cast<std::atomic<bool>*>(job.cancel));
  }
  const std::vector<const char*> arguments = pointers(options);
  const auto begin = std::chrono::steady_clock::now();
  const int outcome =
      api_->compile(program.get(), static_cast<int>(arguments.size()), arguments.data());
  NvrtcResult result;
  result.nanoseconds =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin)
          .count();
  result.log = Api::GetText(program.get(), api_->log_size, api_->log);
  switch (outcome) {
    case kSuccess:
      break;
    case kCancelledResult:
      return absl::CancelledError("the compile was cancelled in NVRTC");
    case kOutOfMemory:
      return absl::ResourceExhaustedError("NVRTC had not enough memory");
    case kCompilation:
      return absl::InternalError(
          absl::StrCat("NVRTC refused our source: ", FirstErrors(result.log)));
    default:
      return absl::InternalError(
          absl::StrCat(api_->error_string(outcome), ": ", FirstErrors(result.log)));
  }
  result.cubin = Api::Get(program.get(), api_->cubin_size, api_->cubin);
  result.ptx = Api::GetText(program.get(), api_->ptx_size, api_->ptx);
  return result;
}

absl::Status Nvrtc::Precompile(std::string_view architecture,
                               std::span<const NvrtcHeader> headers) {
  if (!IsAtLeast(12, 8)) {
    return absl::UnimplementedError("NVRTC precompiles headers since CUDA 12.8");
  }
  if (precompiled_.contains(architecture)) return absl::OkStatus();
  const std::string prefix = IncludesOf(headers);
  // NVRTC writes to a name that it removes first: in a folder of our own, for as long as that
  // takes.
  char folder[] = "/tmp/intent-pch-XXXXXX";
  if (mkdtemp(folder) == nullptr) return absl::ErrnoToStatus(errno, "a folder in /tmp");
  const std::string path = absl::StrCat(folder, "/headers");
  const NvrtcJob job{.headers = headers, .architecture = architecture};
  std::vector<std::string> options = Options(job);
  options.push_back("--create-pch=" + path);
  const absl::StatusOr<NvrtcResult> result = Run(job, prefix, std::move(options));
  absl::StatusOr<int> fd = result.ok() ? IntoMemory(path) : result.status();
  (void)unlink(path.c_str());
  (void)rmdir(folder);
  if (!fd.ok()) return fd.status();
  precompiled_.emplace(architecture, std::make_unique<Precompiled>(prefix, *fd));
  return absl::OkStatus();
}

std::vector<int> Nvrtc::Descriptors() const {
  std::vector<int> descriptors;
  for (const auto& [architecture, precompiled] : precompiled_) {
    descriptors.push_back(precompiled->fd);
  }
  return descriptors;
}

}  // namespace intent::cuda
