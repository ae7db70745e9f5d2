"""Replays measured per-source work on any number of nodes and GPUs. What comes out is simulated.

A worker (GPU) searches a batch of sources in
    overhead + max(sum of their edges / rate, largest edges of one of them / source_rate)
seconds: a kernel's share of a full GPU, and the critical path of a single source. A node takes
`chunk_time` seconds to find the supernodes of one chunk. Messages are not modelled: supernode
detection needs none, and the gather of O(n) bytes at the end is the same for all schedules.
"""

import heapq
from dataclasses import dataclass

from schedule import (BLOCK, DYNAMIC, INTRA_NODE, SCHEDULES, chunk_ranges, chunks_by_work,
                      chunks_of_rank, chunks_per_node, guided_takes, part, work_of_chunks)


@dataclass(frozen=True)
class Machine:
    """One worker, all alike."""
    rate: float                       # edges per second of a worker that is full
    overhead: float = 0.0             # seconds for each batch of a worker
    source_rate: float = float("inf") # edges per second of a single source
    chunk_time: float = 0.0           # seconds for the supernodes of a chunk

    def batch(self, edges):
        """Seconds for a batch of sources with these edges; a batch of none is not started."""
        if not edges:
            return 0.0
        return self.overhead + max(sum(edges) / self.rate, max(edges) / self.source_rate)


@dataclass(frozen=True)
class Layout:
    """How the work is laid out; `sources` is #C of a worker."""
    nodes: int
    workers: int
    schedule: str
    chunk_size: int = 128
    sources: int = 1024
    batch_barrier: bool = False  # workers of a node wait after each batch under every schedule


@dataclass(frozen=True)
class Outcome:
    makespan: float  # seconds until the last worker of the last node is done
    busy: tuple      # seconds at work, by worker of all nodes

    @property
    def imbalance(self):
        """Largest over mean busy time of a worker; 1 is perfect."""
        mean = sum(self.busy) / len(self.busy)
        return max(self.busy) / mean if mean > 0 else 1.0


def sub_batches(machine, edges, sources):
    """Seconds for sources that one worker finds #C at a time."""
    return sum(machine.batch(edges[k:k + sources]) for k in range(0, len(edges), sources))


def simulate_static(edges, machine, layout):
    ranges = chunk_ranges(len(edges), layout.chunk_size)
    size = ranges[0][1] - ranges[0][0] if ranges else 1
    w = layout.workers
    interleaved = layout.schedule == INTRA_NODE
    if interleaved:
        at_once = chunks_per_node(size, layout.sources, w)
    else:
        at_once = w * max(1, layout.sources // size)
    busy, makespan = [], 0.0
    for node in range(layout.nodes):
        mine = chunks_of_rank(layout.schedule, len(ranges), node, layout.nodes)
        spent = [0.0] * w  # busy
        clock = [0.0] * w  # with waiting
        for first in range(0, len(mine), at_once):
            batch = mine[first:first + at_once]
            for k in range(w):
                if interleaved:
                    rows = [x for c in batch for x in edges[ranges[c][0] + k:ranges[c][1]:w]]
                    chunks = len(range(k, len(batch), w))
                else:
                    own = batch[slice(*part(len(batch), k, w))]
                    rows = [x for c in own for x in edges[ranges[c][0]:ranges[c][1]]]
                    chunks = len(own)
                search = sub_batches(machine, rows, layout.sources)
                detect = machine.chunk_time * chunks
                spent[k] += search + detect
                clock[k] += search
                if not interleaved:
                    clock[k] += detect
            if interleaved:
                # The chunk's supernodes need the rows of all workers.
                ready = max(clock)
                clock = [ready + machine.chunk_time * len(range(k, len(batch), w)) for k in range(w)]
            if interleaved or layout.batch_barrier:
                clock = [max(clock)] * w
        busy += spent
        makespan = max(makespan, *clock)
    return Outcome(makespan, tuple(busy))


def simulate_dynamic(edges, predicted, machine, layout):
    ranges = chunk_ranges(len(edges), layout.chunk_size)
    size = ranges[0][1] - ranges[0][0] if ranges else 1
    total = layout.nodes * layout.workers
    works = work_of_chunks(ranges, predicted)
    order = chunks_by_work(works)
    takes = guided_takes([works[c] for c in order], max(1, layout.sources // size), total)
    busy = [0.0] * total
    free = [(0.0, k) for k in range(total)]
    for begin, end in takes:
        rows = [x for c in sorted(order[begin:end]) for x in edges[ranges[c][0]:ranges[c][1]]]
        seconds = (sub_batches(machine, rows, layout.sources)
                   + machine.chunk_time * (end - begin))
        at, k = heapq.heappop(free)
        busy[k] += seconds
        heapq.heappush(free, (at + seconds, k))
    return Outcome(max(at for at, _ in free), tuple(busy))


def simulate(edges, machine, layout, predicted=None):
    """Outcome of one layout. `edges`: work of each source; `predicted`: what the dynamic schedule
    orders chunks by (it orders by the work itself where there is no prediction)."""
    if layout.schedule not in SCHEDULES:
        raise ValueError(f"unknown schedule '{layout.schedule}'")
    if min(layout.nodes, layout.workers, layout.sources) < 1 or layout.chunk_size < 0:
        raise ValueError("nodes, workers and sources must be positive, chunk_size not negative")
    if layout.schedule == DYNAMIC:
        return simulate_dynamic(edges, predicted or edges, machine, layout)
    return simulate_static(edges, machine, layout)


def fit_rate(edges, machine, layout, seconds, predicted=None):
    """The rate at which the simulated run of `layout` takes `seconds`, all else of `machine` as given.
    Raises ValueError if the overheads alone take longer."""
    def takes(rate):
        m = Machine(rate, machine.overhead, machine.source_rate, machine.chunk_time)
        return simulate(edges, m, layout, predicted).makespan
    low = high = sum(edges) / seconds
    if takes(float("inf")) >= seconds:
        raise ValueError("the overheads alone take longer than the measured run")
    while takes(high) > seconds:
        high *= 2
    while takes(low) < seconds:
        low /= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if takes(middle) > seconds else (low, middle)
    return high


__all__ = ["BLOCK", "DYNAMIC", "INTRA_NODE", "Layout", "Machine", "Outcome", "SCHEDULES", "fit_rate",
           "simulate"]
