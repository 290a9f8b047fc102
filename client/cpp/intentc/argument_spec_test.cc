// The forms of --arg.

#include "client/cpp/intentc/argument_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace intent::client {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(ArgumentSpec, FilesEndInNpy) {
  EXPECT_EQ(std::get<FileSpec>(*ParseArgumentSpec("data/x.npy")).path, "data/x.npy");
}

TEST(ArgumentSpec, RandomHasShapeAndSeed) {
  const RandomSpec full = std::get<RandomSpec>(*ParseArgumentSpec("random:3x4:7"));
  EXPECT_THAT(full.shape, Optional(ElementsAre(3, 4)));
  EXPECT_EQ(full.seed, 7u);
  EXPECT_THAT(std::get<RandomSpec>(*ParseArgumentSpec("random:3,4")).shape,
              Optional(ElementsAre(3, 4)));
  EXPECT_EQ(std::get<RandomSpec>(*ParseArgumentSpec("random")).shape, std::nullopt);
  EXPECT_THAT(std::get<RandomSpec>(*ParseArgumentSpec("random:scalar")).shape,
              Optional(ElementsAre()));
}

TEST(ArgumentSpec, ZerosHasAShape) {
  EXPECT_THAT(std::get<ZerosSpec>(*ParseArgumentSpec("zeros:0x5")).shape,
              Optional(ElementsAre(0, 5)));
}

TEST(ArgumentSpec, EverythingElseIsAValue) {
  for (const char* text : {"1", "-1.5e3", "true", "bits(0x7fc0)", "randomly"}) {
    EXPECT_EQ(std::get<ValueSpec>(*ParseArgumentSpec(text)).text, text);
  }
}

TEST(ArgumentSpec, WrongShapesAndSeedsAreRefused) {
  for (const char* text : {"random:", "random:3y4", "random:-3", "random:3x", "zeros:3:1",
                           "random:3:seed", "random:3:1:2", "zeros:99999999999999999999"}) {
    EXPECT_FALSE(ParseArgumentSpec(text).ok()) << text;
  }
}

}  // namespace
}  // namespace intent::client
