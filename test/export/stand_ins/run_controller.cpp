// Runs the controller of planar3 as a controller manager would, with states of an arm at rest; prints what it does.
#include "ros2_control/controller.cpp"

using namespace planar3_osc_ros;

double q[N], v[N], tau[N];

void print_interfaces(const controller_interface::InterfaceConfiguration & configuration)
{
  for (const std::string & name : configuration.names) {
    std::printf("%s ", name.c_str());
  }
  std::puts("");
}

void run(controller_interface::ControllerInterface & controller, const char * what, int n_ticks)
{
  for (int k = 0; k < n_ticks; k++) {
    controller.update(rclcpp::Time(), rclcpp::Duration{0.001});
  }
  std::printf("%s:", what);
  for (const double torque : tau) {
    std::printf(" %.17g", torque);
  }
  std::puts("");
  controller.get_node()->timer.lock()->callback();
}

int main()
{
  const auto controller = make_controller();
  const auto node = controller->get_node();
  if (controller->on_init() != controller_interface::CallbackReturn::SUCCESS) {
    return 1;
  }
  controller->on_configure({});
  print_interfaces(controller->command_interface_configuration());
  print_interfaces(controller->state_interface_configuration());
  for (std::size_t i = 0; i < N; i++) {
    q[i] = planar3_osc_start[i];
    controller->command_interfaces_.push_back({&tau[i]});
    controller->state_interfaces_.push_back({&q[i]});
    controller->state_interfaces_.push_back({&v[i]});
  }
  controller->on_activate({});
  const auto target = std::static_pointer_cast<rclcpp::Subscription<PoseStamped>>(node->subscription.lock())->callback;
  const auto enable = std::static_pointer_cast<rclcpp::Service<Trigger>>(node->service.lock())->callback;
  run(*controller, "waiting", 10);
  target(std::make_shared<PoseStamped>(PoseStamped{{"elsewhere"}, {{0.1, 0.1, 0.0}, {0.0, 0.0, 0.0, 1.0}}}));
  target(std::make_shared<PoseStamped>(PoseStamped{{""}, {{0.1, 0.1, 0.0}, {0.0, 0.0, 0.0, 0.0}}}));
  run(*controller, "refused", 1);
  target(std::make_shared<PoseStamped>(PoseStamped{{planar3_osc_base}, {{0.1, 0.2, 0.0}, {0.0, 0.0, 0.6, 0.8}}}));
  run(*controller, "passing", 10);
  q[0] = NAN;
  run(*controller, "lost", 5);
  q[0] = planar3_osc_start[0];
  const auto response = std::make_shared<Trigger::Response>();
  enable(std::make_shared<Trigger::Request>(), response);
  run(*controller, "enabled", 10);
  return !response->success;
}
