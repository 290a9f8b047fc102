#include "client/cpp/npy.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace intent::client {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;

const char* Descriptor(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "|b1";
    case DType::kIndex:
    case DType::kI64:
      return "<i8";
    case DType::kI8:
      return "|i1";
    case DType::kI16:
      return "<i2";
    case DType::kI32:
      return "<i4";
    case DType::kU8:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
      return "|u1";
    case DType::kU16:
    case DType::kBF16:
      return "<u2";
    case DType::kU32:
      return "<u4";
    case DType::kU64:
      return "<u8";
    case DType::kF16:
      return "<f2";
    case DType::kF32:
      return "<f4";
    case DType::kF64:
      return "<f8";
    default:
      return "";
  }
}

// The text after `key` up to one of `ends`, of a header such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
std::string FieldOf(const std::string& header, const std::string& key, const char* ends) {
  const size_t at = header.find(key);
  if (at == std::string::npos) return "";
  const size_t begin = at + key.size();
  return header.substr(begin, header.find_first_of(ends, begin) - begin);
}

}  // namespace

absl::StatusOr<Array> ReadNpy(const std::string& path, DType dtype) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto bad = [&](const std::string& why) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", why));
  };
  if (bytes.size() < 12 || bytes.compare(0, kMagicBytes, kMagic) != 0) return bad("no .npy file");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(bytes[i])); };
  const bool first_version = bytes[6] == 1;
  const size_t header_begin = first_version ? 10 : 12;
  size_t header_size = byte(8) | byte(9) << 8;
  if (!first_version) header_size |= byte(10) << 16 | byte(11) << 24;
  if (header_size > bytes.size() - header_begin) return bad("truncated");
  const std::string header = bytes.substr(header_begin, header_size);
  if (header.find("'fortran_order': False") == std::string::npos) {
    return bad("only row-major arrays are read");
  }
  const std::string descriptor = FieldOf(header, "'descr': '", "'");
  if (descriptor != Descriptor(dtype)) {
    return bad(
        absl::StrCat("holds ", descriptor, ", but ", std::string(DTypeName(dtype)), " is needed"));
  }
  Array array;
  std::istringstream shape(FieldOf(header, "'shape': (", ")"));
  uint64_t count = 1;
  for (std::string extent; std::getline(shape, extent, ',');) {
    if (extent.find_first_not_of(' ') == std::string::npos) continue;
    array.shape.push_back(std::atoll(extent.c_str()));
    if (array.shape.back() < 0 ||
        __builtin_mul_overflow(count, static_cast<uint64_t>(array.shape.back()), &count)) {
      return bad("an impossible shape");
    }
  }
  array.data = bytes.substr(header_begin + header_size);
  if (__builtin_mul_overflow(count, static_cast<uint64_t>(StorageBytes(dtype)), &count) ||
      count != array.data.size()) {
    return bad("its size does not fit its shape");
  }
  return array;
}

absl::Status WriteNpy(const std::string& path, DType dtype, const Array& array) {
  std::string header =
      absl::StrCat("{'descr': '", Descriptor(dtype), "', 'fortran_order': False, 'shape': (",
                   absl::StrJoin(array.shape, ", "), array.shape.size() == 1 ? "," : "", "), }");
  // The data begin at a multiple of 64 bytes.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header.push_back('\n');
  std::ofstream file(path, std::ios::binary);
  const uint16_t size = static_cast<uint16_t>(header.size());
  file.write(kMagic, kMagicBytes);
  file.put(1).put(0).put(static_cast<char>(size)).put(static_cast<char>(size >> 8));
  file << header << array.data;
  file.flush();
  if (!file) return absl::UnavailableError(absl::StrCat("cannot write ", path));
  return absl::OkStatus();
}

}  // namespace intent::client
