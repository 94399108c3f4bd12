// SPDX-License-Identifier: BSD-3-Clause
// A patch in 60 lines: two ports brought up with lib/rxtx, every packet of one sent out of the
// other.
//   patch -l 0 --in-memory --no-pci -- net_tap0 net_tap1
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <csignal>
#include <cstdio>
#include <vector>

#include "counters/meter.hpp"
#include "rxtx/port.hpp"
#include "rxtx/tx_queue.hpp"

using namespace turnpike;

static volatile std::sig_atomic_t stop = 0;

int main(int argc, char** argv) {
    const int used = rte_eal_init(argc, argv);
    if (used < 0 || argc - used != 3) {
        std::fprintf(stderr, "usage: patch [EAL options] -- DEVICE DEVICE\n");
        return 2;
    }
    std::signal(SIGINT, [](int) { stop = 1; });
    std::signal(SIGTERM, [](int) { stop = 1; });
    rte_mempool* pool = rte_pktmbuf_pool_create("patch", 8192, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                                static_cast<int>(rte_socket_id()));
    std::vector<rxtx::port> ports;
    for (int i = 1; i <= 2 && pool != nullptr; ++i) {
        auto port = rxtx::port::open(
            {.name = argv[used + i], .device = argv[used + i], .promiscuous = true, .pool = pool});
        if (port)
            if (const auto started = port->start(); !started)
                port = tl::unexpected(started.error());
        if (!port) {
            std::fprintf(stderr, "patch: %s\n", port.error().message().c_str());
            return 1;
        }
        ports.push_back(std::move(*port));
    }
    if (ports.size() != 2) return 1;

    counters::port_counters counted[2];
    rxtx::tx_queue to[2] = {{ports[0].id(), 0, counted[0]}, {ports[1].id(), 0, counted[1]}};
    while (stop == 0) {
        for (int in = 0; in < 2; ++in) {
            rte_mbuf* burst[rxtx::tx_queue::burst];
            const uint16_t n = rte_eth_rx_burst(ports[in].id(), 0, burst, rxtx::tx_queue::burst);
            for (uint16_t i = 0; i < n; ++i) to[1 - in].push(burst[i], counters::tsc());
            to[1 - in].flush();
        }
    }
    for (int i = 0; i < 2; ++i)
        std::printf("%s sent %lu packets\n", ports[i].name().c_str(), counted[i].tx_packets.read());
    ports.clear();
    return rte_eal_cleanup() == 0 ? 0 : 1;
}
