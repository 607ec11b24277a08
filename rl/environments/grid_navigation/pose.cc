#include "rl/environments/grid_navigation/pose.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "kernels/math/scalar_math.h"

namespace reprise::rl::grid_navigation {
namespace {

constexpr double kRadiansPerDegree = 3.14159265358979323846 / 180.0;

// Unit vectors of the agent's heading and of its left.
struct Frame {
  Point forward, left;
};

Frame PoseFrame(const Pose& pose) {
  const double angle = pose.heading_degrees * kRadiansPerDegree;
  const double sine = kernels::Sin(angle), cosine = kernels::Cos(angle);
  return {{-sine, cosine}, {-cosine, -sine}};
}

double WithinRoom(double coordinate) { return std::clamp(coordinate, -kHalfRoom, kHalfRoom); }

}  // namespace

Pose Move(const Pose& pose, const Action& action) {
  Pose next = pose;
  next.heading_degrees = std::fmod(pose.heading_degrees + std::fmod(action.rotation_angle_degrees, 360.0), 360.0);
  if (next.heading_degrees < 0) next.heading_degrees += 360.0;
  if (next.heading_degrees >= 360.0) next.heading_degrees = 0;  // a negative angle near 0 was rounded up
  const Frame frame = PoseFrame(next);
  next.at.x = WithinRoom(pose.at.x + action.forward_meters * frame.forward.x + action.left_meters * frame.left.x);
  next.at.y = WithinRoom(pose.at.y + action.forward_meters * frame.forward.y + action.left_meters * frame.left.y);
  next.z = pose.z + action.z_delta_meters;
  return next;
}

std::vector<Sight> Visible(const Scene& scene, const Pose& pose) {
  const Frame frame = PoseFrame(pose);
  std::vector<Sight> sights;
  for (const Object& object : scene.objects) {
    const double x = object.at.x - pose.at.x, y = object.at.y - pose.at.y;
    const double ahead = x * frame.forward.x + y * frame.forward.y, beside = x * frame.left.x + y * frame.left.y;
    if (ahead >= std::fabs(beside)) sights.push_back({object.kind, std::sqrt(x * x + y * y)});
  }
  std::stable_sort(sights.begin(), sights.end(),
                   [](const Sight& a, const Sight& b) { return a.distance < b.distance; });
  return sights;
}

std::vector<double> ObservationFeatures(const Scene& scene, const Pose& pose, bool is_final_step) {
  const double heading = pose.heading_degrees > 180.0 ? pose.heading_degrees - 360.0 : pose.heading_degrees;
  std::vector<double> features = {pose.at.x, pose.at.y, pose.z, heading, is_final_step ? 1.0 : 0.0};
  const size_t first = features.size();
  features.resize(first + static_cast<size_t>(scene.kinds), -1.0);
  for (const Sight& sight : Visible(scene, pose)) features[first + static_cast<size_t>(sight.kind)] = sight.distance;
  return features;
}

std::string ObservationText(const Scene& scene, const Pose& pose, bool is_final_step) {
  const auto append = [](std::string* out, const Sight& sight) {
    absl::StrAppend(out, KindName(sight.kind), absl::StrFormat(" %.1f", sight.distance));
  };
  const std::string seen = absl::StrJoin(Visible(scene, pose), ", ", append);
  return absl::StrCat("see ", seen.empty() ? "nothing" : seen, is_final_step ? " last\n" : "\n");
}

}  // namespace reprise::rl::grid_navigation
