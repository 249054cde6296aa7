// Stand-ins for what a controller uses of ros2_control; OLD_INTERFACES: as they were in Humble.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rclcpp/rclcpp.hpp"

namespace hardware_interface
{
inline bool are_commands_locked = false;

struct LoanedCommandInterface
{
  double * place;
#ifdef OLD_INTERFACES
  void set_value(double value) { *place = value; }
#else
  template <typename Number>
  [[nodiscard]] bool set_value(const Number & value)
  {
    if (!are_commands_locked) {
      *place = value;
    }
    return !are_commands_locked;
  }
#endif
};

struct LoanedStateInterface
{
  const double * place;
#ifdef OLD_INTERFACES
  double get_value() const { return *place; }
#else
  template <typename Number = double>
  [[nodiscard]] std::optional<Number> get_optional() const
  {
    return place ? std::optional<Number>(*place) : std::nullopt;
  }
#endif
};
}  // namespace hardware_interface

namespace controller_interface
{
enum class CallbackReturn : std::uint8_t { SUCCESS, FAILURE, ERROR };
enum class return_type : std::uint8_t { OK, ERROR };
enum class interface_configuration_type : std::uint8_t { ALL, INDIVIDUAL, NONE };

struct InterfaceConfiguration
{
  interface_configuration_type type;
  std::vector<std::string> names;
};

class ControllerInterface
{
public:
  ControllerInterface() = default;
  ControllerInterface(const ControllerInterface &) = delete;
  ControllerInterface & operator=(const ControllerInterface &) = delete;
  virtual ~ControllerInterface() = default;
  virtual InterfaceConfiguration command_interface_configuration() const = 0;
  virtual InterfaceConfiguration state_interface_configuration() const = 0;
  virtual CallbackReturn on_init() = 0;
  virtual CallbackReturn on_configure(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_activate(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_shutdown(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_error(const rclcpp_lifecycle::State &) = 0;
  virtual return_type update(const rclcpp::Time &, const rclcpp::Duration &) = 0;
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> get_node() { return node_; }

  unsigned int get_update_rate() const { return update_rate_; }

  template <typename Value>
  void auto_declare(const std::string & name, const Value & value)
  {
    node_->parameters.emplace(name, rclcpp::Parameter{value});
  }

  unsigned int update_rate_ = 0;
  std::vector<hardware_interface::LoanedCommandInterface> command_interfaces_;
  std::vector<hardware_interface::LoanedStateInterface> state_interfaces_;

private:
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> node_ = std::make_shared<rclcpp_lifecycle::LifecycleNode>();
};
}  // namespace controller_interface
