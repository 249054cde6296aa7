// A stand-in for the service.
#pragma once

namespace std_srvs::srv
{
struct Trigger
{
  struct Request {};
  struct Response
  {
    bool success;
  };
};
}  // namespace std_srvs::srv
