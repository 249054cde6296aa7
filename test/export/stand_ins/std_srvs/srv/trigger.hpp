// A stand-in for the service.
#pragma once
#include <string>

namespace std_srvs::srv
{
struct Trigger
{
  struct Request {};
  struct Response
  {
    bool success;
    std::string message;
  };
};
}  // namespace std_srvs::srv
