// SPDX-License-Identifier: BSD-3-Clause
// turnpike without threads: the real controller with a configuration, on net_ring ports whose
// other ends are here. Queue q of each port belongs to worker q; the test calls the workers' poll(). EAL
// must run (lib/eal.hpp, which also creates the lcores of the workers).
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
    /// Port i has the MAC address 02:00:00:00:00:0b + i. The configuration's device names are
    /// ignored. `thin`: one queue per port and direction, regardless of the number of workers.
    explicit path_lab(const std::string& configuration, uint16_t workers = 1, bool thin = false);
    ~path_lab();
    path_lab(const path_lab&) = delete;
    path_lab& operator=(const path_lab&) = delete;

    /// Devices opened while this is true have UDP checksum offload, which the test performs.
    static inline bool devices_sum_udp = false;

    /// Parse a configuration, with its ports on our rings.
    std::unique_ptr<state::configuration> read(const std::string& configuration);
    /// Apply another configuration; its new ports get rings.
    result<state::changes> apply(const std::string& configuration);
    /// From here on the test runs the workers in its own threads.
    void workers_have_threads() { threads_ = true; }

    void links(bool up);

    /// A packet in one segment; null if the pool is empty.
    rte_mbuf* packet_of(const byte_vector& frame);
    /// Receive a frame by a port. False: no room in the ring or the pool.
    bool offer(uint16_t port, const byte_vector& frame, uint16_t queue = 0);
    /// The same with an mbuf, which is freed if there is no room.
    bool offer_packet(uint16_t port, rte_mbuf* m, uint16_t queue = 0);
    /// The next packet sent by a port, owned by the caller; null: none.
    rte_mbuf* next_sent(uint16_t port);
    static byte_vector bytes_of(const rte_mbuf* m);
    /// All frames sent by a port.
    std::vector<byte_vector> sent(uint16_t port);

    /// One iteration of control, this much later than the last.
    void control(uint64_t later_ms = 0);
    /// Poll the first worker and control until no packet is queued.
    void settle();

    [[nodiscard]] uint64_t dropped(datapath::drop_reason why);
    void check_balance();

    [[nodiscard]] datapath::worker& worker(size_t w = 0) {
        return control_->workers().all()[w]->worker;
    }
    [[nodiscard]] control::controller& controller() { return *control_; }
    [[nodiscard]] std::vector<observe::acl_report> acls();
    [[nodiscard]] const datapath::snapshot& snapshot() const { return control_->snapshot(); }

  protected:
    static constexpr size_t none = SIZE_MAX;
    struct end {
        std::string name;
        uint16_t ethdev;
        std::vector<rte_ring*> rx, tx;
    };

    [[nodiscard]] size_t ifindex_of(const std::string& name) const;
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

/// With one worker started, links up, addresses past duplicate address detection, and announcements
/// discarded.
class running_lab : public path_lab {
  public:
    explicit running_lab(const std::string& configuration);
    ~running_lab();
};

}  // namespace turnpike::test
