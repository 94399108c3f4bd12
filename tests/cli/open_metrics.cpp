// SPDX-License-Identifier: BSD-3-Clause
// Prints a report as OpenMetrics, for open_metrics_test.py: every kind of thing more than once, names that must be
// escaped, and numbers that are not there.
#include <cstdio>

#include "observe/report.hpp"

int main() {
    using namespace turnpike::observe;
    report r;
    r.duration_s = 2;
    r.tsc_hz = 2'000'000'000;
    for (const unsigned lcore : {1U, 7U}) {
        worker_report w;
        w.lcore = lcore;
        w.tsc_hz = r.tsc_hz;
        w.duration_s = r.duration_s;
        w.total_cycles = 4'000'000'000;
        if (lcore == 1) {  // the other one got no packet, and nothing is counted there
            w.packets = 1'000'000;
            w.busy_cycles = 100'000'000;
            w.core.values = {{"cycles", 3e9}, {"instructions", 6e9}, {"ipc", 2},
                             {"ipp", 6e3},    {"core_cpp", 3e3},     {"core_ghz", 1.5}};
        }
        r.workers.push_back(w);
    }
    for (const char* name : {"west", "a \"quoted\\name\"\nof two lines", "(removed)"}) {
        port_report p;
        p.name = name;
        p.totals.rx_packets = 500'000;
        p.totals.drops[3] = 7;
        p.totals.drops[4] = UINT64_C(1) << 60;
        r.ports.push_back(p);
    }
    r.mempool.buffers = 8191;
    for (const char* direction : {"in", "out"}) {
        acl_report a;
        a.interface = "west";
        a.direction = direction;
        a.list = "edge";
        a.permitted = 5;
        r.acls.push_back(a);
    }
    std::fputs(to_open_metrics(r).c_str(), stdout);
}
