#include "compiler/cuda/device_on_host/kernels.h"

#include "compiler/cuda/device_on_host/builtins.h"
#include "intent/math.cuh"
#include "intent/narrow.cuh"
#include "intent/special.cuh"
#include "intent/wide.cuh"

namespace intent {
namespace {

template <class T>
struct Memory {
  typedef T type;
};
template <>
struct Memory<bool> {
  typedef u8 type;
};
template <class T>
T load(const void* data, size_t i) {
  const typename Memory<T>::type stored = static_cast<const typename Memory<T>::type*>(data)[i];
  if constexpr (kSame<T, bool>) {
    return load_bool(stored);
  } else {
    return stored;
  }
}

#define INTENT_KERNEL(number, In, Out, ...)                                                      \
  void Kernel##number(const void* xs, const void* ys, const void* zs, void* out, size_t count) { \
    for (size_t i = 0; i < count; ++i) {                                                         \
      [[maybe_unused]] const In x = load<In>(xs, i), y = load<In>(ys, i), z = load<In>(zs, i);   \
      static_cast<Memory<Out>::type*>(out)[i] = __VA_ARGS__;                                     \
    }                                                                                            \
  }
#include "device_kernels.inc"
#undef INTENT_KERNEL

constexpr cuda::HostKernel kKernels[] = {
#define INTENT_KERNEL(number, ...) Kernel##number,
#include "device_kernels.inc"
#undef INTENT_KERNEL
};

}  // namespace

std::span<const cuda::HostKernel> cuda::HostKernels() { return kKernels; }
double cuda::LgammaBetweenPoles(double x) { return lgamma_between_poles(x); }

}  // namespace intent
