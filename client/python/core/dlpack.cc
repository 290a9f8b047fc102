#include "client/python/core/dlpack.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>

namespace intent::python {

namespace nb = nanobind;

namespace {

using Tensor = nb::dlpack::dltensor;

// As dlpack.h of github.com/dmlc/dlpack, 1.0, has them.
struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};
struct ManagedVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(ManagedVersioned*);
  uint64_t flags;
  Tensor tensor;
};
constexpr uint64_t kReadOnly = 1;
constexpr int kHost = 1, kCudaHost = 3, kRocmHost = 11;
constexpr int kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6, kE4M3FN = 10, kE5M2 = 12;

// An attribute, or nothing where there is none or asking for it raises.
nb::object Attribute(PyObject* value, const char* name) {
  PyObject* found = PyObject_GetAttrString(value, name);
  if (found == nullptr) PyErr_Clear();
  return nb::steal(found);
}

// What __dlpack__ gives; exporters from before versions take no arguments.
nb::object Capsule(const nb::object& exporter) {
  PyObject* made = nullptr;
  const nb::object none = nb::steal(PyTuple_New(0));
  const nb::object keywords = nb::steal(PyDict_New());
  const nb::object version = nb::make_tuple(1, 0);
  if (PyDict_SetItemString(keywords.ptr(), "max_version", version.ptr()) == 0) {
    made = PyObject_Call(exporter.ptr(), none.ptr(), keywords.ptr());
  }
  if (made == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
    PyErr_Clear();
    made = PyObject_Call(exporter.ptr(), none.ptr(), nullptr);
  }
  if (made == nullptr) PyErr_Clear();
  return nb::steal(made);
}

bool IsOf(const nb::dlpack::dtype& found, DType dtype) {
  if (found.lanes != 1 || found.bits != 8 * StorageBytes(dtype)) return false;
  switch (dtype) {
    case DType::kBool:
      return found.code == kBool;
    case DType::kBF16:
      return found.code == kBfloat || found.code == kUInt;
    case DType::kF8E4M3FN:
      return found.code == kE4M3FN || found.code == kUInt;
    case DType::kF8E5M2:
      return found.code == kE5M2 || found.code == kUInt;
    case DType::kF16:
    case DType::kF32:
    case DType::kF64:
      return found.code == kFloat;
    default:
      return IsInteger(dtype) && found.code == (IsSignedInteger(dtype) ? kInt : kUInt);
  }
}

// The view of a tensor of the host; nothing where it breaks a rule, or its numbers leave 64 bits.
std::optional<ArrayView> ToView(const Tensor& tensor, const ArrayRules& rules) {
  const int device = tensor.device.device_type;
  if (device != kHost && device != kCudaHost && device != kRocmHost) return std::nullopt;
  if (!IsOf(tensor.dtype, rules.element) || tensor.ndim < 0 ||
      static_cast<size_t>(tensor.ndim) != rules.rank) {
    return std::nullopt;
  }
  const int64_t item_bytes = StorageBytes(rules.element);
  ArrayView view;
  view.extents.assign(tensor.shape, tensor.shape + tensor.ndim);
  view.strides.assign(rules.rank, 0);
  if (std::any_of(view.extents.begin(), view.extents.end(), [](int64_t e) { return e < 0; })) {
    return std::nullopt;
  }
  char* const data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  view.data = view.low = view.high = data;
  if (std::find(view.extents.begin(), view.extents.end(), 0) != view.extents.end()) return view;
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(item_bytes) != 0) {
    return std::nullopt;
  }
  view.high += item_bytes;
  int64_t packed = 1;
  for (size_t axis = rules.rank; axis-- > 0;) {
    const int64_t stride = tensor.strides != nullptr ? tensor.strides[axis] : packed;
    int64_t span = 0;
    if (__builtin_mul_overflow(packed, view.extents[axis], &packed) ||
        __builtin_mul_overflow(view.extents[axis] - 1, stride, &span) ||
        __builtin_mul_overflow(span, item_bytes, &span)) {
      return std::nullopt;
    }
    if (view.extents[axis] > 1) view.strides[axis] = stride;
    (span < 0 ? view.low : view.high) += span;
  }
  return view;
}

}  // namespace

std::optional<ArrayView> ReadDlpack(PyObject* value, const ArrayRules& rules) {
  const nb::object exporter = Attribute(value, "__dlpack__");
  if (!exporter.is_valid() || Attribute(value, "__array_interface__").is_valid()) {
    return std::nullopt;
  }
  nb::object capsule = Capsule(exporter);
  if (!capsule.is_valid()) return std::nullopt;
  const Tensor* tensor = nullptr;
  // A capsule that is not renamed stays its owner's: it releases the memory when it goes.
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned") != 0) {
    const auto* managed = static_cast<const ManagedVersioned*>(
        PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (managed->major != 1) return std::nullopt;
    if (rules.written && (managed->flags & kReadOnly) != 0) return std::nullopt;
    tensor = &managed->tensor;
  } else if (!rules.written && PyCapsule_IsValid(capsule.ptr(), "dltensor") != 0) {
    tensor = &static_cast<const Managed*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"))->tensor;
  }
  if (tensor == nullptr) return std::nullopt;
  std::optional<ArrayView> view = ToView(*tensor, rules);
  if (view.has_value()) {
    view->owner = value;
    view->keeper = std::move(capsule);
  }
  return view;
}

}  // namespace intent::python
