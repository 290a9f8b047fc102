#include "client/cpp/report.h"

#include <gtest/gtest.h>

namespace intent::client {
namespace {

void Add(compile::v1::Manifest* manifest, const std::string& stage, int ordinal,
         const std::string& text) {
  compile::v1::ReportLine* line = manifest->add_report();
  line->set_stage(stage);
  if (ordinal >= 0) line->set_ordinal(static_cast<uint32_t>(ordinal));
  line->set_text(text);
}

Sources SomeSources() {
  Sources sources;
  sources.name = "kernel.kir";
  sources.map.files = {"kernel.kir", "helpers.kir"};
  sources.map.spans = {{0, 3, 1}, {0, 5, 9}, {1, 2, 1}};
  return sources;
}

TEST(RenderReport, OrdinalsBecomePlaces) {
  compile::v1::Manifest manifest;
  Add(&manifest, "options", -1, "opt_level=2");
  Add(&manifest, "fusion", 0, "reduce: fused into its loops: mul (op 1), exp (op 2), add (op 77)");
  Add(&manifest, "loops", 99, "stop 4 lanes");
  EXPECT_EQ(RenderReport(manifest, {1, 0, 2}, SomeSources()),
            "options: opt_level=2\n"
            "kernel.kir:5: fusion: reduce: fused into its loops: mul (line 3), "
            "exp (helpers.kir:2), add (op 77)\n"
            "loops: stop 4 lanes\n");
}

TEST(RenderReport, WhatADaemonSaysIsOnlyText) {
  compile::v1::Manifest manifest;
  Add(&manifest, "lo\x1bps", 1, "op 99999999999999 op op 0\nop \x07");
  EXPECT_EQ(RenderReport(manifest, {1, 0, 2}, SomeSources()),
            "kernel.kir:3: lo?ps: op 99999999999999 op line 5?op ?\n");
}

}  // namespace
}  // namespace intent::client
