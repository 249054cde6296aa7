'use strict'
// What is seen and what a person does: the scene, the tabs, the plots. The arm itself is in arm.js.

const $ = id => document.getElementById(id)
const COLOUR = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
const LINES = ['#1f6fc4', '#d9822b', '#2c8a4b', '#8a5cc2', '#c23b2e', '#159c9c', '#8a6d3b', '#5b6b78']
const CIRCLE = { radius: 0.11, turns: 0.3 }    // [shares of the distance of the hand from the shoulder; 1/s]
const SWEEP = { width: 0.38, turns: 0.09 }     // of the ball [m; 1/s]
const SAMPLES = 450, SPACING = 10              // of a plot: their number, and steps from one to the next
const MOST_STEPS = 60                          // of a frame: a slow computer shows slow motion
const PUSH = { force: 60, duration: 0.35 }     // [N; s]

const add = (a, b, share = 1) => a.map((x, k) => x + share * b[k])
const length = a => Math.hypot(...a)

// -- the scene

class Scene {
  constructor(place, arm) {
    this.renderer = new THREE.WebGLRenderer({ antialias: true })
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2))
    this.renderer.shadowMap.enabled = true
    place.append(this.renderer.domElement)
    this.scene = new THREE.Scene()
    this.scene.background = new THREE.Color('#eef2f5')
    this.camera = new THREE.PerspectiveCamera(32, 1, 0.05, 60)
    this.camera.up.set(0, 0, 1)
    this.handles = []
    this.arm = arm
    this.addLinks(arm.data.parts)
    this.addLights()
    this.target = this.addBall(0.022 * this.size, COLOUR('good'), true)
    this.ball = this.addBall(arm.at.ball[3], '#ef8f35', false)
    this.trace = this.addTrace()
    this.arrow = this.addArrow('#c23b2e')
    this.listen(place)  // before the controls: a handle that is dragged does not turn the view
    this.controls = new THREE.OrbitControls(this.camera, this.renderer.domElement)
    this.controls.target.copy(this.middle)
    const { hand, shoulder, aside } = arm.data, out = add(hand, shoulder, -1), ahead = [out[0], out[1], 0].map(x => x / (length(out) || 1))
    const view = add(add([0, 0, 0.7], aside, 1.7), ahead, 1.1)  // from the side, and a little from where the hand points
    this.camera.position.copy(this.middle).add(new THREE.Vector3(...view).multiplyScalar(1.08 * this.size))
    new ResizeObserver(() => this.resize(place)).observe(place)
    this.resize(place)
  }

  addLinks(parts) {
    this.links = this.arm.data.links.map(() => new THREE.Group())
    for (const part of parts) {
      const geometry = new THREE.BufferGeometry()
      geometry.setAttribute('position', new THREE.BufferAttribute(new Float32Array(bytesOf(part.corners).buffer), 3))
      geometry.setIndex(new THREE.BufferAttribute(new Uint16Array(bytesOf(part.faces).buffer), 1))
      const [r, g, b] = part.rgba, colour = new THREE.Color().setRGB(r, g, b, THREE.SRGBColorSpace)
      const material = new THREE.MeshLambertMaterial({ color: colour })
      const mesh = new THREE.Mesh(THREE.toCreasedNormals(geometry, 0.6), material)
      mesh.castShadow = mesh.receiveShadow = true
      this.links[part.link].add(mesh)
    }
    const whole = new THREE.Group()
    for (const link of this.links) whole.add(link)
    this.scene.add(whole)
    this.showLinks()
    whole.updateMatrixWorld(true)
    const box = new THREE.Box3().setFromObject(whole)
    this.middle = box.getCenter(new THREE.Vector3())
    this.size = Math.max(box.getSize(new THREE.Vector3()).length(), 0.2)
    this.ground = Math.min(box.min.z, 0)
  }

  addLights() {
    const sun = new THREE.DirectionalLight('#ffffff', 2.3), size = this.size
    sun.position.set(0.8, -0.9, 2.2).multiplyScalar(size).add(this.middle)
    sun.target.position.copy(this.middle)
    sun.castShadow = true
    sun.shadow.mapSize.set(1024, 1024)
    sun.shadow.radius = 3
    Object.assign(sun.shadow.camera, { left: -size, right: size, top: size, bottom: -size, near: 0.1, far: 6 * size })
    const floor = new THREE.Mesh(new THREE.PlaneGeometry(12 * size, 12 * size), new THREE.ShadowMaterial({ opacity: 0.16 }))
    const grid = new THREE.GridHelper(8, 40, '#c6d0d8', '#d9e0e6')
    grid.rotation.x = Math.PI / 2
    floor.position.z = grid.position.z = this.ground - 0.002
    floor.receiveShadow = true
    this.scene.add(new THREE.HemisphereLight('#ffffff', '#b9c3cc', 1.5), sun, sun.target, floor, grid)
    this.scene.fog = new THREE.Fog('#eef2f5', 4 * size, 9 * size)
  }

  addBall(radius, colour, isAbove) {
    const style = { color: colour, emissive: colour, emissiveIntensity: 0.35, transparent: true, opacity: 0.85, depthTest: !isAbove }
    const material = new THREE.MeshLambertMaterial(style)
    const ball = new THREE.Mesh(new THREE.SphereGeometry(radius, 32, 20), material)
    ball.castShadow = true
    ball.grip = Math.max(radius, 0.04 * this.size)
    ball.renderOrder = isAbove ? 1 : 0
    this.scene.add(ball)
    this.handles.push(ball)
    return ball
  }

  addTrace() {
    const geometry = new THREE.BufferGeometry(), points = new Float32Array(3 * 500)
    geometry.setAttribute('position', new THREE.BufferAttribute(points, 3))
    const line = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: COLOUR('task') }))
    line.frustumCulled = false
    this.scene.add(line)
    return Object.assign(line, { points, n: 0 })
  }

  addArrow(colour) {
    const arrow = new THREE.Group(), material = new THREE.MeshLambertMaterial({ color: colour })
    const shaft = new THREE.Mesh(new THREE.CylinderGeometry(0.008, 0.008, 0.2, 16), material)
    const tip = new THREE.Mesh(new THREE.ConeGeometry(0.024, 0.06, 20), material)
    shaft.position.y = 0.1
    tip.position.y = 0.23
    arrow.add(shaft, tip)
    arrow.scale.setScalar(this.size)
    arrow.visible = false
    this.scene.add(arrow)
    return arrow
  }

  point(at, direction) {
    this.arrow.visible = Boolean(direction)
    if (!direction) return
    this.arrow.position.set(...at)
    this.arrow.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), new THREE.Vector3(...direction).normalize())
  }

  listen(place) {
    const ray = new THREE.Raycaster(), plane = new THREE.Plane(), here = new THREE.Vector2(), where = new THREE.Vector3()
    const canvas = this.renderer.domElement, aim = event => {
      const box = canvas.getBoundingClientRect()
      here.set(2 * (event.clientX - box.left) / box.width - 1, 1 - 2 * (event.clientY - box.top) / box.height)
      ray.setFromCamera(here, this.camera)
    }
    const met = () => this.handles.filter(h => h.visible && ray.ray.distanceToPoint(h.position) < h.grip)[0]
    canvas.addEventListener('pointerdown', event => {
      aim(event)
      const handle = met()
      if (!handle) return
      this.dragged = handle
      this.controls.enabled = false
      canvas.setPointerCapture(event.pointerId)
      plane.setFromNormalAndCoplanarPoint(this.camera.getWorldDirection(new THREE.Vector3()), handle.position)
      this.onGrab?.(handle)
    })
    canvas.addEventListener('pointermove', event => {
      aim(event)
      canvas.style.cursor = this.dragged ? 'grabbing' : met() ? 'grab' : ''
      if (!this.dragged || !ray.ray.intersectPlane(plane, where)) return
      where.sub(this.middle).clampLength(0, 1.6 * this.size).add(this.middle)
      where.z = Math.max(where.z, this.ground + 0.02)
      this.onDrag?.(this.dragged, where.toArray())
    })
    const end = () => { this.dragged = null; this.controls.enabled = true }
    canvas.addEventListener('pointerup', end)
    canvas.addEventListener('pointercancel', end)
  }

  resize(place) {
    const { clientWidth: width, clientHeight: height } = place
    this.renderer.setSize(width, height)
    this.camera.aspect = width / height
    this.camera.updateProjectionMatrix()
  }

  showLinks() {
    this.arm.run('frames')
    const f = this.arm.at.frames
    this.links.forEach((link, k) => {
      const [a, b, c, d, e, g, h, i, j, x, y, z] = f.subarray(12 * k, 12 * k + 12)
      link.matrixAutoUpdate = false
      link.matrix.set(a, b, c, x, d, e, g, y, h, i, j, z, 0, 0, 0, 1)
    })
  }

  leaveTrace(p) {
    const { points, geometry } = this.trace
    points.copyWithin(3, 0)
    points.set(p, 0)
    this.trace.n = Math.min(this.trace.n + 1, points.length / 3)
    geometry.setDrawRange(0, this.trace.n)
    geometry.attributes.position.needsUpdate = true
  }

  draw() {
    this.showLinks()
    this.controls.update()
    this.renderer.render(this.scene, this.camera)
  }
}

// -- plots

class Plot {
  // Lines over the last seconds. `lines` are colours; `range` is the least range that is shown; `level` is a dashed line.
  constructor(id, lines, range, level) {
    Object.assign(this, { canvas: $(id), lines, range, level, columns: [] })
  }

  add(values, isBraking) {
    this.columns.push({ values, isBraking })
    if (this.columns.length > SAMPLES) this.columns.shift()
  }

  draw() {
    const { canvas, columns, lines } = this, { clientWidth: width, clientHeight: height } = canvas
    if (!width) return
    const pen = fitted(canvas, width, height)
    let [low, high] = this.range
    for (const { values } of columns) for (const x of values) { low = Math.min(low, x); high = Math.max(high, x) }
    const x = k => width * k / SAMPLES, y = value => height - 8 - (height - 16) * (value - low) / (high - low || 1)
    pen.fillStyle = '#c23b2e1c'
    columns.forEach((column, k) => column.isBraking && pen.fillRect(x(k), 0, width / SAMPLES + 0.6, height))
    line(pen, [[0, y(0)], [width, y(0)]], '#cfd6dc', 1)
    if (this.level !== undefined) line(pen, [[0, y(this.level)], [width, y(this.level)]], '#8b97a1', 1, [5, 4])
    lines.forEach((colour, i) => line(pen, columns.map(({ values }, k) => [x(k), y(values[i])]), colour, i === this.bold ? 2.4 : 1.7))
    pen.fillStyle = '#76828c'
    pen.fillText(label(high), 6, 15)
    pen.fillText(label(low), 6, height - 6)
  }
}

const label = value => Math.abs(value) >= 10 ? value.toFixed(0) : Math.abs(value) >= 0.095 || value === 0 ? value.toFixed(1) : value.toFixed(2)

function fitted(canvas, width, height) {
  const ratio = devicePixelRatio
  if (canvas.width !== Math.round(width * ratio)) { canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio) }
  const pen = canvas.getContext('2d')
  pen.setTransform(ratio, 0, 0, ratio, 0, 0)
  pen.clearRect(0, 0, width, height)
  pen.font = '11px system-ui, sans-serif'
  return pen
}

function line(pen, points, colour, width, dash = []) {
  pen.beginPath()
  points.forEach(([x, y], k) => k ? pen.lineTo(x, y) : pen.moveTo(x, y))
  Object.assign(pen, { strokeStyle: colour, lineWidth: width, lineJoin: 'round' })
  pen.setLineDash(dash)
  pen.stroke()
  pen.setLineDash([])
}

// -- faults: what becomes of a state on its way to the gate, for so long [s]

const FAULTS = [
  ['Stop button', 0, arm => arm.brake(), 'Somebody pressed stop.'],
  ['States stop', 0.25, arm => arm.at['state.q'].fill(NaN),
    'No state for 0.25 s. After a few periods the gate brakes on a prediction of the arm, from its model.'],
  ['Encoder jumps', 0.001, arm => { arm.at['state.q'][0] += 0.5 }, 'One state was 0.5 rad away. No arm can do that.'],
  ['Encoder freezes', 0.15, arm => { arm.at['state.q'].set(arm.frozen); arm.at['state.v'].set(arm.frozenSpeed) },
    'The same state again and again, though the arm moves.'],
  ['Computer hangs', 0.06, () => 'no tick', 'Nobody computed for 60 ms: the motors kept the last torque all that time.'],
  ['Law returns NaN', 0.1, arm => { arm.at.reference[9] = NaN }, 'The torque of the law was no number. A few are bridged with the last torque.'],
  ['Absurd torque', 0.1, arm => { arm.at.reference[18] = 1e9 }, 'The law asked for more than a thousand times what the motors have.'],
  ['Clock stands still', 0.1, arm => { arm.at.times[0] = 0 }, 'No time passed between the states, said the clock.'],
]
const WORDS = { holding: 'holds the arm: nobody asks for motion', passing: 'passes the torque of the law', braking: 'brakes' }

// -- the page

class Page {
  constructor(arm) {
    this.arm = arm
    this.scene = new Scene($('scene'), arm)
    this.joint = Math.min(1, arm.n - 1)
    this.start = [...arm.at.reference.subarray(9, 12)]
    this.plots = {
      terms: new Plot('terms', [COLOUR('task'), COLOUR('posture'), COLOUR('bias'), COLOUR('ink')], [-1, 1]),
      speeds: new Plot('speeds', LINES.slice(0, arm.n), [-0.4, 0.4]),
      fastest: new Plot('fastest', [COLOUR('bad')], [0, 1]),
      distance: new Plot('distance', ['#ef8f35'], [0, 0.3], arm.at.avoidance[1]),
      share: new Plot('share', [COLOUR('task')], [0, 1]),
    }
    this.build()
    this.restart()
    addEventListener('hashchange', () => this.open())
    this.open()
    this.then = performance.now()
    requestAnimationFrame(now => this.frame(now))
  }

  build() {
    const { arm, scene } = this
    arm.data.joints.forEach((name, k) => button($('joints'), k + 1, () => this.choose(k)).title = name)
    this.choose(this.joint)
    for (const [name, duration, act, told] of FAULTS) button($('faults'), name, () => this.fail(duration, act, told))
    button($('faults'), 'Target far away', () => this.leap()).title = 'No fault: the limits of law and gate keep it slow'
    const gains = arm.data.gains
    $('stiffness').value = Math.log10(arm.at.numbers[gains.kp_linear])
    $('stiffness').oninput = () => this.stiffen()
    $('circle').onclick = () => this.turn(!this.circle)
    $('push').onclick = () => { this.pushed = PUSH.duration }
    $('enable').onclick = () => this.enable()
    $('stretch').onclick = () => this.stretch()
    $('back').onclick = () => this.glide(this.start, 2)
    $('fades').onchange = () => this.setOptions()
    $('sweep').onclick = () => this.sweep(!this.sweeps)
    $('restart').onclick = () => { this.restart(); this.enter() }
    scene.onGrab = handle => handle === scene.ball ? this.sweep(false) : this.turn(false)
    scene.onDrag = (handle, p) => handle === scene.ball ? arm.at.ball.set(p) : this.lead(p)
    if (!arm.data.hasBall) document.querySelector('a[href="#avoidance"]').remove()
  }

  restart() {
    const { arm } = this
    arm.restart()
    Object.assign(this, { left: 0, ticks: 0, fault: null, hung: 0, pushed: 0, path: null, circle: null, sweeps: null, target: [...this.start] })
    for (const plot of Object.values(this.plots)) plot.columns = []
    this.scene.trace.n = 0
    $('told').textContent = ''
    arm.follow()
    this.stiffen()
  }

  open() {
    const tabs = [...document.querySelectorAll('#tabs a')], chosen = tabs.find(a => a.hash === location.hash) ?? tabs[0]
    this.tab = chosen.hash.slice(1)
    for (const a of tabs) a.classList.toggle('open', a === chosen)
    for (const part of document.querySelectorAll('section')) part.classList.toggle('open', part.dataset.tab === this.tab)
    this.enter()
  }

  // What moves when a tab opens.
  enter() {
    const { arm, tab } = this
    if (arm.mode === 'braking') this.enable()
    this.scene.ball.visible = tab === 'avoidance'
    this.setOptions()
    if (tab === 'singularity') this.stretch()
    else this.turn(true)
    if (tab === 'avoidance') this.sweep(true)
    else { this.sweep(false); arm.at.ball[2] = arm.data.ballHeight }
    $('hint').textContent = tab === 'avoidance' ? 'Drag the orange ball or the green target. Drag elsewhere to turn the view.'
      : 'Drag the green target. Drag elsewhere to turn the view, scroll to zoom.'
  }

  setOptions() {
    const { arm, tab } = this, { AVOIDS, FADES } = arm.data.entries
    arm.set('options', AVOIDS, tab === 'avoidance' ? 1 : 0)
    arm.set('options', FADES, tab !== 'singularity' || $('fades').checked ? 1 : 0)
  }

  choose(joint) {
    this.joint = joint
    ;[...$('joints').children].forEach((b, k) => b.classList.toggle('chosen', k === joint))
    if (this.plots) this.plots.terms.columns = []
  }

  stiffen() {
    const { numbers } = this.arm.at, gains = this.arm.data.gains, kp = 10 ** $('stiffness').value
    numbers[gains.kp_linear] = kp
    numbers[gains.kv_linear] = 2 * Math.sqrt(kp)
    $('kp').textContent = `${kp.toFixed(0)} 1/s²`
  }

  // -- motions of the target

  turn(isOn) {
    this.circle = isOn ? { begin: this.arm.time, centre: this.target } : null
    $('circle').textContent = isOn ? 'Stop the circle' : 'Go round in a circle'
    if (isOn) { this.path = null; this.arm.follow() }
  }

  lead(p) { Object.assign(this, { target: p, path: null }); this.arm.follow() }

  glide(end, duration) {
    this.turn(false)
    this.path = { begin: this.arm.time, from: this.target, end, duration }
    this.arm.follow()
  }

  stretch() {
    const { shoulder } = this.arm.data, out = add(this.start, shoulder, -1)
    this.glide(add(this.start, out, 0.9), 3)
  }

  leap() {
    this.turn(false)
    this.lead(add(this.start, [0, length(this.start) * 0.8, 0]))
    $('told').textContent = 'No fault: the gate passes, and the limits of the law keep the motion slow.'
  }

  sweep(isOn) {
    this.sweeps = isOn ? { begin: this.arm.time } : null
    $('sweep').textContent = isOn ? 'Stop the ball' : 'Swing the ball through the arm'
  }

  enable() {
    this.arm.enable()
    this.turn(false)
    this.target = [...this.arm.at.p_WE]
    $('told').textContent = ''
  }

  fail(duration, act, told) {
    const { arm } = this
    arm.frozen = [...arm.q]
    arm.frozenSpeed = [...arm.v]
    $('told').textContent = told
    if (duration) this.fault = { act, end: arm.time + duration }
    else act(arm)
  }

  // -- one period

  step() {
    const { arm } = this
    this.moveTarget()
    this.moveBall()
    this.pushed -= arm.data.period
    arm.push([0, this.pushed > 0 ? -PUSH.force : 0, 0])
    arm.step(() => this.disturb())
    if (arm.mode === 'braking') this.circle = this.path = null
  }

  disturb() {
    const { arm, fault } = this
    if (fault && arm.time > fault.end) this.fault = null
    const answer = this.fault?.act(arm)
    if (answer === 'no tick') this.hung += 1
    else if (this.hung) { arm.at.times[0] *= this.hung + 1; this.hung = 0 }
    return answer
  }

  moveTarget() {
    const { arm, circle, path } = this
    let velocity, acceleration
    if (circle) {
      const w = 2 * Math.PI * CIRCLE.turns, angle = w * (arm.time - circle.begin), [e, f] = arm.data.axes
      const r = CIRCLE.radius * length(add(this.start, arm.data.shoulder, -1)) * 2, s = Math.sin(angle), c = Math.cos(angle)
      this.target = add(add(circle.centre, e, r * s), f, r * (c - 1))
      velocity = add(e.map(x => x * r * w * c), f, -r * w * s)
      acceleration = add(e.map(x => -x * r * w * w * s), f, -r * w * w * c)
    } else if (path) {
      const share = Math.min((arm.time - path.begin) / path.duration, 1), eased = share * share * (3 - 2 * share)
      this.target = add(path.from, add(path.end, path.from, -1), eased)
      if (share === 1) this.path = null
    }
    arm.aim(this.target, velocity, acceleration)
  }

  moveBall() {
    const { arm, sweeps } = this
    if (!sweeps) return
    const angle = 2 * Math.PI * SWEEP.turns * (arm.time - sweeps.begin)
    const middle = add(arm.data.shoulder, add(this.start, arm.data.shoulder, -1), 0.75)
    arm.at.ball.set(add(middle, arm.data.aside, SWEEP.width * Math.cos(angle)))
  }

  note() {
    const { arm, plots } = this, { at, n } = arm, isBraking = arm.mode === 'braking', part = k => at.parts[k * n + this.joint]
    plots.terms.add([part(0), part(1), part(3), at['gate.tau'][this.joint]], isBraking)
    plots.speeds.add([...arm.v], isBraking)
    plots.fastest.add([Math.max(...arm.v.map(Math.abs))], isBraking)
    plots.distance.add([Math.min(at.distance[0], 0.5)], isBraking)
    plots.share.add([at.share[0]], isBraking)
  }

  // -- one frame

  frame(now) {
    requestAnimationFrame(now => this.frame(now))
    const { arm, scene } = this, { period } = arm.data
    this.left = Math.min(this.left + (now - this.then) / 1000, MOST_STEPS * period)
    this.then = now
    const begin = performance.now()
    let n = 0
    for (; this.left >= period; this.left -= period, n++) {
      this.step()
      if (this.ticks++ % SPACING === 0) this.note()
    }
    if (n) this.cost = 0.97 * (this.cost ?? 0) + 0.03 * 1000 * (performance.now() - begin) / n
    this.show()
    scene.draw()
    this.noteFirstMotion()
  }

  show() {
    const { arm, scene, tab } = this, { p_WE: hand, ball } = arm.at
    scene.target.position.set(...this.target)
    scene.ball.position.set(...ball.subarray(0, 3))
    if (arm.time) scene.leaveTrace(hand)
    $('state').className = arm.mode
    $('state').textContent = `The gate ${WORDS[arm.mode]}${arm.mode === 'braking' ? `: ${arm.cause}` : ''}`
    $('enable').disabled = arm.mode !== 'braking'
    $('cost').textContent = this.cost ? `One tick of gate, law and simulation takes ${this.cost.toFixed(0)} µs here.` : ''
    scene.point(hand, this.pushed > 0 ? [0, -1, 0] : null)
    if (tab === 'singularity') this.showDirections()
    for (const plot of Object.values(this.plots)) plot.draw()
  }

  showDirections() {
    const { arm, scene } = this, canvas = $('directions'), { clientWidth: width, clientHeight: height } = canvas
    arm.run('fading')
    const pen = fitted(canvas, width, height), { sigma, shares, directions, numbers } = arm.at, m = sigma.length
    const order = [...sigma.keys()].sort((a, b) => sigma[a] - sigma[b]), largest = Math.max(0.4, ...sigma)
    const y = value => height - 34 - (height - 54) * value / largest, wide = width / m
    order.forEach((k, place) => {
      const x = place * wide + 0.2 * wide, row = directions.subarray(k * m, (k + 1) * m)
      const main = [...row.keys()].reduce((a, b) => Math.abs(row[a]) > Math.abs(row[b]) ? a : b)
      pen.fillStyle = shares[k] < 1 ? COLOUR('bad') : COLOUR('task')
      pen.fillRect(x, y(sigma[k]), 0.6 * wide, height - 34 - y(sigma[k]))
      pen.textAlign = 'center'
      pen.fillText(shares[k] < 1 ? `${(100 * shares[k]).toFixed(0)} %` : '', x + 0.3 * wide, y(sigma[k]) - 5)
      pen.fillStyle = '#55616b'
      pen.fillText(arm.data.rows[main], x + 0.3 * wide, height - 18)
    })
    const level = y(numbers[arm.data.gains.singular_value])
    line(pen, [[0, level], [width, level]], COLOUR('bad'), 1, [5, 4])
    pen.textAlign = 'left'
    const [weakest] = order
    const moves = [0, 0, 0].map((_, k) => { const i = arm.data.row_numbers.indexOf(k); return i < 0 ? 0 : directions[weakest * m + i] })
    if (shares[weakest] < 1 && length(moves) > 0.3) scene.point(arm.at.p_WE, moves)
  }

  noteFirstMotion() {
    const root = document.documentElement.dataset, { arm } = this
    if (!root.firstMotion && arm.q.some((x, k) => Math.abs(x - arm.data.start[k]) > 1e-3)) root.firstMotion = performance.now()
  }
}

function button(place, text, act) {
  const made = document.createElement('button')
  made.textContent = text
  made.onclick = act
  place.append(made)
  return made
}

Arm.load(DATA).then(arm => { window.page = new Page(arm) })
