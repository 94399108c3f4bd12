# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of differences between turnpike's bridges and Linux's or Open vSwitch's that doc/linux-differences.md
explains, like linux_differences.py for routers. A kind is a predicate of the sent frame, its ingress
port, and both outputs, [(port, frame)]; the first kind that matches names the difference."""
from lib.frames import SERVICE, VLAN, mac

OWN = mac("02:00:00:00:99:99")  # MAC address of the bridge's routing interface
# Ports of bridge_differential_test.py: a tunnel, a trunk with 802.1ad service tags, access ports, and ports that send
# tagged.
TUNNEL, PROVIDER, ACCESS, TAGGED = 4, 5, (0, 6), (1, 2, 3, 5, 7)


def tags_of(frame):
    """[(TPID, TCI)], the outer tag first."""
    tags, at = [], 12
    while (kind := int.from_bytes(frame[at:at + 2], "big")) in (VLAN, SERVICE):
        tags.append((kind, int.from_bytes(frame[at + 2:at + 4], "big")))
        at += 4
    return tags


def _untagged(out):
    return sorted((port, f[:12] + f[12 + 4 * len(tags_of(f)):]) for port, f in out)


def _with(out, change):
    """The output frames, with every tag changed."""
    changed = []
    for port, f in out:
        tags = [change(*t) for t in tags_of(f)]
        head = b"".join(kind.to_bytes(2, "big") + tci.to_bytes(2, "big") for kind, tci in tags)
        changed.append((port, f[:12] + head + f[12 + len(head):]))
    return sorted(changed)


def _group_source(port, frame, ours, theirs):
    return frame[6] & 1 and not ours


def _own_source(port, frame, ours, theirs):
    return frame[6:12] == OWN and not ours


def _zero_source(port, frame, ours, theirs):
    return frame[6:12] == bytes(6) and not theirs


def _to_itself(port, frame, ours, theirs):
    return frame[:6] == frame[6:12] and not theirs


def _other_tag(port, frame, ours, theirs):
    """turnpike treats a tag that it does not examine as payload."""
    tags = tags_of(frame)
    if port == TUNNEL or not tags or (tags[0][0] == SERVICE) == (port == PROVIDER):
        return False
    return all(f[:12] == frame[:12] and frame[12:] in (f[12:], f[16:]) for _, f in ours)


def _type_out(port, frame, ours, theirs):
    def plain(_kind, tci):
        return VLAN, tci
    typed = all((f[12:14] == b"\x88\xa8") == (p == PROVIDER) for p, f in ours if p in TAGGED and tags_of(f))
    return typed and _with(ours, plain) == _with(theirs, plain)


def _drop_eligible(port, frame, ours, theirs):
    def same(_kind, tci):
        return VLAN, tci & ~0x1000
    return any(tci & 0x1000 for _, tci in tags_of(frame)) and _with(ours, same) == _with(theirs, same)


def _second_tag(port, frame, ours, theirs):
    """turnpike's frame keeps everything behind the first tag, or for the tunnel all of it, on every egress."""
    kept = frame[12:] if port == TUNNEL else frame[16:]
    if len(tags_of(frame)) < (1 if port == TUNNEL else 2) or not all(f.endswith(kept) for _, f in ours):
        return False
    lost = _untagged(ours) == _untagged(theirs)
    left_out = _untagged(o for o in ours if o[0] not in ACCESS) == _untagged(theirs)
    return lost or left_out


LINUX = {"own_source": _own_source, "zero_source": _zero_source, "to_itself": _to_itself}
OPEN_VSWITCH = {"group_source": _group_source, "other_tag": _other_tag, "type_out": _type_out,
                "drop_eligible": _drop_eligible, "second_tag": _second_tag}


def judge_of(kinds):
    def kind_of(port, frame, ours, theirs):
        return next((name for name, holds in kinds.items() if holds(port, frame, ours, theirs)), None)
    return kind_of
