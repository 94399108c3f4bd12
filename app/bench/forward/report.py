# SPDX-License-Identifier: BSD-3-Clause
"""Cells and summary (turnpike.bench/1, bench forward), and the text table."""
import statistics

from measurement import BYTES, LINES, TLPS
from workloads import STRANGERS_PPS, WORKLOADS, Case, Condition

NOT_MEASURED = "was not measured"


def pcie_of(outcome):
    if outcome.case.workload.guest:
        return None  # ports in memory
    def of(kind, keys):
        return {k: outcome.median(f"{kind}_{k}") for k in keys}
    lines = of("lines", LINES)
    return {"source": "counted", "profile": "ixgbe", "link": {"gen": 3, "lanes": 8},
            "reads": lines["rd_cur"], "writes": lines["itom"] + lines["rfo"], "mmio": lines["wil"] + lines["prd"],
            "per_packet": {"lines": lines, "tlps": of("tlps", TLPS), "bytes": of("bytes", BYTES)}}


def frame_bytes(case):
    if case.condition.frame == "imix":
        return "imix"
    if case.workload.wire in ("trunk", "vlan", "stick-one-way"):
        return 68
    if case.workload.wire.startswith("vxlan-in"):
        return 114
    # The minimum for the headers, FCS included.
    return 66 if case.workload.wire.startswith(("small6", "full6")) else 64


def peer_case(case):
    """The peer of a turnpike cell: the first of its workload, with its default pools if the cell has turnpike's default,
    otherwise with the same mempool handler as the cell."""
    if not case.workload.peers:
        return None
    forwarder, mode = case.workload.peers[0]
    peer = Case(case.workload, forwarder, mode, case.condition)
    return peer.at(pool="") if case.condition.pool else peer


def cell_of(outcome, seen):
    case, c = outcome.case, outcome.case.condition
    cell = {"name": case.name, "forwarder": case.forwarder, "mode": case.mode or None, "workload": case.workload.name,
            "frame_bytes": frame_bytes(case), "engine": "guest" if case.workload.guest else "inline",
            "memory": c.memory, "load": c.load, "pool": case.pool, **{k: None for k in ("mpps", "cpp_wall", "cpp_busy", "lost", "pcie", "peer", "ratio")}}
    if outcome.windows:
        cell |= {"mpps": outcome.median("mpps"), "cpp_wall": outcome.median("cpp"),
                 "cpp_wall_min": outcome.least("cpp"), "engine_cycles": outcome.median("engine"),
                 "lost": outcome.median("lost"), "pcie": pcie_of(outcome), "windows": len(outcome.windows),
                 "core_share": outcome.median("share")}
    if outcome.busy:
        cell["cpp_busy"] = statistics.median(outcome.busy)
    if outcome.why:
        cell["why"] = outcome.why
    elif not case.ours:
        cell["why"] = "is a peer itself"
    if outcome.note:
        cell["note"] = outcome.note
    peer = peer_case(case) if case.ours else None
    if peer:
        other = seen.get(peer.name)
        if other and other.windows and not other.why:
            cell |= {"peer": f"{peer.forwarder} {peer.mode}", "peer_cycles": other.cycles()}
            if not outcome.why:
                cell |= {"cycles": outcome.cycles(), "ratio": other.cycles() / outcome.cycles()}
        else:
            cell.setdefault("why", f"{peer.name}: {other.why if other else NOT_MEASURED}")
    return cell


def summary_of(seen):
    """turnpike's cycles / the peer's; null with a reason under `why`."""
    by_name = {w.name: w for w in WORKLOADS}
    why = {}

    def outcome(key, workload, forwarder, mode="", **condition):
        case = Case(by_name[workload], forwarder, mode, Condition(**condition))
        found = seen.get(case.name)
        if found is None or found.why:
            why.setdefault(key, f"{case.name}: {found.why if found else NOT_MEASURED}")
            return None
        return found.cycles()

    def ratio(key, workload, peer, ours=None, theirs=None):
        a = outcome(key, workload, "turnpike", **(ours or {}))
        b = outcome(key, workload, *peer, **(theirs or {}))
        return a / b if a and b else None

    def of_ours(key, workload, other):
        """Compares two workloads of turnpike."""
        a, b = (outcome(key, w, "turnpike") for w in (workload, other))
        return a / b if a and b else None

    def learning(key):
        """Cycles per packet while a million new addresses per second are learnt, against the same packet rate from known
        addresses."""
        if not all(outcome(key, "learning", "turnpike", mode) for mode in ("known", "new")):
            return None
        new, known = (seen[Case(by_name["learning"], "turnpike", mode, Condition()).name] for mode in ("new", "known"))

        def cycles(o):
            return o.median("cpp") * o.median("mpps") / (o.median("mpps") - STRANGERS_PPS / 1e6)
        return cycles(new) / cycles(known)

    def worst(key, kinds, peer):
        found = [ratio(key, kind, peer) for kind in kinds]
        return max(found) if all(found) else None

    same = {"theirs": {"pool": "cache_aware"}}
    out = {"patch_vs_testpmd_mac": ratio("patch_vs_testpmd_mac", "patch", ("testpmd", "mac")),
           "ip4_small_vs_l3fwd_lpm": ratio("ip4_small_vs_l3fwd_lpm", "ip4_small", ("l3fwd", "lpm")),
           "ip6_small_vs_l3fwd_lpm": ratio("ip6_small_vs_l3fwd_lpm", "ip6_small", ("l3fwd", "lpm"))}
    for family in (4, 6):
        key = f"ip{family}_full_vs_l3fwd_fib"
        out[key] = worst(key, [f"ip{family}_full_uniform", f"ip{family}_full_zipf"], ("l3fwd", "fib"))
    out["bridge_vs_ovs_normal"] = ratio("bridge_vs_ovs_normal", "bridge_3125", ("ovs", "normal"))
    out["bridge_vs_patch"] = of_ours("bridge_vs_patch", "bridge_3125", "patch")
    out["bridge_16k_vs_3125"] = of_ours("bridge_16k_vs_3125", "bridge_16k", "bridge_3125")
    out["bridge_1M_vs_3125"] = of_ours("bridge_1M_vs_3125", "bridge_1M", "bridge_3125")
    out["trunk_vs_bridge"] = of_ours("trunk_vs_bridge", "trunk", "bridge_3125")
    for name in ("vlan", "stick", "stranger"):
        out[f"{name}_vs_ip4_small"] = of_ours(f"{name}_vs_ip4_small", name, "ip4_small")
    out["flood_copy_vs_patch"] = of_ours("flood_copy_vs_patch", "flood", "patch")
    out["known_flows_while_learning"] = learning("known_flows_while_learning")
    for way in ("vxlan_in", "vxlan_out"):
        out[f"{way}_vs_ovs"] = ratio(f"{way}_vs_ovs", way, ("ovs", "vxlan"))
        out[f"{way}_vs_bridge"] = of_ours(f"{way}_vs_bridge", way, "bridge_3125")
    def pairwise(key, workload, modes, compare):
        """The median of a comparison turn by turn: a disturbance longer than a turn affects both."""
        if not all(outcome(key, workload, "turnpike", mode) for mode in modes):
            return None
        windows = (seen[Case(by_name[workload], "turnpike", mode, Condition()).name].windows for mode in modes)
        return statistics.median(compare(a, b) for a, b in zip(*windows))

    out["two_workers_vs_one"] = pairwise("two_workers_vs_one", "workers", ("one", "two"), lambda a, b: b["mpps"] / a["mpps"])
    out["vhost_vs_ovs_flows"] = ratio("vhost_vs_ovs_flows", "vhost", ("ovs", "flows"))
    out["vhost_vs_testpmd_io"] = ratio("vhost_vs_testpmd_io", "vhost", ("testpmd", "io"))
    out["memif_vs_testpmd_io"] = ratio("memif_vs_testpmd_io", "memif", ("testpmd", "io"))
    out["acl10k_vs_l3fwd_acl"] = ratio("acl10k_vs_l3fwd_acl", "acl10k", ("l3fwd", "acl"))
    out["unused_feature_cycles"] = pairwise("unused_feature_cycles", "unused", ("without", "with"), lambda a, b: b["cpp"] - a["cpp"])
    out["same_pool"] = {f"{w}_vs_{'_'.join(p)}": ratio(f"same_pool {w}", w, p, **same)
                        for w, p in (("patch", ("testpmd", "mac")), ("ip4_small", ("l3fwd", "lpm")))}
    out["why"] = why
    return out


def line_of(outcome):
    """One line of the table, which is also printed during the run."""
    name = f"{outcome.case.name:44}"
    if not outcome.windows:
        return f"{name} {'-':>6} {'-':>6}  {outcome.why}"
    busy = f"{statistics.median(outcome.busy):6.0f}" if outcome.busy else f"{'':6}"
    pcie = pcie_of(outcome)
    counts = f"{pcie['reads']:6.2f} {pcie['writes']:6.2f} {pcie['mmio']:6.2f}" if pcie else " " * 20
    return (f"{name} {outcome.median('mpps'):6.2f} {outcome.median('cpp'):6.1f} {outcome.least('cpp'):6.1f} {busy} "
            f"{counts}  {outcome.why or ''}").rstrip()


HEADER = f"{'workload/traffic/forwarder':44} {'Mpps':>6} {'cycles':>6} {'least':>6} {'busy':>6} " \
         f"{'reads':>6} {'writes':>6} {'MMIO':>6}"


def summary_lines(summary):
    lines = []
    for key, value in summary.items():
        if isinstance(value, (int, float)):
            lines.append(f"{key:28} {value:6.2f}")
        elif value is None and not summary["why"][key].endswith(NOT_MEASURED):
            lines.append(f"{key:28}      -  {summary['why'][key]}")
    return lines + [f"{k:28} {v:6.2f}  with the same pools" for k, v in summary["same_pool"].items() if v is not None]
