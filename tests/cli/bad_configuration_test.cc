// An error in a configuration is reported in one sentence, with its place and its remedy.

#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <filesystem>

#include "core/testing/sanitizers.h"
#include "gtest/gtest.h"
#include "tests/cli/cli.h"

namespace reprise::testing {
namespace {

struct BadFile {
  const char* name;
  const char* toml;
  const char* message;  // after the file's name
};

class BadFileTest : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadFileTest, IsReportedWithItsPlace) {
  const std::string directory = MakeDirectory();
  const std::string file = WriteFile(directory, "run.toml", GetParam().toml);
  const std::string message = file + ":" + GetParam().message;
  EXPECT_THAT(RunVerb("train", {file, "--output", directory + "/run"}), FailsWith("train", 64, message));
  EXPECT_THAT(RunVerb("validate", {file}), FailsWith("validate", 64, message));
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadFileTest,
    ::testing::Values(
        BadFile{"UnknownKey", "[rollout]\nnum_generation = 4\n",
                "2:1: unknown key rollout.num_generation; did you mean rollout.num_generations?"},
        BadFile{"UnknownSection", "[rollut]\ntop_k = 4\n", "1:2: unknown section rollut; did you mean rollout?"},
        BadFile{"NameInOtherLibraries", "[rollout]\nmax_new_tokens = 4\n",
                "2:1: unknown key rollout.max_new_tokens; did you mean rollout.max_completion_length?"},
        BadFile{"NameInOtherLibrariesOutsideOfSections", "lr = 1e-3\n",
                "1:1: key lr is outside every section; did you mean optimizer.learning_rate?"},
        BadFile{"WordWithoutQuotes", "[run]\nname = test\n",
                "2:9: this is not a TOML value; text needs quotes, numbers and true or false do not"},
        BadFile{"ListOfNames", "[algorithm]\nreward = [\"exact_match\"]\n",
                "2:10: algorithm.reward is an array; expected one text in quotes, with spaces between several of "
                "\"exact_match\", \"character_match\", \"environment\" or \"process\""},
        BadFile{
            "ListOfTexts", "[rollout]\nstop = [\"a\"]\n",
            "2:8: rollout.stop is an array; expected one text in quotes. What it is: Texts that end a completion, "
            "besides the end tokens, as a JSON list: '[\"</answer>\", \"\\n\"]'; rewards do not include them. Empty = "
            "none. Episodes of an environment use environment.stop."},
        BadFile{"JsonLines", "{\"prompt\": \"1+1=\", \"answer\": \"2\"}\n",
                "1:1: not valid TOML: parsing root table: expected keys, tables, whitespace or comments, saw '{'; a "
                "configuration is TOML, with lines such as [rollout] and num_generations = 16 below them, and this "
                "file looks like JSON"},
        BadFile{"WrongType", "[rollout]\ntemperature = \"hot\"\n",
                "2:15: rollout.temperature is \"hot\"; expected a number"},
        BadFile{"OutOfRange", "[rollout]\ntop_p = 1.5\n", "2:9: rollout.top_p is 1.5; expected 1e-30 to 1"},
        BadFile{"NoGeneration", "[rollout]\nnum_generations = 0\n",
                "2:19: rollout.num_generations is 0; expected 1 to 65536"},
        BadFile{"ShardsNotAPowerOfTwo", "[run]\nlogical_shards = 3\n",
                "2:18: run.logical_shards is 3; expected a power of two from 1 to 1024"},
        BadFile{"Yaml", "rollout:\n  num_generations: 4\n",
                "1:8: not valid TOML: parsing key-value pair: expected '=', saw ':'; a configuration is TOML, with "
                "lines such as [rollout] and num_generations = 16 below them, and this file looks like YAML"},
        BadFile{"NotToml", "[rollout\n", "1:9: not valid TOML: parsing table header: expected ']', saw '\\n'"}),
    [](const auto& info) { return info.param.name; });

struct BadOverride {
  const char* name;
  std::vector<std::string> overrides;
  const char* message;
};

class BadOverrideTest : public ::testing::TestWithParam<BadOverride> {};

TEST_P(BadOverrideTest, IsReportedWithWhatIsExpected) {
  const std::string file = WriteFile(MakeDirectory(), "run.toml", kTinyRun);
  std::vector<std::string> arguments = {file};
  for (const std::string& override : GetParam().overrides) arguments.insert(arguments.end(), {"--set", override});
  EXPECT_THAT(RunVerb("validate", arguments), FailsWith("validate", 64, GetParam().message));
}

TEST(BadConfigurationTest, AModelThatTheMachineCannotHoldIsRejectedBeforeItsWeightsAreMade) {
  const std::string tiny = WriteFile(MakeDirectory(), "run.toml", kTinyRun);
  for (const std::string& file : {tiny, std::string("configs/memory_agent.toml")}) {
    for (const std::string verb : {"validate", "train"}) {
      std::vector<std::string> arguments = {file,
                                            "--set",
                                            "model.hidden_size=16384",
                                            "--set",
                                            "model.intermediate_size=16384",
                                            "--set",
                                            "model.num_hidden_layers=100"};
      if (verb == "train") arguments.insert(arguments.end(), {"--output", MakeDirectory() + "/run"});
      const ProcessResult result = RunVerb(verb, arguments);
      EXPECT_EQ(result.exit_code, 64);
      EXPECT_THAT(result.err,
                  ::testing::ContainsRegex("the model's [0-9]+ parameters and their packed copies need [0-9.]+ "
                                           "GiB of memory, and this process may use [0-9.]+ GiB: use a machine"));
    }
  }
}

TEST(BadConfigurationTest, AFactorOfTheLearningRateOfNoTensorIsRejected) {
  const std::string directory = MakeDirectory(), file = WriteFile(directory, "run.toml", kTinyRun);
  for (const std::string verb : {"validate", "train"}) {
    std::vector<std::string> arguments = {file, "--set",
                                          R"(optimizer.learning_rate_factors={"model.*": 1, "v_head.*": 2})"};
    if (verb == "train") arguments.insert(arguments.end(), {"--output", directory + "/run"});
    const ProcessResult result = RunVerb(verb, arguments);
    EXPECT_EQ(result.exit_code, 64);
    EXPECT_THAT(result.err,
                ::testing::HasSubstr("error: optimizer.learning_rate_factors: \"v_head.*\" matches no trained "
                                     "tensor; they are model.embed_tokens.weight, "));
  }
}

// For keys whose values are converted to float.
BadOverride NoFloat(const char* name, const char* override, const char* expected) {
  const std::string assignment = override;
  const size_t equals = assignment.find('=');
  static auto* const kMessages = new std::deque<std::string>;
  kMessages->push_back("--set " + assignment + ": " + assignment.substr(0, equals) + " is " +
                       assignment.substr(equals + 1) + "; expected " + expected);
  return {name, {assignment}, kMessages->back().c_str()};
}

INSTANTIATE_TEST_SUITE_P(
    Overrides, BadOverrideTest,
    ::testing::Values(
        NoFloat("EpsilonThatIsNoFloat", "optimizer.epsilon=1e-46", "1e-30 to 1e30"),
        NoFloat("RateBeyondFloats", "sft.learning_rate=1e38", "1e-30 to 1000, or 0"),
        NoFloat("RateThatIsNoFloat", "optimizer.learning_rate=1e-46", "1e-30 to 1000, or 0"),
        NoFloat("NormThatIsNoFloat", "optimizer.max_grad_norm=1e-46", "1e-30 to 1e30, or 0"),
        NoFloat("DecayBeyondFloats", "optimizer.weight_decay=1e40", "0 to 1000"),
        NoFloat("TemperatureThatIsNoFloat", "rollout.temperature=1e-46", "1e-6 to 1e6"),
        NoFloat("ThetaOutOfRange", "model.rope_theta=1e-12", "1 to 1e30"),
        NoFloat("NormEpsilonThatIsNoFloat", "model.rms_norm_eps=1e-46", "1e-30 or more, less than 1"),
        NoFloat("ClipThatIsNoFloat", "model.clip_qkv=1e-46", "1e-30 to 1e30, or 0"),
        NoFloat("WeightOfTheDivergence", "algorithm.beta=1e30", "0 to 1e9"),
        NoFloat("WeightOfTheEntropy", "algorithm.entropy_coef=1e30", "0 to 1e9"),
        NoFloat("DeviationThatIsNoFloat", "model.initializer_range=1e-300", "1e-6 to 1000"),
        NoFloat("PenaltyOutOfRange", "algorithm.missing_eos_penalty=1e19", "0 to 1e9"),
        BadOverride{"UnknownKey",
                    {"rollout.num_generation=4"},
                    "--set rollout.num_generation=4: unknown key rollout.num_generation; did you mean "
                    "rollout.num_generations?"},
        BadOverride{"WholeNumberWithAnExponent",
                    {"run.steps=1e3"},
                    "--set run.steps=1e3: run.steps is 1000.0; expected a whole number: write 1000"},
        BadOverride{"NameInOtherLibraries",
                    {"optimizer.lr=1"},
                    "--set optimizer.lr=1: unknown key optimizer.lr; did you mean optimizer.learning_rate?"},
        BadOverride{"NumberThatBeginsWithAPoint",
                    {"optimizer.learning_rate=.001"},
                    "--set optimizer.learning_rate=.001: optimizer.learning_rate is \".001\"; expected a number: write "
                    "0.001"},
        BadOverride{"NumberBeyond64Bits",
                    {"run.steps=99999999999999999999"},
                    "--set run.steps=99999999999999999999: run.steps is \"99999999999999999999\"; expected a whole "
                    "number, 0 to 4294967295"},
        BadOverride{"PathWithATilde",
                    {"model.path=~/m"},
                    "cannot find ~/m: a shell turns ~ into your home directory, and nothing does so here; write the "
                    "whole path of a model's directory (model.path)"},
        BadOverride{"NoKey", {"=1"}, "--set =1: the key is missing: expected section.key"},
        BadOverride{"ASection", {"run=1"}, "--set run=1: run is a section, and no key: give a key of it, as run.KEY"},
        BadOverride{"NotAKey", {"nonsense"}, "--set nonsense: expected section.key=value"},
        BadOverride{"LengthsInTheWrongOrder",
                    {"data.min_length=6", "data.max_length=5"},
                    "data.min_length 6 is more than data.max_length 5"},
        BadOverride{"CompletionAsLongAsTheContext",
                    {"rollout.max_completion_length=256"},
                    "rollout.max_completion_length 256 leaves no room for a prompt within "
                    "model.max_position_embeddings 256"},
        BadOverride{"PromptLongerThanTheContext",
                    {"rollout.max_completion_length=250", "data.min_length=40", "data.max_length=40"},
                    "prompt 0 of step 1 has 41 tokens; with rollout.max_completion_length 250 it does not fit the "
                    "model's 256 positions: shorten the task (data.max_length) or the completions"},
        BadOverride{"VocabularyWithoutATokenizer",
                    {"model.vocab_size=1000"},
                    "model.vocab_size is 1000; a model from scratch has one token per byte: expected 128 to 256"},
        BadOverride{"VocabularyThatLeavesNoRoomForBytes",
                    {R"(model.words='["left", "right"]')"},
                    "model.vocab_size is 128; a model from scratch has one token per byte and 2 of model.words: "
                    "expected 130 to 258"},
        BadOverride{"WordsOfOneByte", {R"(model.words='["x"]')"}, "model.words has \"x\", which is a token already"},
        BadOverride{"WordsTwice", {R"(model.words='["no", "no"]')"}, "model.words has \"no\" twice"}),
    [](const auto& info) { return info.param.name; });

TEST(BadConfigurationTest, AnOptionWithoutWhatItNeedsIsReported) {
  const std::string file = WriteFile(MakeDirectory(), "run.toml", kTinyRun), output = MakeDirectory() + "/run";
  const std::string help = " (./reprise validate --help explains)";
  for (const std::string option : {"--set", "--unset", "--ranks"}) {
    EXPECT_THAT(RunVerb("validate", {file, option}),
                FailsWith("validate", 64, option + " needs a value, and is the last argument" + help));
  }
  EXPECT_THAT(RunVerb("validate", {file, "--unset", "run"}),
              FailsWith("validate", 64, "--unset run: run is a section, and no key: give a key of it, as run.KEY"));
  EXPECT_THAT(RunVerb("train", {file, "--output", output, "--init-from", "@3"}),
              FailsWith("train", 64, "--init-from @3: there is no run before the @; write RUN.h5 or RUN.h5@STEP"));
  EXPECT_FALSE(std::filesystem::exists(output));
}

// A link in an experiment's folder to a shared configuration finds the experiment's data.
TEST(BadConfigurationTest, PathsInAConfigurationThatIsALinkAreRelativeToTheLink) {
  const std::string shared = MakeDirectory(), own = MakeDirectory(), link = own + "/run.toml";
  const std::string with_data = std::string(kTinyRun) + "[data]\npath = \"p.jsonl\"\n";
  const std::string problem = "{\"prompt\": \"1+1=\", \"answer\": \"2\"}\n";
  std::filesystem::create_symlink(WriteFile(shared, "run.toml", with_data), link);
  WriteFile(shared, "p.jsonl", problem);
  EXPECT_THAT(RunVerb("validate", {link}).err, ::testing::HasSubstr("cannot find " + own + "/p.jsonl"));
  WriteFile(own, "p.jsonl", problem);
  std::filesystem::remove(shared + "/p.jsonl");
  const ProcessResult result = RunVerb("validate", {link});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST(BadConfigurationTest, AFileThatIsTooLongIsAUsageErrorAndNotADiskError) {
  const std::string file = WriteFile(MakeDirectory(), "long.toml", std::string((1 << 20) + 1, '\n'));
  EXPECT_THAT(RunVerb("validate", {file}),
              FailsWith("validate", 64, file + " has 1048577 bytes; a configuration has at most 1048576"));
}

TEST(BadConfigurationTest, AnOutputThatIsAFileIsAUsageErrorAndNotADiskError) {
  const std::string file = WriteFile(MakeDirectory(), "tiny.toml", kTinyRun);
  const std::string message = "--output " + file + " is a file; expected a directory";
  EXPECT_THAT(RunVerb("train", {file, "--output", file}), FailsWith("train", 64, message));
  EXPECT_THAT(RunVerb("export", {file, "--output", file}), FailsWith("export", 64, message));
}

TEST(BadRanksTest, MoreRanksThanShardsAreReportedBeforeAnyIsStarted) {
  const std::string directory = MakeDirectory(), file = WriteFile(directory, "run.toml", kTinyRun);
  const std::string message =
      "9 ranks for 8 logical shards: a rank owns at least one; start at most 8 ranks, or set run.logical_shards to 16, "
      "which gives a different run with different bits";
  EXPECT_THAT(RunVerb("train", {file, "--output", directory + "/run", "--check", "--ranks-to-start", "9"}),
              FailsWith("train", 64, message));
  EXPECT_THAT(RunVerb("validate", {file, "--ranks", "9"}), FailsWith("validate", 64, message));
}

TEST(BadRanksTest, RanksMustBeAtLeastOne) {
  const std::string file = WriteFile(MakeDirectory(), "run.toml", kTinyRun);
  EXPECT_THAT(
      RunVerb("validate", {file, "--ranks", "0"}),
      FailsWith("validate", 64, "--ranks: 0: expected a whole number, 1 or more (./reprise validate --help explains)"));
}

// A read of a pipe or a device may block or never end.
TEST(NoFileTest, IsReportedWithItsKind) {
  const std::string directory = MakeDirectory(), pipe = directory + "/run.toml";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string is_pipe = "cannot read " + pipe + ": it is not a regular file but a pipe";
  EXPECT_THAT(RunVerb("validate", {pipe}), FailsWith("validate", 65, is_pipe));
  EXPECT_THAT(RunVerb("inspect", {pipe}), FailsWith("inspect", 65, is_pipe));
  EXPECT_THAT(RunVerb("validate", {"/dev/zero"}),
              FailsWith("validate", 65, "cannot read /dev/zero: it is not a regular file but a device or a socket"));
  EXPECT_THAT(RunVerb("validate", {directory}),
              FailsWith("validate", 64, directory + " is a directory; expected a file"));
}

// A terminal would execute escape sequences that come from a file.
TEST(EscapesTest, AreEscapedInMessages) {
  const std::string file = WriteFile(MakeDirectory(), "run.toml", "[rollout]\n\"a\x1b[2J\" = 1\n");
  const ProcessResult result = RunVerb("validate", {file});
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_THAT(result.err, ::testing::Not(::testing::HasSubstr("\x1b")));
  const ProcessResult set = RunVerb("validate", {file, "--set",
                                                 "rollout.\xc2\x9b"
                                                 "31m=1"});
  EXPECT_THAT(set.err, ::testing::Not(::testing::HasSubstr("\xc2\x9b")));
}

// A line feed in the name of a file would end the message, and begin another.
TEST(EscapesTest, AFileNameWithControlCharactersIsPrintedInOneLine) {
  const std::string name = MakeDirectory() + "/a\nreprise train: error: b\x1b[2J";
  for (const char* verb : {"train", "validate", "sweep", "evaluate", "reproduce", "inspect", "export", "compare"}) {
    std::vector<std::string> arguments = {name};
    if (verb == std::string("compare")) arguments = {name, name};
    if (verb == std::string("train") || verb == std::string("export")) arguments = {name, "--output", name + ".d"};
    const ProcessResult result = RunVerb(verb, arguments);
    EXPECT_EQ(result.exit_code, 64) << verb;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.err, ::testing::AllOf(::testing::HasSubstr("/a\\nreprise train: error: b\\x1b[2J"),
                                             ::testing::Not(::testing::HasSubstr("\x1b"))));
  }
}

TEST(ThreadsTest, BeyondALimitOfTheSystemAreRejected) {
  if (kHasShadowMemory) GTEST_SKIP() << "the sanitizer needs the address space that this limits";
  const std::string file = WriteFile(MakeDirectory(), "run.toml", kTinyRun);
  const ProcessResult result = RunProcess(
      {"/bin/sh", "-c", "ulimit -v 3000000; exec pipelines/validate \"$0\" --set execution.threads=1024", file}, {});
  EXPECT_EQ(result.exit_code, 74) << result.err;
  EXPECT_THAT(result.err, ::testing::HasSubstr(" of 1024 threads ("));
  EXPECT_THAT(result.err, ::testing::HasSubstr("lower execution.threads"));
}

TEST(MissingFileTest, IsNamed) {
  const std::string missing = MakeDirectory() + "/missing.toml";
  EXPECT_THAT(RunVerb("train", {missing, "--output", missing + ".run"}),
              FailsWith("train", 64, "cannot find " + missing + ": No such file or directory"));
}

}  // namespace
}  // namespace reprise::testing
