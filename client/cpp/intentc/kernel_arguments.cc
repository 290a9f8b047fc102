#include "client/cpp/intentc/kernel_arguments.h"

#include <bit>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <utility>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cpp/arguments.h"
#include "client/cpp/intentc/argument_spec.h"
#include "compiler/ir/scalar_text.h"
#include "compiler/numerics/float_format.h"
#include "compiler/runtime/launch_program.h"

namespace intent::client {
namespace {

using compile::v1::Manifest;

constexpr int64_t kDefaultExtent = 8;
constexpr int64_t kMaxArrayBytes = int64_t{1} << 32;

// Floats in [-1, 1), integers in [0, 8) so that they can be indices, bools.
uint64_t RandomBits(DType dtype, std::mt19937_64& random) {
  const uint64_t bits = random();
  if (dtype == DType::kBool) return bits >> 63;
  if (!IsFloat(dtype)) return bits >> 61;
  const double value = static_cast<double>(bits >> 11) * 0x1p-52 - 1;
  return dtype == DType::kF64 ? std::bit_cast<uint64_t>(value)
                              : numerics::EncodeDouble(numerics::FormatOf(dtype), value);
}

absl::StatusOr<uint64_t> ParseScalar(const std::string& text, DType dtype) {
  if (const std::optional<ScalarValue> value = ScalarFromText(dtype, text)) {
    return static_cast<uint64_t>(value->bits);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is no ", std::string(DTypeName(dtype))));
}

void Fill(Array* array, DType dtype, const std::function<uint64_t()>& bits) {
  const size_t bytes = StorageBytes(dtype);
  for (size_t at = 0; at < array->data.size(); at += bytes) {
    const uint64_t element = bits();
    std::memcpy(array->data.data() + at, &element, bytes);
  }
}

std::string NameAt(const std::vector<std::string>& names, size_t position, const char* prefix) {
  return position < names.size() && !names[position].empty() ? names[position]
                                                             : absl::StrCat(prefix, position);
}

// A symbol's extent and who says so.
struct BoundSymbol {
  int64_t value = 0;
  std::string source;
};

class Maker {
 public:
  Maker(const Manifest& manifest, const ArgumentNames& names, const ArgumentFlags& flags)
      : manifest_(manifest), names_(names), flags_(flags), symbols_(manifest.symbol_count()) {}

  absl::Status Run(std::vector<KernelArguments::Parameter>* parameters,
                   std::vector<execute::v1::Argument>* arguments) {
    if (absl::Status status = ReadSizes(); !status.ok()) return status;
    Declare(parameters);
    if (absl::Status status = ReadSpecs(*parameters); !status.ok()) return status;
    // Shapes that are given bind symbols; the others follow from these.
    for (size_t i = 0; i < parameters->size(); ++i) {
      absl::Status status = MakeGiven(i, &(*parameters)[i]);
      if (!status.ok()) return Named((*parameters)[i], status);
    }
    for (std::optional<BoundSymbol>& symbol : symbols_) {
      if (!symbol.has_value()) symbol = BoundSymbol{kDefaultExtent, "by default"};
    }
    uint32_t views = 0;
    for (size_t i = 0; i < parameters->size(); ++i) {
      KernelArguments::Parameter& parameter = (*parameters)[i];
      absl::StatusOr<execute::v1::Argument> argument =
          parameter.is_view ? MakeView(i, &parameter, views++) : MakeScalar(i, parameter);
      if (!argument.ok()) return Named(parameter, argument.status());
      arguments->push_back(*std::move(argument));
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status Named(const KernelArguments::Parameter& parameter,
                            const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(parameter.name, ": ", status.message()));
  }

  absl::Status ReadSizes() {
    for (const auto& [name, extent] : flags_.sizes) {
      size_t position = 0;
      while (position < symbols_.size() && NameAt(names_.symbols, position, "s") != name) {
        ++position;
      }
      if (position == symbols_.size()) {
        std::vector<std::string> known;
        for (size_t i = 0; i < symbols_.size(); ++i) {
          known.push_back(NameAt(names_.symbols, i, "s"));
        }
        return absl::InvalidArgumentError(
            absl::StrCat("there is no symbol ", name, "; there are: ", absl::StrJoin(known, ", ")));
      }
      if (extent < 0) return absl::InvalidArgumentError(absl::StrCat(name, " is negative"));
      symbols_[position] = BoundSymbol{extent, "as --size says"};
    }
    return absl::OkStatus();
  }

  void Declare(std::vector<KernelArguments::Parameter>* parameters) const {
    for (int i = 0; i < manifest_.parameters_size(); ++i) {
      const compile::v1::Parameter& wire = manifest_.parameters(i);
      KernelArguments::Parameter parameter;
      parameter.name = NameAt(names_.parameters, i, "");
      parameter.is_view = wire.has_view();
      parameter.written = wire.has_view() && wire.view().access() != compile::v1::ACCESS_IN;
      const std::string& dtype = wire.has_view() ? wire.view().dtype() : wire.scalar().dtype();
      parameter.dtype = DTypeFromName(dtype).value_or(DType::kBool);
      parameters->push_back(std::move(parameter));
    }
  }

  absl::Status ReadSpecs(const std::vector<KernelArguments::Parameter>& parameters) {
    specs_.resize(parameters.size());
    for (const auto& [name, text] : flags_.values) {
      size_t position = 0;
      while (position < parameters.size() && parameters[position].name != name) ++position;
      if (position == parameters.size() &&
          (!absl::SimpleAtoi(name, &position) || position >= parameters.size())) {
        std::vector<std::string> known;
        for (const KernelArguments::Parameter& parameter : parameters) {
          known.push_back(parameter.name);
        }
        return absl::InvalidArgumentError(absl::StrCat(
            "there is no parameter ", name, "; there are: ", absl::StrJoin(known, ", ")));
      }
      if (specs_[position].has_value()) {
        return absl::InvalidArgumentError(
            absl::StrCat(parameters[position].name, " is given by name and by position"));
      }
      absl::StatusOr<ArgumentSpec> spec = ParseArgumentSpec(text);
      if (!spec.ok()) return Named(parameters[position], spec.status());
      specs_[position] = *std::move(spec);
    }
    return absl::OkStatus();
  }

  // The array of a view whose shape is given, or nothing.
  absl::Status MakeGiven(size_t position, KernelArguments::Parameter* parameter) {
    if (!specs_[position].has_value() || !parameter->is_view) return absl::OkStatus();
    std::optional<ShapeSpec> shape;
    if (const auto* file = std::get_if<FileSpec>(&*specs_[position])) {
      absl::StatusOr<Array> array = ReadNpy(file->path, parameter->dtype);
      if (!array.ok()) return array.status();
      parameter->array = *std::move(array);
      shape = parameter->array.shape;
    } else if (const auto* random = std::get_if<RandomSpec>(&*specs_[position])) {
      shape = random->shape;
    } else if (const auto* zeros = std::get_if<ZerosSpec>(&*specs_[position])) {
      shape = zeros->shape;
    }
    if (!shape.has_value()) return absl::OkStatus();
    shapes_[position] = *shape;
    return Agree(manifest_.parameters(static_cast<int>(position)).view(), parameter->name, *shape);
  }

  // Checks a shape against the parameter's, and binds the symbols that it is the first to name.
  absl::Status Agree(const compile::v1::ViewParameter& view, const std::string& name,
                     const ShapeSpec& shape) {
    if (shape.size() != static_cast<size_t>(view.axes_size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("its rank is ", view.axes_size(), ", not ", shape.size()));
    }
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const compile::v1::Axis& wire = view.axes(static_cast<int>(axis));
      if (wire.extent_case() == compile::v1::Axis::kConstant && wire.constant() != shape[axis]) {
        return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " has extent ", shape[axis],
                                                       ", but ", wire.constant(), " is needed"));
      }
      if (wire.extent_case() != compile::v1::Axis::kSymbol || wire.symbol() >= symbols_.size()) {
        continue;
      }
      std::optional<BoundSymbol>& symbol = symbols_[wire.symbol()];
      if (!symbol.has_value())
        symbol = BoundSymbol{shape[axis], absl::StrCat("as ", name, " says")};
      if (symbol->value != shape[axis]) {
        return absl::InvalidArgumentError(
            absl::StrCat("axis ", axis, " has extent ", shape[axis], ", but ",
                         NameAt(names_.symbols, wire.symbol(), "s"), " is ", symbol->value, ", ",
                         symbol->source));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<execute::v1::Argument> MakeView(size_t position,
                                                 KernelArguments::Parameter* parameter,
                                                 uint32_t allocation) {
    const compile::v1::ViewParameter& view =
        manifest_.parameters(static_cast<int>(position)).view();
    const std::optional<ArgumentSpec>& spec = specs_[position];
    if (!spec.has_value() || !std::holds_alternative<FileSpec>(*spec)) {
      absl::StatusOr<ShapeSpec> shape = ShapeOf(position, view);
      if (!shape.ok()) return shape.status();
      const absl::StatusOr<int64_t> count = ElementCount(*shape, parameter->dtype, kMaxArrayBytes);
      if (!count.ok()) return count.status();
      parameter->array = Array::Zeros(*std::move(shape), parameter->dtype);
      absl::Status status = FillView(position, view, parameter);
      if (!status.ok()) return status;
    }
    return ViewOf(allocation, 0, parameter->array.shape, parameter->array.strides);
  }

  absl::Status FillView(size_t position, const compile::v1::ViewParameter& view,
                        KernelArguments::Parameter* parameter) const {
    const std::optional<ArgumentSpec>& spec = specs_[position];
    if (spec.has_value() && std::holds_alternative<ZerosSpec>(*spec)) return absl::OkStatus();
    if (spec.has_value() && std::holds_alternative<ValueSpec>(*spec)) {
      const absl::StatusOr<uint64_t> bits =
          ParseScalar(std::get<ValueSpec>(*spec).text, parameter->dtype);
      if (!bits.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat(bits.status().message(), ", file.npy, random or zeros"));
      }
      Fill(&parameter->array, parameter->dtype, [&] { return *bits; });
      return absl::OkStatus();
    }
    if (!spec.has_value() && view.access() == compile::v1::ACCESS_OUT) return absl::OkStatus();
    std::mt19937_64 random(spec.has_value() ? std::get<RandomSpec>(*spec).seed : position);
    Fill(&parameter->array, parameter->dtype, [&] { return RandomBits(parameter->dtype, random); });
    return absl::OkStatus();
  }

  absl::StatusOr<ShapeSpec> ShapeOf(size_t position, const compile::v1::ViewParameter& view) const {
    if (const auto given = shapes_.find(position); given != shapes_.end()) return given->second;
    ShapeSpec shape;
    for (const compile::v1::Axis& axis : view.axes()) {
      const std::optional<int64_t> extent = ExtentOf(axis);
      if (!extent.has_value()) {
        return absl::InvalidArgumentError("its shape does not follow from the others': give one");
      }
      shape.push_back(*extent);
    }
    return shape;
  }

  std::optional<int64_t> ExtentOf(const compile::v1::Axis& axis) const {
    const auto symbol = [this](uint32_t index) {
      return index < symbols_.size() && symbols_[index].has_value()
                 ? std::optional(symbols_[index]->value)
                 : std::nullopt;
    };
    if (axis.has_expression()) {
      return Evaluate(axis.expression(), [&](const compile::v1::Instruction& instruction) {
        return instruction.opcode() == compile::v1::Instruction::OPCODE_SYMBOL
                   ? symbol(instruction.index())
                   : std::nullopt;
      });
    }
    if (axis.extent_case() == compile::v1::Axis::kSymbol) return symbol(axis.symbol());
    return axis.constant();
  }

  absl::StatusOr<execute::v1::Argument> MakeScalar(
      size_t position, const KernelArguments::Parameter& parameter) const {
    std::string text = parameter.dtype == DType::kBool ? "true" : "1";
    if (specs_[position].has_value()) {
      const auto* value = std::get_if<ValueSpec>(&*specs_[position]);
      if (value == nullptr) return absl::InvalidArgumentError("a scalar is given by its value");
      text = value->text;
    }
    const absl::StatusOr<uint64_t> bits = ParseScalar(text, parameter.dtype);
    if (!bits.ok()) return bits.status();
    return ScalarOfBits(*bits);
  }

  const Manifest& manifest_;
  const ArgumentNames& names_;
  const ArgumentFlags& flags_;
  std::vector<std::optional<BoundSymbol>> symbols_;
  std::vector<std::optional<ArgumentSpec>> specs_;  // by parameter
  std::map<size_t, ShapeSpec> shapes_;              // that are given, by parameter
};

}  // namespace

absl::StatusOr<KernelArguments> KernelArguments::Make(const Manifest& manifest,
                                                      const ArgumentNames& names,
                                                      const ArgumentFlags& flags) {
  KernelArguments result;
  absl::Status status = Maker(manifest, names, flags).Run(&result.parameters_, &result.arguments_);
  if (!status.ok()) return status;
  return result;
}

std::vector<HostAllocation> KernelArguments::Allocations() {
  std::vector<HostAllocation> allocations;
  for (Parameter& parameter : parameters_) {
    if (!parameter.is_view) continue;
    allocations.push_back({parameter.array.data.data(), parameter.array.data.size(),
                           /*sent=*/true, parameter.written});
  }
  return allocations;
}

}  // namespace intent::client
