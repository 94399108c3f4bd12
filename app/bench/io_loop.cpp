// SPDX-License-Identifier: BSD-3-Clause
#include "io_loop.hpp"

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_pause.h>

#include <cstring>

namespace turnpike::bench {
namespace {

constexpr uint16_t ring = 1024;
constexpr unsigned buffers = 8191, buffer_cache = 256;
constexpr uint64_t idle_polls = 1'000'000;
constexpr uint32_t fcs_bytes = 4;

tl::unexpected<error> refused(int code, const std::string& name, const char* what) {
    return fail(code < 0 ? -code : code, name,
                std::string(what) + ": " + rte_strerror(code < 0 ? -code : code));
}

}  // namespace

result<std::unique_ptr<io_loop>> io_loop::open(const io_settings& s) {
    std::unique_ptr<io_loop> loop(new io_loop);
    if (auto done = loop->set_up(s); !done) return tl::unexpected<error>(done.error());
    return loop;
}

io_loop::~io_loop() {
    for (const uint16_t port : ports_) (void)rte_eth_dev_stop(port);
    // Also closes the port.
    for (const std::string& name : names_) (void)rte_eal_hotplug_remove("vdev", name.c_str());
    rte_mempool_free(pool_);
}

result<void> io_loop::set_up(const io_settings& s) {
    const std::string first = s.devices.front().substr(0, s.devices.front().find(','));
    pool_ = rte_pktmbuf_pool_create(first.c_str(), buffers, buffer_cache, 0,
                                    RTE_MBUF_DEFAULT_BUF_SIZE, 0);
    if (pool_ == nullptr) return refused(rte_errno, first, "no memory for the buffers");
    for (const std::string& device : s.devices) {
        const std::string name = device.substr(0, device.find(','));
        const std::string arguments =
            name.size() == device.size() ? "" : device.substr(name.size() + 1);
        if (const int code = rte_eal_hotplug_add("vdev", name.c_str(), arguments.c_str());
            code != 0)
            return refused(code, device, "the device does not come up");
        names_.push_back(name);
        uint16_t port = 0;
        if (const int code = rte_eth_dev_get_port_by_name(name.c_str(), &port); code != 0)
            return refused(code, device, "the device has no port");
        if (auto started = start_port(port, device); !started) return started;
        ports_.push_back(port);
    }
    if (auto up = wait_for_links(); !up) return up;
    return sow(s);
}

/// Configure a port as dpdk-testpmd does: one queue per direction, fast free if the driver supports
/// it.
result<void> io_loop::start_port(uint16_t port, const std::string& name) {
    rte_eth_dev_info info{};
    if (const int code = rte_eth_dev_info_get(port, &info); code != 0)
        return refused(code, name, "cannot query the port's properties");
    rte_eth_conf conf{};
    conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
    int code = rte_eth_dev_configure(port, 1, 1, &conf);
    rte_eth_txconf tx = info.default_txconf;
    tx.offloads = conf.txmode.offloads;
    if (code == 0) code = rte_eth_rx_queue_setup(port, 0, ring, 0, nullptr, pool_);
    if (code == 0) code = rte_eth_tx_queue_setup(port, 0, ring, 0, &tx);
    if (code == 0) code = rte_eth_dev_start(port);
    if (code != 0) return refused(code, name, "the port does not start");
    (void)rte_eth_promiscuous_enable(port);  // some drivers do not support it
    return {};
}

result<void> io_loop::wait_for_links() {
    for (const uint16_t port : ports_) {
        rte_eth_link link{};
        for (int tries = 0; tries < 500 && link.link_status == RTE_ETH_LINK_DOWN; ++tries) {
            if (tries != 0) rte_delay_us_sleep(10'000);
            if (rte_eth_link_get_nowait(port, &link) != 0) break;
        }
        if (link.link_status == RTE_ETH_LINK_DOWN)
            return fail(ETIMEDOUT, names_.front(), "the link did not come up within 5 s");
    }
    return {};
}

result<void> io_loop::sow(const io_settings& s) {
    if (s.seeds != 0) (void)receive(0.001);  // net_memif's client posts its buffers when polled
    for (uint32_t i = 0; i < s.seeds; ++i) {
        rte_mbuf* m = rte_pktmbuf_alloc(pool_);
        if (m == nullptr)
            return fail(ENOMEM, names_.front(), "too few buffers for the initial frames");
        const auto bytes = static_cast<uint16_t>(s.frame_bytes - fcs_bytes);
        std::memset(rte_pktmbuf_append(m, bytes), 0x5a, bytes);
        if (rte_eth_tx_burst(ports_.front(), 0, &m, 1) != 1) {
            rte_pktmbuf_free(m);
            return fail(ENOSPC, names_.front(),
                        "does not accept " + std::to_string(s.seeds) + " frames");
        }
    }
    return {};
}

uint64_t io_loop::xstat(const char* name) const {
    uint64_t sum = 0;
    for (const uint16_t port : ports_) {
        uint64_t id = 0, value = 0;
        if (rte_eth_xstats_get_id_by_name(port, name, &id) != 0) continue;
        if (rte_eth_xstats_get_by_id(port, &id, &value, 1) == 1) sum += value;
    }
    return sum;
}

io_run io_loop::forward(uint64_t packets) {
    rte_mbuf* m[burst];
    io_run run;
    const uint64_t engine_before = engine_cycles(), start = rte_rdtsc_precise();
    for (uint64_t idle = 0; run.packets < packets && idle < idle_polls; ++idle)
        for (const uint16_t port : ports_) {
            const uint16_t n = rte_eth_rx_burst(port, 0, m, burst);
            if (n == 0) {
                rte_pause();
                continue;
            }
            idle = 0;
            const uint16_t sent = rte_eth_tx_burst(port, 0, m, n);
            if (sent < n) rte_pktmbuf_free_bulk(m + sent, static_cast<unsigned>(n - sent));
            run.packets += sent;
        }
    run.cycles = rte_rdtsc_precise() - start;
    run.engine_cycles = engine_cycles() - engine_before;
    return run;
}

io_run io_loop::receive(double seconds) {
    rte_mbuf* m[burst];
    io_run run;
    const auto wanted = static_cast<uint64_t>(seconds * static_cast<double>(rte_get_tsc_hz()));
    const uint64_t engine_before = engine_cycles(), start = rte_rdtsc_precise();
    while (rte_rdtsc() - start < wanted)
        for (const uint16_t port : ports_) {
            const uint16_t n = rte_eth_rx_burst(port, 0, m, burst);
            // Leave more of the core to a device thread on its sibling.
            if (n == 0) rte_pause();
            if (n != 0) rte_pktmbuf_free_bulk(m, n);
            run.packets += n;
        }
    run.cycles = rte_rdtsc_precise() - start;
    run.engine_cycles = engine_cycles() - engine_before;
    return run;
}

std::string io_loop::burst_mode() const {
    rte_eth_burst_mode mode{};
    return rte_eth_rx_burst_mode_get(ports_.front(), 0, &mode) == 0 ? mode.info : "";
}

}  // namespace turnpike::bench
