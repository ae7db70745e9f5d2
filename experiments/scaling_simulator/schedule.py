"""The schedules of variants/maxid/distributed/schedule.cpp, once more, for the simulator.

A node is one rank, a worker one of its GPUs (or host threads). The hand-computed cases of
simulator_test.py are those of schedule_test.cpp, so that the two cannot drift apart unnoticed.
"""

BLOCK, INTER_NODE, INTRA_NODE, DYNAMIC = SCHEDULES = ("block", "inter_node", "intra_node", "dynamic")


def chunk_ranges(n, chunk_size):
    """[(begin, end)] of the chunks of n rows; chunk_size 0: one chunk."""
    size = max(1, min(chunk_size or n, n))
    return [(b, min(n, b + size)) for b in range(0, n, size)]


def part(count, k, parts):
    """(begin, end) of part k of `count` things in `parts` parts, the first ones one larger."""
    each, more = divmod(count, parts)
    begin = k * each + min(k, more)
    return begin, begin + each + (1 if k < more else 0)


def chunks_per_node(chunk_size, sources, workers):
    """numConcurrChunksPerNode of chunkSize x numConcurrChunksPerNode = #C x numGPUsPerNode."""
    return max(1, sources * workers // max(1, chunk_size))


def chunks_of_rank(schedule, chunks, rank, ranks):
    """Numbers of the chunks of a node under a static schedule."""
    if schedule == BLOCK:
        return range(*part(chunks, rank, ranks))
    return range(rank, chunks, ranks)


def work_of_chunks(ranges, predicted):
    return [sum(predicted[b:e]) for b, e in ranges]


def chunks_by_work(works):
    """Chunk numbers by falling work; ties by number."""
    return sorted(range(len(works)), key=lambda c: -works[c])


def guided_takes(works, largest, workers_in_all):
    """[(begin, end)] of the dynamic order that a worker takes at a time; `works` in that order."""
    takes, begin, left, share = [], 0, sum(works), 2 * max(1, workers_in_all)
    while begin < len(works):
        end, taken = begin + 1, works[begin]
        while end < len(works) and end - begin < largest and taken + works[end] <= left / share:
            taken += works[end]
            end += 1
        takes.append((begin, end))
        left -= taken
        begin = end
    return takes
