// A stand-in for the message.
#pragma once
#include <string>

namespace geometry_msgs::msg
{
struct Point
{
  double x, y, z;
};

struct Quaternion
{
  double x, y, z, w;
};

struct Header
{
  std::string frame_id;
};

struct Pose
{
  Point position;
  Quaternion orientation;
};

struct PoseStamped
{
  Header header;
  Pose pose;
};
}  // namespace geometry_msgs::msg
