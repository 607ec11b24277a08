#include "pipelines/watchdog/alarm.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "pipelines/watchdog/phase_times.h"

namespace reprise {
namespace {

// "rank 1 (host node2, process 4711)".
std::string RankName(int rank, const RankFinding& finding) {
  if (!finding.last) return absl::StrCat("rank ", rank);
  return absl::StrFormat("rank %d (host %s, process %d)", rank, finding.last->host, finding.last->pid);
}

std::string DescribePlace(const RankFinding& finding) {
  if (!finding.last) return "it has never been seen";
  const std::string phase = RunPhase::Unpack(finding.last->phase).text();
  if (finding.last->calls == 0) return absl::StrCat("it was last in ", phase);
  return absl::StrFormat("it was last in %s, after %d collectives (the last: %s)", phase, finding.last->calls,
                         finding.last->last_call);
}

// Appends "; so is rank 3", or "; so are ranks 3, 4".
void AppendOthers(absl::string_view one, absl::string_view many, const std::vector<int>& ranks, std::string* sentence) {
  if (ranks.size() == 1) absl::StrAppend(sentence, "; ", one, " rank ", ranks[0]);
  if (ranks.size() > 1) absl::StrAppend(sentence, "; ", many, " ranks ", absl::StrJoin(ranks, ", "));
}

// Returns the answering ranks that have started the fewest collectives: those that others may wait for.
std::vector<int> BehindOthers(const std::vector<RankFinding>& finding_R) {
  int64_t fewest = std::numeric_limits<int64_t>::max();
  std::vector<int> ranks;
  for (size_t rank = 0; rank < finding_R.size(); ++rank) {
    if (!finding_R[rank].answers) continue;
    const int64_t calls = finding_R[rank].last->calls;
    if (calls < fewest) ranks.clear();
    fewest = std::min(fewest, calls);
    if (calls == fewest) ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

bool HasLeft(const RankFinding& finding) { return finding.last && finding.last->state == Heartbeat::kGone; }

// Where ranks hang because others are not there, those are the cause. Empty where all ranks answer, or have left.
std::string DescribeSilentRank(const Hang& hang, const std::vector<RankFinding>& finding_R, double limit) {
  std::vector<int> silent, unseen;
  for (size_t rank = 0; rank < finding_R.size(); ++rank) {
    const RankFinding& finding = finding_R[rank];
    if (finding.answers || HasLeft(finding)) continue;
    (finding.last ? silent : unseen).push_back(static_cast<int>(rank));
  }
  // A rank that is gone may have left in order, before this one looked at it, if others have.
  if (std::any_of(finding_R.begin(), finding_R.end(), HasLeft)) unseen.clear();
  const std::vector<int>& missing = silent.empty() ? unseen : silent;
  if (missing.empty()) return "";
  const RankFinding& first = finding_R[missing[0]];
  std::string sentence =
      absl::StrCat(RankName(missing[0], first),
                   silent.empty() ? " was stopped before it gave a sign of life, or has not begun"
                                  : absl::StrCat(" is stopped, or its host is lost; ", DescribePlace(first)));
  AppendOthers("so is", "so are", {missing.begin() + 1, missing.end()}, &sentence);
  absl::StrAppendFormat(&sentence, "; the others have waited for %.1f s (limit %.0f s)", hang.seconds, limit);
  return sentence;
}

std::string DescribeStuckRank(const Hang& hang, const std::vector<RankFinding>& finding_R, double limit) {
  if (std::string missing = DescribeSilentRank(hang, finding_R, limit); !missing.empty()) return missing;
  const std::vector<int> behind = BehindOthers(finding_R);
  const size_t answering =
      static_cast<size_t>(std::count_if(finding_R.begin(), finding_R.end(), [](const auto& f) { return f.answers; }));
  const size_t first = behind.empty() ? static_cast<size_t>(hang.rank) : static_cast<size_t>(behind[0]);
  const std::string place = DescribePlace(finding_R[first]);
  if (behind.size() == answering && answering > 1) {
    return absl::StrFormat("all ranks wait for each other, for %.1f s (limit %.0f s); of rank %d: %s", hang.seconds,
                           limit, first, place);
  }
  std::string sentence =
      absl::StrFormat("%s hangs, without a sign of life for %.1f s (limit %.0f s); %s",
                      RankName(static_cast<int>(first), finding_R[first]), hang.seconds, limit, place);
  AppendOthers("so does", "so do", {behind.begin() + (behind.empty() ? 0 : 1), behind.end()}, &sentence);
  return sentence;
}

std::string DescribeHang(const Hang& hang, const std::vector<RankFinding>& finding_R, double limit) {
  if (hang.kind == Hang::kHung) return DescribeStuckRank(hang, finding_R, limit);
  const RankFinding& finding = finding_R[hang.rank];
  const std::string name = RankName(hang.rank, finding), place = DescribePlace(finding);
  if (hang.kind == Hang::kDead) {
    return absl::StrFormat("%s was killed or has crashed; %s", name, place);
  }
  std::vector<int> others;
  for (size_t rank = 0; rank < finding_R.size(); ++rank) {
    if (!finding_R[rank].answers && !HasLeft(finding_R[rank]) && static_cast<int>(rank) != hang.rank) {
      others.push_back(static_cast<int>(rank));
    }
  }
  std::string sentence = absl::StrFormat(
      "%s is stopped, or its host is lost: it has given no sign of life for %.1f s; %s", name, hang.seconds, place);
  AppendOthers("so is", "so are", others, &sentence);
  return sentence;
}

std::string DescribeRank(int rank, const RankFinding& finding) {
  if (!finding.last) return absl::StrFormat("rank %d: never seen\n", rank);
  if (HasLeft(finding)) return absl::StrFormat("rank %d: has left\n", rank);
  return absl::StrFormat(
      "rank %d: host %s, process %d, %s; when last seen in %s for %.1f s; %d collectives, the last: %s\n", rank,
      finding.last->host, finding.last->pid, finding.answers ? "answers" : "does not answer",
      RunPhase::Unpack(finding.last->phase).text(), static_cast<double>(finding.last->in_phase_ms) / 1000,
      finding.last->calls, finding.last->last_call.empty() ? "none" : finding.last->last_call);
}

}  // namespace

Alarm DescribeAlarm(const Hang& hang, const std::vector<RankFinding>& finding_R, int raised_by, double limit) {
  Alarm alarm;
  for (size_t rank = 0; rank < finding_R.size(); ++rank) {
    if (finding_R[rank].answers) alarm.answering_R.push_back(static_cast<int>(rank));
    alarm.table += DescribeRank(static_cast<int>(rank), finding_R[rank]);
  }
  alarm.speaker = finding_R[0].answers ? 0 : raised_by;
  alarm.is_death = hang.kind == Hang::kDead;
  alarm.sentence = DescribeHang(hang, finding_R, limit);
  return alarm;
}

std::string Alarm::Encode() const {
  return absl::StrCat("speaker ", speaker, " death ", is_death ? 1 : 0, " answering ", absl::StrJoin(answering_R, ","),
                      "\n", sentence, "\n", table);
}

std::optional<Alarm> DecodeAlarm(absl::string_view text) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, absl::MaxSplits('\n', 2));
  if (lines.size() != 3) return std::nullopt;
  const std::vector<absl::string_view> words = absl::StrSplit(lines[0], ' ');
  Alarm alarm;
  if (words.size() != 6 || !absl::SimpleAtoi(words[1], &alarm.speaker)) return std::nullopt;
  alarm.is_death = words[3] == "1";
  for (const absl::string_view word : absl::StrSplit(words[5], ',', absl::SkipEmpty())) {
    int rank = 0;
    if (!absl::SimpleAtoi(word, &rank)) return std::nullopt;
    alarm.answering_R.push_back(rank);
  }
  alarm.sentence = std::string(lines[1]);
  alarm.table = std::string(lines[2]);
  return alarm;
}

}  // namespace reprise
