#include "rl/environments/grid_navigation/pose.h"

#include <cmath>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl::grid_navigation {
namespace {

// Kinds 0 to 3 ahead, left, behind and right.
Scene FourKinds() { return {.objects = {{{0, {0, 1}}, {1, {-1, 0}}, {2, {0, -1}}, {3, {1, 0}}}}}; }

TEST(PoseTest, RotationComesFirstAndMovementIsInTheNewDirection) {
  const Pose pose = Move({}, {.rotation_angle_degrees = 90, .forward_meters = 0.5, .left_meters = 0.25});
  EXPECT_EQ(pose.heading_degrees, 90);
  EXPECT_NEAR(pose.at.x, -0.5, 1e-15);   // forward is west
  EXPECT_NEAR(pose.at.y, -0.25, 1e-15);  // left is south
}

TEST(PoseTest, HeadingsStayWithinOneTurn) {
  EXPECT_EQ(Move({}, {.rotation_angle_degrees = -90}).heading_degrees, 270);
  EXPECT_EQ(Move({}, {.rotation_angle_degrees = 450}).heading_degrees, 90);
  EXPECT_EQ(Move({.heading_degrees = 350}, {.rotation_angle_degrees = 10}).heading_degrees, 0);
  EXPECT_EQ(Move({}, {.rotation_angle_degrees = -1e-300}).heading_degrees, 0);
}

TEST(PoseTest, WallsStopTheAgent) {
  Pose pose;
  for (int step = 0; step < 5; ++step) pose = Move(pose, {.forward_meters = 0.5, .z_delta_meters = 0.25});
  EXPECT_EQ(pose.at.y, 1);
  EXPECT_EQ(pose.z, 1.25);
}

TEST(PoseTest, LookingASideShowsWhatIsThere) {
  const Scene scene = FourKinds();
  for (int64_t side = 0; side < 4; ++side) {
    const std::vector<Sight> sights =
        Visible(scene, Move({}, {.rotation_angle_degrees = 90.0 * static_cast<double>(side)}));
    ASSERT_EQ(sights.size(), 1u) << side;
    EXPECT_EQ(sights[0].kind, side);
    EXPECT_EQ(sights[0].distance, 1);
  }
}

TEST(PoseTest, NearerObjectsComeFirst) {
  // From the east wall, looking west: all objects except the one at the wall itself are ahead of the agent or at the
  // edge.
  const Pose pose = {.at = {0.5, 0}, .heading_degrees = 90};
  EXPECT_EQ(ObservationText(FourKinds(), pose, false), "see cup 1.5\n");
  EXPECT_EQ(ObservationText(FourKinds(), {.at = {1, 0}, .heading_degrees = 89}, true).substr(0, 9), "see key 0");
}

TEST(PoseTest, ObservationsDescribeTheVisibleObjects) {
  EXPECT_EQ(ObservationText(FourKinds(), {}, false), "see ball 1.0\n");
  EXPECT_EQ(ObservationText(FourKinds(), {}, true), "see ball 1.0 last\n");
  EXPECT_EQ(ObservationText(FourKinds(), {.at = {0.9, 0.9}}, false), "see nothing\n");
}

RC_GTEST_PROP(PoseTest, MovingThereAndBackEndsAtTheStart, ()) {
  const double angle = *rc::gen::inRange(-720, 721), ahead = *rc::gen::inRange(0, 51) / 100.0;
  const Pose there = Move({}, {.rotation_angle_degrees = angle, .forward_meters = ahead});
  const Pose back = Move(there, {.forward_meters = -ahead});
  RC_ASSERT(std::fabs(back.at.x) < 1e-15 && std::fabs(back.at.y) < 1e-15);
  RC_ASSERT(std::fabs(std::sqrt(there.at.x * there.at.x + there.at.y * there.at.y) - ahead) < 1e-15);
  RC_ASSERT(there.heading_degrees >= 0 && there.heading_degrees < 360);
}

}  // namespace
}  // namespace reprise::rl::grid_navigation
