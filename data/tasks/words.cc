#include "data/tasks/words.h"

#include <algorithm>
#include <string>

namespace reprise::data {
namespace {

std::string Word(const TaskDraw& draw, const WordRange& range) {
  const int64_t length = draw.Between(0, range.min_length, range.max_length);
  std::string word;
  for (int64_t i = 0; i < length; ++i) {
    word.push_back(static_cast<char>('a' + draw.Between(1 + static_cast<uint64_t>(i), 0, range.alphabet_size - 1)));
  }
  return word;
}

}  // namespace

Task MakeReverse(const TaskDraw& draw, const WordRange& range) {
  const std::string word = Word(draw, range);
  return {.prompt = word + "=", .answer = {word.rbegin(), word.rend()}};
}

Task MakeSort(const TaskDraw& draw, const WordRange& range) {
  const std::string word = Word(draw, range);
  Task task = {.prompt = word + "=", .answer = word};
  std::sort(task.answer.begin(), task.answer.end());
  return task;
}

}  // namespace reprise::data
