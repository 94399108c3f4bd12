#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write tests/data/pmu/vectors.yaml: make_vectors.py PERFMON, where PERFMON is a checkout of Intel's
perfmon repository (github.com/intel/perfmon; the committed file is of its commit 6dadedf3aa48).

Each vector has counts under the names that the CPU's maker gives them, and the expected metrics of
data/pmu. The pipeline's metrics of Intel's CPUs are computed with the formulas of Intel's files,
unchanged; the others with the formulas of the papers and of Linux, below, with their names. The
formulas in data/pmu are written anew, over different names: two computations of one number.
"""
import json
import os
import random
import re
import sys

SEED = 23
HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "../../data/pmu/vectors.yaml")
TABLES = os.path.join(HERE, "../../../data/pmu")

# Ours: Intel's, of metrics/FAMILY_metrics.json (percent).
COMMON = {"retiring": "Retiring", "frontend_bound": "Frontend_Bound", "bad_speculation": "Bad_Speculation",
          "backend_bound": "Backend_Bound", "branch_mispredicts": "Branch_Mispredicts", "machine_clears": "Machine_Clears",
          "fetch_latency": "Fetch_Latency", "fetch_bandwidth": "Fetch_Bandwidth", "memory_bound": "Memory_Bound",
          "core_bound": "Core_Bound", "l1_bound": "L1_Bound", "l2_bound": "L2_Bound", "l3_bound": "L3_Bound",
          "store_bound": "Store_Bound", "divider": "Divider"}
OPERATIONS = {"heavy_operations": "Heavy_Operations", "light_operations": "Light_Operations"}
INTEL = {
    "broadwellx": ("BDX", {**COMMON, "base": "Light_Operations", "microcode": "Heavy_Operations", "dram_bound": "DRAM_Bound",
                           "ports_utilisation": "Ports_Utilization"}),
    "skylakex": ("SKX", {**COMMON, **OPERATIONS, "dram_bound": "DRAM_Bound"}),
    "icelakex": ("ICX", {**COMMON, **OPERATIONS}),
    "sapphirerapids": ("SPR", {**COMMON, **OPERATIONS}),
    "emeraldrapids": ("EMR", {**COMMON, **OPERATIONS}),
}
# Models that a table of another name serves: {theirs: the table's}.
SERVED = {"emeraldrapids": "sapphirerapids"}
# Fields that define how an event is counted.
ENCODING = ("EventCode", "UMask", "UMaskExt", "CounterMask", "Counter", "PortMask", "FCMask", "MSRIndex", "MSRValue", "EdgeDetect",
            "Invert", "Unit", "FILTER_VALUE")

# In the words of the documents; {NAME} is a count, s seconds, p packets, of given values.
GENERAL = {"ipc": "{instructions} / {cycles}", "ipp": "{instructions} / p", "core_cpp": "{cycles} / p",
           "core_ghz": "{cycles} / {tsc_cycles} * tsc_ghz"}
# Intel VTune Profiler cookbook (2024).
VTUNE = {
    "inbound_read_mb_s": "({UNC_IIO_DATA_REQ_OF_CPU.MEM_READ.ALL_PARTS} * 4 / 10**6) / s",
    "inbound_write_mb_s": "({UNC_IIO_DATA_REQ_OF_CPU.MEM_WRITE.ALL_PARTS} * 4 / 10**6) / s",
    "outbound_read_mb_s": "({UNC_IIO_DATA_REQ_OF_CPU.CMPD.ALL_PARTS} * 4 / 10**6) / s",
    "outbound_write_mb_s": "({UNC_IIO_DATA_REQ_BY_CPU.MEM_WRITE.ALL_PARTS} * 4 / 10**6) / s",
    "pcie_mb_s": "[inbound_read_mb_s] + [inbound_write_mb_s] + [outbound_read_mb_s] + [outbound_write_mb_s]",
    "link_utilisation": "[pcie_mb_s] / (16.0 * 1000 / 8 * 16 * 2)",
    "iio_ghz": "{UNC_IIO_CLOCKTICKS} / s / 10**9",
    "irp_ghz": "{UNC_I_CLOCKTICKS} / s / 10**9",
    "read_latency_ns": "{UNC_IIO_COMP_BUF_OCCUPANCY.CMPD.ALL_PARTS} / {UNC_IIO_COMP_BUF_INSERTS.CMPD.ALL_PARTS} / [iio_ghz]",
    "write_latency_ns": "({UNC_I_CACHE_TOTAL_OCCUPANCY.MEM} - {UNC_I_FAF_OCCUPANCY}) / {UNC_I_TRANSACTIONS.WR_PREF} / [irp_ghz]",
    "write_conflicts": "{UNC_I_MISC1.LOST_FWD} / {UNC_I_TRANSACTIONS.WR_PREF}",
    "dram_read_mb_s": "{UNC_M_CAS_COUNT.RD} * 64 / 10**9 / s * 1000",
    "dram_write_mb_s": "{UNC_M_CAS_COUNT.WR} * 64 / 10**9 / s * 1000",
    "dram_mb_s": "[dram_read_mb_s] + [dram_write_mb_s]",
    "dram_utilisation": "[dram_mb_s] / dram_max_mb_s",
    "channel_read_mb_s": "[dram_read_mb_s]", "channel_write_mb_s": "[dram_write_mb_s]",
    "dram_bytes_per_packet": "[dram_mb_s] * 10**6 * s / p",
    "upi_utilisation": "({UNC_UPI_TxL_FLITS.ALL_DATA} + {UNC_UPI_TxL_FLITS.NON_DATA}) / 3 / (({UNC_UPI_CLOCKTICKS} - {UNC_UPI_L1_POWER_CYCLES}) * (5/6))",
    "rd_cur": "{UNC_IIO_TXN_REQ_OF_CPU.MEM_READ.ALL_PARTS}", "writes": "{UNC_IIO_TXN_REQ_OF_CPU.MEM_WRITE.ALL_PARTS}",
    "wil": "{UNC_IIO_TXN_REQ_BY_CPU.MEM_WRITE.ALL_PARTS}", "prd": "{UNC_IIO_TXN_REQ_BY_CPU.MEM_READ.ALL_PARTS}",
    "dma_read_bytes": "[inbound_read_mb_s] * 10**6 * s", "dma_written_bytes": "[inbound_write_mb_s] * 10**6 * s",
}
L3 = {
    "read_l3_miss": "{UNC_CHA_TOR_INSERTS.IO_MISS_PCIRDCUR} / {UNC_I_FAF_INSERTS}", "read_l3_hit": "1 - [read_l3_miss]",
    "write_l3_miss": "({UNC_CHA_TOR_INSERTS.IO_MISS_ITOM} + {UNC_CHA_TOR_INSERTS.IO_MISS_ITOMCACHENEAR}) / ({UNC_I_TRANSACTIONS.WR_PREF} + {UNC_I_MISC1.LOST_FWD})",
    "write_l3_hit": "1 - [write_l3_miss]",
}
VTD = {
    "translations_m_s": "{UNC_IIO_IOMMU0.FIRST_LOOKUPS} / 10**6 / s",
    "iotlb_miss": "{UNC_IIO_IOMMU0.CTXT_CACHE_LOOKUPS} / {UNC_IIO_IOMMU0.FIRST_LOOKUPS}", "iotlb_hit": "1 - [iotlb_miss]",
    "iotlb_miss_ns": "{UNC_IIO_PWT_OCCUPANCY} / {UNC_IIO_IOMMU0.CTXT_CACHE_LOOKUPS} / [iio_ghz]",
    "reads_per_iotlb_miss": "{UNC_IIO_TXN_REQ_OF_CPU.MEM_READ.IOMMU1} / {UNC_IIO_IOMMU0.CTXT_CACHE_LOOKUPS}",
    "itom": "[writes] * ({UNC_CHA_TOR_INSERTS.IO_ITOM} / ({UNC_CHA_TOR_INSERTS.IO_ITOM} + {UNC_CHA_TOR_INSERTS.IO_ITOMCACHENEAR}))",
    "rfo": "[writes] - [itom]",
}
MEMORY = ("dram_read_mb_s", "dram_write_mb_s", "dram_mb_s", "dram_utilisation", "channel_read_mb_s", "channel_write_mb_s", "dram_bytes_per_packet")
# "Benchmarking and Analysis of Software Data Planes" (2017).
CBOX = {name: "{UNC_C_TOR_INSERTS.OPCODE:%s}" % opcode for name, opcode in
        (("rd_cur", "PCIeRdCur"), ("itom", "ItoM"), ("rfo", "RFO"), ("crd", "CRd"), ("drd", "DRd"))}
PAPER = {
    "slots": "4 * {CPU_CLK_UNHALTED.THREAD_ANY} / (2 if smt else 1)",
    "icache_misses": "{ICACHE.IFDATA_STALL} / {CPU_CLK_UNHALTED.THREAD}",
    "itlb_misses": "(7 * {ITLB_MISSES.STLB_HIT} + {ITLB_MISSES.WALK_DURATION:c1}) / {CPU_CLK_UNHALTED.THREAD}",
    "l3_hit_fraction": "{MEM_LOAD_UOPS_RETIRED.L3_HIT} / ({MEM_LOAD_UOPS_RETIRED.L3_HIT} + 7 * {MEM_LOAD_UOPS_RETIRED.L3_MISS})",
    "read_latency_cycles": "{OFFCORE_REQUESTS_OUTSTANDING.DEMAND_DATA_RD} / {OFFCORE_REQUESTS.DEMAND_DATA_RD}",
    "snoops_per_packet": "({MEM_LOAD_UOPS_L3_HIT_RETIRED.XSNP_HIT} + {MEM_LOAD_UOPS_L3_HIT_RETIRED.XSNP_HITM} + {MEM_LOAD_UOPS_L3_HIT_RETIRED.XSNP_MISS}) / p",
    "remote_per_packet": "({OFFCORE_RESPONSE.DEMAND_DATA_RD.LLC_MISS.REMOTE_HITM} + {OFFCORE_RESPONSE.DEMAND_DATA_RD.LLC_MISS.REMOTE_HIT_FORWARD} + {OFFCORE_RESPONSE.DEMAND_DATA_RD.LLC_MISS.REMOTE_DRAM}) / p",
    "dtlb_second_per_packet": "({DTLB_LOAD_MISSES.STLB_HIT} + {DTLB_STORE_MISSES.STLB_HIT}) / p",
    "backend_cycles": "{CYCLE_ACTIVITY.STALLS_TOTAL} + {UOPS_EXECUTED.CYCLES_GE_1_UOP_EXEC} - ({UOPS_EXECUTED.CYCLES_GE_3_UOPS_EXEC} if [ipc] > 1.8 else {UOPS_EXECUTED.CYCLES_GE_2_UOPS_EXEC}) - ({RS_EVENTS.EMPTY_CYCLES} if [fetch_latency] > 0.1 else 0) + {RESOURCE_STALLS.SB}",
    **CBOX, "wil": "{UNC_C_TOR_INSERTS.MISS_OPCODE:WiL}", "prd": "{UNC_C_TOR_INSERTS.MISS_OPCODE:PRd}",
    "crd_miss": "{UNC_C_TOR_INSERTS.MISS_OPCODE:CRd} / [crd]", "drd_miss": "{UNC_C_TOR_INSERTS.MISS_OPCODE:DRd} / [drd]",
    "read_l3_miss": "{UNC_C_TOR_INSERTS.MISS_OPCODE:PCIeRdCur} / [rd_cur]", "read_l3_hit": "1 - [read_l3_miss]",
    "write_l3_miss": "({UNC_C_TOR_INSERTS.MISS_OPCODE:ItoM} + {UNC_C_TOR_INSERTS.MISS_OPCODE:RFO}) / ([itom] + [rfo])", "write_l3_hit": "1 - [write_l3_miss]",
    "inbound_read_mb_s": "[rd_cur] * 64 / 10**6 / s", "inbound_write_mb_s": "([itom] + [rfo]) * 64 / 10**6 / s",
    "qpi_mb_s": "({UNC_Q_TxL_FLITS_G0.DATA} + {UNC_Q_TxL_FLITS_G0.NON_DATA}) * 8 / 10**6 / s",
    **{name: VTUNE[name] for name in MEMORY},
}
L2_PARTS = {"l2_stalls": "({CYCLE_ACTIVITY.STALLS_L1D_MISS} - {CYCLE_ACTIVITY.STALLS_L2_MISS}) / {CPU_CLK_UNHALTED.THREAD}",
            "l2_hits": "{MEM_LOAD_RETIRED.L2_HIT} * (1 + {MEM_LOAD_RETIRED.FB_HIT} / {MEM_LOAD_RETIRED.L1_MISS})"}
TOPDOWN = {"topdown_sum": "{PERF_METRICS.RETIRING} + {PERF_METRICS.BAD_SPECULATION} + {PERF_METRICS.FRONTEND_BOUND} + {PERF_METRICS.BACKEND_BOUND}"}
# Linux, tools/perf/pmu-events/arch/x86/amdzen4/pipeline.json (amdzen5: eight slots, other names).
ZEN = {
    "slots": "WIDTH * {ls_not_halted_cyc}", "retiring": "{ex_ret_ops} / [slots]",
    "frontend_bound": "{de_no_dispatch_per_slot.no_ops_from_frontend} / [slots]",
    "bad_speculation": "({de_src_op_disp.all} - {ex_ret_ops}) / [slots]",
    "backend_bound": "{de_no_dispatch_per_slot.backend_stalls} / [slots]",
    "smt_contention": "{de_no_dispatch_per_slot.smt_contention} / [slots]",
    "fetch_latency": "(WIDTH * {de_no_dispatch_per_slot.no_ops_from_frontend:cWIDTH}) / [slots]",
    "fetch_bandwidth": "({de_no_dispatch_per_slot.no_ops_from_frontend} - (WIDTH * {de_no_dispatch_per_slot.no_ops_from_frontend:cWIDTH})) / [slots]",
    "branch_mispredicts": "[bad_speculation] * {ex_ret_brn_misp} / ({ex_ret_brn_misp} + {RESTARTS})",
    "machine_clears": "[bad_speculation] * {RESTARTS} / ({ex_ret_brn_misp} + {RESTARTS})",
    "memory_bound": "[backend_bound] * ({ex_no_retire.load_not_complete} / {ex_no_retire.not_complete})",
    "core_bound": "[backend_bound] * (1 - {ex_no_retire.load_not_complete} / {ex_no_retire.not_complete})",
    "fastpath": "[retiring] * (1 - {ex_ret_ucode_ops} / {ex_ret_ops})", "microcode": "[retiring] * ({ex_ret_ucode_ops} / {ex_ret_ops})",
    **{name: VTUNE[name].replace("UNC_M_CAS_COUNT.RD", "umc_cas_cmd.rd").replace("UNC_M_CAS_COUNT.WR", "umc_cas_cmd.wr") for name in MEMORY},
}
BEATS = {"rd_cur": " + ".join("{local_socket_upstream_read_data_beats_io_%d}" % n for n in range(8)),
         "writes": " + ".join("{local_socket_upstream_write_data_beats_io_%d}" % n for n in range(8)),
         "dma_read_bytes": "64 * ([rd_cur])", "dma_written_bytes": "64 * ([writes])",
         "inbound_read_mb_s": "64 * ([rd_cur]) / 10**6 / s", "inbound_write_mb_s": "64 * ([writes]) / 10**6 / s"}
DRAM_3 = {"dram_bound": "{CYCLE_ACTIVITY.STALLS_L3_MISS} / {CPU_CLK_UNHALTED.THREAD} + [l2_stalls] - [l2_bound]"}


def zen(width, restarts):
    return {name: text.replace("WIDTH", str(width)).replace("RESTARTS", restarts) for name, text in ZEN.items()}


DOCUMENTS = {
    "broadwellx": PAPER,
    "skylakex": {**VTUNE, "outbound_read_mb_s": "({UNC_IIO_DATA_REQ_BY_CPU.MEM_READ.ALL_PARTS} * 4 / 10**6) / s", **{name: text.replace("ITOMCACHENEAR", "RFO").replace("PCIRDCUR", "RDCUR") for name, text in L3.items()}, **L2_PARTS,
                 "slots": PAPER["slots"]},
    "icelakex": {**VTUNE, **L3, **VTD, **L2_PARTS, **TOPDOWN, **DRAM_3},
    "sapphirerapids": {**VTUNE, **L3, **{name: text for name, text in VTD.items() if name != "reads_per_iotlb_miss"}, **TOPDOWN,
                       "dram_bound": "{MEMORY_ACTIVITY.STALLS_L3_MISS} / {CPU_CLK_UNHALTED.THREAD}"},  # pmu-tools
    "amdzen4": zen(6, "resyncs_or_nc_redirects"),
    "amdzen5": {**zen(8, "bp_redirects.resync"), **BEATS},
}


def intel_formulas(perfmon, family):
    if family not in INTEL:
        return {}
    folder, names = INTEL[family]
    with open(f"{perfmon}/{folder}/metrics/{family}_metrics.json", encoding="utf-8") as file:
        rows = json.load(file)["Metrics"]
    out = {}
    for ours, theirs in names.items():
        row = next(r for r in rows if r["LegacyName"].replace(".", "").endswith("_" + theirs + "(%)"))
        alias = {e["Alias"]: e["Name"] for e in row["Events"] + row["Constants"]}
        text = re.sub(r"(?<![\w.\[])([a-z])(?![\w.(])", lambda m: "{" + alias.get(m[1], m[1]) + "}", row["Formula"])
        out[ours] = f"({text}) / 100"
    return out


def listed_events(perfmon, family):
    """{name: encoding} of Intel's lists."""
    out = {}
    for part in ("core", "uncore", "uncore_experimental"):
        with open(f"{perfmon}/{INTEL[family][0]}/events/{family}_{part}.json", encoding="utf-8") as file:
            out.update({e["EventName"]: [e.get(key) for key in ENCODING] for e in json.load(file)["Events"]})
    return out


def check_served(perfmon, family, by):
    """Each event of a table that serves another model is encoded alike in both lists; or in neither (an event of other
    documents)."""
    one, other = listed_events(perfmon, family), listed_events(perfmon, by)
    for native in natives(by):
        if one.get(native) != other.get(native):
            sys.exit(f"{native}: {family} {one.get(native)}, {by} {other.get(native)}")


def natives(family):
    """{native name: ours} of a table: one line an event there."""
    with open(f"{TABLES}/{family}.yaml", encoding="utf-8") as file:
        text = file.read()
    return {m[2].strip('"'): m[1] for m in re.finditer(r'^  (\w+): \{pmu: \w+, name: ("[^"]+"|[^,]+),', text, re.M)}


def evaluate(formulas, name, counts, given, depth=0):
    text = formulas[name]
    text = re.sub(r"\[(\w+)\]", lambda m: repr(evaluate(formulas, m[1], counts, given, depth + 1)), text)
    text = re.sub(r"\{([^}]+)\}", lambda m: repr(counts[m[1]]), text)
    return eval(text, {"min": min, "max": max, "smt_on": given["smt"] == 1, **given})  # pylint: disable=eval-used


def vector(family, formulas, dice, smt):
    names = natives(family)
    counts = {native: dice.randrange(10**6, 10**9) for native in names}
    ours = {our: counts[native] for native, our in names.items()}
    counts.update(ours)
    given = {"s": 2, "p": 3000000, "smt": smt, "tsc_ghz": 2.5, "dram_max_mb_s": 70000}
    both = {}
    if family in ("broadwellx", "skylakex"):  # the same, where a core has one thread
        both = {"CPU_CLK_UNHALTED.THREAD": "CPU_CLK_UNHALTED.THREAD_ANY", "INT_MISC.RECOVERY_CYCLES": "INT_MISC.RECOVERY_CYCLES_ANY"}
    for one, any_thread in both.items():
        if one in names and not smt:
            counts[any_thread] = counts[one]
        counts.setdefault(one, counts[any_thread])
    counts["smt_on"] = smt
    lines = [f"- family: {family}", f"  given: {{seconds: {given['s']}, packets: {given['p']}, smt: {smt}, tsc_mhz: 2500, dram_max_mb_s: 70000}}", "  counts:"]
    lines += [f'    "{native}": {counts[native]}' for native in names]
    lines.append("  expect:")
    for name in formulas:
        lines.append(f"    {name}: {evaluate(formulas, name, counts, given)!r}")
    return lines


def main():
    dice = random.Random(SEED)
    lines = ["# SPDX-License-Identifier: BSD-3-Clause", "# Written by tests/unit/pmu/make_vectors.py, which says where the numbers come from."]
    for family, documents in DOCUMENTS.items():
        formulas = {**GENERAL, **documents, **intel_formulas(sys.argv[1], family)}
        for smt in (0, 1) if family in ("broadwellx", "skylakex") else (0, 0):
            if smt and family == "broadwellx":  # the paper divides by the core's cycles, Intel by the thread's
                skip = ("l1_bound", "l2_bound", "l3_bound", "dram_bound", "store_bound")
                formulas = {name: text for name, text in formulas.items() if name not in skip}
            lines += vector(family, formulas, dice, smt)
    for family, by in SERVED.items():
        check_served(sys.argv[1], family, by)
        lines += vector(by, {**GENERAL, **DOCUMENTS[by], **intel_formulas(sys.argv[1], family)}, dice, 0)
    with open(OUT, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
