# SPDX-License-Identifier: BSD-3-Clause
"""Changes to measure: prefixes distributed as in a full table, and requests built from them in advance."""
import random

from appliance import request_of

# Prefix lengths of a full IPv4 table, mostly /24 (doc/bench-fib.md).
LENGTHS, SHARES = (16, 19, 20, 21, 22, 23, 24), (2, 3, 5, 7, 12, 14, 57)
NOT_THESE = (10, 127, 198)  # our networks, loopback, the generators' networks
PART = 12_000  # lines per request


def prefixes(count, seed):
    draw = random.Random(seed)
    found = set()
    while len(found) < count:
        length = draw.choices(LENGTHS, SHARES)[0]
        address = draw.randrange(1 << 24, 223 << 24) >> (32 - length) << (32 - length)
        if address >> 24 not in NOT_THESE:
            found.add((address, length))
    return [f"{a >> 24}.{a >> 16 & 255}.{a >> 8 & 255}.{a & 255}/{length}" for a, length in sorted(found)]


def via(number):
    """One of sixteen neighbours."""
    return f"via 10.0.{number & 1}.{2 + (number >> 1) % 8} dev p{number & 1}"


def together(lines):
    """Requests whose lines form one change."""
    return [request_of("routes", lines="\n".join(lines[at:at + PART]), more=at + PART < len(lines))
            for at in range(0, len(lines), PART)]


def one_by_one(lines, batch):
    """Requests of `batch` lines, each a separate change."""
    return [request_of("routes", lines="\n".join(lines[at:at + batch])) for at in range(0, len(lines), batch)]


def shuffled(items, seed):
    out = list(items)
    random.Random(seed).shuffle(out)
    return out
