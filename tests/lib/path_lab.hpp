// SPDX-License-Identifier: BSD-3-Clause
// turnpike without its threads: the real controller of a configuration, between net_ring ports whose
// other ends are here. Queue q of each port is worker q's; the test calls the workers' rounds. EAL
// runs (lib/eal.hpp, which gives the lcores that workers are named after).
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

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
    explicit path_lab(const std::string& configuration, uint16_t workers = 1, bool thin = false);
    ~path_lab();
    path_lab(const path_lab&) = delete;
    path_lab& operator=(const path_lab&) = delete;

    /// Devices that are opened while this is true say that they sum UDP; what they are left to do, the test does.
    static inline bool devices_sum_udp = false;

    /// The state of a configuration, its ports between our rings.
    std::unique_ptr<state::desired> read(const std::string& configuration);
    /// Change to another configuration; its new ports get rings.
    result<state::changes> apply(const std::string& configuration);
    /// Workers run in threads of the test's own from here on.
    void workers_have_threads() { threads_ = true; }

    void links(bool up);

    /// A packet in one segment; null where the pool is empty.
    rte_mbuf* packet_of(const byte_vector& frame);
    /// False: the ring or the pool had no room.
    bool offer(uint16_t port, const byte_vector& frame, uint16_t queue = 0);
    /// The same with a packet of the pool's, which is freed where there is no room.
    bool offer_packet(uint16_t port, rte_mbuf* m, uint16_t queue = 0);
    /// The next packet that left by a port, to be freed; null: none.
    rte_mbuf* take(uint16_t port);
    static byte_vector bytes_of(const rte_mbuf* m);
    /// All frames that left by a port.
    std::vector<byte_vector> sent(uint16_t port);

    /// What control does between two looks, so much later than the last.
    void control(uint64_t later_ms = 0);
    /// What was offered to the first worker, and what control makes of it, comes out.
    void settle();

    [[nodiscard]] uint64_t dropped(packet::drop_reason why);
    void check_balance();

    [[nodiscard]] datapath::worker& worker(size_t w = 0) {
        return control_->threads().all()[w]->worker;
    }
    [[nodiscard]] control::controller& controller() { return *control_; }
    [[nodiscard]] std::vector<observe::acl_report> acls();
    [[nodiscard]] const datapath::view& view() const { return control_->view(); }

  protected:
    static constexpr size_t none = SIZE_MAX;
    struct end {
        std::string name;
        uint16_t ethdev;
        std::vector<rte_ring*> rx, tx;
    };

    [[nodiscard]] size_t place_of(const std::string& name) const;
    rte_ring* make_ring(const std::string& what);
    void open_port(const std::string& name);

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
  public:
    explicit running_lab(const std::string& configuration);
    ~running_lab();
};

}  // namespace turnpike::test
