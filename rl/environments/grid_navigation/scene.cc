#include "rl/environments/grid_navigation/scene.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/status/check.h"

namespace reprise::rl::grid_navigation {
namespace {

constexpr absl::string_view kKindNames[kMostKinds] = {"ball", "cup", "hat",  "key",  "lamp",
                                                      "mug",  "pen", "ring", "shoe", "toy"};
constexpr absl::string_view kSideNames[] = {"ahead", "left", "behind", "right"};

constexpr Point kWalls[] = {{0, kHalfRoom}, {-kHalfRoom, 0}, {0, -kHalfRoom}, {kHalfRoom, 0}};  // by side

char KindLetter(int64_t kind) { return static_cast<char>('A' + kind); }

// Indices of a scene's draws.
enum SceneDraw : uint64_t { kAsked, kFirstKind };

}  // namespace

Scene DrawScene(uint64_t seed, Purpose purpose, uint64_t step, uint64_t prompt, int64_t kinds, uint64_t attempt) {
  CHECK_GE(kinds, kLeastKinds);
  CHECK_LE(kinds, kMostKinds);
  const auto draw = [&](uint64_t token, size_t bound) {
    const DrawAt at = {.step = step, .prompt = prompt, .sample = attempt, .token = token};
    return static_cast<size_t>(DrawBelow(seed, purpose, at, bound));
  };
  std::vector<int64_t> kind(static_cast<size_t>(kinds));
  std::iota(kind.begin(), kind.end(), 0);
  Scene scene;
  scene.kinds = kinds;
  scene.asked = static_cast<Side>(1 + draw(kAsked, 3));
  for (size_t side = 0; side < scene.objects.size(); ++side) {  // Fisher and Yates
    std::swap(kind[side], kind[side + draw(kFirstKind + side, kind.size() - side)]);
    scene.objects[side] = {kind[side], kWalls[side]};
  }
  return scene;
}

absl::string_view KindName(int64_t kind) { return kKindNames[kind]; }

std::string QuestionText(const Scene& scene) {
  std::string text = absl::StrCat("what is ", kSideNames[static_cast<size_t>(scene.asked)], "?");
  for (int64_t kind = 0; kind < scene.kinds; ++kind) {
    absl::StrAppend(&text, " ", std::string(1, KindLetter(kind)), " ", KindName(kind));
  }
  return text + "\n";
}

std::string AnswerText(const Scene& scene) {
  std::string text(1, KindLetter(scene.answer()));
  const char* before = ": ";
  for (const Object& object : scene.objects) {
    absl::StrAppend(&text, before, KindName(object.kind));
    before = " ";
  }
  return text;
}

std::optional<Scene> SceneOfAnswer(absl::string_view answer, int64_t kinds) {
  const std::vector<absl::string_view> words = absl::StrSplit(answer, ' ');
  Scene scene;
  scene.kinds = kinds;
  if (words.size() != 1 + scene.objects.size() || words[0].size() != 2) return std::nullopt;
  bool is_asked = false;
  for (size_t side = 0; side < scene.objects.size(); ++side) {
    const auto name = std::find(std::begin(kKindNames), std::begin(kKindNames) + kinds, words[1 + side]);
    const int64_t kind = name - std::begin(kKindNames);
    if (kind == kinds) return std::nullopt;
    scene.objects[side] = {kind, kWalls[side]};
    if (KindLetter(kind) != words[0][0]) continue;
    scene.asked = static_cast<Side>(side);
    is_asked = true;
  }
  return is_asked ? std::optional<Scene>(scene) : std::nullopt;
}

}  // namespace reprise::rl::grid_navigation
