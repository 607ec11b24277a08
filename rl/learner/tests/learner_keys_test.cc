// Tests every key of [algorithm], [environment] and [optimizer], from the list of keys: added to any of these
// configurations, a key changes what is recorded, or it is rejected.

#include <functional>
#include <map>
#include <set>

#include "core/config/field_list.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/check.h"
#include "rl/config/preset_testing.h"
#include "rl/config/unread_keys.h"
#include "rl/learner/tests/learner_testing.h"
#include "rl/record/divergence.h"

namespace reprise::rl {
namespace {

using config::Value;

struct Base {
  std::string name;
  std::function<void(Config&)> choose;
};

// A small run in which choices matter: several updates far from the policy that sampled, truncated completions, groups
// of equal rewards, more than one step.
Config BaseRun(const Base& base) {
  Config config = testing::SmallRun();
  config.model.hidden_size = 16;
  config.model.intermediate_size = 8;
  config.model.num_hidden_layers = 1;
  config.model.num_attention_heads = 2;
  config.model.num_experts = 2;
  config.model.num_experts_per_tok = 1;
  config.run.steps = 3;
  config.run.logical_shards = 1;
  config.sft = {};  // none
  config.rollout.prompts_per_step = 4;
  config.rollout.num_generations = 3;
  config.rollout.max_completion_length = 6;
  config.optimizer.learning_rate = 0.05;
  base.choose(config);
  return config;
}

void Turns(Config& config, const char* name) {
  config.data = {};  // its keys about other tasks are not read
  config.environment.name = name;
  config.environment.max_turns = 2;
  config.environment.max_action_length = 3;
  config.algorithm.reward.functions = "environment";
  config.rollout.max_completion_length = 40;
}

const Base kBases[] = {
    {"grpo",
     [](Config& c) {
       AlgorithmConfig& a = c.algorithm;
       SetBeta(0.5, &a), a.kl.schedule = KlSchedule::kBanded, a.kl.interval = 1, a.kl.patience = 0,
                         a.kl.tolerance = 0.001;
       a.kl.low = 0.1, a.kl.high = 1, a.reference.sync = true, a.reference.sync_steps = 1;
       a.entropy.entropy_coef = 0.1, a.entropy.decay = 0.05, a.correction.mode = ImportanceMode::kTokenMask;
     }},
    {"plain", [](Config&) {}},
    {"rloo", [](Config& c) { SelectPreset("rloo", &c.algorithm); }},
    {"falling",
     [](Config& c) {
       SetBeta(0.5, &c.algorithm), c.algorithm.kl.schedule = KlSchedule::kBanded, c.algorithm.kl.target = 20,
                                   c.algorithm.kl.high = 1, c.algorithm.kl.interval = 1, c.algorithm.kl.patience = 0;
     }},
    {"reinforce", [](Config& c) { SelectPreset("reinforce", &c.algorithm), c.algorithm.update.num_iterations = 1; }},
    {"gmpo", [](Config& c) { SelectPreset("gmpo", &c.algorithm); }},
    {"a2po", [](Config& c) { SelectPreset("a2po", &c.algorithm), c.algorithm.optimal.num_samples = 4; }},
    {"adaptive",
     [](Config& c) {
       c.algorithm.entropy.adaptive = true, c.algorithm.entropy.entropy_coef = 0.1, c.algorithm.entropy.target = 20;
       c.algorithm.entropy.delta = 0.25;  // so that the second step meets entropy_coef_max
     }},
    {"linear", [](Config& c) { c.algorithm.entropy.entropy_coef = 0.1, c.algorithm.entropy.steps = 2; }},
    {"rising", [](Config& c) { c.algorithm.entropy.steps = 2, c.algorithm.entropy.end = 0.1; }},
    {"schedule", [](Config& c) { c.optimizer.warmup_steps = 1, c.optimizer.weight_decay = 0.1; }},
    {"muon",
     [](Config& c) { c.optimizer.name = OptimizerName::kMuonGrokfast, c.optimizer.schedule = Schedule::kConstant; }},
    {"running_mean", [](Config& c) { c.algorithm.advantage.baseline = Baseline::kRunningMean; }},
    {"sapo",
     [](Config& c) {
       SelectPreset("sapo", &c.algorithm), c.algorithm.kl.schedule = KlSchedule::kLinear, c.algorithm.kl.final = 1;
     }},
    {"vespo",
     [](Config& c) {
       SelectPreset("vespo", &c.algorithm), SetBeta(0.1, &c.algorithm),
           c.algorithm.kl.schedule = KlSchedule::kProportional;
     }},
    {"whitened", [](Config& c) { SelectPreset("reinforce_plus_plus_baseline", &c.algorithm); }},
    {"ppo", [](Config& c) { SelectPreset("ppo", &c.algorithm); }},
    {"number_guess",
     [](Config& c) { Turns(c, "number_guess"), c.environment.turn_reward = 0.25, SelectPreset("ppo", &c.algorithm); }},
    {"countdown", [](Config& c) { Turns(c, "countdown"); }},
    {"rooms", [](Config& c) { Turns(c, "grid_navigation"), c.rollout.max_completion_length = 150; }},
    {"rooms in numbers",
     [](Config& c) {
       Turns(c, "grid_navigation"), c.rollout.max_completion_length = 150,
                                    c.environment.observation = ObservationForm::kFeatures;
       c.model.max_position_embeddings = 512;
     }},
    {"minibatches", [](Config& c) { c.algorithm.update.num_mini_batches = 2; }},
    {"agemem", [](Config& c) { SelectPreset("agemem", &c.algorithm), c.algorithm.advantage.gamma = 1; }},
    {"decisions",
     [](Config& c) { c.algorithm.update.mini_batch_size = 20, c.algorithm.update.unit = MinibatchUnit::kDecision; }},
};

// Valid values of text keys that are not names.
const std::map<std::string, std::string> kTexts = {{"algorithm.reward_weights", "2"},
                                                   {"algorithm.reward_clip_range", "0.1 0.3"},
                                                   {"environment.tool_call_refusal", "no"},
                                                   {"optimizer.learning_rate_factors", "{\"*\": 0.5}"},
                                                   {"environment.stop", "[\"a\",\"b\",\"1\",\"2\"]"}};

// Keys whose effect none of the bases can show, and the tests that show it.
const std::set<std::string> kElsewhere = {
    "algorithm.lone_sample_keeps_reward",  // the advantage is 0 without it, rejected: rl/advantage/group_relative_test
    "algorithm.importance_clip_max",       // no weight is above 1: rl/loss/importance_correction_test
    "algorithm.importance_clip_min",
    "algorithm.entropy_coef_min",       // its coefficient does not affect the step: entropy_coefficient_test
    "algorithm.target_kl_of",           // of runs that end early: learner_controller_test
    "algorithm.entropy_floor_by_mask",  // for masked actions: learner_controller_test
    "algorithm.value_steps",            // for turns of several tokens: rl/value/ppo_targets_test
    "algorithm.filter_all_incorrect",   // only for rewards of 0: rl/advantage/advantages_test
    "algorithm.sync_ref_model",         // needs a small ref_model_sync_steps: learner_choices_test
    "optimizer.preset",                 // sets other keys when a file is read: rl/config/load_test
    "environment.min_action_tokens",    // JSON that this policy does not write: rl/episodes/action_checks_test
    "environment.max_action_tokens",
    "environment.tool_call_refusal"};  // movements that this policy does not write: learner_tools_test

// Keys that act in some of the bases, and in others only in longer runs.
const std::set<std::string> kRare = {"algorithm.delta", "algorithm.off_policy_mask_threshold", "algorithm.kl_low",
                                     "algorithm.kl_high"};

std::vector<Value> ValuesFor(const config::Field& field) {
  const Value now = field.Get();
  if (const bool* value = std::get_if<bool>(&now)) return {!*value};
  std::vector<Value> values;
  if (field.IsText()) {
    const auto* names = std::get_if<std::vector<absl::string_view>>(&field.allowed);
    if (names == nullptr) return {kTexts.at(field.Name())};
    for (const absl::string_view name : *names) values.emplace_back(std::string(name));
  } else if (std::holds_alternative<int64_t*>(field.target)) {
    for (const int64_t value : {2, 3, 1, 7, 0}) values.emplace_back(value);
  } else {
    for (const double value : {0.3, 0.01, 1.3, 0.0, 20.0}) values.emplace_back(value);
  }
  return values;
}

// Returns rewards of many values, but a single value for some prompts.
double Reward(const Completion& completion) {
  if (completion.prompt.size() % 2 == 0) return 0.5;
  double sum = 0;
  for (const char c : completion.text) sum += static_cast<double>(c % 8) / 16;
  return sum;
}

std::vector<StepRecord> RunAndRecord(const Config& config) {
  testing::Outcome outcome;
  EXPECT_OK(testing::RunLearner(config, {.reward = Reward}, &outcome));
  return outcome.sink.records;
}

bool AreSame(const std::vector<StepRecord>& a, const std::vector<StepRecord>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (FirstDivergence(a[i], b[i], {}).has_value()) return false;
  }
  return true;
}

absl::Status Check(const Config& config) {
  const absl::Status status = CheckConfig(config, 1);
  return status.ok() ? CheckKeysAreRead(config) : status;
}

enum class Verdict { kRejected, kActs, kUnread };

Verdict VerdictOn(const std::string& key, const Config& base, const std::vector<StepRecord>& records) {
  Config config = base;
  config::FieldList list;
  Visit(list, config);
  const size_t dot = key.find('.');
  const config::Field field = *list.Find(key.substr(0, dot), key.substr(dot + 1));
  Verdict verdict = Verdict::kRejected;
  for (const Value& value : ValuesFor(field)) {
    config = base;
    const Value before = field.Get();
    if (!field.Set(value).ok() || field.Get() == before || !Check(config).ok()) continue;
    if (!AreSame(RunAndRecord(config), records)) return Verdict::kActs;
    verdict = Verdict::kUnread;
  }
  return verdict;
}

std::vector<std::string> Keys() {
  Config config;
  config::FieldList list;
  Visit(list, config);
  std::vector<std::string> keys;
  for (const config::Field& field : list.fields()) {
    if (field.section == "algorithm" || field.section == "environment" || field.section == "optimizer") {
      keys.push_back(field.Name());
    }
  }
  return keys;
}

TEST(LearnerKeysTest, EveryKeyHasAnEffectOrIsRejected) {
  std::set<std::string> acting = kElsewhere;
  for (const Base& base : kBases) {
    const Config config = BaseRun(base);
    ASSERT_OK(Check(config)) << base.name;
    const std::vector<StepRecord> records = RunAndRecord(config);
    for (const std::string& key : Keys()) {
      // An untrained policy earns no reward from an environment: all its advantages are 0.
      const bool earns = config.environment.name.empty() || key == "algorithm.turn_rewards";
      if (!earns && key.rfind("algorithm", 0) == 0) continue;
      // The optimizer does not depend on the kind of episodes.
      const bool is_of_optimizer = base.name == "plain" || base.name == "schedule" || base.name == "muon";
      if (key.rfind("optimizer", 0) == 0 && !is_of_optimizer) continue;
      const Verdict verdict = VerdictOn(key, config, records);
      if (verdict == Verdict::kActs) acting.insert(key);
      EXPECT_TRUE(verdict != Verdict::kUnread || kElsewhere.contains(key) || kRare.contains(key))
          << base.name << ": " << key;
    }
  }
  for (const std::string& key : Keys()) EXPECT_TRUE(acting.contains(key)) << key << " has no effect anywhere";
}

}  // namespace
}  // namespace reprise::rl
