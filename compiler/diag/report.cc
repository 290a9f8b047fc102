#include "compiler/diag/report.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace intent {
namespace {

constexpr size_t kMostListed = 8;

// Where a line stands: before, among or after the operations.
std::tuple<int, uint32_t, ReportTopic> PlaceOf(const ReportLine& line) {
  if (line.topic == ReportTopic::kOptions) return {0, 0, line.topic};
  if (line.ordinal != kNoOrdinal) return {1, line.ordinal, ReportTopic::kOptions};
  return {2, 0, line.topic};
}

}  // namespace

std::string_view NameOf(ReportTopic topic) {
  switch (topic) {
    case ReportTopic::kOptions:
      return "options";
    case ReportTopic::kFusion:
      return "fusion";
    case ReportTopic::kMemory:
      return "memory";
    case ReportTopic::kLoops:
      return "loops";
    case ReportTopic::kNumerics:
      return "numerics";
    case ReportTopic::kBounds:
      return "bounds";
    case ReportTopic::kCode:
      return "code";
  }
  return "";
}

Report Ordered(Report report) {
  std::stable_sort(report.begin(), report.end(), [](const ReportLine& a, const ReportLine& b) {
    return PlaceOf(a) < PlaceOf(b);
  });
  Report ordered;
  std::set<std::tuple<ReportTopic, uint32_t, std::string>> seen;
  for (ReportLine& line : report) {
    if (seen.emplace(line.topic, line.ordinal, line.text).second) {
      ordered.push_back(std::move(line));
    }
  }
  if (ordered.size() > kMostReportLines) {
    const size_t left_out = ordered.size() - (kMostReportLines - 1);
    ordered.resize(kMostReportLines - 1);
    ordered.push_back(
        {ReportTopic::kCode, kNoOrdinal, std::to_string(left_out) + " more lines were left out"});
  }
  return ordered;
}

std::string ToString(const Report& report) {
  std::string text;
  for (const ReportLine& line : report) {
    std::string head(NameOf(line.topic));
    head.resize(10, ' ');
    if (line.ordinal != kNoOrdinal) head += "op " + std::to_string(line.ordinal) + "  ";
    text += head + line.text + "\n";
  }
  return text;
}

std::string OpList(const std::vector<uint32_t>& ordinals) {
  std::string text;
  for (size_t i = 0; i < ordinals.size() && i < kMostListed; ++i) {
    text += (i == 0 ? "op " : ", op ") + std::to_string(ordinals[i]);
  }
  if (ordinals.size() > kMostListed) {
    text += " and " + std::to_string(ordinals.size() - kMostListed) + " more";
  }
  return text;
}

}  // namespace intent
