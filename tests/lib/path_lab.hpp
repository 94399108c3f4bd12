// SPDX-License-Identifier: BSD-3-Clause
// turnpike without its threads: the real controller of a configuration, between net_ring ports whose
// other ends are here. Queue q of each port is worker q's; the test calls the workers' rounds. EAL
// runs (lib/eal.hpp, which gives the lcores that workers are named after).
#pragma once

#include <ethdev_driver.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "control/controller.hpp"
#include "lib/packet_bytes.hpp"
#include "lib/require.hpp"
#include "sources/yaml.hpp"

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
    /// looked at. `thin`: one queue a port and direction, however many workers there are.
    explicit path_lab(const std::string& configuration, uint16_t workers = 1, bool thin = false)
        : workers_(workers), queues_(thin ? uint16_t{1} : workers) {
        static unsigned count = 0;
        name_ = "lab" + std::to_string(count++);
        auto wanted = read(configuration);
        for (const auto& [name, port] : wanted->ports) open_port(name);
        control_ = taken(control::controller::create(std::move(wanted)));
        baseline_ = rte_mempool_in_use_count(control_->pool());
    }
    ~path_lab() {
        control_->known().give_up_all(packet::drop_reason::stopping);
        for (uint16_t p = 0; p < ends_.size(); ++p) sent(p);  // what nobody took
        check_balance();
        control_.reset();
        for (rte_ring* r : rings_) rte_ring_free(r);
    }
    path_lab(const path_lab&) = delete;
    path_lab& operator=(const path_lab&) = delete;

    /// The state of a configuration, its ports between our rings.
    std::unique_ptr<state::desired> read(const std::string& configuration) {
        auto wanted =
            std::make_unique<state::desired>(taken(sources::load_text(configuration, "lab.yaml")));
        for (const auto& [name, port] : wanted->ports) {
            state::port& p = *wanted->ports.find(name);
            p.device = "net_ring_" + name_ + name;
            p.rx_queues = queues_;
        }
        for (uint16_t w = 0; w < workers_; ++w) wanted->fixed.workers.push_back(w + 1U);
        wanted->fixed.pool.ops = "ring_mp_mc";
        if (wanted->fixed.pool.buffers == 0) wanted->fixed.pool.buffers = 8191;
        return wanted;
    }
    /// Change to another configuration; its new ports get rings.
    result<state::changes> apply(const std::string& configuration) {
        auto wanted = read(configuration);
        for (const auto& [name, port] : wanted->ports)
            if (place_of(name) == none) open_port(name);
        if (!threads_)
            for (const auto& w : control_->threads().all()) w->pause();
        auto applied = control_->apply(std::move(wanted));
        if (!threads_)
            for (const auto& w : control_->threads().all()) w->resume();
        return applied;
    }
    /// Workers run in threads of the test's own from here on.
    void workers_have_threads() { threads_ = true; }

    void links(bool up) {
        for (const end& e : ends_)
            REQUIRE((up ? rte_eth_dev_set_link_up : rte_eth_dev_set_link_down)(e.ethdev) == 0);
        control_->look_at_links(now_ms_);
    }

    /// A packet in one segment; null where the pool is empty.
    rte_mbuf* packet_of(const byte_vector& frame) {
        rte_mbuf* m = rte_pktmbuf_alloc(control_->pool());
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
        if (rte_ring_enqueue(ends_[port].rx[queue], m) == 0) return true;
        rte_pktmbuf_free(m);
        return false;
    }
    /// The next packet that left by a port, to be freed; null: none.
    rte_mbuf* take(uint16_t port) {
        void* m = nullptr;
        for (rte_ring* r : ends_[port].tx)
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

    /// What control does between two looks, so much later than the last.
    void control(uint64_t later_ms = 0) { control_->tick(now_ms_ += later_ms); }
    /// What was offered to the first worker, and what control makes of it, comes out.
    void settle() {
        for (int i = 0; i < 3; ++i) {
            worker().poll();
            control();
        }
        worker().poll();
        worker().poll();
    }

    [[nodiscard]] uint64_t dropped(packet::drop_reason why) {
        uint64_t n = 0;
        for (const auto& p : control_->report().ports)
            n += p.totals.drops[static_cast<size_t>(why)];
        return n;
    }
    void check_balance() {
        const observe::report r = control_->report();
        REQUIRE(r.held == 0);
        REQUIRE(r.total().holds());
        REQUIRE(rte_mempool_in_use_count(control_->pool()) == baseline_);
    }

    [[nodiscard]] datapath::worker& worker(size_t w = 0) { return *control_->threads().all()[w]; }
    [[nodiscard]] control::controller& controller() { return *control_; }
    [[nodiscard]] std::vector<observe::acl_report> acls() { return control_->report().acls; }
    [[nodiscard]] const datapath::view& view() const { return control_->view(); }

  protected:
    static constexpr size_t none = SIZE_MAX;
    struct end {
        std::string name;
        uint16_t ethdev;
        std::vector<rte_ring*> rx, tx;
    };

    [[nodiscard]] size_t place_of(const std::string& name) const {
        const auto at =
            std::find_if(ends_.begin(), ends_.end(), [&](const end& e) { return e.name == name; });
        return at == ends_.end() ? none : static_cast<size_t>(at - ends_.begin());
    }
    rte_ring* make_ring(const std::string& what) {
        rte_ring* r = rte_ring_create((name_ + what).c_str(), 1024, SOCKET_ID_ANY, 0);
        REQUIRE(r != nullptr);
        rings_.push_back(r);
        return r;
    }
    void open_port(const std::string& name) {
        const size_t i = ends_.size();  // a port that was closed gave its number back
        end& e = ends_.emplace_back();
        e.name = name;
        for (uint16_t q = 0; q < queues_; ++q) {
            const std::string of = std::to_string(rings_.size());
            e.rx.push_back(make_ring("r" + of));
            e.tx.push_back(make_ring("t" + of));
        }
        const int id = rte_eth_from_rings((name_ + name).c_str(), e.rx.data(), queues_, e.tx.data(),
                                          queues_, 0);
        REQUIRE(id >= 0);
        e.ethdev = static_cast<uint16_t>(id);
        // The driver cannot be told its address.
        rte_eth_devices[id].data->mac_addrs[0] = {{2, 0, 0, 0, 0, static_cast<uint8_t>(0x0b + i)}};
    }

    const uint16_t workers_, queues_;
    std::string name_;
    std::vector<end> ends_;
    std::vector<rte_ring*> rings_;
    std::unique_ptr<control::controller> control_;
    bool threads_ = false;
    uint64_t now_ms_ = 1;
    uint32_t baseline_ = 0;
};

/// With one worker that is started, links up, our addresses known to be ours, and announcements taken.
class running_lab : public path_lab {
    static constexpr uint64_t duplicate_detection_ms = 1000;

  public:
    explicit running_lab(const std::string& configuration) : path_lab(configuration) {
        worker().start();
        links(true);
        control(duplicate_detection_ms);
        settle();
        for (uint16_t p = 0; p < ends_.size(); ++p) sent(p);
    }
    ~running_lab() { worker().finish(); }
};

}  // namespace turnpike::test
