#include "tests/support/fake_cuda/software_kernels.h"

#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "compiler/cuda/device_on_host/grid.h"

namespace fake_cuda {
namespace {

// The section headers end a file of ours.
size_t SizeOf(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  return header.e_shoff + size_t{header.e_shentsize} * header.e_shnum;
}

}  // namespace

std::unique_ptr<SoftwareKernels> SoftwareKernels::Load(const void* image) {
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0) return nullptr;
  // The loader knows a library by its path, so every one needs its own.
  char path[] = "/tmp/intent-software-gpu-XXXXXX";
  const int file = mkstemp(path);
  const size_t size = SizeOf(image);
  if (file < 0 || write(file, image, size) != static_cast<ssize_t>(size)) {
    std::perror("software GPU: a file in /tmp");
    if (file >= 0) {
      unlink(path);
      close(file);
    }
    return nullptr;
  }
  close(file);
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  unlink(path);
  if (library == nullptr) {
    std::fprintf(stderr, "software GPU: %s\n", dlerror());
    return nullptr;
  }
  return std::unique_ptr<SoftwareKernels>(new SoftwareKernels(library));
}

SoftwareKernels::~SoftwareKernels() { dlclose(library_); }

std::optional<Kernel> SoftwareKernels::Find(const std::string& name) const {
  using Run = void (*)(const emulation::Launch*, const void*);
  const auto run = reinterpret_cast<Run>(dlsym(library_, (name + "_launch").c_str()));
  const auto* bytes =
      static_cast<const unsigned long*>(dlsym(library_, (name + "_argument_bytes").c_str()));
  if (run == nullptr || bytes == nullptr) return std::nullopt;
  return Kernel{.words = *bytes / 8, .run = [run](const Launch& launch) {
                  const emulation::Launch grid{
                      .blocks = static_cast<int>(launch.grid[0]),
                      .threads = static_cast<int>(launch.block[0]),
                      .shared_bytes = static_cast<int>(launch.shared_bytes),
                      .cooperative = launch.cooperative};
                  run(&grid, launch.words.data());
                  return 0;
                }};
}

}  // namespace fake_cuda
