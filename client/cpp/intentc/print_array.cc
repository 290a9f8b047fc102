#include "client/cpp/intentc/print_array.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/ir/scalar_text.h"

namespace intent::client {
namespace {

constexpr size_t kSummaryElements = 8;

std::string ElementText(const std::string& bytes, size_t element, DType dtype) {
  const size_t size = StorageBytes(dtype);
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + element * size, size);
  return ScalarToText({dtype, bits});
}

// The depth of the brackets that close after `element`: how many inner axes end there.
size_t ClosedBy(size_t element, const std::vector<int64_t>& shape) {
  size_t closed = 0;
  int64_t block = 1;
  while (closed < shape.size()) {
    block *= shape[shape.size() - 1 - closed];
    if ((static_cast<int64_t>(element) + 1) % block != 0) break;
    ++closed;
  }
  return closed;
}

}  // namespace

std::string Summarize(const Array& array, DType dtype) {
  const std::string bytes = RowMajorBytes(array, dtype);
  const size_t count = bytes.size() / StorageBytes(dtype);
  std::string text =
      absl::StrCat(std::string(DTypeName(dtype)), " [", array.shape.empty() ? "" : " ",
                   absl::StrJoin(array.shape, " "), " ]");
  for (size_t i = 0; i < std::min(count, kSummaryElements); ++i) {
    absl::StrAppend(&text, " ", ElementText(bytes, i, dtype));
  }
  if (count > kSummaryElements) absl::StrAppend(&text, " ...");
  return text;
}

std::string FormatArray(const Array& array, DType dtype, size_t max_elements) {
  const std::string bytes = RowMajorBytes(array, dtype);
  const size_t count = bytes.size() / StorageBytes(dtype);
  const size_t rank = array.shape.size();
  std::string text(rank, '[');
  for (size_t i = 0; i < std::min(count, max_elements); ++i) {
    absl::StrAppend(&text, ElementText(bytes, i, dtype));
    const size_t closed = ClosedBy(i, array.shape);
    text.append(closed, ']');
    if (i + 1 == count) return text;
    if (closed == 0) {
      text.append(", ");
    } else {
      absl::StrAppend(&text, ",\n", std::string(rank - closed, ' '), std::string(closed, '['));
    }
  }
  if (count == 0) return absl::StrCat(text, std::string(rank, ']'));
  return absl::StrCat(text, "... ", count - max_elements, " more");
}

}  // namespace intent::client
