#include "tests/support/fake_cuda/load_fake_cuda.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace intent {
namespace {

// A library that is loaded answers for its name, wherever it lies.
void* Library() {
  static void* const library = dlopen(INTENT_FAKE_CUDA, RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::abort();
  }
  return library;
}

template <typename Signature>
Signature* Find(const char* name) {
  return reinterpret_cast<Signature*>(dlsym(Library(), name));
}

}  // namespace

void LoadFakeCuda() { Library(); }

fake_cuda_statistics FakeCudaStatistics() {
  fake_cuda_statistics statistics = {};
  Find<decltype(fake_cuda_statistics_now)>("fake_cuda_statistics_now")(&statistics);
  return statistics;
}

void SetFakeCudaCapturing(bool capturing) {
  Find<decltype(fake_cuda_set_capturing)>("fake_cuda_set_capturing")(capturing);
}

void SetFakeCudaMemory(size_t bytes) {
  Find<decltype(fake_cuda_set_memory)>("fake_cuda_set_memory")(bytes);
}

}  // namespace intent
