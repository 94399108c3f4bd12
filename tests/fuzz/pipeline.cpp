// SPDX-License-Identifier: BSD-3-Clause
// Bytes -> frames in mbuf chains -> a whole router: worker, control and neighbours, between two
// net_ring ports whose other ends are here.
//
//   ( | flags | frame's length 2 | first segment | others | frame ... | )*
//   flags   1 the port, 2 segments are heap blocks of exactly their size, 4 time passes afterwards,
//           8 MAC address and checksums are made right first: the fuzzer cannot
//
// What must hold after each input: every packet has one fate, every mbuf is back, and what was sent
// is sound: a packet that came in with one hop less, or a message of our own.
#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "control/router.hpp"
#include "datapath/worker.hpp"
#include "lib/packet_bytes.hpp"
#include "packet/arp.hpp"
#include "packet/checksum.hpp"
#include "packet/icmp.hpp"
#include "packet/ipv4.hpp"
#include "packet/ipv6.hpp"
#include "packet/nd.hpp"

#define REQUIRE(condition)                                                  \
    do {                                                                    \
        if (!(condition)) {                                                 \
            std::fprintf(stderr, "%d: not so: %s\n", __LINE__, #condition); \
            std::abort();                                                   \
        }                                                                   \
    } while (false)

namespace turnpike {
namespace {

using packet::view;
using test::byte_vector;

constexpr uint16_t ports = 2;
constexpr packet::mac_address macs[ports] = {{{2, 0, 0, 0, 0, 0x0b}}, {{2, 0, 0, 0, 0, 0x0c}}};
constexpr packet::mac_address hosts[ports] = {{{2, 0, 0, 0, 0, 0x0a}}, {{2, 0, 0, 0, 0, 0x0d}}};

/// The fixtures' network: 10.0.1.1 and 2001:db8:1::1 talk to 10.0.2.2 and 2001:db8:2::2.
constexpr const char* configuration = R"(
ports:
  - {name: west, device: net_ring0, addresses: [10.0.1.254/24, "2001:db8:1::fe/64"]}
  - {name: east, device: net_ring1, mtu: 1400, addresses: [10.0.2.254/24, "2001:db8:2::fe/64"]}
routes:
  - {to: 10.9.0.0/16, via: 10.0.2.2}
  - {to: "2001:db8:9::/48", via: "fe80::2", port: east}
  - {to: 192.0.2.0/24, type: blackhole}
  - {to: "2001:db8:c::/48", type: unreachable}
icmp: {rate: 1000000}
neighbours: {limit: 64, held: 4}
)";

template <class T>
T taken(result<T> r) {
    if (!r) std::fprintf(stderr, "%s\n", r.error().message().c_str());
    REQUIRE(r.has_value());
    return std::move(*r);
}

rte_ring* make_ring(const char* name) {
    rte_ring* r = rte_ring_create(name, 1024, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    REQUIRE(r != nullptr);
    return r;
}

/// The appliance without its threads: what control/appliance.cpp puts together.
class lab {
  public:
    lab() : model_(taken(config::load_text(configuration, "fuzz.yaml"))) {
        pool_ = rte_pktmbuf_pool_create("fuzz", 2047, 0, datapath::mbuf_private_bytes, 2176,
                                        SOCKET_ID_ANY);
        REQUIRE(pool_ != nullptr);
        datapath::worker_plan plan;
        plan.tx_queue_id.fill(-1);
        tables_.ports = ports;
        for (uint16_t i = 0; i < ports; ++i) {
            open_port(i);
            plan.rx.push_back({i, 0});
            plan.tx_queue_id[i] = 0;
        }
        tables_.ipv4_sum = packet::ipv4_sum_kernels().back().function;  // scalar runs everywhere
        plan.from_control = make_ring("from_control");
        plan.to_control = to_control_ = make_ring("to_control");
        plan.neighbours_to_control = neighbours_ = make_ring("neighbours");
        outlet_ = std::make_unique<control::outlet>(pool_, tables_);
        for (uint16_t i = 0; i < ports; ++i) outlet_->set_ring(i, plan.from_control);
        router_ = std::make_unique<control::router>(model_, tables_, *outlet_);
        REQUIRE(router_->set_up(1).has_value());
        worker_ = std::make_unique<datapath::worker>(plan, tables_);
        worker_->start();
        baseline_ = rte_mempool_in_use_count(pool_);
    }

    void run(const uint8_t* data, size_t size) {
        came_.clear();
        links(true);
        introduce();
        while (size > 5) {
            const uint8_t flags = data[0];
            const size_t bytes = std::min<size_t>(load_be<uint16_t>(data + 1), size - 5);
            byte_vector frame(data + 5, data + 5 + bytes);
            if (flags & 8) repair(flags & 1, frame);
            if (rte_mbuf* m = chain(frame, data[3], data[4], (flags & 2) != 0))
                offer(flags & 1, m, frame);
            if (flags & 4) now_ms_ += 500;
            settle();
            data += 5 + bytes;
            size -= 5 + bytes;
        }
        // Until nobody waits for an answer any more.
        for (int i = 0; i < 5; ++i) {
            now_ms_ += 1000;
            settle();
        }
        links(false);
        settle();
        check_balance();
    }

  private:
    void open_port(uint16_t i) {
        const std::string name = "ring" + std::to_string(i);
        rx_[i] = make_ring((name + "rx").c_str());
        tx_[i] = make_ring((name + "tx").c_str());
        const int id = rte_eth_from_rings(name.c_str(), &rx_[i], 1, &tx_[i], 1, 0);
        REQUIRE(id >= 0);
        const auto port = static_cast<uint16_t>(id);
        const rte_eth_conf conf{};
        REQUIRE(rte_eth_dev_configure(port, 1, 1, &conf) == 0);
        REQUIRE(rte_eth_rx_queue_setup(port, 0, 512, 0, nullptr, pool_) == 0);
        REQUIRE(rte_eth_tx_queue_setup(port, 0, 512, 0, nullptr) == 0);
        REQUIRE(rte_eth_dev_start(port) == 0);
        tables_.port[i].ethdev_id = port;
        tables_.port[i].mac = macs[i];
    }

    void links(bool up) {
        for (uint16_t i = 0; i < ports; ++i) {
            tables_.port[i].link_up.store(up, std::memory_order_relaxed);
            router_->link_changed(i, up, now_ms_);
        }
    }

    /// Both hosts have asked for the router, so it knows them.
    void introduce() {
        for (uint16_t i = 0; i < ports; ++i) {
            const auto third = static_cast<uint32_t>(i + 1);
            const uint32_t net = 0x0a000000 | third << 8;
            byte_vector frame(packet::arp_frame_bytes);
            packet::write_arp_request(frame, {hosts[i], net | third}, net | 254);
            offer(i, chain(frame, 255, 255, false), frame);
            packet::ipv6_address host{{0x20, 1, 0x0d, 0xb8, 0, static_cast<uint8_t>(third), 0, 0, 0,
                                       0, 0, 0, 0, 0, 0, static_cast<uint8_t>(third)}};
            packet::ipv6_address us = host;
            us.bytes[15] = 0xfe;
            frame.resize(packet::nd_frame_bytes);
            frame.resize(packet::write_neighbour_solicitation(frame, {hosts[i], host}, us));
            offer(i, chain(frame, 255, 255, false), frame);
        }
        settle();
    }

    static void repair(uint16_t port, byte_vector& frame) {
        if (frame.size() < sizeof(packet::ethernet_header)) return;
        view<packet::ethernet_header>(frame.data()).destination = macs[port];
        packet::parsed p;
        if (packet::parse(frame, static_cast<uint32_t>(frame.size()), p) !=
                packet::parse_status::done ||
            p.l3_drop != packet::drop_reason::none || p.l3 == packet::l3_kind::arp)
            return;
        const std::span l3 = std::span(frame).subspan(p.l2_bytes, p.l3_bytes);
        const std::span upper = l3.subspan(p.upper_offset - p.l2_bytes);
        const bool icmp = p.is(packet::flag_icmp);
        if (icmp) store_be<uint16_t>(&upper[2], 0);
        if (p.is_ipv4()) {
            store_be<uint16_t>(&l3[10], 0);
            store_be(&l3[10], packet::checksum(l3.first(p.ipv4_header_bytes)));
            if (icmp) store_be(&upper[2], packet::checksum(upper));
        } else if (icmp) {
            const auto& ip = view<packet::ipv6_header>(l3.data());
            const uint16_t sum = packet::icmp6_sum(ip.source, ip.destination, upper);
            store_be(&upper[2], static_cast<uint16_t>(~sum));
        }
    }

    /// A frame in segments of `first` and then `others` bytes (0: as long as fits).
    rte_mbuf* chain(std::span<const uint8_t> frame, uint8_t first, uint8_t others, bool exact) {
        rte_mbuf *head = nullptr, *tail = nullptr;
        size_t at = 0;
        do {
            const uint8_t wish = head == nullptr ? first : others;
            size_t bytes = std::min<size_t>(frame.size() - at, wish == 0 ? 2048 : wish);
            rte_mbuf* m = segment(frame.subspan(at, bytes), exact);
            if (m == nullptr) {
                rte_pktmbuf_free(head);
                return nullptr;
            }
            at += bytes;
            if (head == nullptr) {
                head = tail = m;
                continue;
            }
            tail->next = m;
            tail = m;
            ++head->nb_segs;
            head->pkt_len += static_cast<uint32_t>(bytes);
        } while (at < frame.size() && head->nb_segs < 200);
        return head;
    }

    rte_mbuf* segment(std::span<const uint8_t> bytes, bool exact) {
        rte_mbuf* m = rte_pktmbuf_alloc(pool_);
        if (m == nullptr) return nullptr;
        const auto n = static_cast<uint16_t>(bytes.size());
        if (exact && n != 0) {
            // A heap block of exactly its size: ASan sees any byte too many.
            auto* block = static_cast<uint8_t*>(std::malloc(n));
            auto* shared = new rte_mbuf_ext_shared_info{};
            shared->free_cb = [](void* memory, void* info) {
                std::free(memory);
                delete static_cast<rte_mbuf_ext_shared_info*>(info);
            };
            shared->fcb_opaque = shared;
            rte_mbuf_ext_refcnt_set(shared, 1);
            rte_pktmbuf_attach_extbuf(m, block, RTE_BAD_IOVA, n, shared);
        }
        if (n != 0) std::copy(bytes.begin(), bytes.end(), rte_pktmbuf_mtod(m, uint8_t*));
        m->data_len = n;
        m->pkt_len = n;
        return m;
    }

    void offer(uint16_t port, rte_mbuf* m, std::span<const uint8_t> frame) {
        REQUIRE(m != nullptr && rte_ring_sp_enqueue(rx_[port], m) == 0);
        came_.emplace_back(frame.begin(), frame.begin() + m->pkt_len);
    }

    /// Worker and control in turns until neither has anything to do.
    void settle() {
        for (int round = 0; round < 4; ++round) {
            worker_->poll();
            for (rte_ring* ring : {neighbours_, to_control_}) {
                void* m = nullptr;
                while (rte_ring_sc_dequeue(ring, &m) == 0)
                    router_->take(static_cast<rte_mbuf*>(m), now_ms_);
            }
            router_->tick(now_ms_);
        }
        worker_->poll();
        worker_->poll();
        for (uint16_t i = 0; i < ports; ++i) {
            void* m = nullptr;
            while (rte_ring_sc_dequeue(tx_[i], &m) == 0) {
                check_sent(i, static_cast<rte_mbuf*>(m));
                rte_pktmbuf_free(static_cast<rte_mbuf*>(m));
            }
        }
    }

    void check_sent(uint16_t port, const rte_mbuf* m) {
        REQUIRE(rte_mbuf_check(m, 1, nullptr) == 0);
        byte_vector frame(m->pkt_len);
        const void* whole = rte_pktmbuf_read(m, 0, m->pkt_len, frame.data());
        REQUIRE(whole != nullptr);
        if (whole != frame.data())
            std::copy_n(static_cast<const uint8_t*>(whole), m->pkt_len, frame.begin());
        REQUIRE(frame.size() >= sizeof(packet::ethernet_header));
        const auto& ethernet = view<packet::ethernet_header>(frame.data());
        REQUIRE(ethernet.source == macs[port]);
        const std::span<const uint8_t> l3 = std::span(frame).subspan(sizeof ethernet);
        REQUIRE(l3.size() <= model_.ports[port].mtu);
        switch (uint16_t{ethernet.type}) {
            case packet::ether_type_arp:
                REQUIRE(frame.size() == packet::arp_frame_bytes);
                break;
            case packet::ether_type_ipv4:
                check_ipv4(frame, l3);
                break;
            case packet::ether_type_ipv6:
                check_ipv6(port, frame, l3);
                break;
            default:
                REQUIRE(ethernet.type == packet::ether_type_arp);  // we send no other
        }
    }

    void check_ipv4(const byte_vector& frame, std::span<const uint8_t> l3) {
        REQUIRE(l3.size() >= sizeof(packet::ipv4_header));
        const auto& ip = view<packet::ipv4_header>(l3.data());
        REQUIRE(ip.total_bytes == l3.size() && ip.header_bytes() <= l3.size());
        REQUIRE(packet::fold(packet::sum_bytes(l3.first(ip.header_bytes()))) == 0xffff);
        REQUIRE(ip.ttl > 0);
        const uint32_t source = ip.source, destination = ip.destination;
        REQUIRE(packet::check_ipv4_addresses(source, destination) == packet::drop_reason::none);
        REQUIRE((destination & 0xffffff00) != 0x0a000100 ||
                ((destination & 0xff) != 0 && (destination & 0xff) != 0xff));
        REQUIRE((destination & 0xffffff00) != 0x0a000200 ||
                ((destination & 0xff) != 0 && (destination & 0xff) != 0xff));
        REQUIRE(!view<packet::ethernet_header>(frame.data()).destination.is_group());
        const bool ours = source == 0x0a0001fe || source == 0x0a0002fe;
        REQUIRE(came_in(l3, 8, 10) || (ours && ip.protocol == packet::protocol_icmp));
    }

    void check_ipv6(uint16_t port, const byte_vector& frame, std::span<const uint8_t> l3) {
        REQUIRE(l3.size() >= sizeof(packet::ipv6_header));
        const auto& ip = view<packet::ipv6_header>(l3.data());
        REQUIRE(sizeof ip + ip.payload_bytes == l3.size() && ip.hop_limit > 0);
        bool ours = false;
        for (const auto& p : tables_.port)
            ours = ours || std::find(p.v6.begin(), p.v6.end(), ip.source) != p.v6.end();
        if (came_in(l3, 7, 0)) {
            REQUIRE(packet::check_ipv6_addresses(ip.source, ip.destination) ==
                    packet::drop_reason::none);
            REQUIRE(!view<packet::ethernet_header>(frame.data()).destination.is_group());
            return;
        }
        REQUIRE(ours && !packet::is_multicast(ip.source));
        REQUIRE(packet::is_link_local(ip.source) ? ip.source == tables_.port[port].v6.front()
                                                 : true);
    }

    /// Was this one of the packets that came, but for one hop (and its checksum)?
    bool came_in(std::span<const uint8_t> l3, size_t hops_at, size_t checksum_at) const {
        return std::any_of(came_.begin(), came_.end(), [&](const byte_vector& frame) {
            if (frame.size() < 14 + l3.size()) return false;
            for (size_t i = 0; i < l3.size(); ++i) {
                const uint8_t before = frame[14 + i];
                if (i == hops_at ? l3[i] + 1 != before
                                 : l3[i] != before && (checksum_at == 0 ||
                                                       (i != checksum_at && i != checksum_at + 1)))
                    return false;
            }
            return true;
        });
    }

    void check_balance() {
        uint64_t in = 0, out = 0;
        for (uint16_t i = 0; i < ports; ++i)
            for (const cost::port_counters* c : {&worker_->port(i), &outlet_->port(i)}) {
                in += c->rx_packets.read() + c->originated.read();
                out += c->tx_packets.read() + c->consumed.read();
                for (const auto& drops : c->drops) out += drops.read();
            }
        REQUIRE(router_->held() == 0);
        REQUIRE(in == out);
        REQUIRE(rte_mempool_in_use_count(pool_) == baseline_);
    }

    config::model model_;
    rte_mempool* pool_ = nullptr;
    rte_ring *rx_[ports]{}, *tx_[ports]{}, *to_control_ = nullptr, *neighbours_ = nullptr;
    datapath::tables tables_;
    std::unique_ptr<control::outlet> outlet_;
    std::unique_ptr<control::router> router_;
    std::unique_ptr<datapath::worker> worker_;
    std::vector<byte_vector> came_;  ///< in this input
    uint64_t now_ms_ = 1;
    uint32_t baseline_ = 0;
};

lab* the_lab = nullptr;  // for as long as the process

}  // namespace
}  // namespace turnpike

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    static char words[][16] = {"fuzz", "--no-huge", "--no-shconf", "--no-pci", "--no-telemetry",
                               "-m",   "400",       "-l",          "0",        "--log-level=4"};
    static char* argv[std::size(words)];
    for (size_t i = 0; i < std::size(words); ++i) argv[i] = words[i];
    REQUIRE(rte_eal_init(static_cast<int>(std::size(words)), argv) >= 0);
    turnpike::the_lab = new turnpike::lab;
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    turnpike::the_lab->run(data, size);
    return 0;
}
