#!/usr/bin/env python3
"""What a network adds to a step of many processes, computed: the last table of docs/distributed.md.

    python3 tests/bench/paper.py

It deals out the segments as lib/train/partition.c does, so that the fullest owner counts.  docs/distributed.md has the
formula and its assumptions.
"""

BLOCK = 16384  # floats of a block of the norm
DELAY = 0.1e-3  # seconds that a small message takes
MESSAGE = 10e-6  # seconds of a processor for a message
PACKET = 1448 / 1538  # of the link's rate


def model(d, layers, context, vocabulary):
    """Floats that backward finishes one after the other: after the layers, each layer, the embeddings."""
    return [2 * d] + layers * [12 * d * d + 13 * d] + [d * (context + vocabulary)]


def stages(floats):
    """Blocks begin .. end of each stage: a block belongs to the stage that finishes its first float."""
    end, left = -(-sum(floats) // BLOCK), sum(floats)
    for n in floats:
        left -= n
        begin = min(end, -(-left // BLOCK))
        yield begin, end
        end = begin


def fullest(floats, n):
    """For the embeddings and for all: the most blocks of an owner, and the most segments."""
    blocks, segments = [0] * n, [0] * n
    most = max(1, min(8, 128 // n))
    turn = 0
    for begin, end in stages(floats):
        count = end - begin
        stage_blocks, stage_segments = [0] * n, [0] * n
        for round_ in range(-(-(-(-count // n)) // most)):
            for part in range(n):
                own = count // n + (part < count % n)
                size = min(most, own - round_ * most)
                if size > 0:
                    stage_blocks[turn % n] += size
                    stage_segments[turn % n] += 1
                    turn += 1
        blocks = [a + b for a, b in zip(blocks, stage_blocks)]
        segments = [a + b for a, b in zip(segments, stage_segments)]
    return max(stage_blocks), max(stage_segments), max(blocks), max(segments)


def network(floats, seconds, n, rate):
    """Seconds that the network adds to a step."""
    last, last_segments, most, segments = fullest(floats, n)
    bandwidth = rate * 1e9 / 8 * PACKET

    def exchange(blocks, messages):
        return (n - 1) * (blocks * BLOCK * 4 / bandwidth + messages * MESSAGE)

    gradients = max(exchange(last, last_segments), exchange(most, segments) - 2 / 3 * seconds)
    small = (2 * 2 + 2) * (n - 1) * MESSAGE
    return gradients + exchange(most, segments) + small + 5 * DELAY


def main():
    gpt2, baby = model(768, 12, 1024, 50257), model(128, 4, 64, 256)
    rows = [("gpt2, 10.3 s", gpt2, 10.3, 1, n) for n in (2, 8, 64, 1024)]
    rows += [("gpt2, 0.65 s", gpt2, 0.65, 1, n) for n in (2, 8, 64, 1024)]
    rows += [("gpt2, 0.65 s", gpt2, 0.65, 8, n) for n in (8, 1024)]
    rows += [("baby, 31 ms", baby, 0.031, 1, n) for n in (2, 8, 64, 1024)]
    rows += [("baby, 31 ms", baby, 0.031, 8, n) for n in (8, 1024)]
    print("| Model, a pass of each process | Passes of each | N | 1 Gbit/s | 10 Gbit/s | 100 Gbit/s |")
    print("|---|---|---|---|---|---|")
    for name, floats, seconds, passes, n in rows:
        cells = [f"{name} | {passes} | {n:,}"]
        for rate in (1, 10, 100):
            added = network(floats, seconds, n, rate)
            computing = passes * seconds
            cells.append(f"{added:.2g} s, {100 * computing / (computing + added):.0f} %")
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
