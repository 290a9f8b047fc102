#include "compiler/cpu/link_shared_object.h"

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

LLD_HAS_DRIVER(elf)

namespace intent::cpu {
namespace {

constexpr int kPipeBytes = 1 << 20;  // what an unprivileged process may have
// More than the headers and tables that linking adds; a result may else grow to twice its object.
constexpr size_t kTables = 64 << 10;

// An open descriptor; lld is given it by its name in /proc.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  std::string path() const { return absl::StrCat("/proc/self/fd/", fd_); }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

absl::Status Exhausted(const char* what) {
  return absl::ResourceExhaustedError(absl::StrCat(what, ": ", std::strerror(errno)));
}

absl::Status WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Exhausted("cannot write the object for the linker");
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

std::string ReadToEnd(int fd) {
  std::string bytes;
  char buffer[64 << 10];
  while (true) {
    const ssize_t count = read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(count));
  }
}

}  // namespace

std::string UniqueSymbol(std::string_view object, const std::string& entry_symbol) {
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(object.data(), object.size()));
  return absl::StrCat(entry_symbol, "_",
                      llvm::toHex(hash.final(), /*LowerCase=*/true).substr(0, 16));
}

absl::StatusOr<std::string> LinkSharedObject(std::string_view object, const Target& target,
                                             const std::string& entry_symbol) {
  const Descriptor input(memfd_create("object", MFD_CLOEXEC));
  if (input.get() < 0) return Exhausted("cannot make a file for the linker");
  if (absl::Status status = WriteAll(input.get(), object); !status.ok()) return status;
  // lld replaces a regular file by another, which /proc cannot do; into a pipe it writes. One that
  // holds all of the result needs no second thread to read it.
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Exhausted("cannot make a pipe for the linker");
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  const int capacity = fcntl(to.get(), F_SETPIPE_SZ, kPipeBytes);
  const bool holds_all =
      capacity > 0 && 2 * object.size() + kTables <= static_cast<size_t>(capacity);

  const std::string input_path = input.path(), output_path = to.path();
  const std::string unique =
      absl::StrCat("--defsym=", UniqueSymbol(object, entry_symbol), "=", entry_symbol);
  const std::vector<const char*> arguments = {
      "ld.lld", "-m", FactsOf(target).aarch64 ? "aarch64linux" : "elf_x86_64", "-shared",
      "--threads=1",
      "--hash-style=sysv",  // says how many symbols there are
      "--no-eh-frame-hdr", "--strip-all", unique.c_str(),
      // Imports are resolved when it is loaded, or it is not loaded.
      "-z", "now", "-o", output_path.c_str(), input_path.c_str()};

  static std::mutex linker;
  std::string messages, linked;
  lld::Result result;
  {
    const std::lock_guard lock(linker);
    std::thread reader;
    if (!holds_all) reader = std::thread([&] { linked = ReadToEnd(from.get()); });
    llvm::raw_string_ostream stream(messages);
    result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
    to.Close();
    if (reader.joinable()) reader.join();
  }
  if (holds_all) linked = ReadToEnd(from.get());
  if (result.retCode != 0 || linked.empty()) {
    return absl::InternalError(absl::StrCat("the linker refused an object: ", messages));
  }
  return linked;
}

}  // namespace intent::cpu
