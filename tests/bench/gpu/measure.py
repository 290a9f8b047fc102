"""Times of work on a GPU, by events; and whether what it computed is right."""

import statistics

import torch

L2_BYTES = 60 << 20  # of an H200
WARM_UP = 3
SLEEP = 20_000_000  # cycles, about 10 ms: the host puts a whole batch into the stream meanwhile


def median_ms(run, sets, rounds, batch=10):
    """Median time of run(set), taken over all sets in turn, so that nothing of one is in a cache for the next
    where the sets are several times as large as L2."""
    for index in range(WARM_UP):
        run(sets[index % len(sets)])
    torch.cuda.synchronize()
    times = []
    for _ in range(rounds):
        events = [
            (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(batch)
        ]
        torch.cuda._sleep(SLEEP)
        for index, (begin, end) in enumerate(events):
            begin.record()
            run(sets[index % len(sets)])
            end.record()
        torch.cuda.synchronize()
        times += [begin.elapsed_time(end) for begin, end in events]
    return statistics.median(times)


def compare_ms(ours, theirs, sets, rounds=4):
    """Both medians, measured in turns."""
    mine, other = [], []
    for _ in range(rounds):
        mine.append(median_ms(ours, sets, 1))
        if theirs is not None:
            other.append(median_ms(theirs, sets, 1))
    return statistics.median(mine), statistics.median(other) if other else None


def poison(tensor):
    """Garbage that no result is: NaN, or a value far off."""
    if tensor.dtype.is_floating_point:
        tensor.fill_(float("nan"))
    else:
        tensor.fill_(-(1 << 20))


def relative_error(got, want):
    """||got - want|| / ||want||; NaN where anything is NaN."""
    got, want = got.double(), want.double()
    return ((got - want).norm() / want.norm()).item()


def copy_bandwidth():
    """Bytes a second of a large copy on the device, read and written."""
    count = 1 << 30
    source, target = (torch.empty(count, dtype=torch.uint8, device="cuda") for _ in range(2))
    source.random_()
    ms = median_ms(lambda _: target.copy_(source), [None], 3)
    return 2 * count / ms * 1e3
