// Stand-ins for what a controller uses of rclcpp and rclcpp_lifecycle: they keep callbacks, so that a test can call them.
#pragma once
#include <cstddef>
#include <cstdio>
#include <map>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace rclcpp
{
struct Logger {};
struct Time {};

struct QoS
{
  explicit QoS(std::size_t) {}
};

struct Duration
{
  double value;
  double seconds() const { return value; }
};

struct Parameter
{
  std::variant<bool, int, double, std::string, std::vector<double>> value;
  bool as_bool() const { return std::get<bool>(value); }
  int as_int() const { return std::get<int>(value); }
  double as_double() const { return std::get<double>(value); }
  std::string as_string() const { return std::get<std::string>(value); }
  std::vector<double> as_double_array() const { return std::get<std::vector<double>>(value); }
};

template <class Message>
struct Subscription
{
  using SharedPtr = std::shared_ptr<Subscription>;
  std::function<void(std::shared_ptr<const Message>)> callback;
};

template <class Type>
struct Service
{
  using SharedPtr = std::shared_ptr<Service>;
  std::function<void(std::shared_ptr<typename Type::Request>, std::shared_ptr<typename Type::Response>)> callback;
};

struct TimerBase
{
  using SharedPtr = std::shared_ptr<TimerBase>;
  std::function<void()> callback;
};
}  // namespace rclcpp

namespace rclcpp_lifecycle
{
struct State {};

struct LifecycleNode
{
  std::weak_ptr<void> subscription, service;
  std::weak_ptr<rclcpp::TimerBase> timer;
  std::map<std::string, rclcpp::Parameter> parameters;

  rclcpp::Logger get_logger() const { return {}; }
  rclcpp::Parameter get_parameter(const std::string & name) const { return parameters.at(name); }

  template <class Message, class Callback>
  typename rclcpp::Subscription<Message>::SharedPtr create_subscription(
    const std::string &, const rclcpp::QoS &, Callback callback)
  {
    const auto made = std::make_shared<rclcpp::Subscription<Message>>();
    made->callback = callback;
    subscription = made;
    return made;
  }

  template <class Type, class Callback>
  typename rclcpp::Service<Type>::SharedPtr create_service(const std::string &, Callback callback)
  {
    const auto made = std::make_shared<rclcpp::Service<Type>>();
    made->callback = callback;
    service = made;
    return made;
  }

  template <class Period, class Callback>
  rclcpp::TimerBase::SharedPtr create_wall_timer(Period, Callback callback)
  {
    const auto made = std::make_shared<rclcpp::TimerBase>();
    made->callback = callback;
    timer = made;
    return made;
  }
};
}  // namespace rclcpp_lifecycle

#define RCLCPP_WARN(logger, ...) (static_cast<void>(logger), std::printf("warning: " __VA_ARGS__), std::puts(""))
#define RCLCPP_ERROR(logger, ...) (static_cast<void>(logger), std::printf("error: " __VA_ARGS__), std::puts(""))
