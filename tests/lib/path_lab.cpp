// SPDX-License-Identifier: BSD-3-Clause
#include "lib/path_lab.hpp"

#include <ethdev_driver.h>
#include <rte_eth_ring.h>

#include <algorithm>

namespace turnpike::test {
namespace {

constexpr uint64_t duplicate_detection_ms = 1000;

/// net_ring's operations, with checksum offload.
eth_dev_ops with_sums;
eth_dev_infos_get_t infos_without_sums;

int infos_with_sums(rte_eth_dev* dev, rte_eth_dev_info* info) {
    const int code = infos_without_sums(dev, info);
    info->rx_offload_capa |= RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
    info->tx_offload_capa |= RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
    return code;
}

void offer_sums(rte_eth_dev& dev) {
    if (dev.dev_ops == &with_sums) return;
    with_sums = *dev.dev_ops;
    infos_without_sums = with_sums.dev_infos_get;
    with_sums.dev_infos_get = infos_with_sums;
    dev.dev_ops = &with_sums;
}

}  // namespace

path_lab::path_lab(const std::string& configuration, uint16_t workers, bool thin)
    : workers_(workers), queues_(thin ? uint16_t{1} : workers) {
    static unsigned count = 0;
    name_ = "lab" + std::to_string(count++);
    auto wanted = read(configuration);
    for (const auto& [name, port] : wanted->ports) open_port(name);
    control_ = taken(control::controller::create(std::move(wanted)));
    baseline_ = rte_mempool_in_use_count(control_->pool());
}

path_lab::~path_lab() {
    control_->routing().neighbours().drop_all_pending(datapath::drop_reason::stopping);
    for (uint16_t p = 0; p < ends_.size(); ++p) sent(p);  // packets that the test has not taken
    check_balance();
    control_.reset();
    for (rte_ring* r : rings_) rte_ring_free(r);
}

std::unique_ptr<state::configuration> path_lab::read(const std::string& configuration) {
    auto wanted = std::make_unique<state::configuration>(
        taken(sources::load_text(configuration, "lab.yaml")));
    for (const auto& [name, port] : wanted->ports) {
        state::port& p = *wanted->ports.find(name);
        p.device = "net_ring_" + name_ + name;
        p.rx_queues = queues_;
    }
    if (wanted->workers.empty())
        for (uint16_t w = 0; w < workers_; ++w) wanted->workers.push_back(w + 1U);
    wanted->fixed.pool.ops = "ring_mp_mc";
    if (wanted->fixed.pool.buffers == 0) wanted->fixed.pool.buffers = 8191;
    return wanted;
}

result<state::changes> path_lab::apply(const std::string& configuration) {
    auto wanted = read(configuration);
    for (const auto& [name, port] : wanted->ports)
        if (ifindex_of(name) == none) open_port(name);
    if (!threads_)
        for (const auto& s : control_->workers().all()) s->worker.pause();
    auto applied = control_->apply(std::move(wanted));
    if (!threads_)
        for (const auto& s : control_->workers().all()) s->worker.resume();
    return applied;
}

void path_lab::links(bool up) {
    for (const end& e : ends_)
        REQUIRE((up ? rte_eth_dev_set_link_up : rte_eth_dev_set_link_down)(e.ethdev) == 0);
    control_->poll_links(now_ms_);
}

rte_mbuf* path_lab::packet_of(const byte_vector& frame) {
    rte_mbuf* m = rte_pktmbuf_alloc(control_->pool());
    if (m == nullptr) return nullptr;
    char* to = rte_pktmbuf_append(m, static_cast<uint16_t>(frame.size()));
    REQUIRE(to != nullptr);
    std::copy(frame.begin(), frame.end(), reinterpret_cast<uint8_t*>(to));
    return m;
}

bool path_lab::offer(uint16_t port, const byte_vector& frame, uint16_t queue) {
    rte_mbuf* m = packet_of(frame);
    return m != nullptr && offer_packet(port, m, queue);
}

bool path_lab::offer_packet(uint16_t port, rte_mbuf* m, uint16_t queue) {
    if (rte_ring_enqueue(ends_[port].rx[queue], m) == 0) return true;
    rte_pktmbuf_free(m);
    return false;
}

rte_mbuf* path_lab::next_sent(uint16_t port) {
    void* m = nullptr;
    for (rte_ring* r : ends_[port].tx)
        if (rte_ring_dequeue(r, &m) == 0) return static_cast<rte_mbuf*>(m);
    return nullptr;
}

byte_vector path_lab::bytes_of(const rte_mbuf* m) {
    byte_vector frame(m->pkt_len);
    const void* whole = rte_pktmbuf_read(m, 0, m->pkt_len, frame.data());
    REQUIRE(whole != nullptr);
    if (whole != frame.data())
        std::copy_n(static_cast<const uint8_t*>(whole), m->pkt_len, frame.begin());
    return frame;
}

std::vector<byte_vector> path_lab::sent(uint16_t port) {
    std::vector<byte_vector> out;
    while (rte_mbuf* m = next_sent(port)) {
        out.push_back(bytes_of(m));
        rte_pktmbuf_free(m);
    }
    return out;
}

void path_lab::control(uint64_t later_ms) { control_->tick(now_ms_ += later_ms); }

void path_lab::settle() {
    for (int i = 0; i < 3; ++i) {
        worker().poll();
        control();
    }
    worker().poll();
    worker().poll();
}

uint64_t path_lab::dropped(datapath::drop_reason why) {
    uint64_t n = 0;
    for (const auto& p : control_->report().ports) n += p.totals.drops[static_cast<size_t>(why)];
    return n;
}

void path_lab::check_balance() {
    const observe::report r = control_->report();
    REQUIRE(r.held == 0);
    REQUIRE(r.total().holds());
    REQUIRE(rte_mempool_in_use_count(control_->pool()) == baseline_);
}

std::vector<observe::acl_report> path_lab::acls() { return control_->report().acls; }

size_t path_lab::ifindex_of(const std::string& name) const {
    const auto at =
        std::find_if(ends_.begin(), ends_.end(), [&](const end& e) { return e.name == name; });
    return at == ends_.end() ? none : static_cast<size_t>(at - ends_.begin());
}

rte_ring* path_lab::make_ring(const std::string& what) {
    rte_ring* r = rte_ring_create((name_ + what).c_str(), 1024, SOCKET_ID_ANY, 0);
    REQUIRE(r != nullptr);
    rings_.push_back(r);
    return r;
}

void path_lab::open_port(const std::string& name) {
    const size_t i = ends_.size();  // a closed port has freed its id
    end& e = ends_.emplace_back();
    e.name = name;
    for (uint16_t q = 0; q < queues_; ++q) {
        const std::string of = std::to_string(rings_.size());
        e.rx.push_back(make_ring("r" + of));
        e.tx.push_back(make_ring("t" + of));
    }
    const int id =
        rte_eth_from_rings((name_ + name).c_str(), e.rx.data(), queues_, e.tx.data(), queues_, 0);
    REQUIRE(id >= 0);
    e.ethdev = static_cast<uint16_t>(id);
    if (devices_sum_udp) offer_sums(rte_eth_devices[id]);
    // The driver has no operation to set the address.

    rte_eth_devices[id].data->mac_addrs[0] = {{2, 0, 0, 0, 0, static_cast<uint8_t>(0x0b + i)}};
}

running_lab::running_lab(const std::string& configuration) : path_lab(configuration) {
    worker().start();
    links(true);
    control(duplicate_detection_ms);
    settle();
    for (uint16_t p = 0; p < ends_.size(); ++p) sent(p);
}

running_lab::~running_lab() { worker().finish(); }

}  // namespace turnpike::test
