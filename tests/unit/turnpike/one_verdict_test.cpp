// SPDX-License-Identifier: BSD-3-Clause
// One verdict: a packet has the same exits, bytes and reasons alone, in any burst, under trace, and in explain, over VLAN
// interfaces, bridges, tunnels, cross-connects and lists. Random frames, on every instruction set.
#include <cstdlib>
#include <random>

#include "control/forwarding/ring_compat.hpp"
#include "control/forwarding/traces.hpp"
#include "datapath/explanation.hpp"
#include "eal/simd_bitwidth.hpp"
#include "lib/sanitized.hpp"
#include "tunnel/endpoint_cache.hpp"
#include "turnpike/tunnel_lab.hpp"

namespace turnpike::datapath {
namespace {

using namespace test;

/// Port 0: routed, with a list, and two VLANs, one of them with the list. 1: routed, strict uRPF and an egress list.
/// 2: a trunk, and 3: an access port with an L2 list, of a bridge that routes. 4: the underlay of a tunnel in a
/// second bridge with port 5, which has lists in both directions. 6 and 7: a cross-connect.
constexpr const char* everything = R"(acl:
  - name: edge
    default: permit
    rules:
      - {action: deny, protocol: udp, destination_ports: 53}
      - {action: deny, vlan: 100, protocol: tcp, destination_ports: 80}
      - {action: count, protocol: 51}
      - {action: deny, fragments: true, source: 10.0.1.7/32}
      - {action: deny, source: "2001:db8:1::7/128", protocol: tcp}
  - name: exit
    default: permit
    rules: [{action: deny, protocol: tcp, destination_ports: 22}, {action: deny, dscp: 46}]
  - {name: frames, layer: 2, default: permit, rules: [{action: deny, ethertype: lldp}, {action: deny, vlan: 20}]}
ports:
  - {name: west, device: d0, descriptors: 256, addresses: [10.0.1.254/24, "2001:db8:1::fe/64"], acl: {in: edge}}
  - {name: east, device: d1, descriptors: 256, mtu: 1280, urpf: strict, addresses: [10.0.2.254/24, "2001:db8:2::fe/64"], acl: {out: exit}}
  - {name: trunk, device: d2, descriptors: 256}
  - {name: access, device: d3, descriptors: 256, acl: {l2_in: frames}}
  - {name: under, device: d4, descriptors: 256, mtu: 1600, addresses: [10.0.9.1/24, "2001:db8:9::1/64"]}
  - {name: member, device: d5, descriptors: 256, acl: {in: edge, out: exit}}
  - {name: left, device: d6, descriptors: 256}
  - {name: right, device: d7, descriptors: 256, acl: {out: exit}}
interfaces:
  - {port: west, vlan: 100, addresses: [10.0.100.254/24], acl: {in: edge}}
  - {port: west, vlan: 200, addresses: [10.0.200.254/24]}
xconnects: [[left, right]]
tunnels: [{name: far, vni: 100, local: 10.0.9.1, remote: 10.0.9.2, mtu: 1500}]
bridges:
  - name: lan
    members: [{port: trunk, mode: trunk, trunks: [10, 20]}, {port: access, mode: access, vlan: 10}]
    interfaces: [{vlan: 10, addresses: [10.0.10.254/24], acl: {out: exit}}]
  - {name: second, members: [{port: member}, {port: far}]}
routes:
  - {to: 10.9.0.0/16, via: 10.0.2.2}
  - {to: 10.8.0.0/16, via: [10.0.2.2, 10.0.200.2, 10.0.9.2]}
  - {to: 10.7.0.0/16, type: unreachable}
  - {to: 10.6.0.0/16, type: blackhole}
  - {to: 10.5.0.0/16, via: 10.0.10.2}
  - {to: "2001:db8:a::/48", via: "2001:db8:2::2"}
neighbours:
  static:
    - {address: 10.0.1.2, mac: "02:00:00:00:01:02"}
    - {address: 10.0.2.2, mac: "02:00:00:00:02:02"}
    - {address: "2001:db8:2::2", mac: "02:00:00:00:02:02"}
    - {address: 10.0.200.2, mac: "02:00:00:00:c8:02"}
    - {address: 10.0.10.2, mac: "02:00:00:00:0a:02"}
    - {address: 10.0.9.2, mac: "02:00:00:00:09:02"}
)";
constexpr uint16_t routed_ports = 2, ports_in_all = 8;

/// One exit of a packet, or of a copy or fragment of it.
struct packet_exit {
    stage door = stage::drop;
    byte_vector bytes{};
    uint16_t port = 0, interface = 0, in = 0;
    datapath::drop_reason drop = datapath::drop_reason::none;
    punt_reason punt = punt_reason::count_;
    uint32_t nexthop = 0;
    auto operator<=>(const packet_exit&) const = default;
};
using exits_of_packet = std::vector<packet_exit>;
thread_local std::array<exits_of_packet, burst_max>* all_exits;

/// The packet's number in its burst is in the mbuf's port, which copies and fragments have, too.
template <stage Door>
stage_mask run_exit(context&, burst& b, packet_mask packets) noexcept {
    for_each(packets, [&](uint32_t i) {
        rte_mbuf* const m = b.packet[i];
        packet_exit out{.door = Door, .bytes = path_lab::bytes_of(m)};
        if (Door == stage::tx) out.port = b.out[i].port, out.interface = b.out[i].interface;
        if (Door == stage::punt) out.punt = b.punt[i], out.in = b.in[i];
        if (out.punt == punt_reason::resolve) out.nexthop = b.nexthop[i];
        if (Door == stage::drop || out.punt == punt_reason::icmp_error) out.drop = b.drop[i];
        (*all_exits)[m->port].push_back(std::move(out));
        rte_pktmbuf_free(m);
    });
    return 0;
}

std::array<stage_row, stages> with_exits(std::array<stage_row, stages> table) {
    table[static_cast<size_t>(stage::tx)].run = run_exit<stage::tx>;
    table[static_cast<size_t>(stage::punt)].run = run_exit<stage::punt>;
    table[static_cast<size_t>(stage::drop)].run = run_exit<stage::drop>;
    return table;
}

/// A frame as a port receives it.
struct received {
    byte_vector bytes;
    bool stripped = false;  ///< by the device: its first tag
};

class generator {
  public:
    explicit generator(uint64_t seed) : random_(seed) {}

    uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
    bool one_in(uint32_t n) { return below(n) == 0; }

    received frame_for(uint16_t port) {
        received out;
        out.bytes = port == 4 && !one_in(3) ? in_tunnel() : plain(port);
        if (one_in(4)) damage(out.bytes);
        const auto& f = out.bytes;
        out.stripped = f.size() >= 18 && f[12] == 0x81 && f[13] == 0 && one_in(2);
        return out;
    }

  private:
    template <class T, size_t N>
    const T& any(const T (&of)[N]) {
        return of[below(N)];
    }
    byte_vector mac_of(uint16_t port) { return {2, 0, 0, 0, 0, static_cast<uint8_t>(0x0b + port)}; }
    byte_vector station(uint8_t n) { return {2, 0, 0, 1, 0, n}; }
    byte_vector destination(uint16_t port) {
        switch (below(12)) {
            case 0:
                return everybody;
            case 1:
                return {1, 0, 0x5e, 0, 0, static_cast<uint8_t>(below(3))};
            case 2:
                return {1, 0x80, 0xc2, 0, 0, static_cast<uint8_t>(below(20))};
            case 3:
                return station(static_cast<uint8_t>(below(12)));
            default:
                if (port >= routed_ports && port != 4 && !one_in(3))
                    return station(static_cast<uint8_t>(below(6)));
                return mac_of(one_in(3) ? 2 : port);  // 2: the bridge's routing interface
        }
    }
    uint32_t address() {
        static constexpr uint32_t some[] = {
            0x0a000102, 0x0a000107, 0x0a0001fe, 0x0a000202, 0x0a000205, 0x0a0002ff, 0x0a006402,
            0x0a00c802, 0x0a000a02, 0x0a000a09, 0x0a090000, 0x0a080000, 0x0a070001, 0x0a060001,
            0x0a050001, 0x0b000001, 0x7f000001, 0xe0000005, 0xffffffff, 0x00000000, 0x0a000902};
        const uint32_t a = any(some);
        return (a & 0xffff) == 0 && a != 0 ? a + below(64) : a;
    }
    byte_vector address6() {
        byte_vector a = v6_a;
        switch (below(6)) {
            case 0:
                a[5] = 0xa;
                break;
            case 1:
                a = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7};
                break;
            case 2:
                a = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
                break;
            default:
                a[5] = static_cast<uint8_t>(1 + below(3));
                a[15] = static_cast<uint8_t>(any({1, 2, 7, 0xfe}));
        }
        return a;
    }
    template <class T>
    T any(std::initializer_list<T> of) {
        return of.begin()[below(static_cast<uint32_t>(of.size()))];
    }
    byte_vector transport(uint8_t protocol) {
        byte_vector payload = counted(any<size_t>({0, 8, 18, 60, 500, 1230, 1470}));
        if (protocol != 6 && protocol != 17) return payload;
        byte_vector out = protocol == 6 ? tcp(2, payload) : udp(payload);
        out[2] = 0;
        out[3] = any<uint8_t>({22, 53, 80, 7, 200});
        out[1] = static_cast<uint8_t>(below(8));
        return out;
    }
    byte_vector packet(uint16_t& type) {
        const auto protocol = any<uint8_t>({6, 6, 17, 17, 1, 47, 58, 51});
        const uint8_t ttl = any<uint8_t>({64, 64, 64, 2, 1, 0});
        if (one_in(3)) {
            type = 0x86dd;
            byte_vector upper = transport(protocol);
            uint8_t next = protocol;
            if (one_in(4)) {
                upper = extension(next, 0, upper);
                next = any<uint8_t>({0, 60, 43});
            } else if (one_in(6)) {
                upper = fragment(next, any<uint16_t>({1, 8, 9, 1480}), upper);
                next = 44;
            }
            return ipv6({.next_header = next,
                         .hop_limit = ttl,
                         .source = address6(),
                         .destination = address6()},
                        upper);
        }
        if (one_in(12)) {
            type = 0x0806;
            return counted(28);
        }
        if (one_in(12)) {
            type = any<uint16_t>({0x88b5, 0x88cc, 0x0600, 100});
            return counted(any<size_t>({0, 40, 1400}));
        }
        type = 0x0800;
        return ipv4(
            {.fragment = any<uint16_t>({0, 0, 0, 0x4000, 0x2000, 0x00b9}),
             .ttl = ttl,
             .protocol = protocol,
             .source = address(),
             .destination = address(),
             .options = one_in(8) ? any<byte_vector>({{1, 1, 1, 0}, {148, 4, 0, 0}, {131, 3, 4, 0}})
                                  : byte_vector{}},
            transport(protocol));
    }
    byte_vector plain(uint16_t port) {
        uint16_t type = 0;
        byte_vector rest = packet(type);
        byte_vector out =
            ethernet(type, rest, destination(port), station(static_cast<uint8_t>(below(7))));
        if (out.size() < 60 && !one_in(4)) out.resize(60);
        for (uint32_t tags = below(8) / 4 + (one_in(12) ? 1 : 0); tags != 0; --tags)
            out = tagged(out,
                         static_cast<uint16_t>(any({0, 10, 10, 20, 100, 100, 200, 200, 7, 4095}) |
                                               any({0, 0x2000})),
                         one_in(8) ? 0x88a8 : 0x8100);
        return out;
    }
    byte_vector in_tunnel() {
        outer_fields f;
        if (one_in(8)) f.source = three4;
        if (one_in(8)) f.network = 101 << 8;
        if (one_in(8)) f.flags = any<uint32_t>({0, 0x0800'0001, 0x0c00'0000});
        if (one_in(8)) f.sum = 0x1234;
        f.tos = any<uint8_t>({0, 0, 1, 3});
        if (one_in(12)) f.options = {1, 1, 1, 0};
        return in_ipv4(vxlan(plain(5), f), f, one_in(12) ? everybody : mac_of(4));
    }
    void damage(byte_vector& f) {
        if (one_in(3)) {
            f.resize(below(static_cast<uint32_t>(f.size()) + 1));
            return;
        }
        for (uint32_t n = 1 + below(2); n != 0 && f.size() > 12; --n)
            f[12 + below(std::min<uint32_t>(static_cast<uint32_t>(f.size()) - 12, 60))] ^=
                static_cast<uint8_t>(1u << below(8));
    }

    std::mt19937_64 random_;
};

class one_verdict : public ::testing::TestWithParam<uint16_t> {
  protected:
    struct free_ring {
        void operator()(rte_ring* r) const { rte_ring_free(r); }
    };
    struct width {
        uint16_t before = eal::max_simd_bitwidth();
        bool set;
        explicit width(uint16_t bits) : set(eal::permit_simd_bitwidth(bits)) {}
        ~width() { static_cast<void>(eal::permit_simd_bitwidth(before)); }
    };

    void SetUp() override {
        ASSERT_TRUE(width_.set) << "EAL's width is forced";
        lab_ = std::make_unique<bridge_lab>(everything);
        // Stations that the bridges know.
        for (uint8_t n = 0; n < 3; ++n) {
            const uint16_t at[] = {3, 5, 3};
            static_cast<void>(lab_->send(at[n], frame(everybody, test::fdb_entry(n))));
        }
        static_cast<void>(lab_->send(2, tagged(frame(everybody, test::fdb_entry(3)), 10)));
        static_cast<void>(lab_->send(2, tagged(frame(everybody, test::fdb_entry(4)), 20)));
        static_cast<void>(lab_->send(
            4, in_ipv4(vxlan(frame(everybody, test::fdb_entry(5))), {}, {2, 0, 0, 0, 0, 0x0f})));
        learnt_.reset(control::create_ring_of("verdict", sizeof(learnt_fdb_entry), 8, SOCKET_ID_ANY,
                                              RING_F_SP_ENQ | RING_F_SC_DEQ));
        ASSERT_NE(learnt_, nullptr);
        bridge_state_ = std::make_unique<bridge_worker_state>(learnt_.get());
        tunnel_state_ =
            std::make_unique<tunnel_worker_state>(*tunnel::choose_find(eal::max_simd_bitwidth()));
        c_ = std::make_unique<context>();
        c_->snapshot = &lab_->snapshot();
        c_->bridge_state = bridge_state_.get();
        c_->tunnel_state = tunnel_state_.get();
    }
    void TearDown() override { lab_.reset(); }

    rte_mbuf* mbuf_of(const received& f, uint16_t number) {
        byte_vector bytes = f.bytes;
        uint16_t tci = 0;
        if (f.stripped) {
            tci = load_be<uint16_t>(&bytes[14]);
            bytes.erase(bytes.begin() + 12, bytes.begin() + 16);
        }
        rte_mbuf* const m = lab_->packet_of(bytes);
        if (f.stripped) {
            m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
            m->vlan_tci = tci;
        }
        m->port = number;
        return m;
    }
    /// The fates of a burst.
    std::array<exits_of_packet, burst_max> through(const std::array<stage_row, stages>& table,
                                                   uint16_t port,
                                                   const std::vector<received>& frames) {
        std::array<exits_of_packet, burst_max> out;
        all_exits = &out;
        burst b;
        b.begin(static_cast<uint32_t>(frames.size()), port);
        for (uint32_t i = 0; i < b.count; ++i)
            b.packet[i] = mbuf_of(frames[i], static_cast<uint16_t>(i));
        c_->table = table.data();
        dispatch(table, *c_, b, enqueue(b, all_of(b.count), stage::rx), [](size_t, packet_mask) {});
        for (exits_of_packet& f : out) std::sort(f.begin(), f.end());
        return out;
    }
    exits_of_packet alone(const std::array<stage_row, stages>& table, uint16_t port,
                          const received& f) {
        return through(table, port, {f})[0];
    }
    static std::string text(const exits_of_packet& f) {
        std::string out;
        for (const packet_exit& l : f)
            out += std::string(stage_table[static_cast<size_t>(l.door)].name) + " port " +
                   std::to_string(l.port) + " interface " + std::to_string(l.interface) + " drop " +
                   std::string(name(l.drop)) + " punt " + std::to_string(static_cast<int>(l.punt)) +
                   " " + ::testing::PrintToString(l.bytes) + "\n";
        return out;
    }
    static void expect_same(const exits_of_packet& is, const exits_of_packet& wanted, uint16_t port,
                            const received& f, const char* where) {
        ASSERT_EQ(text(is), text(wanted))
            << where << ": port " << port << (f.stripped ? ", tag stripped " : " ")
            << ::testing::PrintToString(f.bytes);
        ASSERT_TRUE(is == wanted) << where;
    }
    /// The last step of a trace is one of the packet's exits.
    static void expect_last_step(const packet_trace& t, const exits_of_packet& f, uint16_t port,
                                 const received& of, const char* where) {
        ASSERT_GT(t.steps, 0);
        bool found = t.truncated;
        for (const trace_step& s : t.path())
            for (const packet_exit& l : f)
                found |= s.ran == l.door && (s.ran != stage::drop || s.drop == l.drop) &&
                         (s.ran != stage::punt || s.punt == l.punt) &&
                         (s.ran != stage::tx || (s.out && s.out->interface == l.interface));
        ASSERT_TRUE(found) << where << ": port " << port << " "
                           << ::testing::PrintToString(of.bytes) << text(f);
    }

    width width_{GetParam()};
    std::unique_ptr<bridge_lab> lab_;
    std::unique_ptr<rte_ring, free_ring> learnt_;
    std::unique_ptr<bridge_worker_state> bridge_state_;
    std::unique_ptr<tunnel_worker_state> tunnel_state_;
    std::unique_ptr<context> c_;
};

TEST_P(one_verdict, alone_in_company_in_trace_and_in_explain) {
    const uint64_t wanted = std::getenv("TURNPIKE_LONG") != nullptr ? 2'500'000
                            : slow                                  ? 4'000
                                                                    : 20'000;
    const auto table = with_exits(stage_table), traces = with_exits(traced_table),
               explains = with_exits(explained_table);
    generator random(GetParam());
    std::map<stage, uint64_t> doors;
    for (uint64_t seen = 0; seen < wanted && !HasFatalFailure();) {
        const auto port = static_cast<uint16_t>(random.below(ports_in_all));
        std::vector<received> frames(2 + random.below(burst_max - 1));
        for (received& f : frames) f = random.frame_for(port);
        seen += frames.size();
        const auto together = through(table, port, frames);
        // Another company: the frames in reverse order, without every third one.
        std::vector<received> others;
        std::vector<size_t> number;
        for (size_t i = frames.size(); i-- > 0;)
            if (i % 3 != 0) {
                others.push_back(frames[i]);
                number.push_back(i);
            }
        const auto again = through(table, port, others);
        for (size_t i = 0; i < number.size() && !HasFatalFailure(); ++i)
            expect_same(again[i], together[number[i]], port, others[i], "in another burst");
        for (size_t i = 0; i < frames.size() && !HasFatalFailure(); ++i) {
            const received& f = frames[i];
            ASSERT_FALSE(together[i].empty());
            for (const packet_exit& l : together[i]) ++doors[l.door];
            expect_same(alone(table, port, f), together[i], port, f, "alone");
            packet_trace trace;
            const auto observe = [&](const auto& by, const char* where) {
                rte_mbuf* const m = mbuf_of(f, 0);
                trace.begin(0, {.port = port, .queue_id = 0}, m);
                rte_pktmbuf_free(m);
                c_->traced = &trace;
                expect_same(alone(by, port, f), together[i], port, f, where);
                c_->traced = nullptr;
            };
            observe(traces, "in trace");
            observe(explains, "in explain's table");
            if (HasFatalFailure() || f.stripped || f.bytes.size() > 1800 || !random.one_in(20))
                continue;
            const auto explained = control::explain(lab_->controller(), port, f.bytes);
            ASSERT_TRUE(explained.has_value());
            expect_last_step(**explained, together[i], port, f, "explain");
        }
    }
    EXPECT_GT(doors[stage::tx], wanted / 8);
    EXPECT_GT(doors[stage::drop], wanted / 8);
    EXPECT_GT(doors[stage::punt], wanted / 50);
}

INSTANTIATE_TEST_SUITE_P(widths, one_verdict, ::testing::Values(64, 128, 256, 512),
                         [](const auto& width) { return std::to_string(width.param); });

}  // namespace
}  // namespace turnpike::datapath
