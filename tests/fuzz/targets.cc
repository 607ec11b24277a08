#include "tests/fuzz/targets.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/digest/sha256.h"
#include "core/status/check.h"
#include "data/artifact/directory/journal.h"
#include "data/artifact/format/container.h"
#include "data/artifact/format/user_block.h"
#include "data/jsonl/task_lines.h"
#include "data/tables/schema.h"
#include "models/olmoe/config_json.h"
#include "models/safetensors/float_conversion.h"
#include "models/safetensors/reader.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/environments/process/process_reply.h"

namespace reprise::testing {
namespace {

constexpr size_t kUserBlock = static_cast<size_t>(internal::kUserBlockBytes);

// Removes the first byte and returns whether it asks for valid digests in place of the input's: random changes almost
// never have valid digests, so the code behind the check of the digests would not be tested.
bool TakeIsForged(absl::string_view* bytes) {
  if (bytes->empty()) return false;
  const bool is_forged = bytes->front() == 'f';
  bytes->remove_prefix(1);
  return is_forged;
}

// Returns `file` with a first block that states its own digest correctly.
std::string WithProof(std::string file) {
  const std::string key = "block_sha256 ";
  const size_t proved = kUserBlock - key.size() - 64 - 1;
  if (file.size() < kUserBlock) file.resize(kUserBlock, ' ');
  const std::string proof = absl::StrCat(key, ToHex(Sha256(file.substr(0, proved))), "\n");
  return file.replace(proved, proof.size(), proof);
}

void RunUserBlock(absl::string_view bytes) {
  const bool is_forged = TakeIsForged(&bytes);
  const std::string file = is_forged ? WithProof(std::string(bytes)) : std::string(bytes);
  const auto block = internal::ParseUserBlock(file);
  if (!block.ok()) return;
  CHECK_EQ(block->body_bytes, static_cast<int64_t>(file.size() - kUserBlock));
  CHECK(internal::EncodeUserBlock(*block) == file.substr(0, kUserBlock));
}

// Returns whether the path is valid in the format: absolute, printable characters, few parts, none empty, "." or "..".
bool IsPath(absl::string_view path) {
  if (path.empty() || path[0] != '/' || !std::all_of(path.begin(), path.end(), absl::ascii_isgraph)) return false;
  const std::vector<absl::string_view> parts = absl::StrSplit(path.substr(1), '/');
  return parts.size() <= 6 && std::none_of(parts.begin(), parts.end(), [](absl::string_view part) {
           return part.empty() || part == "." || part == "..";
         });
}

// Returns the arrays that the bytes describe: each line "TYPE DIMENSIONS PATH" is an array of zeros.
std::vector<internal::ArrayInfo> ParseArrays(absl::string_view bytes) {
  constexpr int64_t kMostBytes = 1 << 16;
  std::vector<internal::ArrayInfo> arrays;
  for (const absl::string_view line : absl::StrSplit(bytes, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words.size() != 3 || words[0].empty() || !IsPath(words[2]) || arrays.size() == 50) continue;
    internal::ArrayInfo array{words[2], words[0][0] % 2 == 0 ? DType::kI64 : DType::kU8, {}};
    for (const char digit : words[1]) array.shape.push_back(digit & 15);
    if (array.shape.size() <= 6 && array.bytes() <= kMostBytes) arrays.push_back(std::move(array));
  }
  return arrays;
}

// A container of the described arrays must be refused when it is encoded, or be parsed to the same arrays.
void RunWrittenContainer(absl::string_view bytes) {
  std::vector<internal::ArrayInfo> arrays = ParseArrays(bytes);
  std::vector<internal::ArraySource> sources;
  for (const internal::ArrayInfo& array : arrays) {
    sources.push_back(internal::OwningSourceOf(array, std::string(static_cast<size_t>(array.bytes()), '\0')));
  }
  const auto file = internal::EncodeContainer(std::move(sources));
  if (!file.ok()) return;
  const auto container = internal::ParseContainer(*file);
  CHECK(container.ok());
  std::sort(arrays.begin(), arrays.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  CHECK_EQ(container->arrays.size(), arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i) CHECK(container->arrays[i].info == arrays[i]);
}

void RunContainer(absl::string_view bytes) {
  if (TakeIsForged(&bytes)) return RunWrittenContainer(bytes);
  const auto container = internal::ParseContainer(bytes);
  if (container.ok()) CHECK(container->block.body_bytes > 0);
}

// Returns the lines of `bytes`, each with the digest that chains it to the lines before.
std::string WithChain(absl::string_view bytes) {
  std::string journal;
  Digest chain = {};
  for (const absl::string_view line : absl::StrSplit(bytes, '\n')) {
    Sha256Stream stream;
    stream.Update(chain);
    stream.Update(absl::StrCat(line, " "));
    chain = stream.Current();
    absl::StrAppend(&journal, line, " ", ToHex(chain), "\n");
  }
  return journal;
}

void RunJournal(absl::string_view bytes) {
  const bool is_forged = TakeIsForged(&bytes);
  const std::string text = is_forged ? WithChain(bytes) : std::string(bytes);
  const auto journal = internal::ParseJournal(text);
  if (!journal.ok()) return;
  CHECK_EQ(journal->entries.size(), journal->ends.size());
  internal::JournalPosition position;
  std::string written;
  for (const internal::JournalEntry& entry : journal->entries) written += internal::EncodeEntry(entry, &position);
  CHECK(text.substr(0, written.size()) == written);
  CHECK(journal->is_torn || text.size() == written.size());
}

void RunSchemas(absl::string_view bytes) {
  const auto schemas = ParseSchemas(bytes);
  if (schemas.ok()) CHECK(EncodeSchemas(*schemas) == bytes);
}

void RunSafetensors(absl::string_view bytes) {
  const auto file = models::SafetensorsFile::FromBytes(
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()), "file");
  if (!file.ok()) return;
  for (const TensorView& tensor : file->tensors()) {
    CHECK(tensor.bytes.size() <= bytes.size());
    std::vector<float> floats(static_cast<size_t>(tensor.size()));
    models::ConvertToFloat32(tensor, absl::MakeSpan(floats)).IgnoreError();
  }
}

void RunConfigJson(absl::string_view bytes) {
  const auto config = models::ParseOlmoeConfig(bytes);
  if (!config.ok()) return;
  CHECK(models::ValidateDecoderConfig(*config).ok());
  const auto again = models::ParseOlmoeConfig(models::OlmoeConfigJson(*config));
  CHECK(again.ok());
  CHECK(*again == *config);
}

void RunTokenizerJson(absl::string_view bytes) {
  const auto tokenizer = models::Tokenizer::FromJson(std::string(bytes));
  if (!tokenizer.ok()) return;
  for (const absl::string_view text : {"", "a b 12", "ab\xc3\xa9\xe2\x82\xac  \n aab<e> <x>"}) {
    const auto ids = tokenizer->Encode(text);
    if (!ids.ok()) continue;
    for (const int32_t id : *ids) CHECK(0 <= id && id < tokenizer->vocab_size());
    tokenizer->Decode(*ids);
  }
}

void RunTaskLines(absl::string_view bytes) {
  const auto tasks = data::ParseTaskLines(bytes, "tasks.jsonl");
  if (!tasks.ok()) return;
  CHECK(!tasks->empty());
  for (const data::Task& task : *tasks) CHECK(!task.prompt.empty());
}

// The first byte selects the event that the reply answers.
void RunProcessReply(absl::string_view bytes) {
  if (bytes.empty()) return;
  const char event = bytes.front();
  bytes.remove_prefix(1);
  const auto take = [&](const JsonValue& json) {
    if (event == 't') return rl::ReadToolCallReply(json).status();
    if (event == 's') {
      const absl::StatusOr<double> reward = rl::ReadScoreReply(json);
      if (reward.ok()) CHECK(std::isnan(*reward) || std::fabs(*reward) <= 1e18);
      return reward.status();
    }
    const absl::StatusOr<rl::Reply> reply = rl::ReadStepReply(json);
    if (!reply.ok()) return reply.status();
    CHECK(std::fabs(reply->reward) <= 1e18);
    for (const double feature : reply->features) CHECK(std::isfinite(feature));
    return absl::OkStatus();
  };
  rl::ParseProcessReply(bytes, 1, take).IgnoreError();
}

constexpr FuzzTarget kTargets[] = {
    {"user_block", RunUserBlock},
    {"container", RunContainer},
    {"journal", RunJournal},
    {"schemas", RunSchemas},
    {"safetensors", RunSafetensors},
    {"config_json", RunConfigJson},
    {"tokenizer_json", RunTokenizerJson},
    {"task_lines", RunTaskLines},
    {"process_reply", RunProcessReply},
};

}  // namespace

absl::Span<const FuzzTarget> FuzzTargets() { return kTargets; }

const FuzzTarget* FindFuzzTarget(absl::string_view name) {
  for (const FuzzTarget& target : kTargets) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

}  // namespace reprise::testing
