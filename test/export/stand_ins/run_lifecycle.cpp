// Leads the controller of planar3 through its life as a controller manager would; says what is not as it should be.
#include "ros2_control/controller.cpp"

#include <vector>

using namespace planar3_osc_ros;

double q[N], v[N], measured[N], tau[N];
int n_wrong = 0;

void expect(bool is_right, const char * what)
{
  if (!is_right) {
    std::printf("wrong: %s\n", what);
    n_wrong++;
  }
}

struct Run
{
  std::shared_ptr<controller_interface::ControllerInterface> controller = make_controller();

  Run(bool measures_effort = false)
  {
    controller->on_init();
    set("measures_effort", measures_effort);
  }

  template <typename Value>
  void set(const std::string & name, const Value & value)
  {
    controller->get_node()->parameters[name] = rclcpp::Parameter{value};
  }

  bool configure() { return controller->on_configure({}) == CallbackReturn::SUCCESS; }

  bool activate()
  {
    controller->command_interfaces_.clear();
    controller->state_interfaces_.clear();
    for (std::size_t i = 0; i < N; i++) {
      controller->command_interfaces_.push_back({&tau[i]});
      controller->state_interfaces_.push_back({&q[i]});
      controller->state_interfaces_.push_back({&v[i]});
      if (controller->get_node()->get_parameter("measures_effort").as_bool()) {
        controller->state_interfaces_.push_back({&measured[i]});
      }
    }
    return controller->on_activate({}) == CallbackReturn::SUCCESS;
  }

  return_type tick(int n = 1)
  {
    return_type result = return_type::OK;
    for (int k = 0; k < n; k++) {
      result = controller->update(rclcpp::Time(), rclcpp::Duration{0.001});
    }
    return result;
  }

  bool enable()
  {
    const auto service = std::static_pointer_cast<rclcpp::Service<Trigger>>(controller->get_node()->service.lock());
    const auto response = std::make_shared<Trigger::Response>();
    service->callback(std::make_shared<Trigger::Request>(), response);
    expect(!response->message.empty(), "an answer has a sentence");
    return response->success;
  }

  void target()
  {
    const auto pose = std::make_shared<PoseStamped>(PoseStamped{{""}, {{0.1, 0.2, 0.0}, {0.0, 0.0, 0.6, 0.8}}});
    const auto held = controller->get_node()->subscription.lock();
    std::static_pointer_cast<rclcpp::Subscription<PoseStamped>>(held)->callback(pose);
  }

  void lose_states()
  {
    q[0] = NAN;
    tick(5);
    q[0] = planar3_osc_start[0];
    tick(200);
  }
};

void weight(double * g)
{
  planar3_osc_controller c;
  planar3_osc_init(&c, nullptr);
  planar3_osc_tick(&c, q, v, 0.001, g);
}

double distance(const double * x, const double * y)
{
  double largest = 0.0;
  for (std::size_t i = 0; i < N; i++) {
    largest = std::fmax(largest, std::fabs(x[i] - y[i]));
  }
  return largest;
}

void begin_and_end()
{
  Run run;
  double g[N], zero[N] = {}, before[N];
  weight(g);
  expect(run.configure() && run.activate(), "it is activated");
  expect(!run.enable(), "a gate that does not brake is not enabled");
  std::fill(tau, tau + N, -20.0);
  std::copy(tau, tau + N, before);
  q[0] = NAN;
  run.tick();
  expect(distance(tau, before) == 0.0, "nothing is written before the first state");
  q[0] = planar3_osc_start[0];
  run.tick();
  expect(distance(tau, g) < 1e-9, "it begins with the weight");
  run.target();
  run.tick(50);
  expect(distance(tau, g) > 1.0, "it goes to the target");
  run.controller->on_deactivate({});
  expect(distance(tau, zero) == 0.0, "a deactivated controller commands zero");
  expect(!run.enable(), "an inactive controller is not enabled");
  run.target();
  run.activate();
  run.tick(50);
  expect(distance(tau, g) < 1e-9, "a target that came while it was inactive is dropped");
  run.target();
  run.controller->on_deactivate({});
  run.activate();
  run.tick(50);
  expect(distance(tau, g) < 1e-9, "a target that came just before is dropped, too");
}

void brake()
{
  Run run;
  double g[N];
  weight(g);
  run.configure();
  run.activate();
  run.target();
  run.tick(50);
  run.lose_states();
  expect(distance(tau, g) < 1e-9, "a braked arm is held");
  run.controller->on_deactivate({});
  expect(!run.enable(), "a braked controller that is inactive is not enabled");
  run.activate();
  run.target();
  run.tick(50);
  expect(distance(tau, g) < 1e-9, "a brake survives a deactivation");
  expect(run.enable(), "a braked gate may be enabled");
  run.controller->on_deactivate({});
  run.activate();
  run.target();
  run.tick(50);
  expect(distance(tau, g) < 1e-9, "an activation forgets that");
  run.controller->on_deactivate({});
  run.controller->on_cleanup({});
  run.configure();
  run.activate();
  run.target();
  run.tick(50);
  expect(distance(tau, g) < 1e-9, "a brake survives a cleanup");
  expect(run.enable(), "a braked gate is enabled");
  run.tick(50);
  expect(distance(tau, g) < 1e-9, "after a brake the arm is held");
  expect(!run.enable(), "the brake has ended");
  run.target();
  run.tick(50);
  expect(distance(tau, g) > 1.0, "after a brake it goes to a new target");
}

void parameters()
{
  Run run;
  run.set("joint_prefix", std::string("left_"));
  run.controller->update_rate_ = 500;
  expect(run.configure(), "other parameters are accepted");
  const auto names = run.controller->command_interface_configuration().names;
  expect(names[0] == std::string("left_") + planar3_osc_joint_names[0] + "/effort", "joints have a prefix");
  run.controller->on_cleanup({});
  run.set("kp_linear", -1.0);
  expect(!run.configure(), "a gain below zero is refused");
  run.set("kp_linear", planar3_osc_defaults.gains.kp_linear);
  run.set("effort_limits", std::vector<double>(N, 1e9));
  expect(!run.configure(), "a larger limit is refused");
  run.set("effort_limits", std::vector<double>(N - 1, 1.0));
  expect(!run.configure(), "a list that is too short is refused");
  run.set("effort_limits", std::vector<double>(N, 0.5));
  expect(run.configure() && run.activate(), "a smaller limit is accepted");
  run.tick(10);
  for (double torque : tau) {
    expect(std::fabs(torque) <= 0.5, "a smaller limit holds");
  }
}

void gravity_and_effort()
{
  Run run(true);
  double zero[N] = {}, g[N];
  weight(g);
  run.set("driver_adds_gravity", true);
  expect(run.configure() && run.activate(), "effort may be measured");
  std::copy(g, g + N, measured);
  measured[0] += 5.0;
  run.tick();
  expect(std::fabs(tau[0] - 4.0) < 1e-9, "it goes on from the measured effort");
  run.tick(50);
  expect(distance(tau, zero) < 1e-9, "a driver that adds gravity gets the rest");
}

void interfaces_and_ends()
{
  Run run;
  run.configure();
  run.activate();
  run.controller->state_interfaces_.pop_back();
  expect(run.controller->on_activate({}) == CallbackReturn::FAILURE, "a missing interface is noticed");
  run.activate();
  run.tick(10);
#ifndef OLD_INTERFACES
  hardware_interface::are_commands_locked = true;
  expect(run.tick(4) == return_type::OK, "commands may be locked for a moment");
  expect(run.tick() == return_type::ERROR, "but not for long");
  hardware_interface::are_commands_locked = false;
  expect(run.tick() == return_type::OK, "and they may be free again");
#endif
  run.controller->on_error({});
  double zero[N] = {};
  const auto node = run.controller->get_node();
  expect(distance(tau, zero) == 0.0, "an error commands zero");
  expect(node->subscription.expired() && node->service.expired() && node->timer.expired(), "an error releases all");
  run.configure();
  run.controller->on_cleanup({});
  expect(node->subscription.expired() && node->service.expired() && node->timer.expired(), "a cleanup does, too");
}

int main()
{
  std::copy(planar3_osc_start, planar3_osc_start + N, q);
  begin_and_end();
  brake();
  parameters();
  gravity_and_effort();
  interfaces_and_ends();
  return n_wrong;
}
