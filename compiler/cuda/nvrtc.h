#pragma once

// NVRTC, NVIDIA's compiler of CUDA C++, opened at run time: text in, a cubin out. No GPU, driver or
// toolkit is needed beside the two shared libraries, and no header is found but those given.
//
// What makes numbers is fixed here: division and square root round correctly, nothing is flushed to
// zero, and multiply and add fuse only where the text says so.
//
// A library once opened stays for the life of the process. Compile is thread-safe; one compile at a
// time is as fast as several, so processes, not threads, make many (docs/cuda.md).

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace intent::cuda {

// A file for #include "name".
struct NvrtcHeader {
  std::string_view name;
  std::string_view text;
};

struct NvrtcJob {
  std::string_view source;
  std::span<const NvrtcHeader> headers;
  std::string_view architecture;  // "sm_90a"
  bool quick = false;             // expensive optimisations and unrolling are left out
  const std::atomic<bool>* cancel = nullptr;
};

struct NvrtcResult {
  std::string cubin;  // an ELF image for exactly that architecture
  std::string ptx;
  std::string log;           // warnings, and one block of `ptxas info` lines for each function
  int64_t nanoseconds = 0;   // of nvrtcCompileProgram
  bool precompiled = false;  // the headers were read back, see Precompile
};

class Nvrtc {
 public:
  // `path`: the library or a folder that holds it; empty: the sonames of CUDA 13 and 12 where the
  // loader finds them, then the toolkit's usual folder. kFailedPrecondition says what was tried and
  // what to do.
  static absl::StatusOr<std::unique_ptr<Nvrtc>> Open(const std::string& path = "");
  ~Nvrtc();

  int major_version() const { return major_; }
  int minor_version() const { return minor_; }
  std::string VersionText() const;  // "13.0"

  // Whether it compiles for a target of our table: "sm_90a" needs a library that knows 90.
  bool Knows(std::string_view architecture) const;

  // The files that are open. Together they decide the code; the builtins come with the library and
  // lie beside it.
  const std::string& library_path() const { return library_path_; }
  const std::string& builtins_path() const { return builtins_path_; }

  // kFailedPrecondition: an architecture that the library does not know. kInternal: it refused the
  // text, which is ours; the message begins with its first errors. kCancelled, kResourceExhausted.
  absl::StatusOr<NvrtcResult> Compile(const NvrtcJob& job) const;

  // Reads all of `headers`, but for those named *.inc, in their order and keeps what came of it for
  // later jobs of this architecture with the same headers, in this process and in those that are
  // forked from it: their includes then cost next to nothing. Each header has `#pragma once` and
  // changes nothing for who does not use it, so code is the same with and without. Repeated calls
  // do nothing. kUnimplemented before CUDA 12.8. Not to be called while another thread compiles.
  absl::Status Precompile(std::string_view architecture, std::span<const NvrtcHeader> headers);
  // What a forked process must keep open for that.
  std::vector<int> Descriptors() const;

 private:
  struct Api;
  struct Precompiled;

  Nvrtc();
  bool IsAtLeast(int major, int minor) const;
  std::vector<std::string> Options(const NvrtcJob& job) const;
  absl::StatusOr<NvrtcResult> Run(const NvrtcJob& job, const std::string& source,
                                  std::vector<std::string> options) const;

  std::unique_ptr<Api> api_;
  int major_ = 0;
  int minor_ = 0;
  std::vector<int> architectures_;
  std::string library_path_, builtins_path_;
  std::map<std::string, std::unique_ptr<Precompiled>, std::less<>> precompiled_;  // by architecture
};

}  // namespace intent::cuda
