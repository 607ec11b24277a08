#include "rl/learner/tests/scripted_episodes.h"

#include "core/status/check.h"
#include "rl/learner/tests/learner_testing.h"
#include "rl/record/completions/completion_record.h"

namespace reprise::rl::testing {

Config RoomRun() {
  Config config = SmallRun();
  config.run.steps = 2;
  config.model.max_position_embeddings = 512;
  config.sft.steps = 0;
  config.environment.name = "grid_navigation";
  config.environment.max_turns = 2;
  config.rollout.prompts_per_step = 3;
  config.rollout.num_generations = 4;
  config.rollout.max_completion_length = 300;
  config.algorithm.reward.functions = "environment character_match";
  return config;
}

std::string AnswerText(char letter) {
  return std::string(R"({"rotation_angle_degrees":0,"forward_meters":0,"left_meters":0,"answer":")") + letter +
         R"(","done":true})";
}

std::vector<std::vector<std::string>> FourEpisodes(char letter) {
  return {{"I look. " + kLook, AnswerText('A') + " it is"},
          {kLook, AnswerText(letter)},
          {"neither word nor action"},
          {"C, surely"}};
}

std::vector<StepRecord> Scripted(
    const Config& config,
    const std::function<std::vector<std::vector<std::string>>(int64_t step, int64_t prompt)>& say) {
  std::vector<StepRecord> records;
  for (int64_t step = 1; step <= config.run.steps; ++step) {
    StepRecord& record = records.emplace_back();
    record.step = step;
    for (int64_t prompt = 0; prompt < config.rollout.prompts_per_step; ++prompt) {
      const std::vector<std::vector<std::string>> said_G = say(step, prompt);
      CHECK_EQ(static_cast<int64_t>(said_G.size()), config.rollout.num_generations);
      for (size_t g = 0; g < said_G.size(); ++g) {
        EpisodeRecord& episode = record.episode_N.emplace_back();
        CompletionEpisode& completion = CompletionOf(episode);
        episode.prompt = prompt;
        episode.sample = static_cast<int64_t>(g);
        for (const std::string& text : said_G[g]) {
          completion.tokens.insert(completion.tokens.end(), text.begin(), text.end());
          completion.tokens.push_back(1);  // the end token, in the model of one token per character
          completion.turn_K.push_back({.observation_tokens = 0,
                                       .action_tokens = static_cast<int64_t>(text.size()) + 1,
                                       .complete = true,
                                       .reply = std::nullopt});
        }
      }
    }
  }
  return records;
}

}  // namespace reprise::rl::testing
