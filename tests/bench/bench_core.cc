// The Python module bench_core: runs a shared object in this process on NumPy memory, so that a
// benchmark measures the kernel and not the way to it. For benchmarks only: it trusts its caller.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "compiler/cpu/loader.h"
#include "compiler/runtime/kernel_runtime.h"

namespace nb = nanobind;

namespace {

class Kernel {
 public:
  Kernel(nb::bytes object, const std::string& entry, int threads)
      : runtime_(threads, int64_t{1} << 32) {
    auto loaded = intent::cpu::LoadSharedObject({object.c_str(), object.size()}, entry);
    if (!loaded.ok()) throw std::runtime_error(std::string(loaded.status().message()));
    kernel_ = *std::move(loaded);
  }

  // Binds every view argument in order; arrays stay the caller's and must outlive the calls.
  void Bind(const std::vector<nb::ndarray<>>& arrays, const std::vector<uint64_t>& scalars) {
    views_.clear();
    extents_.assign(arrays.size(), {});
    strides_.assign(arrays.size(), {});
    scalars_ = scalars;
    for (size_t i = 0; i < arrays.size(); ++i) {
      const nb::ndarray<>& array = arrays[i];
      const int64_t bytes = static_cast<int64_t>(array.itemsize());
      intent_view view = {};
      view.data = array.data();
      view.high = bytes;
      for (size_t axis = 0; axis < array.ndim(); ++axis) {
        const int64_t extent = static_cast<int64_t>(array.shape(axis)), stride = array.stride(axis);
        extents_[i].push_back(extent);
        strides_[i].push_back(stride);
        const int64_t reach = (extent - 1) * stride * bytes;
        (reach < 0 ? view.low : view.high) += reach;
      }
      view.extents = extents_[i].data();
      view.strides = strides_[i].data();
      views_.push_back(view);
    }
  }

  // Seconds of one call.
  double Run() {
    intent_error error = {};
    const auto start = std::chrono::steady_clock::now();
    const int32_t status = runtime_.Run(
        kernel_->entry(), {.views = views_.data(), .scalars = scalars_.data()}, &error);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    if (status != 0)
      throw std::runtime_error("the kernel ended with status " + std::to_string(status));
    return spent.count();
  }

 private:
  intent::KernelRuntime runtime_;
  std::unique_ptr<intent::cpu::LoadedKernel> kernel_;
  std::vector<intent_view> views_;
  std::vector<std::vector<int64_t>> extents_, strides_;
  std::vector<uint64_t> scalars_;
};

}  // namespace

NB_MODULE(bench_core, module) {
  nb::class_<Kernel>(module, "Kernel")
      .def(nb::init<nb::bytes, const std::string&, int>())
      .def("bind", &Kernel::Bind)
      .def("run", &Kernel::Run, nb::call_guard<nb::gil_scoped_release>());
}
