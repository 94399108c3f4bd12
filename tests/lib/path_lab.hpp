// SPDX-License-Identifier: BSD-3-Clause
// The appliance without its threads: what control/appliance.cpp puts together of a configuration,
// between net_ring ports whose other ends are here. Queue q of each port is worker q's. EAL runs.
#pragma once

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "control/acls.hpp"
#include "control/router.hpp"
#include "datapath/worker.hpp"
#include "lib/packet_bytes.hpp"
#include "lib/require.hpp"

namespace turnpike::test {

template <class T>
T taken(result<T> r) {
    if (!r) std::fprintf(stderr, "%s\n", r.error().message().c_str());
    REQUIRE(r.has_value());
    return std::move(*r);
}

class path_lab {
  public:
    /// Port i has the MAC address 02:00:00:00:00:0b + i. Devices' names in the configuration are not
    /// looked at.
    explicit path_lab(const std::string& configuration, uint16_t workers = 1)
        : model_(taken(config::load_text(configuration, "lab.yaml"))), workers_(workers) {
        static unsigned count = 0;
        name_ = "lab" + std::to_string(count++);
        pool_ = rte_pktmbuf_pool_create(name_.c_str(), 4095, 0, datapath::mbuf_private_bytes, 2176,
                                        SOCKET_ID_ANY);
        REQUIRE(pool_ != nullptr);
        tables_.ports = static_cast<uint16_t>(model_.ports.size());
        for (const auto& [a, b] : model_.patches) {
            tables_.port[a].patch_to = b;
            tables_.port[b].patch_to = a;
        }
        tables_.ipv4_sum = packet::ipv4_sum_kernels().back().function;  // scalar runs everywhere
        tables_.rcu = taken(rcu::qsbr::create(name_, workers));
        outlet_ = std::make_unique<control::outlet>(pool_, tables_);
        for (uint16_t i = 0; i < tables_.ports; ++i) open_port(i);
        for (uint16_t w = 0; w < workers; ++w) plan(w);
        router_ = std::make_unique<control::router>(model_, tables_, *outlet_);
        if (model_.ports[0].routed()) REQUIRE(router_->set_up().has_value());
        acls_ = std::make_unique<control::acls>(tables_, workers);
        REQUIRE(acls_->set_up(model_).has_value());
        for (const auto& p : plans_)
            worker_.push_back(std::make_unique<datapath::worker>(p, tables_));
        baseline_ = rte_mempool_in_use_count(pool_);
    }
    ~path_lab() {
        router_->stop();
        check_balance();
        acls_.reset();
        for (uint16_t i = 0; i < tables_.ports; ++i) {
            rte_eth_dev_info info{};
            REQUIRE(rte_eth_dev_info_get(tables_.port[i].ethdev_id, &info) == 0);
            REQUIRE(rte_eth_dev_stop(tables_.port[i].ethdev_id) == 0);
            REQUIRE(rte_dev_remove(info.device) == 0);
        }
        worker_.clear();
        router_.reset();
        for (rte_ring* r : rings_) rte_ring_free(r);
        rte_mempool_free(pool_);
    }
    path_lab(const path_lab&) = delete;
    path_lab& operator=(const path_lab&) = delete;

    void links(bool up) {
        for (uint16_t i = 0; i < tables_.ports; ++i) {
            tables_.port[i].link_up.store(up, std::memory_order_relaxed);
            if (model_.ports[i].routed()) router_->link_changed(i, up, now_ms_);
        }
    }

    /// A packet in one segment; null where the pool is empty.
    rte_mbuf* packet_of(const byte_vector& frame) {
        rte_mbuf* m = rte_pktmbuf_alloc(pool_);
        if (m == nullptr) return nullptr;
        char* to = rte_pktmbuf_append(m, static_cast<uint16_t>(frame.size()));
        REQUIRE(to != nullptr);
        std::copy(frame.begin(), frame.end(), reinterpret_cast<uint8_t*>(to));
        return m;
    }
    /// False: the ring or the pool had no room.
    bool offer(uint16_t port, const byte_vector& frame, uint16_t queue = 0) {
        rte_mbuf* m = packet_of(frame);
        return m != nullptr && offer_packet(port, m, queue);
    }
    /// The same with a packet of the pool's, which is freed where there is no room.
    bool offer_packet(uint16_t port, rte_mbuf* m, uint16_t queue = 0) {
        if (rte_ring_enqueue(rx_[port][queue], m) == 0) return true;
        rte_pktmbuf_free(m);
        return false;
    }
    /// The next packet that left by a port, to be freed; null: none.
    rte_mbuf* take(uint16_t port) {
        void* m = nullptr;
        for (rte_ring* r : tx_[port])
            if (rte_ring_dequeue(r, &m) == 0) return static_cast<rte_mbuf*>(m);
        return nullptr;
    }
    static byte_vector bytes_of(const rte_mbuf* m) {
        byte_vector frame(m->pkt_len);
        const void* whole = rte_pktmbuf_read(m, 0, m->pkt_len, frame.data());
        REQUIRE(whole != nullptr);
        if (whole != frame.data())
            std::copy_n(static_cast<const uint8_t*>(whole), m->pkt_len, frame.begin());
        return frame;
    }
    /// All frames that left by a port.
    std::vector<byte_vector> sent(uint16_t port) {
        std::vector<byte_vector> out;
        while (rte_mbuf* m = take(port)) {
            out.push_back(bytes_of(m));
            rte_pktmbuf_free(m);
        }
        return out;
    }

    /// What control does between two looks.
    void control() {
        for (const auto& p : plans_)
            for (rte_ring* ring : {p.neighbours_to_control, p.to_control}) {
                void* m = nullptr;
                while (rte_ring_sc_dequeue(ring, &m) == 0)
                    router_->take(static_cast<rte_mbuf*>(m), now_ms_);
            }
        if (tables_.routes) router_->tick(now_ms_);
        tables_.rcu->reclaim();
    }

    /// rx + originated - tx - consumed - drops; all of it, or of one drop reason.
    [[nodiscard]] uint64_t dropped(packet::drop_reason why) const {
        uint64_t n = 0;
        for (uint16_t i = 0; i < tables_.ports; ++i)
            for (const auto* c : counters_of(i)) n += c->drops[static_cast<size_t>(why)].read();
        return n;
    }
    void check_balance() const {
        uint64_t in = 0, out = 0;
        for (uint16_t i = 0; i < tables_.ports; ++i)
            for (const auto* c : counters_of(i)) {
                in += c->rx_packets.read() + c->originated.read();
                out += c->tx_packets.read() + c->consumed.read();
                for (const auto& drops : c->drops) out += drops.read();
            }
        REQUIRE(router_->held() == 0);
        REQUIRE(in == out);
        REQUIRE(rte_mempool_in_use_count(pool_) == baseline_);
    }

    [[nodiscard]] datapath::worker& worker(size_t w = 0) { return *worker_[w]; }
    [[nodiscard]] control::acls& lists() { return *acls_; }
    [[nodiscard]] const datapath::tables& tables() const { return tables_; }

  protected:
    rte_ring* make_ring(const std::string& what) {
        rte_ring* r = rte_ring_create((name_ + what).c_str(), 1024, SOCKET_ID_ANY, 0);
        REQUIRE(r != nullptr);
        rings_.push_back(r);
        return r;
    }
    void open_port(uint16_t i) {
        for (uint16_t q = 0; q < workers_; ++q) {
            const std::string of = std::to_string(i) + "_" + std::to_string(q);
            rx_[i].push_back(make_ring("rx" + of));
            tx_[i].push_back(make_ring("tx" + of));
        }
        const int id = rte_eth_from_rings((name_ + std::to_string(i)).c_str(), rx_[i].data(),
                                          workers_, tx_[i].data(), workers_, 0);
        REQUIRE(id >= 0);
        const auto port = static_cast<uint16_t>(id);
        const rte_eth_conf conf{};
        REQUIRE(rte_eth_dev_configure(port, workers_, workers_, &conf) == 0);
        for (uint16_t q = 0; q < workers_; ++q) {
            REQUIRE(rte_eth_rx_queue_setup(port, q, 512, 0, nullptr, pool_) == 0);
            REQUIRE(rte_eth_tx_queue_setup(port, q, 512, 0, nullptr) == 0);
        }
        REQUIRE(rte_eth_dev_start(port) == 0);
        tables_.port[i].ethdev_id = port;
        tables_.port[i].mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(0x0b + i)}};
    }
    void plan(uint16_t w) {
        datapath::worker_plan& p = plans_.emplace_back();
        p.number = w;
        p.tx_queue_id.fill(-1);
        const std::string of = std::to_string(w);
        p.from_control = make_ring("from_control" + of);
        p.to_control = make_ring("to_control" + of);
        p.neighbours_to_control = make_ring("neighbours" + of);
        for (uint16_t i = 0; i < tables_.ports; ++i) {
            p.rx.push_back({i, w});
            p.tx_queue_id[i] = w;
            outlet_->set_ring(i, p.from_control);
        }
    }
    [[nodiscard]] std::vector<const cost::port_counters*> counters_of(uint16_t port) const {
        std::vector<const cost::port_counters*> out{&outlet_->port(port)};
        for (const auto& w : worker_) out.push_back(&w->port(port));
        return out;
    }

    const config::model model_;
    const uint16_t workers_;
    std::string name_;
    rte_mempool* pool_ = nullptr;
    std::vector<rte_ring*> rx_[datapath::max_ports], tx_[datapath::max_ports];
    std::vector<rte_ring*> rings_;
    datapath::tables tables_;
    std::vector<datapath::worker_plan> plans_;
    std::unique_ptr<control::outlet> outlet_;
    std::unique_ptr<control::router> router_;
    std::unique_ptr<control::acls> acls_;
    std::vector<std::unique_ptr<datapath::worker>> worker_;
    uint64_t now_ms_ = 1;
    uint32_t baseline_ = 0;
};

}  // namespace turnpike::test
