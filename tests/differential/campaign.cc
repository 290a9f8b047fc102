#include "tests/differential/campaign.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>

#include "compiler/diag/check.h"
#include "tests/differential/kernel_generator.h"
#include "tests/differential/section.h"
#include "tests/differential/shrink.h"

namespace intent::testing {
namespace {

using Clock = std::chrono::steady_clock;

// A kernel that takes longer does not end.
constexpr auto kPatience = std::chrono::seconds(120);
constexpr auto kShrinkPatience = std::chrono::seconds(20);

std::vector<Way> WaysFor(uint64_t seed, const CampaignOptions& options) {
  const std::vector<Way>& all = AllWays();
  if (!options.way.empty()) {
    std::vector<Way> named;
    for (const std::vector<Way>* some : {&all, &EmulatedWays(), &CudaWays()}) {
      for (const Way& way : *some) {
        if (way.name.find(options.way) != std::string::npos) named.push_back(way);
      }
    }
    return named;
  }
  if (options.all_ways || seed % 100 == 0) return all;
  // Optimising is what takes time.
  std::vector<Way> interpreted, plain, optimised;
  for (const Way& way : all) {
    (way.target.empty() ? interpreted : way.opt_level == 0 ? plain : optimised).push_back(way);
  }
  std::vector<Way> ways = {interpreted[seed % interpreted.size()], plain[seed % plain.size()]};
  if (seed % options.optimise_every == 0) {
    ways.push_back(optimised[seed / options.optimise_every % optimised.size()]);
  }
  return ways;
}

struct Verdict {
  enum class Kind : uint8_t { kAgree, kInvalid, kDisagree } kind = Kind::kAgree;
  std::string text;
};

// The first way that disagrees.
Verdict VerdictOn(const Module& module, const CallData& data, bool may_fail,
                  const std::vector<Way>& ways) {
  Verdict verdict;
  std::string error;
  const auto kernel = TestKernel::Make(module, &error);
  if (kernel == nullptr) return {Verdict::Kind::kInvalid, error};
  const Outcome expected = kernel->Interpret(data);
  if (expected.failed && !may_fail) return {Verdict::Kind::kInvalid, expected.message};
  for (const Way& way : ways) {
    const std::string difference = kernel->Difference(expected, kernel->Run(data, way), data);
    if (difference.empty()) continue;
    verdict.kind = Verdict::Kind::kDisagree;
    verdict.text = way.name + ": " + difference;
    break;
  }
  return verdict;
}

std::string TitleOf(uint64_t seed) { return "seed " + std::to_string(seed) + " of random kernels"; }

std::vector<Way> Named(const std::vector<Way>& ways, const std::string& name) {
  std::vector<Way> found;
  for (const Way& way : ways) {
    if (way.name == name) found.push_back(way);
  }
  return found;
}

// The same kind of failure in the same way, so that shrinking does not wander off.
std::string Report(const GeneratedKernel& kernel, const std::vector<Way>& ways,
                   const std::string& text, uint64_t seed, bool shrink) {
  Case shown = {Clone(*kernel.module), kernel.data};
  if (shrink) {
    const std::string name = text.substr(0, text.find(':'));
    const std::string kind = text.substr(0, name.size() + 8);
    const std::vector<Way> failing = Named(ways, name);
    shown = Shrink(shown, [&](const Case& candidate) {
      return VerdictOn(*candidate.module, candidate.data, kernel.may_fail, failing)
          .text.starts_with(kind);
    });
  }
  return SectionOf(TitleOf(seed), text, *shown.module, shown.data);
}

std::string PathOf(const CampaignOptions& options, uint64_t seed) {
  return options.folder + "/" + std::to_string(seed) + ".kir";
}

void WriteText(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string ReadText(const std::string& path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

// One line to the process that collects.
void Say(int pipe, const std::string& line) {
  const std::string text = line + "\n";
  INTENT_CHECK(write(pipe, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

// Seeds first, first + step, ... of a worker: "at SEED" before each, "done SEED HOW" after it.
void Work(const CampaignOptions& options, uint64_t first, Clock::time_point deadline, int pipe) {
  for (uint64_t seed = first; seed < options.end; seed += static_cast<uint64_t>(options.jobs)) {
    if (options.seconds > 0 && Clock::now() > deadline) break;
    Say(pipe, "at " + std::to_string(seed));
    const std::string done = "done " + std::to_string(seed);
    const GeneratedKernel kernel = GenerateKernel(seed);
    if (kernel.module == nullptr) {
      WriteText(PathOf(options, seed), "the builder refused it: " + kernel.refusal);
      Say(pipe, done + " failed");
      continue;
    }
    const std::vector<Way> ways = WaysFor(seed, options);
    const Verdict verdict = VerdictOn(*kernel.module, kernel.data, kernel.may_fail, ways);
    if (verdict.kind == Verdict::Kind::kAgree) {
      Say(pipe, done + " agrees");
      continue;
    }
    const bool shrink = options.shrink && verdict.kind == Verdict::Kind::kDisagree;
    WriteText(PathOf(options, seed), Report(kernel, ways, verdict.text, seed, shrink));
    Say(pipe, done + " failed");
  }
  Say(pipe, "end");
}

// Runs `body` in a process of its own: its exit status, or -1 if it crashed or did not end.
int InProcess(const std::function<int()>& body) {
  const pid_t child = fork();
  INTENT_CHECK(child >= 0) << "fork failed";
  if (child == 0) {
    close(STDERR_FILENO);  // of crashes on purpose
    _exit(body());
  }
  const auto limit = Clock::now() + kShrinkPatience;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() > limit) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return -1;
    }
    usleep(500);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A kernel that ends its process, as small as it still does.
std::string ReportCrash(const CampaignOptions& options, uint64_t seed, const std::string& what) {
  const GeneratedKernel kernel = GenerateKernel(seed);
  if (kernel.module == nullptr) return what;
  Case shown = {Clone(*kernel.module), kernel.data};
  if (options.shrink) {
    const std::vector<Way> ways = WaysFor(seed, options);
    shown = Shrink(
        shown,
        [&](const Case& candidate) {
          return InProcess([&] {
                   VerdictOn(*candidate.module, candidate.data, kernel.may_fail, ways);
                   return 0;
                 }) < 0;
        },
        400);
  }
  return SectionOf(TitleOf(seed), what, *shown.module, shown.data);
}

class Worker {
 public:
  Worker(const CampaignOptions& options, uint64_t first, Clock::time_point deadline)
      : options_(options), deadline_(deadline), next_(first) {
    Start();
  }

  int pipe() const { return pipe_; }
  bool running() const { return pipe_ >= 0; }
  uint64_t next() const { return next_; }  // every seed of this worker below has run

  void Read(CampaignResult* result) {
    char bytes[4096];
    const ssize_t count = read(pipe_, bytes, sizeof bytes);
    if (count <= 0) return Lost("crashed", result);
    heard_ = Clock::now();
    text_.append(bytes, static_cast<size_t>(count));
    for (size_t end; (end = text_.find('\n')) != std::string::npos;) {
      const std::string line = text_.substr(0, end);
      text_.erase(0, end + 1);
      Hear(line, result);
    }
  }

  void CheckTime(CampaignResult* result) {
    if (running() && Clock::now() - heard_ > kPatience) Lost("did not end", result);
  }

  void Stop() {
    if (!running()) return;
    kill(child_, SIGKILL);
    Reap();
  }

 private:
  void Start() {
    int ends[2];
    INTENT_CHECK(::pipe(ends) == 0) << "no pipe";
    child_ = fork();
    INTENT_CHECK(child_ >= 0) << "fork failed";
    if (child_ == 0) {
      close(ends[0]);
      Work(options_, next_, deadline_, ends[1]);
      _exit(0);
    }
    close(ends[1]);
    pipe_ = ends[0];
    heard_ = Clock::now();
    text_.clear();
  }

  void Reap() {
    close(pipe_);
    pipe_ = -1;
    int status = 0;
    waitpid(child_, &status, 0);
  }

  void Hear(const std::string& line, CampaignResult* result) {
    std::istringstream words(line);
    std::string word, kind;
    uint64_t seed = 0;
    words >> word;
    if (word == "end") {
      ended_ = true;
      return;
    }
    words >> seed;
    if (word == "at") {
      next_ = seed;
    } else {
      words >> kind;
      next_ = seed + static_cast<uint64_t>(options_.jobs);
      ++result->kernels;
      if (kind == "failed") {
        result->failures.push_back({seed, ReadText(PathOf(options_, seed))});
      }
    }
  }

  void Lost(const std::string& how, CampaignResult* result) {
    if (how == "did not end") kill(child_, SIGKILL);
    Reap();
    if (ended_) return;
    const std::string report = ReportCrash(options_, next_, how);
    WriteText(PathOf(options_, next_), report);
    result->failures.push_back({next_, report});
    ++result->kernels;
    next_ += static_cast<uint64_t>(options_.jobs);
    Start();
  }

  const CampaignOptions& options_;
  Clock::time_point deadline_;
  uint64_t next_;
  pid_t child_ = -1;
  int pipe_ = -1;
  bool ended_ = false;
  Clock::time_point heard_;
  std::string text_;
};

}  // namespace

CampaignResult RunCampaign(const CampaignOptions& options) {
  CampaignResult result;
  const auto deadline =
      Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(options.seconds * 1000));
  std::vector<Worker> workers;
  for (int i = 0; i < options.jobs; ++i) {
    workers.emplace_back(options, options.first + static_cast<uint64_t>(i), deadline);
  }
  const auto full = [&] { return static_cast<int>(result.failures.size()) >= options.stop_after; };
  while (!full()) {
    std::vector<pollfd> pipes;
    std::vector<Worker*> owners;
    for (Worker& worker : workers) {
      if (!worker.running()) continue;
      pipes.push_back({worker.pipe(), POLLIN, 0});
      owners.push_back(&worker);
    }
    if (pipes.empty()) break;
    poll(pipes.data(), pipes.size(), 1000);
    for (size_t i = 0; i < pipes.size() && !full(); ++i) {
      if (pipes[i].revents != 0) owners[i]->Read(&result);
      owners[i]->CheckTime(&result);
    }
  }
  result.end = UINT64_MAX;
  for (Worker& worker : workers) {
    result.end = std::min(result.end, worker.next());
    worker.Stop();
  }
  result.end = std::min(result.end, options.end);
  return result;
}

}  // namespace intent::testing
