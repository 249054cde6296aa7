-- Runs inside CoppeliaSim while the node coppeliasim_bridge is connected, which creates it there. One call writes
-- all torques, one reads the whole state, and a watchdog ends what nobody controls any more.
sim = require 'sim'

local joints, watched = {}, {}
local force_sensor, proximity_sensors = -1, {} -- a handle below 0 is none
local patience = 0.5 -- wall time without a call [s]
local heard, fired = nil, false

local function apply(tau)
    for i, joint in ipairs(joints) do sim.setJointTargetForce(joint, tau[i], true) end
end

local function zeros()
    local tau = {}
    for i = 1, #joints do tau[i] = 0.0 end
    return tau
end

-- An error that leaves this script would end it, and the watchdog with it: it is told instead.
function arm_call(name, ...)
    local results = {pcall(_G[name], ...)}
    if not results[1] then return false, tostring(results[2]) end
    return table.unpack(results)
end

-- handles of the joints; of the objects whose poses are wanted; of the frame they are wanted in; of the sensors
function arm_setup(handles, objects, frame, seconds, force, proximity)
    joints, watched = handles, {}
    force_sensor, proximity_sensors = force, proximity
    for i, object in ipairs(objects) do watched[i] = {object, frame} end
    patience = seconds
    heard, fired = sim.getSystemTime(), false
    return #joints
end

function arm_write(tau)
    heard = sim.getSystemTime()
    if #tau ~= #joints then error('got ' .. #tau .. ' torques for ' .. #joints .. ' joints') end
    if fired then return false end
    apply(tau)
    return true
end

-- when a bridge last spoke; it goes on while there is one
function arm_heard()
    return heard
end

-- Force and moment on the force sensor; nothing before it has measured, which is bit 0 of the first result.
local function read_force()
    if force_sensor < 0 then return {} end
    local state, force, torque = sim.readForceSensor(force_sensor)
    if state % 2 == 0 then return {} end
    return {force[1], force[2], force[3], torque[1], torque[2], torque[3]}
end

-- Distance to what a proximity sensor has detected; -1 for nothing.
local function read_proximity(sensor)
    local found, distance = sim.readProximitySensor(sensor)
    if found > 0 then return distance end
    return -1.0
end

-- time, positions, velocities, efforts, poses of what is watched, whether the watchdog has ended the simulation,
-- whether it runs, is paused or is stopped, and what the sensors have measured
function arm_read()
    heard = sim.getSystemTime()
    local q, v, effort, poses = {}, {}, {}, {}
    for i, joint in ipairs(joints) do
        q[i], v[i] = sim.getJointPosition(joint), sim.getJointVelocity(joint)
        effort[i] = -(sim.getJointForce(joint) or 0.0)
    end
    for i, one in ipairs(watched) do poses[i] = sim.getObjectPose(one[1], one[2]) end
    local distances = {}
    for i, sensor in ipairs(proximity_sensors) do distances[i] = read_proximity(sensor) end
    return sim.getSimulationTime(), q, v, effort, poses, fired, sim.getSimulationState(), read_force(), distances
end

-- of each joint, where it is in a frame; then of each shape that it carries, up to the next joints of the arm: mass,
-- inertia about the centre of mass, where that is on the shape, and where the shape is
function arm_links(handles, frame)
    local number, links = {}, {}
    for i, joint in ipairs(handles) do number[joint], links[i] = i, {sim.getObjectMatrix(joint, frame)} end
    for _, joint in ipairs(handles) do
        for _, shape in ipairs(sim.getObjectsInTree(joint, sim.object_shape_type, 1)) do
            local carrier = sim.getObjectParent(shape)
            while not number[carrier] do carrier = sim.getObjectParent(carrier) end
            if carrier == joint and sim.getObjectInt32Param(shape, sim.shapeintparam_static) == 0 then
                local inertia, centre = sim.getShapeInertia(shape)
                local place = sim.getObjectMatrix(shape, frame)
                table.insert(links[number[joint]], {sim.getShapeMass(shape), inertia, centre, place})
            end
        end
    end
    return links
end

function sysCall_init()
end

-- Before the physics of every step. A bridge that steps and dies stops the simulator until its connection times
-- out; the first step after that ends here.
function sysCall_actuation()
    if heard and not fired and sim.getSystemTime() - heard > patience then
        fired = true
        sim.pauseSimulation()
        pcall(apply, zeros()) -- a joint may be gone
        sim.addLog(sim.verbosity_scripterrors, 'the arm\'s bridge is gone: torque is zero, the simulation is paused')
    elseif fired then
        pcall(apply, zeros())
    end
end

function sysCall_afterSimulation()
    heard, fired = nil, false
end
