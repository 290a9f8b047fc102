#include "compiler/diag/report.h"

#include <gtest/gtest.h>

namespace intent {
namespace {

TEST(ReportTest, OptionsThenOperationsThenTotals) {
  const Report report = Ordered({
      {ReportTopic::kCode, kNoOrdinal, "7 loops"},
      {ReportTopic::kLoops, 9, "store: 16 lanes"},
      {ReportTopic::kNumerics, kNoOrdinal, "2 multiply-adds round once"},
      {ReportTopic::kMemory, 3, "exp: in memory"},
      {ReportTopic::kFusion, 9, "store: computes op 3"},
      {ReportTopic::kLoops, 9, "store: 16 lanes"},
      {ReportTopic::kOptions, kNoOrdinal, "opt_level=2"},
  });
  EXPECT_EQ(ToString(report),
            "options   opt_level=2\n"
            "memory    op 3  exp: in memory\n"
            "loops     op 9  store: 16 lanes\n"
            "fusion    op 9  store: computes op 3\n"
            "numerics  2 multiply-adds round once\n"
            "code      7 loops\n");
}

TEST(ReportTest, LongReportsAreCutAndSaySo) {
  Report report;
  for (uint32_t i = 0; i < 3 * kMostReportLines; ++i) {
    report.push_back({ReportTopic::kLoops, i, "4 lanes"});
  }
  report = Ordered(std::move(report));
  ASSERT_EQ(report.size(), kMostReportLines);
  EXPECT_EQ(report.back().text,
            std::to_string(2 * kMostReportLines + 1) + " more lines were left out");
}

TEST(ReportTest, ListsOfOperations) {
  EXPECT_EQ(OpList({4}), "op 4");
  EXPECT_EQ(OpList({4, 6, 7}), "op 4, op 6, op 7");
  EXPECT_EQ(OpList({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
            "op 0, op 1, op 2, op 3, op 4, op 5, op 6, op 7 and 2 more");
}

}  // namespace
}  // namespace intent
