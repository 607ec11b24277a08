#ifndef PIPELINES_WATCHDOG_ALARM_H_
#define PIPELINES_WATCHDOG_ALARM_H_

// The text of an alarm: who speaks, a sentence for people, and what every rank did last.

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "pipelines/watchdog/heartbeat.h"
#include "pipelines/watchdog/judge.h"

namespace reprise {

// What is known of a rank when an alarm is raised.
struct RankFinding {
  std::optional<Heartbeat> last;  // nothing if it could never be read
  bool answers = false;           // its heartbeat advances
};

struct Alarm {
  int speaker = 0;               // the rank that prints the sentence
  bool is_death = false;         // a rank's process has ended
  std::vector<int> answering_R;  // ranks that will write reports
  std::string sentence;
  std::string table;  // a line for each rank

  std::string Encode() const;
};

// `finding_R`: of all ranks; `limit`: in seconds, of the rank that raises the alarm.
Alarm DescribeAlarm(const Hang& hang, const std::vector<RankFinding>& finding_R, int raised_by, double limit);

// Returns nothing for a text that is no alarm.
std::optional<Alarm> DecodeAlarm(absl::string_view text);

}  // namespace reprise

#endif  // PIPELINES_WATCHDOG_ALARM_H_
