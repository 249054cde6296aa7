"""When a run is over; whole runs are in ``test/nodes``."""

from arm_control.run import ARRIVAL_TIME, End

SECOND = 1_000_000_000


def test_it_is_over_when_states_and_commands_have_come():
    end = End(4.0)
    assert not end.reached(4 * SECOND - 1, 4 * SECOND - 1, now=10.0)
    assert end.reached(4 * SECOND, 4 * SECOND, now=10.0)


def test_the_last_commands_are_waited_for():
    """A command that was lost on the way is sent again, later than its state and with those behind it."""
    end = End(4.0)
    assert not end.reached(4 * SECOND, 4 * SECOND - 1, now=10.0)
    assert not end.reached(5 * SECOND, 4 * SECOND - 1, now=10.0 + 0.99 * ARRIVAL_TIME)
    assert end.reached(5 * SECOND, 4 * SECOND, now=10.0 + 0.99 * ARRIVAL_TIME)


def test_commands_that_never_come_end_it_too():
    end = End(4.0)
    assert not end.reached(4 * SECOND, -1, now=10.0)
    assert end.reached(6 * SECOND, -1, now=10.0 + ARRIVAL_TIME)


def test_without_a_duration_it_goes_on():
    assert not End(0.0).reached(10**18, 10**18, now=1e9)
