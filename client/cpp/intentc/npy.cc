#include "client/cpp/intentc/npy.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cpp/intentc/files.h"

namespace intent::client {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kMaxHeaderBytes = 1 << 16;

// Type codes under which a dtype is read; it is written under the first. An empty list: NumPy has
// no place for it.
std::span<const std::string_view> Codes(DType dtype) {
  static constexpr std::string_view kBool[] = {"b1"}, kI8[] = {"i1"}, kI16[] = {"i2"},
                                    kI32[] = {"i4"}, kI64[] = {"i8"}, kU8[] = {"u1"},
                                    kU16[] = {"u2"}, kU32[] = {"u4"}, kU64[] = {"u8"},
                                    kF16[] = {"f2"}, kF32[] = {"f4"}, kF64[] = {"f8"},
                                    kBits8[] = {"u1", "V1", "f1"}, kBits16[] = {"u2", "V2"};
  switch (dtype) {
    case DType::kBool:
      return kBool;
    case DType::kI8:
      return kI8;
    case DType::kI16:
      return kI16;
    case DType::kI32:
      return kI32;
    case DType::kIndex:
    case DType::kI64:
      return kI64;
    case DType::kU8:
      return kU8;
    case DType::kU16:
      return kU16;
    case DType::kU32:
      return kU32;
    case DType::kU64:
      return kU64;
    case DType::kF16:
      return kF16;
    case DType::kF32:
      return kF32;
    case DType::kF64:
      return kF64;
    case DType::kBF16:
      return kBits16;
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
      return kBits8;
    default:
      return {};
  }
}

struct Header {
  std::string descriptor;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// The header's grammar: a Python dict of the three keys, in any order,
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  // What is wrong, or nothing.
  std::optional<std::string> Parse(Header* header) {
    bool seen[3] = {};
    if (!Take('{')) return "its header is no dictionary";
    while (!Take('}')) {
      const std::optional<std::string_view> key = String();
      if (!key.has_value() || !Take(':')) return "its header does not parse";
      const int position = *key == "descr"           ? 0
                           : *key == "fortran_order" ? 1
                           : *key == "shape"         ? 2
                                                     : 3;
      if (position == 3 || std::exchange(seen[position], true)) {
        return absl::StrCat("its header has an unexpected key '", std::string(*key), "'");
      }
      if (std::optional<std::string> problem = Value(position, header)) return problem;
      if (!Take(',') && !At('}')) return "its header does not parse";
    }
    if (!seen[0] || !seen[1] || !seen[2]) return "its header lacks a key";
    SkipSpace();
    return rest_.empty() ? std::nullopt : std::optional<std::string>("its header does not parse");
  }

 private:
  std::optional<std::string> Value(int key, Header* header) {
    if (key == 0) {
      const std::optional<std::string_view> text = String();
      if (!text.has_value()) return "it holds records, which are not read";
      header->descriptor = *text;
    } else if (key == 1) {
      header->fortran_order = Word("True");
      if (!header->fortran_order && !Word("False")) return "its order does not parse";
    } else if (!Shape(&header->shape)) {
      return "its shape does not parse";
    }
    return std::nullopt;
  }

  bool Shape(std::vector<int64_t>* shape) {
    if (!Take('(')) return false;
    while (!Take(')')) {
      SkipSpace();
      const size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
      int64_t extent = 0;
      if (shape->size() == kMaxRank ||
          !absl::SimpleAtoi(std::string(rest_.substr(0, digits)), &extent)) {
        return false;
      }
      rest_.remove_prefix(digits);
      shape->push_back(extent);
      if (!Take(',') && !At(')')) return false;
    }
    return true;
  }

  std::optional<std::string_view> String() {
    SkipSpace();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
    const size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool Word(std::string_view word) {
    SkipSpace();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  bool At(char c) {
    SkipSpace();
    return !rest_.empty() && rest_[0] == c;
  }

  bool Take(char c) {
    if (!At(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void SkipSpace() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size()));
  }

  std::string_view rest_;
};

std::vector<int64_t> Strides(const std::vector<int64_t>& shape, bool fortran_order) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t axis = fortran_order ? i : shape.size() - 1 - i;
    strides[axis] = stride;
    stride *= std::max<int64_t>(shape[axis], 1);
  }
  return strides;
}

absl::Status Fits(const std::string& descriptor, DType dtype) {
  const std::span<const std::string_view> codes = Codes(dtype);
  const std::string needed(DTypeName(dtype));
  if (codes.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("files have no ", needed));
  }
  if (descriptor.starts_with('>')) {
    return absl::InvalidArgumentError("it is big endian, which is not read");
  }
  const std::string code = descriptor.find_first_of("<|=") == 0 ? descriptor.substr(1) : descriptor;
  if (std::find(codes.begin(), codes.end(), code) == codes.end()) {
    return absl::InvalidArgumentError(absl::StrCat("it holds '", descriptor, "', but ", needed,
                                                   " ('", std::string(codes[0]), "') is needed"));
  }
  return absl::OkStatus();
}

}  // namespace

Array Array::Zeros(std::vector<int64_t> shape, DType dtype) {
  Array array;
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  array.strides = Strides(shape, /*fortran_order=*/false);
  array.shape = std::move(shape);
  array.data.assign(count * StorageBytes(dtype), '\0');
  return array;
}

absl::StatusOr<int64_t> ElementCount(const std::vector<int64_t>& shape, DType dtype,
                                     int64_t max_bytes) {
  const auto too_large = [] { return absl::ResourceExhaustedError("the array is too large"); };
  int64_t count = 1;
  // An extent of zero makes an array empty, but strides still multiply the others.
  int64_t span = 1;
  for (const int64_t extent : shape) {
    if (extent < 0) return absl::InvalidArgumentError("an extent is negative");
    if (__builtin_mul_overflow(span, std::max<int64_t>(extent, 1), &span)) return too_large();
    count *= extent;
  }
  if (count > max_bytes / StorageBytes(dtype)) return too_large();
  return count;
}

std::string RowMajorBytes(const Array& array, DType dtype) {
  if (array.strides == Strides(array.shape, /*fortran_order=*/false)) return array.data;
  const size_t bytes = StorageBytes(dtype);
  std::string result;
  result.reserve(array.data.size());
  std::vector<int64_t> coordinate(array.shape.size());
  int64_t element = 0;
  while (result.size() < array.data.size()) {
    result.append(array.data, element * bytes, bytes);
    for (size_t axis = coordinate.size(); axis-- > 0;) {
      element += array.strides[axis];
      if (++coordinate[axis] < array.shape[axis]) break;
      element -= coordinate[axis] * array.strides[axis];
      coordinate[axis] = 0;
    }
  }
  return result;
}

absl::StatusOr<Array> ParseNpy(std::string_view bytes, DType dtype) {
  const auto bad = [](const std::string& why) { return absl::InvalidArgumentError(why); };
  if (bytes.size() < 12 || !bytes.starts_with(kMagic)) return bad("it is no .npy file");
  const auto byte = [&](size_t i) { return size_t{static_cast<uint8_t>(bytes[i])}; };
  const size_t version = byte(6);
  if (version < 1 || version > 3) return bad("its format version is not known");
  const size_t begin = version == 1 ? 10 : 12;
  size_t size = byte(8) | byte(9) << 8;
  if (version != 1) size |= byte(10) << 16 | byte(11) << 24;
  if (size > bytes.size() - begin) return bad("it is truncated");
  if (size > kMaxHeaderBytes) return bad("its header is too long");
  Header header;
  if (const auto problem = HeaderParser(bytes.substr(begin, size)).Parse(&header)) {
    return bad(*problem);
  }
  if (absl::Status status = Fits(header.descriptor, dtype); !status.ok()) return status;
  const std::string_view data = bytes.substr(begin + size);
  const absl::StatusOr<int64_t> count =
      ElementCount(header.shape, dtype, static_cast<int64_t>(data.size()));
  if (!count.ok() || static_cast<size_t>(*count * StorageBytes(dtype)) != data.size()) {
    return bad(absl::StrCat("its ", data.size(), " bytes of data do not fit its shape (",
                            absl::StrJoin(header.shape, ", "), ")"));
  }
  if (dtype == DType::kBool &&
      std::any_of(data.begin(), data.end(), [](char c) { return c != 0 && c != 1; })) {
    return bad("a bool in it is neither 0 nor 1");
  }
  Array array;
  array.strides = Strides(header.shape, header.fortran_order);
  array.shape = std::move(header.shape);
  array.data = data;
  return array;
}

absl::StatusOr<Array> ReadNpy(const std::string& path, DType dtype) {
  const absl::StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<Array> array = ParseNpy(*bytes, dtype);
  if (array.ok()) return array;
  return absl::Status(array.status().code(), absl::StrCat(path, ": ", array.status().message()));
}

std::string FormatNpy(const Array& array, DType dtype) {
  const bool one_byte = StorageBytes(dtype) == 1;
  std::string header =
      absl::StrCat("{'descr': '", one_byte ? "|" : "<", std::string(Codes(dtype)[0]),
                   "', 'fortran_order': False, 'shape': (", absl::StrJoin(array.shape, ", "),
                   array.shape.size() == 1 ? "," : "", "), }");
  // The data begin at a multiple of 64 bytes.
  constexpr size_t kPreamble = 10;
  header.append(63 - (kPreamble + header.size()) % 64, ' ');
  header.push_back('\n');
  std::string bytes(kMagic);
  bytes.append({1, 0, static_cast<char>(header.size()), static_cast<char>(header.size() >> 8)});
  return absl::StrCat(bytes, header, RowMajorBytes(array, dtype));
}

absl::Status WriteNpy(const std::string& path, const Array& array, DType dtype) {
  if (Codes(dtype).empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": files have no ", std::string(DTypeName(dtype))));
  }
  return WriteFile(path, FormatNpy(array, dtype));
}

}  // namespace intent::client
