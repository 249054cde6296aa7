'use strict'
// An arm in WebAssembly: model, law, gate and forward dynamics, on one memory. Nothing here knows a page: node runs it.
// All that is computed stands in the module, which is made from the programs that Python runs; here is who calls whom.

const bytesOf = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0))

class Arm {
  static async load(data) {
    const image = bytesOf(data.memory), n = data.joints.length
    const memory = new WebAssembly.Memory({ initial: Math.ceil((data.begin + image.length) / 65536) })
    const table = new WebAssembly.Table({ initial: data.functions.length + 1, element: 'anyfunc' })
    const stack = new WebAssembly.Global({ value: 'i32', mutable: true }, data.begin)
    const names = { __linear_memory: memory, __indirect_function_table: table, __stack_pointer: stack }
    const env = { ...names, sin: Math.sin, cos: Math.cos, exp: Math.exp }  // sines of angles beyond 1e5 rad
    const { instance } = await WebAssembly.instantiate(bytesOf(data.module), { env })
    data.functions.forEach((name, k) => table.set(k + 1, instance.exports[name]))
    return new Arm(data, instance.exports, memory.buffer, image, n)
  }

  constructor(data, call, buffer, image, n) {
    Object.assign(this, { data, call, buffer, image, n, at: {} })
    for (const [name, [address, size, isWhole]] of Object.entries(data.places))
      this.at[name] = new (isWhole ? BigInt64Array : Float64Array)(buffer, address, size)
    this.q = this.at.x.subarray(0, n)  // of the simulated arm; what the gate believes is elsewhere
    this.v = this.at.x.subarray(n)
    this.restart()
  }

  restart() {
    new Uint8Array(this.buffer).set(this.image, this.data.begin)
    this.time = 0
    this.run('frames')
  }

  // Whole numbers are of 64 bits in the memory.
  count(name, k) { return Number(this.at[name][k]) }
  set(name, k, value) { this.at[name][k] = BigInt(value) }

  get mode() { return this.data.modes[this.count('gate.counts', this.data.entries.MODE)] }
  get cause() { return this.data.causes[this.count('counts', this.data.entries.CAUSE)] }

  // A program works on the whole memory.
  run(program) { this.call[program](this.data.begin) }

  // The gate takes a state, or what a fault makes of it, and the motors exert its torque for one period.
  step(fault) {
    const { q, v, at } = this
    at['state.q'].set(q)
    at['state.v'].set(v)
    at.times[0] = this.data.period
    if (!fault || fault(this) !== 'no tick') this.call.answer(this.data.record)
    this.run('move')
    this.time += this.data.period
  }

  enable() { this.call.enable_gate(this.data.record) }
  brake() { this.call.brake_for(this.data.record, BigInt(this.data.entries.ASKED)) }
  follow() { this.call.take_reference(this.data.record) }

  // Desired position, velocity and acceleration of the hand; its orientation stays.
  aim(p, v = [0, 0, 0], a = [0, 0, 0]) {
    const { reference } = this.at
    reference.set(p, 9)
    reference.set(v, 12)
    reference.set(a, 18)
  }

  // Torque of a force on the hand, J^T F.
  push(force) {
    const { J, load } = this.at
    for (let i = 0; i < this.n; i++) load[i] = force.reduce((sum, f, k) => sum + f * J[k * this.n + i], 0)
  }
}
