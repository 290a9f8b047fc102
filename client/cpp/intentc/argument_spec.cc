#include "client/cpp/intentc/argument_spec.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cpp/intentc/npy.h"

namespace intent::client {
namespace {

absl::StatusOr<ShapeSpec> ParseShape(const std::string& text) {
  ShapeSpec shape;
  if (text == "scalar") return shape;
  for (const std::string& part :
       std::vector<std::string>(absl::StrSplit(text, absl::ByAnyChar("x,")))) {
    int64_t extent = 0;
    if (!absl::SimpleAtoi(part, &extent) || extent < 0 || shape.size() == kMaxRank) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "' is no shape; one looks like 3x4, or scalar"));
    }
    shape.push_back(extent);
  }
  return shape;
}

}  // namespace

absl::StatusOr<ArgumentSpec> ParseArgumentSpec(const std::string& text) {
  if (text.ends_with(".npy")) return ArgumentSpec(FileSpec{text});
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  const bool random = parts[0] == "random";
  if (!random && parts[0] != "zeros") return ArgumentSpec(ValueSpec{text});
  if (parts.size() > (random ? 3u : 2u)) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' has too many parts"));
  }
  std::optional<ShapeSpec> shape;
  if (parts.size() > 1) {
    absl::StatusOr<ShapeSpec> parsed = ParseShape(parts[1]);
    if (!parsed.ok()) return parsed.status();
    shape = *std::move(parsed);
  }
  if (!random) return ArgumentSpec(ZerosSpec{std::move(shape)});
  RandomSpec spec{std::move(shape)};
  if (parts.size() == 3 && !absl::SimpleAtoi(parts[2], &spec.seed)) {
    return absl::InvalidArgumentError(absl::StrCat("'", parts[2], "' is no seed"));
  }
  return ArgumentSpec(std::move(spec));
}

}  // namespace intent::client
