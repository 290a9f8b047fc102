#include "client/cpp/kernel_arguments.h"

#include <bit>
#include <cstdlib>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "compiler/runtime/launch_program.h"

namespace intent::client {
namespace {

using compile::v1::Manifest;

constexpr int64_t kDefaultExtent = 8;
constexpr int64_t kMaxGeneratedBytes = int64_t{1} << 32;

// The bits of a number with random sign and fraction and the exponent of [0.5, 1); small integers.
uint64_t RandomBits(DType dtype, std::mt19937_64& random) {
  const uint64_t bits = random();
  const auto floating = [&](int fraction_bits, uint64_t exponent) {
    const uint64_t sign = (bits >> 63) << (BitWidth(dtype) - 1);
    return sign | exponent << fraction_bits | (bits & ((uint64_t{1} << fraction_bits) - 1));
  };
  switch (dtype) {
    case DType::kF16:
      return floating(10, 0xe);
    case DType::kBF16:
      return floating(7, 0x7e);
    case DType::kF32:
      return floating(23, 0x7e);
    case DType::kF64:
      return floating(52, 0x3fe);
    case DType::kF8E4M3FN:
      return floating(3, 0x6);
    case DType::kF8E5M2:
      return floating(2, 0xe);
    case DType::kBool:
      return bits & 1;
    default:
      return bits & 7;
  }
}

absl::StatusOr<uint64_t> ParseScalar(const std::string& text, DType dtype) {
  if (dtype == DType::kBool && (text == "true" || text == "false")) return text == "true";
  if (dtype == DType::kF64 || dtype == DType::kF32) {
    double value = 0;
    if (absl::SimpleAtod(text, &value)) {
      return dtype == DType::kF64 ? std::bit_cast<uint64_t>(value)
                                  : std::bit_cast<uint32_t>(static_cast<float>(value));
    }
  } else if (IsInteger(dtype)) {
    int64_t value = 0;
    if (absl::SimpleAtoi(text, &value)) {
      const int width = BitWidth(dtype);
      return width == 64 ? static_cast<uint64_t>(value)
                         : static_cast<uint64_t>(value) & ((uint64_t{1} << width) - 1);
    }
  }
  // Any dtype can be given by its bits.
  uint64_t bits = 0;
  if (absl::StartsWith(text, "0x") && absl::SimpleHexAtoi(text, &bits)) return bits;
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is no ", std::string(DTypeName(dtype)), "; 0x gives its bits"));
}

std::string NameAt(const std::vector<std::string>& names, size_t position, const char* prefix) {
  return position < names.size() && !names[position].empty() ? names[position]
                                                             : absl::StrCat(prefix, position);
}

class Maker {
 public:
  Maker(const Manifest& manifest, const ArgumentNames& names, const ArgumentFlags& flags)
      : manifest_(manifest), names_(names), flags_(flags), symbols_(manifest.symbol_count()) {}

  absl::Status Run(std::vector<KernelArguments::Parameter>* parameters,
                   std::vector<execute::v1::Argument>* arguments) {
    for (size_t i = 0; i < symbols_.size(); ++i) {
      const auto size = flags_.sizes.find(NameAt(names_.symbols, i, "s"));
      if (size != flags_.sizes.end()) symbols_[i] = size->second;
    }
    if (absl::Status status = ReadFiles(parameters); !status.ok()) return status;
    for (std::optional<int64_t>& symbol : symbols_) symbol = symbol.value_or(kDefaultExtent);
    for (int i = 0; i < manifest_.parameters_size(); ++i) {
      KernelArguments::Parameter& parameter = (*parameters)[i];
      arguments->emplace_back();
      if (parameter.is_view) {
        if (!Given(i, parameter.name)) {
          absl::Status status = Generate(manifest_.parameters(i).view(), &parameter);
          if (!status.ok()) return status;
        }
        AddView(parameter, arguments->back().mutable_view());
      } else {
        const std::string* text = Given(i, parameter.name);
        const absl::StatusOr<uint64_t> bits =
            ParseScalar(text != nullptr ? *text : "0x1", parameter.dtype);
        if (!bits.ok()) return bits.status();
        arguments->back().set_scalar_bits(*bits);
      }
    }
    return absl::OkStatus();
  }

 private:
  const std::string* Given(int position, const std::string& name) const {
    auto found = flags_.values.find(name);
    if (found == flags_.values.end()) found = flags_.values.find(absl::StrCat(position));
    return found != flags_.values.end() ? &found->second : nullptr;
  }

  // Arrays that are given bind the symbols of their axes.
  absl::Status ReadFiles(std::vector<KernelArguments::Parameter>* parameters) {
    for (int i = 0; i < manifest_.parameters_size(); ++i) {
      const compile::v1::Parameter& wire = manifest_.parameters(i);
      KernelArguments::Parameter parameter;
      parameter.name = NameAt(names_.parameters, i, "");
      parameter.is_view = wire.has_view();
      parameter.written = wire.has_view() && wire.view().access() != compile::v1::ACCESS_IN;
      const std::string& dtype = wire.has_view() ? wire.view().dtype() : wire.scalar().dtype();
      parameter.dtype = DTypeFromName(dtype).value_or(DType::kBool);
      const std::string* path = Given(i, parameter.name);
      if (parameter.is_view && path != nullptr) {
        absl::StatusOr<Array> array = ReadNpy(*path, parameter.dtype);
        if (!array.ok()) return array.status();
        parameter.array = *std::move(array);
        if (parameter.array.shape.size() != static_cast<size_t>(wire.view().axes_size())) {
          return absl::InvalidArgumentError(absl::StrCat(*path, " has rank ",
                                                         parameter.array.shape.size(), ", but ",
                                                         wire.view().axes_size(), " is needed"));
        }
        for (int axis = 0; axis < wire.view().axes_size(); ++axis) {
          const compile::v1::Axis& extent = wire.view().axes(axis);
          if (extent.extent_case() == compile::v1::Axis::kSymbol &&
              extent.symbol() < symbols_.size()) {
            symbols_[extent.symbol()] = parameter.array.shape[axis];
          }
        }
      }
      parameters->push_back(std::move(parameter));
    }
    return absl::OkStatus();
  }

  absl::Status Generate(const compile::v1::ViewParameter& view,
                        KernelArguments::Parameter* parameter) {
    int64_t count = 1;
    for (const compile::v1::Axis& axis : view.axes()) {
      const std::optional<int64_t> extent = ExtentOf(axis);
      if (!extent.has_value() || *extent < 0 || __builtin_mul_overflow(count, *extent, &count)) {
        return absl::InvalidArgumentError(
            absl::StrCat("give an array for ", parameter->name, ": its shape cannot be generated"));
      }
      parameter->array.shape.push_back(*extent);
    }
    const int64_t bytes = StorageBytes(parameter->dtype);
    if (count > kMaxGeneratedBytes / bytes) {
      return absl::InvalidArgumentError(absl::StrCat(parameter->name, " would be too large"));
    }
    parameter->array.data.resize(count * bytes);
    if (view.access() == compile::v1::ACCESS_OUT) return absl::OkStatus();
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t bits = RandomBits(parameter->dtype, random_);
      for (int64_t b = 0; b < bytes; ++b) {
        parameter->array.data[i * bytes + b] = static_cast<char>(bits >> (8 * b));
      }
    }
    return absl::OkStatus();
  }

  std::optional<int64_t> ExtentOf(const compile::v1::Axis& axis) const {
    const auto symbol = [this](uint32_t index) {
      return index < symbols_.size() ? symbols_[index] : std::nullopt;
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

  void AddView(const KernelArguments::Parameter& parameter, execute::v1::View* view) {
    view->set_allocation(views_++);
    int64_t stride = 1;
    const std::vector<int64_t>& shape = parameter.array.shape;
    view->mutable_extents()->Assign(shape.begin(), shape.end());
    view->mutable_strides()->Resize(static_cast<int>(shape.size()), 1);
    for (int axis = static_cast<int>(shape.size()) - 1; axis >= 0; --axis) {
      view->set_strides(axis, stride);
      stride *= std::max<int64_t>(shape[axis], 1);
    }
  }

  const Manifest& manifest_;
  const ArgumentNames& names_;
  const ArgumentFlags& flags_;
  std::vector<std::optional<int64_t>> symbols_;
  std::mt19937_64 random_{1};
  uint32_t views_ = 0;
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
