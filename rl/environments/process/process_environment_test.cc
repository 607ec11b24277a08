#include "rl/environments/process/process_environment.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace reprise::rl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

Dialogue TwoActions() {
  return {.place = {.seed = 7, .step = 3, .prompt = 5},
          .sample = 1,
          .task = {.prompt = "q\n", .answer = "\"a\""},
          .actions = {"one", "two"},
          .replies = {{.observation = "more"}}};
}

std::shared_ptr<ProcessClient> Client(const std::string& command, int64_t restarts = 0, double seconds = 5) {
  return std::make_shared<ProcessClient>(ProcessOptions{.command = command, .seconds = seconds, .restarts = restarts});
}

// A shell program that replies `reply` with the id of the request; it may use $n, the number of the request.
std::string Replying(const std::string& reply, const std::string& before = ":") {
  return absl::StrCat("n=0; while read -r line; do n=$((n+1)); id=${line#*'\"id\":'}; id=${id%%,*}; ", before,
                      "; printf '{\"id\":%s,%s}\\n' \"$id\" '", reply, "'; done");
}

constexpr char kGood[] = R"("observation":"so\n","reward":0.5,"done":false)";

absl::StatusOr<Reply> RunStep(const std::string& command, int64_t restarts = 0, double seconds = 5) {
  return ProcessEnvironment(Client(command, restarts, seconds)).Step(TwoActions());
}

TEST(ProcessEnvironmentTest, SendsEverythingThatTheReplyMayDependOn) {
  const std::string file = ::testing::TempDir() + "/asked.json";
  const std::string command = Replying(kGood, absl::StrCat("printf '%s' \"$line\" > ", file));
  ASSERT_OK_AND_ASSIGN(const Reply reply, RunStep(command));
  EXPECT_EQ(reply, (Reply{.observation = "so\n", .reward = 0.5}));
  std::string asked;
  std::getline(std::ifstream(file), asked);
  EXPECT_EQ(nlohmann::json::parse(asked), nlohmann::json::parse(R"({
    "id": 1, "event": "step", "seed": 7, "phase": "training", "step": 3, "prompt": 5, "sample": 1,
    "task": {"prompt": "q\n", "answer": "\"a\""}, "actions": ["one", "two"], "observations": ["more"]})"));
}

TEST(ProcessEnvironmentTest, SendsAllMembersOfATasksLine) {
  const std::string file = ::testing::TempDir() + "/asked_with_more.json";
  const auto client = Client(Replying(kGood, absl::StrCat("printf '%s' \"$line\" > ", file)));
  std::string line;
  const auto asked = [&](const data::Task& task) {
    Dialogue dialogue = TwoActions();
    dialogue.task = task;
    EXPECT_OK(ProcessEnvironment(client).Step(dialogue).status());
    std::getline(std::ifstream(file), line);
    return nlohmann::json::parse(line)["task"];
  };
  EXPECT_EQ(
      asked({.prompt = "q", .answer = "a", .more = R"({"tests":["x == 1"],"id":7,"w":0.1,"n":null})"}),
      nlohmann::json::parse(R"({"prompt": "q", "answer": "a", "tests": ["x == 1"], "id": 7, "w": 0.1, "n": null})"));
  EXPECT_EQ(asked({.prompt = "q", .answer = "", .has_answer = false}),
            nlohmann::json::parse(R"({"prompt": "q", "answer": null})"));
  // Texts may look like a member of the request, and numbers keep their digits.
  asked({.prompt = R"("task":null)", .answer = "", .more = R"({"n":123456789012345678901234567890,"w":1.50})"});
  EXPECT_THAT(
      line, HasSubstr(R"("task":{"answer":"","prompt":"\"task\":null","n":123456789012345678901234567890,"w":1.50}})"));
}

TEST(ProcessEnvironmentTest, AnEpisodeThatEndsNeedsNoObservation) {
  ASSERT_OK_AND_ASSIGN(Reply reply, RunStep(Replying(R"("reward":1,"done":true)")));
  EXPECT_EQ(reply, (Reply{.observation = "", .reward = 1, .done = true}));
  ASSERT_OK_AND_ASSIGN(reply, RunStep(Replying(R"("reward":-1,"done":false,"truncated":true,"observation":"x")")));
  EXPECT_EQ(reply, (Reply{.observation = "x", .reward = -1, .truncated = true}));
}

TEST(ProcessEnvironmentTest, AnObservationMayBeFeaturesAndAnActionAToolCall) {
  ASSERT_OK_AND_ASSIGN(const Reply reply,
                       RunStep(Replying(R"("reward":0,"done":false,"features":[1,-0.5,3e2],"tool_call":true)")));
  EXPECT_EQ(reply, (Reply{.tool_call = ToolCall::kExecuted, .features = {1, -0.5, 300}}));
}

TEST(ProcessEnvironmentTest, AsksWhetherAnActionIsAToolCallAndReportsRefusedCalls) {
  const std::string file = ::testing::TempDir() + "/envs_asked_call.json";
  const auto client = Client(Replying(R"("tool_call":true)", absl::StrCat("printf '%s' \"$line\" > ", file)));
  Dialogue dialogue = TwoActions();
  dialogue.replies[0].tool_call = ToolCall::kRefused;
  ASSERT_OK_AND_ASSIGN(const bool is_call, ProcessEnvironment(client).IsToolCall(dialogue));
  EXPECT_TRUE(is_call);
  std::string asked;
  std::getline(std::ifstream(file), asked);
  const nlohmann::json request = nlohmann::json::parse(asked);
  EXPECT_EQ(request["event"], "is_tool_call");
  EXPECT_EQ(request["refused"], nlohmann::json({0}));
  for (const char* reply : {R"("done":true)", R"("tool_call":1)", R"("tool_call":true,"reward":0)"}) {
    EXPECT_THAT(ProcessEnvironment(Client(Replying(reply))).IsToolCall(dialogue),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("prompt 5 sample 1 turn 1")));
  }
}

TEST(ProcessEnvironmentTest, RejectsInvalidReplies) {
  const struct {
    const char *reply, *why;
  } cases[] = {{R"("observation":"x","reward":0)", "done is missing"},
               {R"("observation":"x","done":false)", "reward is missing"},
               {R"("reward":0,"done":false)", "observation is missing although the episode continues"},
               {R"("observation":"x","reward":"much","done":false)", "expected a number"},
               {R"("observation":"x","reward":null,"done":false)",
                "its reward is null, which is allowed only in the reply to score"},
               {R"("observation":"x","reward":1e999,"done":false)", ""},
               {R"("observation":"x","reward":1e18,"done":false)", "rewards are from -1e9 to 1e9"},
               {R"("features":[1e18],"reward":0,"done":false)", "it is not a number from -1e9 to 1e9"},
               {R"("observation":7,"reward":0,"done":false)", "expected a string"},
               {R"("observation":"x","features":[1],"reward":0,"done":false)", "both an observation and features"},
               {R"("features":[],"reward":0,"done":false)", "it has 0 features; an observation has 1 to 4096"},
               {R"("features":[1,"x"],"reward":0,"done":false)", "expected a number"},
               {R"("features":[1e999],"reward":0,"done":false)", ""},
               {R"("features":[NaN],"reward":0,"done":false)", ""},
               {R"("features":7,"reward":0,"done":false)", ""},
               {R"("observation":"x","reward":0,"done":false,"tool_call":1)", "/tool_call"},
               {R"("observation":"x","reward":0,"done":false,"trunkated":true)", "did you mean \"truncated\""},
               {R"("observation":"x","reward":0,"done":fal)", ""}};
  for (const auto& [reply, why] : cases) {
    EXPECT_THAT(RunStep(Replying(reply)),
                StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr("prompt 5 sample 1 turn 1"), HasSubstr(why))))
        << reply;
  }
  EXPECT_THAT(RunStep("while read -r line; do echo hello; done"),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("replied \"hello\": "),
                             HasSubstr("; its standard output is for replies alone, one line for each request: print "
                                       "messages to standard error; the request was for prompt 5"))));
  // A message and the reply behind it, written at once.
  EXPECT_THAT(RunStep("while read -r line; do printf 'loading\\033[1m\\n{}\\n'; done"),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("without a request: \"loading\\x1b[1m\" and then \"{}\\n\"; its standard output")));
  EXPECT_THAT(RunStep("while read -r line; do printf '\\033[31m\\302\\233red\\n'; done"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("replied \"\\x1b[31m\\xc2\\x9bred\": ")));
  EXPECT_THAT(RunStep(Replying(R"("\u001b[31m\u009b":1)")),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("unknown member \"\\x1b[31m\\xc2\\x9b\"")));
  const absl::Status endless = RunStep("while read -r line; do printf '%99999d\\n' 0; done").status();
  EXPECT_THAT(endless, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("...\": ")));
  EXPECT_LT(endless.message().size(), 1000u);
  EXPECT_THAT(RunStep("while read -r line; do echo '{\"id\": 77, \"reward\": 0, \"done\": true}'; done"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("id")));
}

TEST(ProcessEnvironmentTest, DoesNotRetryARejectedReply) {
  const auto client = Client("while read -r line; do echo hello; done", 5);
  EXPECT_FALSE(ProcessEnvironment(client).Step(TwoActions()).ok());
  EXPECT_EQ(client->started(), 1);
}

TEST(ProcessEnvironmentTest, ReportsAnExitWithTheEpisode) {
  EXPECT_THAT(RunStep("read line; exit 3"),
              StatusIs(absl::StatusCode::kAborted,
                       "the process \"read line; exit 3\" exited with code 3; the request was for prompt 5 sample 1 "
                       "turn 1"));
  EXPECT_THAT(RunStep("read line; sleep 60", 0, 0.2),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("prompt 5 sample 1 turn 1")));
}

TEST(ProcessEnvironmentTest, RestartsAProcessUpToTheLimitAndReportsIt) {
  const std::string file = ::testing::TempDir() + "/starts";
  // Exits at the second and third request overall.
  const std::string command =
      Replying(kGood, absl::StrCat("echo x >> ", file, "; case $(wc -l < ", file, ") in 2|3) exit 9;; esac"));
  for (const int64_t restarts : {1, 2}) {
    std::remove(file.c_str());
    const auto client = Client(command, restarts);
    std::vector<std::string> reported;
    client->OnRestart([&](absl::string_view sentence) { reported.emplace_back(sentence); });
    ProcessEnvironment environment(client);
    EXPECT_OK(environment.Step(TwoActions()).status());
    const absl::Status second = environment.Step(TwoActions()).status();
    EXPECT_EQ(second.code(), restarts == 1 ? absl::StatusCode::kAborted : absl::StatusCode::kOk);
    EXPECT_EQ(client->restarts(), restarts);
    ASSERT_EQ(reported.size(), static_cast<size_t>(restarts));
    EXPECT_THAT(reported[0],
                AllOf(HasSubstr("exited with code 9; the request was for prompt 5 sample 1 turn 1; restarting it"),
                      HasSubstr(absl::StrCat("(1 of ", restarts, ")"))));
  }
}

TEST(ProcessEnvironmentTest, DoesNotRestartAProcessThatHasNeverReplied) {
  for (const char* command : {"read line; exit 3", "read line; sleep 60", "no_such_program_anywhere 2>/dev/null"}) {
    const auto client = Client(command, 5, 0.2);
    EXPECT_FALSE(ProcessEnvironment(client).Step(TwoActions()).ok());
    EXPECT_EQ(client->started(), 1) << command;
  }
}

TEST(ProcessEnvironmentTest, ReportsThatAProgramMustFlushWhereNoReplyEverArrives) {
  EXPECT_THAT(RunStep("read line; sleep 60", 0, 0.2),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("must flush its standard output")));
  const auto client = Client(Replying(kGood, "[ $n = 1 ] || sleep 60"), 0, 0.3);
  EXPECT_OK(ProcessEnvironment(client).Step(TwoActions()).status());
  EXPECT_THAT(ProcessEnvironment(client).Step(TwoActions()),
              StatusIs(absl::StatusCode::kDeadlineExceeded, ::testing::Not(HasSubstr("flush"))));
}

TEST(ProcessEnvironmentTest, TheFirstFailureEndsWaitingAndLaterRequests) {
  // The second action decides: one program exits at once, three would sleep for a minute.
  const auto client =
      Client(Replying(kGood, "case $line in *sleep*) sleep 60;; *end*) exit 7;; esac"), 0, /*seconds=*/60);
  ProcessEnvironment environment(client);
  EXPECT_OK(environment.Step(TwoActions()).status());
  const auto step = [&](const std::string& action) {
    Dialogue dialogue = TwoActions();
    dialogue.actions[1] = action;
    return environment.Step(dialogue).status();
  };
  const auto begin = std::chrono::steady_clock::now();
  std::vector<absl::Status> status(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < status.size(); ++t) {
    threads.emplace_back([&, t] {
      std::this_thread::sleep_for(std::chrono::milliseconds(t == 3 ? 300 : 0));
      status[t] = step(t == 3 ? "end" : "sleep");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& each : status) {
    EXPECT_THAT(each,
                StatusIs(absl::StatusCode::kAborted, HasSubstr("exited with code 7; the request was for prompt 5")));
  }
  const int64_t started = client->started();
  EXPECT_EQ(step("x"), status[3]);
  EXPECT_EQ(client->started(), started);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
}

TEST(ProcessEnvironmentTest, AProcessMayEndBetweenRequests) {
  const auto client = Client(Replying(kGood, "[ $n -lt 3 ] || exit 0"), 1);
  ProcessEnvironment environment(client);
  for (int i = 0; i < 9; ++i) ASSERT_OK(environment.Step(TwoActions()).status());
  EXPECT_GT(client->started(), 3);
}

TEST(ProcessEnvironmentTest, ServesManyThreadsWithAtMostOneProcessEach) {
  const auto client = Client(Replying(kGood));
  ProcessEnvironment environment(client);
  std::vector<std::thread> threads;
  std::vector<int> good(4, 0);
  for (size_t t = 0; t < good.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) good[t] += environment.Step(TwoActions()).ok() ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, std::vector<int>(4, 25));
  EXPECT_LE(client->started(), 4);
}

TEST(ProcessEnvironmentTest, IsCancelledByAnotherRanksFailure) {
  const auto client = Client("while read -r line; do sleep 60; done", 0, 60);
  std::atomic<bool> elsewhere = false;
  client->WatchOthers([&] { return elsewhere.load(); });
  EXPECT_FALSE(client->IsCancelled());
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    elsewhere = true;
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(ProcessEnvironment(client).Step(TwoActions()).status().code(), absl::StatusCode::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  other.join();
}

TEST(ScoreByProcessTest, IsTheRewardOfAWholeEpisode) {
  const std::string file = ::testing::TempDir() + "/scored.json";
  const auto client = Client(Replying(R"("reward":0.25)", absl::StrCat("printf '%s' \"$line\" > ", file)));
  ASSERT_OK_AND_ASSIGN(const double reward, ScoreByProcess(*client, TwoActions(), "two", true));
  EXPECT_EQ(reward, 0.25);
  std::string asked;
  std::getline(std::ifstream(file), asked);
  const nlohmann::json request = nlohmann::json::parse(asked);
  EXPECT_EQ(request["event"], "score");
  EXPECT_EQ(request["completion"], "two");
  EXPECT_EQ(request["terminated"], true);
  ASSERT_OK_AND_ASSIGN(const double none,
                       ScoreByProcess(*Client(Replying(R"("reward":null)")), TwoActions(), "x", true));
  EXPECT_TRUE(std::isnan(none));
  EXPECT_THAT(ScoreByProcess(*Client(Replying(R"("reward":0.25,"done":true)")), TwoActions(), "two", true),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("unknown member \"done\"")));
}

}  // namespace
}  // namespace reprise::rl
