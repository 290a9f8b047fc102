#include "compiler/ir/source_map_codec.h"

#include <gtest/gtest.h>

#include "compiler/ir/utf8.h"
#include "intent/kir/v1/kir.pb.h"

namespace intent {
namespace {

SourceMap Full() {
  SourceMap map;
  map.files = {"softmax.py", "helpers.py"};
  map.spans = {{1, 2, 3, 4, 5}, {}, {0, 6, 7, 8, 9}};
  map.parameter_names = {"x", "größe"};
  map.parameter_spans = {{1, 10, 11, 12, 13}, {0, 14, 15, 16, 17}};
  map.symbol_names = {"M", "N"};
  map.constexpr_names = {"BLOCK"};
  map.enum_names = {"Mode", "Empty"};
  map.enum_member_names = {{"FAST", "EXACT"}, {}};
  map.kernel_name = "softmax";
  return map;
}

TEST(SourceMapCodec, KeepsEverything) {
  const SourceMap map = Full();
  const DecodedSourceMap decoded = DecodeSourceMap(EncodeSourceMap(map));
  ASSERT_TRUE(decoded.ok()) << ToString(decoded.diagnostics[0]);
  const SourceMap& back = *decoded.map;
  EXPECT_EQ(back.files, map.files);
  EXPECT_EQ(back.spans, map.spans);
  EXPECT_EQ(back.parameter_names, map.parameter_names);
  EXPECT_EQ(back.parameter_spans, map.parameter_spans);
  EXPECT_EQ(back.symbol_names, map.symbol_names);
  EXPECT_EQ(back.constexpr_names, map.constexpr_names);
  EXPECT_EQ(back.enum_names, map.enum_names);
  EXPECT_EQ(back.enum_member_names, map.enum_member_names);
  EXPECT_EQ(back.kernel_name, map.kernel_name);
}

TEST(SourceMapCodec, RefusesSpansInFilesThatAreNotThere) {
  SourceMap map = Full();
  map.spans[0].file = 2;
  const DecodedSourceMap decoded = DecodeSourceMap(EncodeSourceMap(map));
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(CodeText(decoded.diagnostics[0].code), "E0103");
}

TEST(SourceMapCodec, RefusesUnknownFieldsAndFormats) {
  intent::kir::v1::SourceMap message;
  EXPECT_FALSE(DecodeSourceMap(message.SerializeAsString()).ok());
  message.set_format(1);
  EXPECT_TRUE(DecodeSourceMap(message.SerializeAsString()).ok());
  message.GetReflection()->MutableUnknownFields(&message)->AddVarint(99, 1);
  const DecodedSourceMap decoded = DecodeSourceMap(message.SerializeAsString());
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(CodeText(decoded.diagnostics[0].code), "E0102");
}

TEST(SourceMapCodec, ObeysItsLimits) {
  const std::string bytes = EncodeSourceMap(Full());
  EXPECT_TRUE(DecodeSourceMap(bytes, {.bytes = bytes.size()}).ok());
  EXPECT_FALSE(DecodeSourceMap(bytes, {.bytes = bytes.size() - 1}).ok());
  EXPECT_FALSE(DecodeSourceMap(bytes, {.objects = 3}).ok());
  EXPECT_TRUE(DecodeSourceMap(bytes, {.text_bytes = 10}).ok());
  EXPECT_FALSE(DecodeSourceMap(bytes, {.text_bytes = 9}).ok());
}

TEST(SourceMapCodec, WritesNamesThatAreNoTextAsText) {
  SourceMap map;
  map.kernel_name = "a\xff\xc3\xa9\xed\xa0\x80";
  const DecodedSourceMap decoded = DecodeSourceMap(EncodeSourceMap(map));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded.map->kernel_name, "a?\xc3\xa9???");
}

TEST(Utf8, KnowsShortestFormsSurrogatesAndTheEnd) {
  EXPECT_TRUE(IsUtf8("aé€😀"));
  EXPECT_TRUE(IsUtf8(std::string_view("\0", 1)));
  EXPECT_FALSE(IsUtf8("\xc0\x80"));
  EXPECT_FALSE(IsUtf8("\xe0\x80\x80"));
  EXPECT_FALSE(IsUtf8("\xed\xa0\x80"));
  EXPECT_FALSE(IsUtf8("\xf4\x90\x80\x80"));
  EXPECT_FALSE(IsUtf8("\xe2\x82"));
  EXPECT_FALSE(IsUtf8("\x80"));
}

}  // namespace
}  // namespace intent
