import gc

from perfdb.domain.run import Protocol
from runners.measure.protocol import CPU, Pace, block_means_us, median_us, size_block, time_calls, warm_up


class FakeTime:
    """A clock that moves only when the call is made: the n-th call takes ``lengths[n]``, the last for ever."""

    def __init__(self, *lengths_ns: int) -> None:
        self.lengths_ns = lengths_ns
        self.now_ns = 0
        self.calls = 0

    def clock(self) -> int:
        return self.now_ns

    def call(self) -> None:
        self.now_ns += self.lengths_ns[min(self.calls, len(self.lengths_ns) - 1)]
        self.calls += 1


def test_the_protocol_is_the_first_version_of_cpu() -> None:
    assert Protocol("cpu", 1) == CPU


def test_a_call_of_one_millisecond_is_timed_in_blocks_of_sixteen() -> None:
    time = FakeTime(1_000_000)
    means = block_means_us(time.call, time.clock)
    # 50 warm-up calls; 1 + 2 + 4 + 8 + 16 to find the block; 300 ms / 16 ms = 19 blocks of 16
    assert means == (1000.0,) * 19
    assert time.calls == 50 + 31 + 19 * 16


def test_a_call_of_ten_seconds_is_timed_three_times() -> None:
    time = FakeTime(10_000_000_000)
    assert block_means_us(time.call, time.clock) == (1e7, 1e7, 1e7)
    assert time.calls == 1 + 1 + 3


def test_the_slow_first_calls_belong_to_the_warm_up() -> None:
    time = FakeTime(60_000_000, 20_000_000)
    assert set(block_means_us(time.call, time.clock)) == {20_000.0}


def test_the_value_of_a_process_ignores_one_stalled_block() -> None:
    assert median_us((10.0, 11.0, 500.0)) == 11.0


def test_the_warm_up_calls_at_least_once() -> None:
    time = FakeTime(5)
    warm_up(time.call, time.clock, 0)
    assert time.calls == 1


def test_a_block_is_a_power_of_two_and_lasts_long_enough() -> None:
    time = FakeTime(3)
    assert size_block(time.call, time.clock, 100) == (64, 192)


def test_a_block_of_a_clock_that_stands_still_is_not_zero_long() -> None:
    assert size_block(lambda: None, lambda: 7, 0) == (1, 1)


def test_calls_are_counted_exactly() -> None:
    time = FakeTime(7)
    assert time_calls(time.call, 6, time.clock) == 42


def test_nothing_is_collected_inside_and_collecting_goes_on_afterwards() -> None:
    seen: list[bool] = []
    time = FakeTime(1_000_000)

    def call() -> None:
        seen.append(gc.isenabled())
        time.call()

    block_means_us(call, time.clock, Pace(warm_up_ns=0, block_ns=1, budget_ns=1, fewest_blocks=1))
    assert not any(seen)
    assert gc.isenabled()
