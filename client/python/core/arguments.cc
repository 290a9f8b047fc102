#include "client/python/core/arguments.h"

#include <nanobind/stl/string.h>

#include <bit>
#include <cmath>
#include <map>
#include <utility>

#include "client/python/core/convert.h"

namespace intent::python {

namespace nb = nanobind;

namespace {

// Integers up to this magnitude are exact in the format.
constexpr int64_t kExactInF32 = int64_t{1} << 24, kExactInF64 = int64_t{1} << 53;

// A Python int as the storage bits of an integer dtype; nothing if it does not fit or is larger
// than 64 signed bits.
std::optional<uint64_t> IntegerBits(int64_t value, DType dtype) {
  const int width = BitWidth(dtype);
  if (!IsSignedInteger(dtype)) {
    if (value < 0 || (width < 64 && (value >> width) != 0)) return std::nullopt;
    return static_cast<uint64_t>(value);
  }
  if (width < 64) {
    const int64_t limit = int64_t{1} << (width - 1);
    if (value < -limit || value >= limit) return std::nullopt;
    return static_cast<uint64_t>(value) & ((uint64_t{1} << width) - 1);
  }
  return static_cast<uint64_t>(value);
}

// The bits of Python's own bool, int and float where they are plain to see.
std::optional<uint64_t> QuickBits(PyObject* value, DType dtype) {
  if (PyBool_Check(value)) {
    if (dtype != DType::kBool) return std::nullopt;
    return value == Py_True ? 1 : 0;
  }
  if (PyLong_CheckExact(value)) {
    int overflow = 0;
    const int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0) return std::nullopt;
    if (IsInteger(dtype)) return IntegerBits(number, dtype);
    if (dtype == DType::kF32 && number >= -kExactInF32 && number <= kExactInF32) {
      return std::bit_cast<uint32_t>(static_cast<float>(number));
    }
    if (dtype == DType::kF64 && number >= -kExactInF64 && number <= kExactInF64) {
      return std::bit_cast<uint64_t>(static_cast<double>(number));
    }
    return std::nullopt;
  }
  if (!PyFloat_CheckExact(value)) return std::nullopt;
  const double number = PyFloat_AsDouble(value);
  if (dtype == DType::kF64) return std::bit_cast<uint64_t>(number);
  if (dtype != DType::kF32 || std::isnan(number)) return std::nullopt;
  const float rounded = static_cast<float>(number);
  if (std::isinf(rounded) && !std::isinf(number)) return std::nullopt;
  return std::bit_cast<uint32_t>(rounded);
}

ParameterSpec ToSpec(nb::tuple facts, std::map<std::string, int64_t>* symbols) {
  ParameterSpec spec;
  spec.dtype_name = nb::cast<std::string>(facts[0]);
  spec.dtype = ToDType(facts[0]);
  spec.is_view = facts.size() > 1;
  if (!spec.is_view) return spec;
  const std::string access = nb::cast<std::string>(facts[1]);
  spec.is_out = access == "Out";
  for (nb::handle extent : nb::cast<nb::tuple>(facts[2])) {
    if (nb::isinstance<nb::str>(extent)) {
      const auto next = static_cast<int64_t>(symbols->size());
      const auto [known, added] = symbols->emplace(nb::cast<std::string>(extent), next);
      spec.shape.push_back({true, known->second});
    } else {
      spec.shape.push_back({false, nb::cast<int64_t>(extent)});
    }
  }
  if (!facts[3].is_none()) spec.alias = nb::cast<std::string>(facts[3]);
  spec.rules = {spec.dtype, facts[4], facts[5], spec.shape.size(), access != "In"};
  return spec;
}

}  // namespace

Signature::Signature(nb::list parameters)
    : scalar_bits_(nb::module_::import_("intent.numbers").attr("scalar_bits")) {
  LoadNumpy();
  std::map<std::string, int64_t> symbols;
  for (nb::handle facts : parameters) {
    parameters_.push_back(ToSpec(nb::cast<nb::tuple>(facts), &symbols));
    inputs_ += !parameters_.back().is_out;
    views_ += parameters_.back().is_view;
    has_aliases_ |= parameters_.back().alias.has_value();
  }
}

bool Signature::Read(const std::vector<PyObject*>& values, Reader reader, ArgumentList* list,
                     std::vector<nb::object>* made) const {
  if (values.size() != parameters_.size()) return false;
  list->arrays.resize(views_);
  size_t view = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!parameters_[i].is_view) continue;
    ArrayView& array = list->arrays[view++];
    if (values[i] == nullptr) continue;
    std::optional<ArrayView> read = reader(values[i], parameters_[i].rules);
    if (!read.has_value()) return false;
    array = *std::move(read);
  }
  view = 0;
  list->allocations.reserve(views_);
  list->arguments.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const ParameterSpec& parameter = parameters_[i];
    if (!parameter.is_view) {
      const std::optional<uint64_t> bits = ScalarBits(values[i], parameter);
      if (!bits.has_value()) return false;
      list->arguments.emplace_back(*bits);
      continue;
    }
    ArrayView& array = list->arrays[view++];
    if (values[i] == nullptr) {
      const auto extents = OutExtents(parameter, values, *list);
      if (!extents.has_value()) return false;
      made->push_back(NewArray(parameter.rules, *extents));
      array = *ReadArray(made->back().ptr(), parameter.rules, /*subclasses=*/false);
    }
    const auto id = static_cast<uint32_t>(list->allocations.size());
    list->allocations.push_back({id, array.low, static_cast<uint64_t>(array.high - array.low)});
    const int64_t offset = (array.data - array.low) / StorageBytes(parameter.dtype);
    list->arguments.emplace_back(ViewArgument{id, offset, array.extents, array.strides});
  }
  return !has_aliases_ || AliasesHold(*list);
}

std::optional<std::vector<int64_t>> Signature::OutExtents(const ParameterSpec& parameter,
                                                          const std::vector<PyObject*>& values,
                                                          const ArgumentList& list) const {
  std::vector<int64_t> extents;
  for (const ParameterSpec::Extent& wanted : parameter.shape) {
    std::optional<int64_t> known;
    if (!wanted.is_symbol) known = wanted.value;
    // The first axis that names the symbol gives it, as in Bind.
    size_t view = 0;
    for (size_t i = 0; i < values.size() && !known.has_value(); ++i) {
      if (!parameters_[i].is_view) continue;
      const ArrayView& array = list.arrays[view++];
      if (values[i] == nullptr) continue;
      for (size_t axis = 0; axis < array.extents.size() && !known.has_value(); ++axis) {
        const ParameterSpec::Extent& given = parameters_[i].shape[axis];
        if (given.is_symbol && given.value == wanted.value) known = array.extents[axis];
      }
    }
    if (!known.has_value()) return std::nullopt;
    extents.push_back(*known);
  }
  return extents;
}

std::optional<uint64_t> Signature::ScalarBits(PyObject* value,
                                              const ParameterSpec& parameter) const {
  if (std::optional<uint64_t> bits = QuickBits(value, parameter.dtype)) return bits;
  PyObject* made =
      PyObject_CallFunction(scalar_bits_.ptr(), "Os", value, parameter.dtype_name.c_str());
  if (made == nullptr) {
    PyErr_Clear();  // marshal.py raises it again, with the parameter's name
    return std::nullopt;
  }
  const uint64_t bits = PyLong_AsUnsignedLongLong(made);
  Py_DECREF(made);
  return bits;
}

// As marshal.py says: arrays of a group that are not empty lie in one object's memory.
bool Signature::AliasesHold(const ArgumentList& list) const {
  std::map<std::string, const void*> owners;
  size_t next = 0;
  for (const ParameterSpec& parameter : parameters_) {
    if (!parameter.is_view) continue;
    const ArrayView& array = list.arrays[next++];
    if (!parameter.alias.has_value() || array.low == array.high) continue;
    if (owners.emplace(*parameter.alias, array.owner).first->second != array.owner) return false;
  }
  return true;
}

}  // namespace intent::python
