-- The arm without the node coppeliasim_bridge: a simulation script (child script) for CoppeliaSim with simROS2, which
-- speaks the same topics. Attach it to the arm's base, change the table below, start the simulation, and then
--     ros2 launch arm_control ur5_osc.launch.py simulator:=none
-- simROS2 has to be built with the messages of interfaces.txt, which is beside this file. Real time has to be on, and
-- CoppeliaSim takes that only before the simulation starts: the watchdog below counts wall time.
sim = require 'sim'
simROS2 = require 'simROS2'

ARM = {
    names = {'shoulder_pan_joint', 'shoulder_lift_joint', 'elbow_joint',
             'wrist_1_joint', 'wrist_2_joint', 'wrist_3_joint'},
    limits = {150.0, 150.0, 150.0, 28.0, 28.0, 28.0}, -- effort limit of each joint [N m]
    frame = 'base_link', -- name of the arm's base frame
    base = sim.handle_world, -- and the object that it is; the origin of the scene if this is sim.handle_world
    target = '/target', -- its pose becomes target_pose when it is moved
    namespace = '',
    pause = true, -- whether the simulation is paused when nobody commands, or goes on without torque
    watchdog = 0.5, -- wall time without a command after which that happens [s]
}

local FASTEST, SIGNED_TORQUE = 1e4, 40400
local joints, tau, place = {}, {}, {}
local heard, ended, last = nil, false, nil -- until the first command, heard is nil and the arm holds itself

-- Versions before 4.4 know no signed torque: the sign is that of a speed never reached, the rest its largest force.
function arm_velocity_and_force(torque)
    if torque < 0 then return -FASTEST, -torque end
    return FASTEST, torque
end

local function apply(torque)
    for i, joint in ipairs(joints) do
        local x = math.max(-ARM.limits[i], math.min(ARM.limits[i], torque[i]))
        if is_signed then
            sim.setJointTargetForce(joint, x, true)
        else
            local velocity, force = arm_velocity_and_force(x)
            sim.setJointTargetVelocity(joint, velocity)
            sim.setJointTargetForce(joint, force)
        end
    end
end

local function nothing()
    local zeros = {}
    for i = 1, #joints do zeros[i] = 0.0 end
    return zeros
end

local function stamp(seconds)
    local whole = math.floor(seconds + 1e-9)
    return {sec = whole, nanosec = math.max(0, math.floor((seconds - whole) * 1e9 + 0.5))}
end

local function is_number(x)
    return type(x) == 'number' and x == x and math.abs(x) < math.huge
end

-- Under the position controller of CoppeliaSim until somebody commands, under torque from then on.
local function hold()
    for i, joint in ipairs(joints) do
        sim.setObjectInt32Param(joint, sim.jointintparam_dynctrlmode, sim.jointdynctrl_position)
        sim.setJointTargetPosition(joint, sim.getJointPosition(joint))
        sim.setJointTargetForce(joint, ARM.limits[i])
    end
end

local function let_go()
    local mode = is_signed and sim.jointdynctrl_force or sim.jointdynctrl_velocity
    for _, joint in ipairs(joints) do sim.setObjectInt32Param(joint, sim.jointintparam_dynctrlmode, mode) end
end

local function take(torque)
    for i = 1, #joints do
        if not is_number(torque[i]) then
            sim.addLog(sim.verbosity_scripterrors, 'a command without a number for ' .. ARM.names[i] .. ' was refused')
            return
        end
    end
    if not heard then
        let_go()
        apply(torque) -- the next physics may come before the next actuation, and the limits of hold() are torques now
    end
    tau, heard = torque, sim.getSystemTime()
end

-- a command with names, in any order; one that does not name every joint is refused
function arm_on_command(message)
    local torque = {}
    for i, name in ipairs(message.name) do
        if place[name] then torque[place[name]] = message.effort[i] end
    end
    take(torque)
end

-- a command in the order of ARM.names
function arm_on_array(message)
    if #message.data == #joints then
        take(message.data)
    else
        sim.addLog(sim.verbosity_scripterrors, 'a command of ' .. #message.data .. ' values was refused')
    end
end

function sysCall_init()
    is_signed = sim.getInt32Param(sim.intparam_program_version) >= SIGNED_TORQUE
    for i, name in ipairs(ARM.names) do
        joints[i], place[name], tau[i] = sim.getObject('/' .. name), i, 0.0
    end
    hold()
    if not sim.getBoolParam(sim.boolparam_realtime_simulation) then
        error('switch on real time, then play: otherwise much simulated time passes until the watchdog ends silence')
    end
    local step = sim.getSimulationTimeStep()
    if step > 0.0051 then error('a time step of 5 ms or less is needed; it is ' .. step .. ' s') end
    target = sim.getObject(ARM.target, {noError = true})
    local function topic(name) return ARM.namespace .. '/' .. name end
    states = simROS2.createPublisher(topic('joint_states'), 'sensor_msgs/msg/JointState')
    clock = simROS2.createPublisher('/clock', 'rosgraph_msgs/msg/Clock')
    targets = simROS2.createPublisher(topic('target_pose'), 'geometry_msgs/msg/PoseStamped')
    simROS2.createSubscription(topic('joint_commands'), 'sensor_msgs/msg/JointState', 'arm_on_command')
    simROS2.createSubscription(topic('effort_controller/commands'), 'std_msgs/msg/Float64MultiArray', 'arm_on_array')
end

-- before the physics of each step: the newest command, or nothing
function sysCall_actuation()
    simROS2.spinSome()
    if heard and not ended and sim.getSystemTime() - heard > ARM.watchdog then
        ended = true
        sim.addLog(sim.verbosity_scripterrors, 'nobody commands the arm: torque is zero')
        if ARM.pause then sim.pauseSimulation() end
    elseif ended and heard and sim.getSystemTime() - heard <= ARM.watchdog then
        ended = false
    end
    if heard then apply(ended and nothing() or tau) end
end

local function has_moved(pose)
    if last == nil then return false end
    for i = 1, 7 do
        if math.abs(pose[i] - last[i]) > 1e-4 then return true end
    end
    return false
end

-- after it: the state, and the clock last
function sysCall_sensing()
    local now = stamp(sim.getSimulationTime() + sim.getSimulationTimeStep())
    local message = {header = {stamp = now, frame_id = ''}, name = ARM.names, position = {}, velocity = {}, effort = {}}
    for i, joint in ipairs(joints) do
        message.position[i], message.velocity[i] = sim.getJointPosition(joint), sim.getJointVelocity(joint)
        message.effort[i] = -(sim.getJointForce(joint) or 0.0)
    end
    if target >= 0 then
        local pose = sim.getObjectPose(target, ARM.base)
        if has_moved(pose) then
            local at = {position = {x = pose[1], y = pose[2], z = pose[3]},
                        orientation = {x = pose[4], y = pose[5], z = pose[6], w = pose[7]}}
            simROS2.publish(targets, {header = {stamp = now, frame_id = ARM.frame}, pose = at})
            last = pose
        end
        last = last or pose
    end
    simROS2.publish(states, message)
    simROS2.publish(clock, {clock = now})
end

-- While a person has paused the simulation no state asks for a command, so its silence does not count.
function sysCall_suspended()
    simROS2.spinSome()
    if heard and not ended then heard = sim.getSystemTime() end
end
