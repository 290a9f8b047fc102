#include "client/cpp/connection.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace intent::client {
namespace {

using Milliseconds = std::chrono::milliseconds;
using Clock = std::chrono::system_clock;

constexpr Milliseconds kWaitForDaemon{100};
constexpr Milliseconds kLongestWait{2000};  // a daemon that asks for more is not waited for
constexpr char kRequestIdPayload[] = "intent.request_id";

std::optional<std::string> Trailer(const grpc::ClientContext& context, const char* name) {
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto found = trailers.find(name);
  if (found == trailers.end()) return std::nullopt;
  return std::string(found->second.data(), found->second.size());
}

// How long to wait before the one further try; nothing when it would not help.
std::optional<Milliseconds> RetryWait(const grpc::Status& status,
                                      const grpc::ClientContext& context,
                                      Connection::Repeat repeat) {
  Milliseconds wait{0};
  int64_t asked = 0;
  if (const auto text = Trailer(context, "retry-after-ms"); text.has_value()) {
    if (absl::SimpleAtoi(*text, &asked) && asked <= kLongestWait.count()) {
      wait = Milliseconds(asked);
    }
  } else if (repeat == Connection::Repeat::kAlways &&
             (status.error_code() == grpc::StatusCode::UNAVAILABLE ||
              status.error_code() == grpc::StatusCode::ABORTED)) {
    wait = kWaitForDaemon;
  }
  if (wait.count() <= 0) return std::nullopt;
  thread_local std::minstd_rand random(std::random_device{}());
  const int64_t half = wait.count() / 2;
  return Milliseconds(std::uniform_int_distribution<int64_t>(half, wait.count() + half)(random));
}

bool Sleep(Milliseconds time, Cancellation* cancellation) {
  if (cancellation != nullptr) return cancellation->SleepFor(time);
  std::this_thread::sleep_for(time);
  return true;
}

}  // namespace

std::string RequestIdOf(const absl::Status& status) {
  return std::string(status.GetPayload(kRequestIdPayload).value_or(absl::Cord()));
}

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const std::string& address) {
  const std::string scheme = "unix:";
  std::string path = address.starts_with(scheme) ? address.substr(scheme.size()) : "";
  if (path.starts_with("///")) path.erase(0, 2);
  if (path.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", address, "' is no address of a daemon: it has the form unix:/path"));
  }
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // A daemon that was started again is found by the further try.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  auto channel =
      grpc::CreateCustomChannel(scheme + path, grpc::InsecureChannelCredentials(), arguments);
  return std::unique_ptr<Connection>(new Connection(address, path, std::move(channel)));
}

Connection::Connection(std::string address, std::string path,
                       std::shared_ptr<grpc::Channel> channel)
    : address_(std::move(address)), path_(std::move(path)), channel_(std::move(channel)) {}

absl::Status Connection::CheckOwner() const {
  struct stat facts;
  if (stat(path_.c_str(), &facts) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) return absl::ErrnoToStatus(errno, address_);
    return absl::UnavailableError(absl::StrCat("there is no daemon at ", address_,
                                               "; 'intent-compiled --listen ", address_,
                                               "' starts one"));
  }
  if (!S_ISSOCK(facts.st_mode)) {
    return absl::UnavailableError(absl::StrCat(address_, " is no socket"));
  }
  if (facts.st_uid != geteuid() && facts.st_uid != 0) {
    return absl::PermissionDeniedError(absl::StrCat("the daemon at ", address_, " belongs to user ",
                                                    facts.st_uid,
                                                    ": only your own and root's are trusted"));
  }
  return absl::OkStatus();
}

absl::Status Connection::ToStatus(const grpc::Status& status,
                                  const grpc::ClientContext& context) const {
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  std::string message = status.error_message();
  const std::optional<std::string> id = Trailer(context, "request-id");
  if (!id.has_value()) {
    // Not the daemon's words: the connection's.
    return absl::Status(code, absl::StrCat(address_, ": ", message));
  }
  if (!absl::StrContains(message, *id)) absl::StrAppend(&message, " [request ", *id, "]");
  absl::Status result(code, message);
  result.SetPayload(kRequestIdPayload, absl::Cord(*id));
  return result;
}

absl::Status Connection::Call(const CallOptions& options, Repeat repeat,
                              const Attempt& attempt) const {
  const std::optional<Clock::time_point> deadline =
      options.timeout.has_value() ? std::optional(Clock::now() + *options.timeout) : std::nullopt;
  for (bool last = false;; last = true) {
    // A call whose time is up before it begins is not sent: the daemon might still answer in time.
    if (deadline.has_value() && Clock::now() >= *deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat(address_, ": the time given for the call is up"));
    }
    if (absl::Status owner = CheckOwner(); !owner.ok()) return owner;
    grpc::ClientContext context;
    if (deadline.has_value()) context.set_deadline(*deadline);
    grpc::Status status;
    {
      Cancellation::Registration registration(options.cancellation,
                                              [&context] { context.TryCancel(); });
      status = attempt(context);
    }
    if (status.ok()) return absl::OkStatus();
    const std::optional<Milliseconds> wait = RetryWait(status, context, repeat);
    if (last || !wait.has_value() || (deadline.has_value() && Clock::now() + *wait >= *deadline)) {
      return ToStatus(status, context);
    }
    if (!Sleep(*wait, options.cancellation)) return absl::CancelledError("cancelled by the caller");
  }
}

}  // namespace intent::client
