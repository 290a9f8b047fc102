// The identity of everything in this process that can change an artifact: a digest of our own image
// and the build ids of the shared libraries that generate code or numbers. NVRTC's libraries enter
// only what is made with them.

#include <elf.h>
#include <link.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "compiler/cuda/nvrtc.h"
#include "compiler/diag/check.h"
#include "compiler/driver/compile.h"

namespace intent {
namespace {

class Hasher {
 public:
  Hasher() : context_(EVP_MD_CTX_new()) { EVP_DigestInit_ex(context_, EVP_sha256(), nullptr); }
  ~Hasher() { EVP_MD_CTX_free(context_); }
  Hasher(const Hasher&) = delete;

  void Add(const void* data, size_t size) { EVP_DigestUpdate(context_, data, size); }
  // False if the file cannot be read.
  bool AddFile(const char* path) {
    std::FILE* file = std::fopen(path, "rb");
    if (file == nullptr) return false;
    std::vector<char> buffer(1 << 20);
    size_t count;
    while ((count = std::fread(buffer.data(), 1, buffer.size(), file)) > 0)
      Add(buffer.data(), count);
    std::fclose(file);
    return true;
  }
  std::string Hex() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    EVP_DigestFinal_ex(context_, digest, &size);
    std::string hex;
    for (unsigned int i = 0; i < size; ++i) {
      static constexpr char kDigits[] = "0123456789abcdef";
      hex += kDigits[digest[i] >> 4];
      hex += kDigits[digest[i] & 15];
    }
    return hex;
  }

 private:
  EVP_MD_CTX* context_;
};

// Libraries whose content decides what code is made and what constants fold to.
bool DecidesCode(const char* path) {
  for (const char* part : {"libLLVM", "libm.so", "libm-", "libintent"}) {
    if (std::strstr(path, part) != nullptr) return true;
  }
  return false;
}

// The GNU build id of a loaded object: a digest of its content made by the linker. Empty if it has
// none.
std::string BuildId(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(info.dlpi_addr + header.p_vaddr);
    const char* end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof(note));
      const char* name = at + sizeof(note);
      const char* description = name + ((note.n_namesz + 3) & ~3u);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          std::memcmp(name, "GNU", 4) == 0) {
        return std::string(description, note.n_descsz);
      }
      at = description + ((note.n_descsz + 3) & ~3u);
    }
  }
  return "";
}

// A library by its name and content.
void AddLibrary(const dl_phdr_info& info, Hasher& hasher) {
  const char* path = info.dlpi_name;
  const char* name = std::strrchr(path, '/');
  name = name == nullptr ? path : name + 1;
  hasher.Add(name, std::strlen(name) + 1);
  const std::string id = BuildId(info);
  if (id.empty()) {
    hasher.AddFile(path);
  } else {
    hasher.Add(id.data(), id.size());
  }
}

int AddObject(dl_phdr_info* info, size_t, void* data) {
  Hasher* hasher = static_cast<Hasher*>(data);
  const char* path = info->dlpi_name;
  if (path == nullptr || *path == '\0') {
    hasher->AddFile("/proc/self/exe");
  } else if (DecidesCode(path)) {
    AddLibrary(*info, *hasher);
  }
  return 0;
}

// Of the libraries at certain paths.
struct Selection {
  std::vector<std::string> paths;
  Hasher hasher;
  size_t found = 0;
};

int AddSelected(dl_phdr_info* info, size_t, void* data) {
  Selection& selection = *static_cast<Selection*>(data);
  const std::string path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const std::vector<std::string>& paths = selection.paths;
  if (std::find(paths.begin(), paths.end(), path) != paths.end()) {
    AddLibrary(*info, selection.hasher);
    ++selection.found;
  }
  return 0;
}

}  // namespace

const std::string& CompilerFingerprint() {
  static const std::string kFingerprint = [] {
    Hasher hasher;
    dl_iterate_phdr(AddObject, &hasher);
    return hasher.Hex();
  }();
  return kFingerprint;
}

std::string CudaFingerprint(const cuda::Nvrtc& nvrtc) {
  // Libraries without a build id are read whole: once.
  static std::mutex mutex;
  static auto& known = *new std::map<std::string, std::string>;
  std::lock_guard lock(mutex);
  std::string& fingerprint = known[nvrtc.library_path()];
  if (!fingerprint.empty()) return fingerprint;
  Selection selection{.paths = {nvrtc.library_path(), nvrtc.builtins_path()}};
  const std::string& own = CompilerFingerprint();
  selection.hasher.Add(own.data(), own.size());
  dl_iterate_phdr(AddSelected, &selection);
  INTENT_CHECK(selection.found == selection.paths.size()) << "NVRTC's libraries are not loaded";
  fingerprint = selection.hasher.Hex();
  return fingerprint;
}

}  // namespace intent
