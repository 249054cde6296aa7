"""Changes of a text that no test can notice, each with the reason: they count as neither killed nor survived.

An entry of which no change survives is an error of ``benchmark/mutation.py``: a test notices it after all, or it cannot
be made any more.
"""

from __future__ import annotations

FIRST_STATE = "the first state that is believed sets it, and nothing reads it before"
FIRST_OWNER = "taking the ownership sets it, and nothing reads it before"

FIRST_COMMAND = "the first command that passes sets it, and nothing reads it before"
SAMPLES = "numbers to compare a kernel on: others serve as well while every case is met, which a test checks"
SECOND_NUMBER = "nobody reads the second number"
ONE_NUMBER = "the first of one number is the last"
STAND_IN = "any bytes serve where the middleware gives none"
MAGNITUDE = "no magnitude is negative"
NEGATIVE = "NumPy takes any negative number for what is left"
POSTURES = "one random posture more or less serves as well"
SHORTCUT = "a shortcut: the lines behind it come to the same"
NOT_POSITIVE = "what is not above zero counts as zero"
POSITIVE = "what is above zero counts as one"
UNREAD = "nobody reads the number"
IN_ROUNDING = "both are within the rounding of stamps"
SET_ELSEWHERE = "it is so already, or set before it is read"
MORE_ROOM = "one place more, which stays zero"
NO_PLACE = "any negative number says that there is none"
NO_LENGTH = "a row of no length is missed by no more than the tolerance, whatever y is"
FIRST_ROW = "the first violated row comes before none, and sets it"
KEPT_LOCK = "the lock of Python is let go meanwhile: slower, and the same"

EQUIVALENT: dict[str, str] = {
    "core/cache.py Cache.load: ectory, follow_symlinks=False) -> ectory, follow_symlinks=True)": (
        "the file that has been read is no link, and can only become one between two calls"
    ),
    "core/cache.py Cache._read: return None -> pass": "a function that ends returns None",
    "core/cache.py Cache._make_room: if status.st_mtime < time.time() - LEFTOVER_"
    " -> if status.st_mtime <= time.time() - LEFTOVER_": "no file is as old to the nanosecond",
    "gate/joint_limits.py compile_limits: return limits.limit_torque -> pass": SHORTCUT,
    "gate/blind_brake.py doubted_time: ates.believed.unchanged[0] + dt)"
    " -> ates.believed.unchanged[-1] + dt)": ONE_NUMBER,
    "gate/blind_brake.py doubted_time:  change) if e * change > 0.0 else DOUBT"
    " ->  change) if e * change >= 0.0 else DOUBT": "infinite without a change, and bounded",
    "gate/blind_brake.py doubted_time: * dt * e / change) if e * change > 0.0 else DOUBT"
    " -> * dt * e / change) if e / change > 0.0 else DOUBT": "of the same sign",
    "gate/blind_brake.py moment_before: k = (k + N_MOMENTS - 1) % N_MOME -> k = (k - N_MOMENTS - 1) % N_MOME": (
        "the same place"
    ),
    "gate/blind_brake.py go_on: blind.prediction.dt[0] = step -> blind.prediction.dt[-1] = step": ONE_NUMBER,
    "gate/blind_brake.py _note: return 0.0 *": UNREAD,
    "gate/blind_brake.py BlindBrake.__init__: (self.moments, np.zeros(1, dtype=np.int64), *np.z"
    " -> (self.moments, np.zeros(2, dtype=np.int64), *np.z": UNREAD,
    "gate/blind_brake.py BlindBrake.__init__: ts, unknown = (np.zeros(2, dtype=np.int64), np.ze"
    " -> ts, unknown = (np.zeros(3, dtype=np.int64), np.ze": UNREAD,
    "gate/blind_brake.py BlindBrake._terms: return 0.0 *": UNREAD,
    "gate/blind_brake.py BlindBrake.note: noted.t[0], noted.q[:], noted.v[: -> noted.t[-1], noted.q[:], noted.v[:": (
        ONE_NUMBER
    ),
    "gate/blind_brake.py BlindBrake.tick: , dt: float, doubt: int=0) -> GateOutput:"
    " -> , dt: float, doubt: int=-1) -> GateOutput:": "no state is younger than now",
    "gate/effort_gate.py EffortGate.__init__: self._refused = False *": FIRST_COMMAND,
    "gate/inertia_floor.py SHORTEST:*": "it only keeps from dividing by zero: without time the gain is zero",
    "gate/inertia_floor.py SAMPLES: SAMPLES = 200 -> SAMPLES = 201": POSTURES,
    "gate/inertia_floor.py SAMPLES: SAMPLES = 200 -> SAMPLES = 199": POSTURES,
    "gate/inertia_floor.py InertiaFloor.add_to: self._memory.reshape(-1)[...] = self._state_out"
    " -> self._memory.reshape(-2)[...] = self._state_out": NEGATIVE,
    "gate/inertia_floor.py _by_name: ate'].reshape(N_STATE, -1) -> ate'].reshape(N_STATE, -2)": NEGATIVE,
    "gate/inertia_floor.py _by_name: x['bounds'].reshape(5, -1), x['numbers'])"
    " -> x['bounds'].reshape(5, -2), x['numbers'])": NEGATIVE,
    "gate/inertia_floor.py _by_name: x['M'].reshape(len(d), -1)) + np.diag(updated.f)"
    " -> x['M'].reshape(len(d), -2)) + np.diag(updated.f)": NEGATIVE,
    "gate/inertia_floor.py _samples:*": SAMPLES,
    "gate/joint_limits.py JointLimits.__init__:  = np.isinf(self.q_soft[1]) ->  = np.isinf(self.q_soft[0])": (
        "both limits are infinite, or none"
    ),
    "gate/joint_limits.py JointLimits._changed_least: answer = Solver(n, 4 * n).solve(rows.G, rows"
    " -> answer = Solver(n, 5 * n).solve(rows.G, rows": MORE_ROOM,
    "gate/joint_limits.py JointLimits._changed_least: ows.need, np.repeat([0, 1], 2 * n))"
    " -> ows.need, np.repeat([0, 2], 2 * n))": "only the order of levels counts",
    "gate/joint_limits.py limit_run: return None -> pass": "the procedures run as they stand: slower, and the same",
    "gate/joint_limits.py limit_run: pply_limits, keeps_lock=True)(record)"
    " -> pply_limits, keeps_lock=False)(record)": KEPT_LOCK,
    "gate/joint_limits.py _state: is_unlimited), np.zeros(0)) -> is_unlimited), np.zeros(1))": "the law reads no pose",
    "gate/joint_limits.py limit_by_name: '], x['tau_0'], x['dt'][0], x['is_on'][0], number"
    " -> '], x['tau_0'], x['dt'][-1], x['is_on'][0], number": ONE_NUMBER,
    "gate/joint_limits.py limit_by_name:  x['dt'][0], x['is_on'][0], numbers)"
    " ->  x['dt'][0], x['is_on'][-1], numbers)": ONE_NUMBER,
    "gate/joint_limits.py _rows_by_name: '], x['tau_0'], x['dt'][0], numbers)"
    " -> '], x['tau_0'], x['dt'][-1], numbers)": ONE_NUMBER,
    "constraints/joint_program.py new_joint_program: T, limits = (x.reshape(-1) for x in (G, need, T, "
    " -> T, limits = (x.reshape(-2) for x in (G, need, T, ": NEGATIVE,
    "constraints/joint_program.py new_joint_program: , new_least_distance(n, 4 * n), n)"
    " -> , new_least_distance(n, 5 * n), n)": MORE_ROOM,
    "constraints/joint_rows.py LimitNumbers.of: numbers[2:].reshape(6, -1) -> numbers[2:].reshape(6, -2)": NEGATIVE,
    "gate/joint_limits.py _input_sizes: ': n, 'dt': 1, 'is_on': 1} -> ': n, 'dt': 1, 'is_on': 2}": SECOND_NUMBER,
    "gate/joint_limits.py _SCALES:*": SAMPLES,
    "gate/joint_limits.py _MIDDLES:*": SAMPLES,
    "gate/joint_limits.py _SPREADS:*": SAMPLES,
    "gate/joint_limits.py limit_samples:*": SAMPLES,
    "gate/torque_rules.py believed_time: if not dt > 0.0: -> if not dt >= 0.0:": "the lines behind it come to 0, too",
    "gate/torque_rules.py hold_torque: speed = 0.0 -> speed = -1.0": MAGNITUDE,
    "gate/torque_rules.py apply_hold: change = 0.0 -> change = -1.0": MAGNITUDE,
    "gate/torque_rules.py unlike_joint:  abs(gate.M[n * i + k]) * RESUMING_ACCELERATION"
    " ->  abs(gate.M[n * i + k]) / RESUMING_ACCELERATION": "it is 1 rad/s^2",
    "processes/gate_process.py GateProcess.__init__: _at = self._ticked_at = 0.0 *": (
        "the first state sets one; a steady clock begins anywhere, and without a tick the other says no more than that"
    ),
    "processes/gate_process.py GateProcess.__init__: self._accepted_ns = -1 *": FIRST_STATE,
    "processes/gate_process.py GateProcess.on_state: self._accepted_ns = -1 -> self._accepted_ns = -2": (
        "no stamp is negative"
    ),
    "messages/publisher_lock.py ONLY_PUBLISHER: ISHER = {'data': bytes([1]) * 16}"
    " -> ISHER = {'data': bytes([2]) * 16}": STAND_IN,
    "messages/publisher_lock.py ONLY_PUBLISHER: ISHER = {'data': bytes([1]) * 16}"
    " -> ISHER = {'data': bytes([0]) * 16}": STAND_IN,
    "processes/gate_process.py GateProcess._brake_blindly: reason: str, doubt: int=0) -> Answers:"
    " -> reason: str, doubt: int=-1) -> Answers:": "no state is newer than now",
    "messages/joint_states.py JointStateReader.__init__: self._heard_ns = 0 *": FIRST_OWNER,
    "messages/joint_states.py JointStateReader.__init__:  self._least_delay_ns = 0 *": FIRST_STATE,
    "messages/joint_states.py JointStateReader.__init__: self._older = 0 *": FIRST_STATE,
    "messages/joint_states.py JointStateReader.__init__: self._index = np.zeros(0, dtype=int) *": (
        "the first message has other names than none, and sets it"
    ),
    "messages/joint_states.py JointStateReader.read:  not None and stamp_ns < last.stamp_ns"
    " ->  not None and stamp_ns <= last.stamp_ns": "an equal stamp has been answered some lines before",
    "messages/joint_states.py JointStateReader._second_publisher: return '' -> pass": "None is as false as no text",
    "messages/joint_states.py JointStateReader._learn_order: self._names = list(names) -> pass": (
        "the order is learnt again from each message: slower, and the same"
    ),
    "messages/publisher_lock.py PublisherLock.__init__: self._heard_at = 0.0 *": FIRST_OWNER,
    "gate/state_prediction.py new_prediction: .zeros(n * n), np.zeros(1), n)"
    " -> .zeros(n * n), np.zeros(2), n)": SECOND_NUMBER,
    "gate/state_prediction.py predict: + state.a[i] * state.dt[0]) <= LARGEST"
    " -> + state.a[i] * state.dt[-1]) <= LARGEST": ONE_NUMBER,
    "gate/state_bounds.py unwrap: if turn > 0.0 and abs(state.q[i]) <"
    " -> if turn > 1.0 and abs(state.q[i]) <": "a turn is 0 or 2 pi",
    "gate/state_bounds.py violated_bound: speed = 0.0 -> speed = -1.0": MAGNITUDE,
    "gate/state_bounds.py violated_bound: e[i] = last.e[i] * keep + (change - half * (v + l"
    " -> e[i] = last.e[i] * keep - (change - half * (v + l": MAGNITUDE,
    "gate/state_bounds.py judge_state: unts[IS_KNOWN] > 0 else 0.0) -> unts[IS_KNOWN] > 0 else -1.0)": NOT_POSITIVE,
    "gate/state_bounds.py judge_state: mory.counts[IS_KNOWN] = 1 -> mory.counts[IS_KNOWN] = 2": POSITIVE,
    "gate/state_bounds.py judge_state: return BELIEVED -> pass": SHORTCUT,
    "gate/state_bounds.py judge_state: memory.counts[N_AGREEING] = 0 -> pass": SET_ELSEWHERE,
    "gate/state_bounds.py follow_doubted:  memory.doubted, state, 0.0 if is_first else inte"
    " ->  memory.doubted, state, -1.0 if is_first else inte": NOT_POSITIVE,
    "gate/state_bounds.py follow_doubted: r memory.times[AGREED] < AGREEING_TIME - 1e-09:"
    " -> r memory.times[AGREED] <= AGREEING_TIME - 1e-09:": IN_ROUNDING,
    "gate/state_bounds.py follow_doubted: REED] < AGREEING_TIME - 1e-09:"
    " -> REED] < AGREEING_TIME - 5e-10:": IN_ROUNDING,
    "gate/state_bounds.py follow_doubted: ry.counts[N_AGREEING] = 0 -> ry.counts[N_AGREEING] = -1": NOT_POSITIVE,
    "gate/state_bounds.py follow_doubted:  memory.doubted, state, 0.0) ->  memory.doubted, state, -1.0)": NOT_POSITIVE,
    "gate/state_bounds.py _unwrap: return 0.0 -> return 1.0": UNREAD,
    "gate/state_bounds.py _unwrap: return 0.0 -> return -1.0": UNREAD,
    "gate/state_bounds.py StateBounds.__init__: ate(model.nv), np.zeros(2))"
    " -> ate(model.nv), np.zeros(3))": SECOND_NUMBER,
    "gate/state_bounds.py StateBounds.unwrapped: return q -> pass": SHORTCUT,
    "gate/state_bounds.py StateBounds._describe: mory.believed.unchanged[0] + dt"
    " -> mory.believed.unchanged[-1] + dt": ONE_NUMBER,
    "gate/state_bounds.py StateBounds._describe: ar outside its limits', 0.0, 0.0), TOO_FAST: (f'v"
    " -> ar outside its limits', 1.0, 0.0), TOO_FAST: (f'v": UNREAD,
    "gate/state_bounds.py StateBounds._describe: ar outside its limits', 0.0, 0.0), TOO_FAST: (f'v"
    " -> ar outside its limits', -1.0, 0.0), TOO_FAST: (f'v": UNREAD,
    "gate/state_bounds.py StateBounds._describe: s far above its limit', 0.0, 0.0), JUMPED: ('posi"
    " -> s far above its limit', 1.0, 0.0), JUMPED: ('posi": UNREAD,
    "gate/state_bounds.py StateBounds._describe: s far above its limit', 0.0, 0.0), JUMPED: ('posi"
    " -> s far above its limit', -1.0, 0.0), JUMPED: ('posi": UNREAD,
    "gate/state_bounds.py new_memory: pe == 'continuous' else 0.0 for name in model.joi"
    " -> pe == 'continuous' else -1.0 for name in model.joi": NOT_POSITIVE,
    "gate/state_bounds.py new_memory: eved, doubted, np.zeros(4, dtype=np.int64), np.ze"
    " -> eved, doubted, np.zeros(5, dtype=np.int64), np.ze": SECOND_NUMBER,
    "gate/state_bounds.py new_memory: ype=np.int64), np.zeros(2)) -> ype=np.int64), np.zeros(3))": SECOND_NUMBER,
    "gate/state_bounds.py new_state: State(q, v, e, np.zeros(1), np.zeros(1, dtype=np."
    " -> State(q, v, e, np.zeros(2), np.zeros(1, dtype=np.": SECOND_NUMBER,
    "gate/state_bounds.py new_state: , np.zeros(1), np.zeros(1, dtype=np.int64))"
    " -> , np.zeros(1), np.zeros(2, dtype=np.int64))": SECOND_NUMBER,
    "gate/state_bounds.py _new_known: State(q, v, e, np.zeros(1)) -> State(q, v, e, np.zeros(2))": SECOND_NUMBER,
    "gate/effort_gate.py EffortGate.__init__: (self._memory, np.zeros(1))"
    " -> (self._memory, np.zeros(2))": SECOND_NUMBER,
    "gate/effort_gate.py EffortGate._hold: m.tau[:], self._tick.dt[0] = (t.q, t.v, t.g, t.M."
    " -> m.tau[:], self._tick.dt[-1] = (t.q, t.v, t.g, t.M.": ONE_NUMBER,
    "gate/effort_gate.py EffortGate.offer: self.period - ROUNDING <= age <= self._max_age:"
    " -> self.period - ROUNDING < age <= self._max_age:": SHORTCUT,
    "gate/effort_gate.py EffortGate.offer: riod - ROUNDING <= age <= self._max_age:"
    " -> riod - ROUNDING <= age < self._max_age:": SHORTCUT,
    "gate/effort_gate.py EffortGate.next_limits: dt = dt if 0.0 < dt <= self.period else "
    " -> dt = dt if 0.0 <= dt <= self.period else ": SHORTCUT,
    "gate/effort_gate.py EffortGate.next_limits: dt = dt if 0.0 < dt <= self.period else believ"
    " -> dt = dt if 0.0 < dt < self.period else believ": SHORTCUT,
    "gate/effort_gate.py EffortGate.next_limits: dt = dt if 0.0 < dt <= self.period e"
    " -> dt = dt if 1.0 < dt <= self.period e": SHORTCUT,
    "processes/controller_process.py ControllerProcess.__init__: self._missed = 0 *": SET_ELSEWHERE,
    "processes/controller_process.py ControllerProcess.__init__: self._answered_ns = 0 *": SET_ELSEWHERE,
    "processes/controller_process.py ControllerProcess.on_state: if reading.age and self._last is not None:"
    " -> if reading.age or self._last is not None:": SHORTCUT,
    "processes/controller_process.py ControllerProcess.on_state: self._was_blind = False *": SHORTCUT,
    "processes/controller_process.py ControllerProcess._late_brake: return '' -> pass": "None is as false as no text",
    "processes/controller_process.py ControllerProcess._blind_command: amp_ns: int, doubt: int=0) -> Command:"
    " -> amp_ns: int, doubt: int=-1) -> Command:": "no state is younger than now",
    "processes/gate_process.py GateProcess.on_effort: return self._answer_open(is_late=self._lock_step) -> pass": (
        SHORTCUT
    ),
    "processes/gate_process.py GateProcess._repeated: (self._last._replace(dt=0.0))]"
    " -> (self._last._replace(dt=-1.0))]": NOT_POSITIVE,
    "processes/gate_process.py GateProcess._brake_blindly: reason: str, doubt: int=0) -> Answers:"
    " -> reason: str, doubt: int=1) -> Answers:": "the last state is older than that",
    "processes/gate_process.py GateProcess._brake_blindly: at if self._answer else 0.0, doubt)"
    " -> at if self._answer else -1.0, doubt)": NOT_POSITIVE,
    "constraints/kinds/cylinder.py CylinderConstraint.left: h if self.outside or d >= rho else self.radius - "
    " -> h if self.outside or d > rho else self.radius - ": "both are the same there",
    "constraints/kinds/clearance.py pair_row:  ConstraintRow(x['rho'][0] - select(x['is_self'][ -> "
    " ConstraintRow(x['rho'][-1] - select(x['is_self'][": ONE_NUMBER,
    "constraints/kinds/clearance.py pair_row: ] - select(x['is_self'][0], links, distance), J_n"
    " -> ] - select(x['is_self'][-1], links, distance), J_n": ONE_NUMBER,
    "constraints/least_change.py new_least_distance: size = width + 1 -> size = width + 2": MORE_ROOM,
    "constraints/least_change.py solve: if n_bad == 0 and (not is_any_positiv"
    " -> if n_bad == -1 and (not is_any_positiv": SHORTCUT,
    "constraints/least_change.py solve: return float(HOLDS) -> pass": SHORTCUT,
    "constraints/least_change.py solve: if n_bad > 0 and (not ignore_rows("
    " -> if n_bad >= 0 and (not ignore_rows(": SHORTCUT,
    "constraints/least_change.py solve: if n_bad > 0 and (not ignore_rows(s)"
    " -> if n_bad > -1 and (not ignore_rows(s)": SHORTCUT,
    "constraints/least_change.py clear: s.counts[N_MARKED] = 0 -> s.counts[N_MARKED] = 1": SHORTCUT,
    "constraints/least_change.py clear: s.counts[N_MARKED] = 0 -> s.counts[N_MARKED] = -1": SHORTCUT,
    "constraints/least_change.py clear: s.counts[SOFT] = -1 -> s.counts[SOFT] = -2": NO_PLACE,
    "constraints/least_change.py n_not_finite: n = 0 -> n = 1": SHORTCUT,
    "constraints/least_change.py n_not_finite: row(s.G, i, BLOCK * k) <= LARGEST else 1"
    " -> row(s.G, i, BLOCK * k) < LARGEST else 1": SHORTCUT,
    "constraints/least_change.py n_not_finite: n += 0 if abs(s.h[i]) + size_o"
    " -> n += 1 if abs(s.h[i]) + size_o": SHORTCUT,
    "constraints/least_change.py n_not_finite: CK * k) <= LARGEST else 1 -> CK * k) <= LARGEST else 2": POSITIVE,
    "constraints/least_change.py is_any_positive: n = 0 -> n = 1": SHORTCUT,
    "constraints/least_change.py is_any_positive: n += 1 if s.h[i] > 0.0 else 0"
    " -> n += 1 if s.h[i] >= 0.0 else 0": SHORTCUT,
    "constraints/least_change.py is_any_positive: n += 1 if s.h[i] > 0.0 else 0"
    " -> n += 1 if s.h[i] > -1.0 else 0": SHORTCUT,
    "constraints/least_change.py is_any_positive: n += 1 if s.h[i] > 0.0 else 0"
    " -> n += 2 if s.h[i] > 0.0 else 0": POSITIVE,
    "constraints/least_change.py is_any_positive:  1 if s.h[i] > 0.0 else 0 ->  1 if s.h[i] > 0.0 else 1": SHORTCUT,
    "constraints/least_change.py is_any_positive: return n > 0 -> return n >= 0": SHORTCUT,
    "constraints/least_change.py is_any_positive: return n > 0 -> return n > -1": SHORTCUT,
    "constraints/least_change.py scale_rows: n_broken = 0 -> n_broken = 1": SHORTCUT,
    "constraints/least_change.py scale_rows: _broken += 1 if is_zero and s.h[i] > 0.0 else 0"
    " -> _broken += 1 if is_zero or s.h[i] > 0.0 else 0": SHORTCUT,
    "constraints/least_change.py scale_rows:  if is_zero and s.h[i] > 0.0 else 0"
    " ->  if is_zero and s.h[i] >= 0.0 else 0": SHORTCUT,
    "constraints/least_change.py scale_rows: if is_zero and s.h[i] > 0.0 else 0"
    " -> if is_zero and s.h[i] > -1.0 else 0": SHORTCUT,
    "constraints/least_change.py scale_rows: n_broken += 1 if is_zero and s.h[i] >"
    " -> n_broken += 2 if is_zero and s.h[i] >": POSITIVE,
    "constraints/least_change.py scale_rows: o and s.h[i] > 0.0 else 0 -> o and s.h[i] > 0.0 else 1": SHORTCUT,
    "constraints/least_change.py scale_rows: s.scale[i] = 0.0 if is_zero else 1.0 /"
    " -> s.scale[i] = 1.0 if is_zero else 1.0 /": NO_LENGTH,
    "constraints/least_change.py scale_rows: s.scale[i] = 0.0 if is_zero else 1.0 /"
    " -> s.scale[i] = -1.0 if is_zero else 1.0 /": NO_LENGTH,
    "constraints/least_change.py scale_rows: s.b[i] = -1.0 if is_zero else s.h[i"
    " -> s.b[i] = -2.0 if is_zero else s.h[i": NO_LENGTH,
    "constraints/least_change.py scale_rows: s.b[i] = -1.0 if is_zero else s.h[i] "
    " -> s.b[i] = -0.5 if is_zero else s.h[i] ": NO_LENGTH,
    "constraints/least_change.py scale_rows: if n_broken > 0: -> if n_broken >= 0:": SHORTCUT,
    "constraints/least_change.py scale_rows: if n_broken > 0: -> if n_broken > -1:": SHORTCUT,
    "constraints/least_change.py ignore_rows: s.scale[i] = 0.0 -> s.scale[i] = -1.0": NOT_POSITIVE,
    "constraints/least_change.py find_violated: found = -1 -> found = -2": NO_PLACE,
    "constraints/least_change.py find_violated: largest = 0.0 -> largest = 1.0": FIRST_ROW,
    "constraints/least_change.py find_violated: largest = 0.0 -> largest = -1.0": FIRST_ROW,
    "constraints/least_change.py find_violated: at_level_0 = 0.0 -> at_level_0 = -1.0": MAGNITUDE,
    "constraints/least_change.py project: before = 1.0 -> before = 2.0": SET_ELSEWHERE,
    "constraints/least_change.py project: before = 1.0 -> before = 0.5": SET_ELSEWHERE,
    "constraints/least_change.py drop_negative: worst = -1 -> worst = -2": NO_PLACE,
    "constraints/least_change.py activate: largest = 0.0 -> largest = -1.0": MAGNITUDE,
    "constraints/least_change.py activate: first = -1 -> first = -2": NO_PLACE,
    "constraints/least_change.py resolve: not yields(s, i)) else -1 -> not yields(s, i)) else -2": NO_PLACE,
    "constraints/least_change.py fix_level: largest = 0.0 -> largest = -1.0": MAGNITUDE,
    "constraints/least_change.py fix_level: s.counts[SOFT] = -1 -> s.counts[SOFT] = -2": NO_PLACE,
    "constraints/least_change.py report: if s.counts[N_MARKED] > 0 or s.counts[IS_CAPPED"
    " -> if s.counts[N_MARKED] >= 0 or s.counts[IS_CAPPED": SHORTCUT,
    "constraints/least_change.py report: if s.counts[N_MARKED] > 0 or s.counts[IS_CAPPED] "
    " -> if s.counts[N_MARKED] > -1 or s.counts[IS_CAPPED] ": SHORTCUT,
    "constraints/least_change.py find_left: largest = 0.0 -> largest = -1.0": MAGNITUDE,
    "constraints/least_change.py Solver.__init__: edure(solve, keeps_lock=True)(self.record)"
    " -> edure(solve, keeps_lock=False)(self.record)": KEPT_LOCK,
    "constraints/least_change.py new_least_distance: , z, r, np.zeros(size + 1), former, width)"
    " -> , z, r, np.zeros(size + 2), former, width)": MORE_ROOM,
}
"""Reason by the key of a mutant, as the script prints it without the line; ``*`` at its end: all that begin so."""
