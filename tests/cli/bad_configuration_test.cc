// What is wrong with a configuration is said in one sentence, with the place and what would be right.

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

TEST_P(BadFileTest, IsToldWithItsPlace) {
  const std::string directory = MakeDirectory();
  const std::string file = WriteFile(directory, "run.toml", GetParam().toml);
  const std::string message = std::string("run.toml:") + GetParam().message;
  EXPECT_THAT(RunVerb("train", {file, "--output", directory + "/run"}), FailsWith("train", 64, message));
  EXPECT_THAT(RunVerb("validate", {file}), FailsWith("validate", 64, message));
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadFileTest,
    ::testing::Values(
        BadFile{"UnknownKey", "[rollout]\nnum_generation = 4\n",
                "2:1: unknown key rollout.num_generation; did you mean rollout.num_generations?"},
        BadFile{"UnknownSection", "[rollut]\ntop_k = 4\n", "1:2: unknown section rollut; did you mean rollout?"},
        BadFile{"WrongType", "[rollout]\ntemperature = \"hot\"\n",
                "2:15: rollout.temperature is \"hot\"; expected a number"},
        BadFile{"OutOfRange", "[rollout]\ntop_p = 1.5\n", "2:9: rollout.top_p is 1.5; expected more than 0, at most 1"},
        BadFile{"NoGeneration", "[rollout]\nnum_generations = 0\n",
                "2:19: rollout.num_generations is 0; expected 1 to 65536"},
        BadFile{"ShardsNoPowerOfTwo", "[run]\nlogical_shards = 3\n",
                "2:18: run.logical_shards is 3; expected a power of two from 1 to 1024"},
        BadFile{"NoToml", "[rollout\n", "1:9: not valid TOML: parsing table header: expected ']', saw '\\n'"}),
    [](const auto& info) { return info.param.name; });

struct BadOverride {
  const char* name;
  std::vector<std::string> overrides;
  const char* message;
};

class BadOverrideTest : public ::testing::TestWithParam<BadOverride> {};

TEST_P(BadOverrideTest, IsToldWithWhatWouldBeRight) {
  const std::string file = WriteFile(MakeDirectory(), "run.toml", kTinyRun);
  std::vector<std::string> arguments = {file};
  for (const std::string& override : GetParam().overrides) arguments.insert(arguments.end(), {"--set", override});
  EXPECT_THAT(RunVerb("validate", arguments), FailsWith("validate", 64, GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Overrides, BadOverrideTest,
    ::testing::Values(
        BadOverride{"UnknownKey",
                    {"rollout.num_generation=4"},
                    "--set rollout.num_generation=4: unknown key rollout.num_generation; did you mean "
                    "rollout.num_generations?"},
        BadOverride{"WholeNumberWithAnExponent",
                    {"run.steps=1e3"},
                    "--set run.steps=1e3: run.steps is 1000.0; expected a whole number: write 1000"},
        BadOverride{"NoKey", {"nonsense"}, "--set nonsense: expected section.key=value"},
        BadOverride{"LengthsTheWrongWayRound",
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
        BadOverride{"VocabularyOfNoTokenizer",
                    {"model.vocab_size=1000"},
                    "model.vocab_size is 1000; a model from scratch has one token a byte: expected 128 to 256"},
        BadOverride{"VocabularyThatLeavesNoRoomForBytes",
                    {R"(model.words='["left", "right"]')"},
                    "model.vocab_size is 128; a model from scratch has one token a byte and 2 of model.words: expected "
                    "130 to 258"},
        BadOverride{"WordsOfOneByte", {R"(model.words='["x"]')"}, "model.words has \"x\", which is a token anyway"},
        BadOverride{"WordsTwice", {R"(model.words='["no", "no"]')"}, "model.words has \"no\" twice"}),
    [](const auto& info) { return info.param.name; });

TEST(BadRanksTest, MoreRanksThanShardsAreToldBeforeAnyIsStarted) {
  const std::string directory = MakeDirectory(), file = WriteFile(directory, "run.toml", kTinyRun);
  const std::string message =
      "9 ranks for 8 logical shards: a rank owns at least one; start at most 8 ranks, or set run.logical_shards to 16, "
      "which is another run with other bits";
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

TEST(MissingFileTest, IsNamed) {
  const std::string missing = MakeDirectory() + "/missing.toml";
  EXPECT_THAT(RunVerb("train", {missing, "--output", missing + ".run"}),
              FailsWith("train", 64, "cannot find " + missing + ": No such file or directory"));
}

}  // namespace
}  // namespace reprise::testing
