// The client against a real daemon.

#include "client/cpp/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "client/cpp/arguments.h"
#include "client/cpp/daemon_fixture.h"
#include "client/cpp/render.h"
#include "compiler/ir/codec.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/source_map_codec.h"

namespace intent::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Sample {
  std::string module;
  Sources sources;
  std::string source_map;
};

Sample ReadSample(const std::string& name) {
  const std::string path = "client/cpp/testdata/" + name;
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  ParsedModule parsed = ParseModule(text.str(), path);
  EXPECT_TRUE(parsed.ok()) << path;
  return {EncodeModule(*parsed.module),
          {path, parsed.source_map, {text.str()}},
          EncodeSourceMap(parsed.source_map)};
}

CompileParameters Saxpy(std::string target = "interp") {
  return {.module = ReadSample("saxpy.kir").module, .target = std::move(target)};
}

// One daemon for all tests but those that stop it.
class ClientTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    daemon_ = new DaemonProcess();
    daemon_->Start();
  }
  static void TearDownTestSuite() {
    delete daemon_;
    daemon_ = nullptr;
  }

  compile::v1::Artifact Compile(const CompileParameters& parameters) {
    const absl::StatusOr<CompileOutcome> outcome = client_->Compile(parameters);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    if (!outcome.ok() || !std::holds_alternative<compile::v1::Artifact>(*outcome)) return {};
    return std::get<compile::v1::Artifact>(*outcome);
  }

  absl::StatusOr<ExecuteOutcome> RunSaxpy(const std::string& id, float a, std::vector<float>& x,
                                          std::vector<float>& y, std::vector<float>& out) {
    std::vector<HostAllocation> allocations;
    for (std::vector<float>* array : {&x, &y, &out}) {
      allocations.push_back({reinterpret_cast<char*>(array->data()), 4 * array->size(),
                             array != &out, array == &out});
    }
    const int64_t xs[] = {static_cast<int64_t>(x.size())}, ys[] = {static_cast<int64_t>(y.size())},
                  outs[] = {static_cast<int64_t>(out.size())};
    return client_->Execute(id, allocations,
                            {ScalarOf(a), ViewOf(0, xs), ViewOf(1, ys), ViewOf(2, outs)});
  }

  static DaemonProcess* daemon_;
  std::unique_ptr<Client> client_ = *Client::Connect(daemon_->address());
};
DaemonProcess* ClientTest::daemon_ = nullptr;

TEST_F(ClientTest, CompilesAndSaysWhereTheAnswerCameFrom) {
  const CompileParameters parameters{.module = ReadSample("softmax.kir").module,
                                     .target = "interp"};
  const compile::v1::Artifact first = Compile(parameters);
  EXPECT_EQ(first.id().size(), 32u);
  EXPECT_EQ(first.cache().where(), compile::v1::CacheInfo::WHERE_COMPILED);
  const compile::v1::Artifact second = Compile(parameters);
  EXPECT_EQ(second.cache().where(), compile::v1::CacheInfo::WHERE_MEMORY);
  EXPECT_EQ(second.id(), first.id());
}

TEST_F(ClientTest, BypassCompilesAnew) {
  CompileParameters parameters = Saxpy();
  Compile(parameters);
  parameters.cache = compile::v1::CACHE_POLICY_BYPASS;
  EXPECT_EQ(Compile(parameters).cache().where(), compile::v1::CacheInfo::WHERE_COMPILED);
}

TEST_F(ClientTest, DiagnosticsOfTheDaemonAreShownAtTheirPlace) {
  const Sample bad = ReadSample("bad.kir");
  const auto outcome =
      client_->Compile({.module = bad.module, .source_map = bad.source_map, .target = "interp"});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const std::string text = Render(std::get<compile::v1::Diagnostics>(*outcome), bad.sources);
  EXPECT_THAT(text, HasSubstr("client/cpp/testdata/bad.kir:5:"));
  EXPECT_THAT(text, HasSubstr("%3 = binary add %1, %2"));
  EXPECT_THAT(text, HasSubstr("client/cpp/testdata/bad.kir:6:"));
}

TEST_F(ClientTest, BindingsChooseTheProgram) {
  const std::string module = ReadSample("scaled.kir").module;
  std::string ids[2];
  for (const bool scaled : {false, true}) {
    compile::v1::Binding binding;
    binding.set_parameter(1);
    binding.set_bool_value(scaled);
    ids[scaled] = Compile({.module = module, .bindings = {binding}, .target = "interp"}).id();
  }
  EXPECT_NE(ids[0], ids[1]);
}

TEST_F(ClientTest, PayloadsComeInlineAndByName) {
  CompileParameters parameters = Saxpy();
  parameters.inline_payloads = {"kir"};
  const compile::v1::Artifact artifact = Compile(parameters);
  std::string inlined;
  for (const compile::v1::Payload& payload : artifact.payloads()) {
    if (payload.name() == "kir") inlined = payload.data();
  }
  ASSERT_THAT(inlined, Not(IsEmpty()));
  const auto fetched = client_->GetPayload(artifact.id(), "kir");
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  EXPECT_EQ(*fetched, inlined);
  EXPECT_TRUE(DecodeModule(*fetched).ok());
  EXPECT_EQ(client_->GetPayload(artifact.id(), "nothing").status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(ClientTest, LookupFindsWhatWasCompiledAndCompilesNothing) {
  const compile::v1::Artifact artifact = Compile(Saxpy());
  for (const auto& found : {client_->Lookup(artifact.id()), client_->Lookup(Saxpy())}) {
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_TRUE(found->has_value());
    EXPECT_EQ((*found)->id(), artifact.id());
  }
  const auto nothing = client_->Lookup(std::string(32, 'x'));
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_FALSE(nothing->has_value());
}

TEST_F(ClientTest, ExecutesInline) {
  const compile::v1::Artifact artifact = Compile(Saxpy());
  std::vector<float> x = {1, 2, 3}, y = {10, 20, 30}, out(3);
  const auto outcome = RunSaxpy(artifact.id(), 2, x, y, out);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ASSERT_TRUE(std::holds_alternative<execute::v1::Completed>(*outcome));
  EXPECT_THAT(out, ElementsAre(12, 24, 36));
}

TEST_F(ClientTest, ExecutesInChunksBeyondOneMebibyte) {
  const compile::v1::Artifact artifact = Compile(Saxpy("native"));
  constexpr size_t kSize = 700'001;
  std::vector<float> x(kSize), y(kSize, 1), out(kSize);
  for (size_t i = 0; i < kSize; ++i) x[i] = static_cast<float>(i % 1000);
  const auto outcome = RunSaxpy(artifact.id(), 3, x, y, out);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ASSERT_TRUE(std::holds_alternative<execute::v1::Completed>(*outcome));
  for (size_t i = 0; i < kSize; ++i) ASSERT_EQ(out[i], 3 * static_cast<float>(i % 1000) + 1) << i;
}

TEST_F(ClientTest, ViewsOfOneAllocationOverlapAndRunBackwards) {
  const compile::v1::Artifact artifact = Compile(Saxpy());
  std::vector<float> memory = {1, 2, 3, 4};
  std::vector<float> out(2);
  const std::vector<HostAllocation> allocations = {
      {reinterpret_cast<char*>(memory.data()), 16, true, false},
      {reinterpret_cast<char*>(out.data()), 8, false, true}};
  const int64_t extents[] = {2}, backwards[] = {-1}, still[] = {0}, forwards[] = {1};
  const auto outcome =
      client_->Execute(artifact.id(), allocations,
                       {ScalarOf(10.0f), ViewOf(0, 3, extents, backwards),
                        ViewOf(0, 1, extents, still), ViewOf(1, 0, extents, forwards)});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_THAT(out, ElementsAre(42, 32));
}

TEST_F(ClientTest, ShapesThatDisagreeAreARunErrorAndLeaveOutputsAlone) {
  const compile::v1::Artifact artifact = Compile(Saxpy());
  std::vector<float> x = {1, 2, 3}, y = {1, 2}, out = {7, 7, 7};
  const auto outcome = RunSaxpy(artifact.id(), 2, x, y, out);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const auto& error = std::get<execute::v1::RunError>(*outcome);
  EXPECT_EQ(error.kind(), execute::v1::RunError::KIND_BAD_SHAPE);
  EXPECT_THAT(Render(error, ReadSample("saxpy.kir").sources),
              HasSubstr("y, axis 0 has 2, but 3 is needed"));
  EXPECT_THAT(out, ElementsAre(7, 7, 7));
}

TEST_F(ClientTest, StatusesCarryTheRequestIdOfTheDaemonsLog) {
  const auto outcome = client_->Compile(Saxpy("no-such-target"));
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kFailedPrecondition) << outcome.status();
  const std::string id = RequestIdOf(outcome.status());
  ASSERT_THAT(id, Not(IsEmpty()));
  EXPECT_THAT(std::string(outcome.status().message()), HasSubstr(id));
}

TEST_F(ClientTest, SaysWhatTheDaemonIs) {
  const auto capabilities = client_->Capabilities();
  ASSERT_TRUE(capabilities.ok()) << capabilities.status();
  EXPECT_THAT(capabilities->targets(), testing::Contains("interp"));
  const auto before = client_->Statistics();
  Compile(Saxpy());
  const auto after = client_->Statistics();
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(after->requests(), before->requests() + 1);
  const auto config = client_->Config();
  ASSERT_TRUE(config.ok()) << config.status();
  bool found = false;
  for (const admin::v1::Setting& setting : config->settings()) {
    found |= setting.key() == "listen" && setting.values(0) == daemon_->address();
  }
  EXPECT_TRUE(found);
}

TEST_F(ClientTest, ADeadlineEndsTheCall) {
  const auto outcome = client_->Compile(Saxpy("native"), {.timeout = std::chrono::milliseconds(0)});
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kDeadlineExceeded) << outcome.status();
}

TEST_F(ClientTest, ACancelledCallEndsAsCancelled) {
  Cancellation cancellation;
  cancellation.Cancel();
  const auto outcome = client_->Compile(Saxpy("native"), {.cancellation = &cancellation});
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kCancelled) << outcome.status();
}

TEST_F(ClientTest, IsSharedByThreads) {
  const CompileParameters parameters = Saxpy();
  const std::string id = Compile(parameters).id();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 10; ++j) EXPECT_EQ(Compile(parameters).id(), id);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CancellationTest, StopsWhatIsRegisteredAndWhatComesLater) {
  Cancellation cancellation;
  int stopped = 0;
  {
    Cancellation::Registration gone(&cancellation, [&] { stopped += 100; });
  }
  Cancellation::Registration before(&cancellation, [&] { ++stopped; });
  cancellation.Cancel();
  cancellation.Cancel();
  Cancellation::Registration after(&cancellation, [&] { ++stopped; });
  EXPECT_EQ(stopped, 2);
  EXPECT_FALSE(cancellation.SleepFor(std::chrono::hours(1)));
}

TEST(Lost, ADaemonThatWasStartedAgainIsFound) {
  DaemonProcess daemon;
  daemon.Start();
  const auto client = *Client::Connect(daemon.address());
  ASSERT_TRUE(client->Statistics().ok());
  daemon.Kill();
  daemon.Start();
  const auto statistics = client->Statistics();
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  EXPECT_EQ(statistics->requests(), 0u);
}

TEST(Lost, NoDaemonIsUnavailableAndSaysHowToStartOne) {
  DaemonProcess daemon;
  const auto client = *Client::Connect(daemon.address());
  const absl::Status never = client->Statistics().status();
  EXPECT_EQ(never.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(never.message()),
              HasSubstr("intent-compiled --listen " + daemon.address()));
  daemon.Start();
  daemon.Kill();
  EXPECT_EQ(client->Statistics().status().code(), absl::StatusCode::kUnavailable);
}

TEST(Trust, ASocketOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can give a socket to another user";
  DaemonProcess daemon;
  daemon.Start();
  ASSERT_EQ(chown(daemon.socket_path().c_str(), 12345, 12345), 0);
  const absl::Status status = (*Client::Connect(daemon.address()))->Statistics().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("12345"));
}

TEST(Trust, AFileThatIsNoSocketIsRefused) {
  DaemonProcess daemon;
  std::ofstream(daemon.socket_path()) << "text";
  EXPECT_THAT(std::string((*Client::Connect(daemon.address()))->Statistics().status().message()),
              HasSubstr("is no socket"));
}

TEST(Address, OnlyUnixSocketsAreServed) {
  for (const char* address : {"", "unix:", "localhost:80", "dns:///host:1", "/tmp/socket"}) {
    EXPECT_EQ(Client::Connect(address).status().code(), absl::StatusCode::kInvalidArgument)
        << address;
  }
  EXPECT_TRUE(Client::Connect("unix:///tmp/socket").ok());
}

TEST(Example, BuildsCompilesAndRuns) {
  DaemonProcess daemon;
  daemon.Start();
  const std::string command =
      DaemonProcess::Programs() + "/intent_example_saxpy " + daemon.address();
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace intent::client
