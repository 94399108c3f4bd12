// SPDX-License-Identifier: BSD-3-Clause
// Bridges: broadcast domains, their member interfaces, and the FDB (IEEE 802.1Q-2018 section 8: the
// forwarding process and the filtering database). A station is an FDB entry.
//
//   bridge ---> domain (one; or one per VLAN) ---> flood list, routing interface
//   member ---> domain by the frame's VLAN; egress tag by domain
//   stations: (MAC address, domain) ---> member
//
// These tables are immutable, like the snapshot that points to them; only the FDB is updated in place.
// A worker that sees an unknown source address sends it to control by a ring, and control inserts
// the FDB entry for all workers. Use of an entry (for ageing) is a bit in a per-worker map.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/token_bucket.hpp"
#include "counters/counter.hpp"
#include "datapath/interface.hpp"
#include "hash/table.hpp"
#include "isa/crc32c.hpp"
#include "isa/simd/v128.hpp"
#include "packet/headers.hpp"

struct rte_ring;

namespace turnpike::datapath {

/// Limits over all bridges. Domains 1 to 4095 belong to bridges without VLAN filtering; a
/// VLAN-aware bridge has 4096 domains, one per VLAN ID.
inline constexpr uint32_t domains_of_bridge = 4096;
inline constexpr uint32_t max_domains = 65536;
inline constexpr uint32_t vlan_bridges_max = max_domains / domains_of_bridge - 1;
inline constexpr uint32_t max_fdb_entries = 1u << 20;

/// FDB key: MAC address in the low 48 bits, first byte lowest, and domain in the high 16.
using fdb_key = uint64_t;

/// mac  eight bytes must be readable there
inline fdb_key fdb_key_of(const uint8_t* mac, uint16_t domain) noexcept {
    static_assert(std::endian::native == std::endian::little);
    uint64_t bytes;
    std::memcpy(&bytes, mac, sizeof bytes);
    return (bytes & 0xffff'ffff'ffffULL) | uint64_t{domain} << 48;
}
/// FDB keys of a frame's destination and source. Reads the frame's first 14 bytes and no more:
/// behind a tunnel's headers the next bytes are in another cache line.
inline void fdb_keys_of(const uint8_t* frame, uint16_t domain, fdb_key& to,
                        fdb_key& from) noexcept {
    const v128 keys = v128::load_pair(frame, frame + sizeof(mac_address))
                          .with_half<3>(domain)
                          .with_half<7>(domain);
    to = keys.word<0>();
    from = keys.word<1>();
}
inline fdb_key fdb_key_of(const mac_address& mac, uint16_t domain) noexcept {
    uint8_t bytes[8] = {};
    std::memcpy(bytes, mac.bytes, sizeof mac.bytes);
    return fdb_key_of(bytes, domain);
}
inline mac_address mac_of(fdb_key key) noexcept {
    static_assert(std::endian::native == std::endian::little);
    mac_address out;
    std::memcpy(out.bytes, &key, sizeof out.bytes);
    return out;
}

/// FDB entry: | number 20 | held 1 | fixed 1 | ifindex 10 |
class fdb_entry {
  public:
    constexpr fdb_entry() = default;
    constexpr explicit fdb_entry(uint32_t value) : value_(value) {}
    constexpr fdb_entry(uint32_t number, uint16_t ifindex, bool fixed, bool dampened)
        : value_(number << 12 | uint32_t{dampened} << 11 | uint32_t{fixed} << 10 | ifindex) {}

    [[nodiscard]] constexpr uint32_t value() const noexcept { return value_; }
    /// Interface that the station is behind; a routed interface: our own address. 0: no entry.
    [[nodiscard]] constexpr uint16_t ifindex() const noexcept { return value_ & 0x3ff; }
    /// Static entry from the configuration: does not move.
    [[nodiscard]] constexpr bool fixed() const noexcept { return (value_ >> 10 & 1) != 0; }
    /// Dampened after too many moves: frames from this source on other interfaces are dropped.
    [[nodiscard]] constexpr bool dampened() const noexcept { return (value_ >> 11 & 1) != 0; }
    /// Below max_stations; bit number in the maps of active entries.
    [[nodiscard]] constexpr uint32_t number() const noexcept { return value_ >> 12; }

  private:
    uint32_t value_ = 0;
};
static_assert(max_interfaces == 1024);

using fdb_table = hash::table<fdb_key, uint32_t>;

/// Key of a neighbour binding: IP address and domain.
struct address_key {
    uint64_t network;     ///< | domain 16 | 1 for IPv6 |
    uint64_t address[2];  ///< IPv6 as in the packet; IPv4 as a number
    uint64_t nothing[2];  ///< zero
};
inline address_key address_key_of(uint32_t v4, uint16_t domain) noexcept {
    return {.network = uint64_t{domain} << 1, .address = {v4, 0}, .nothing = {}};
}
inline address_key address_key_of(const ipv6_address& v6, uint16_t domain) noexcept {
    address_key key{.network = uint64_t{domain} << 1 | 1, .address = {}, .nothing = {}};
    std::memcpy(key.address, v6.bytes, sizeof key.address);
    return key;
}

/// Neighbour binding, from ARP or ND: | known 1 | router 1 | override 1 | MAC address 48, first byte lowest |
class bound_address {
  public:
    constexpr explicit bound_address(uint64_t value) : value_(value) {}
    /// flags  packet::nd_flag_* of the neighbour advertisement
    bound_address(const mac_address& mac, uint32_t flags)
        : value_(fdb_key_of(mac, 0) | uint64_t{1} << 63 |
                 uint64_t{(flags & packet::nd_flag_router) != 0} << 62 |
                 uint64_t{(flags & packet::nd_flag_override) != 0} << 61) {}
    [[nodiscard]] constexpr uint64_t value() const noexcept { return value_; }
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return value_ != 0; }
    [[nodiscard]] constexpr uint64_t mac() const noexcept { return value_ & 0xffff'ffff'ffffULL; }
    [[nodiscard]] constexpr uint32_t flags() const noexcept {
        return ((value_ >> 62 & 1) != 0 ? packet::nd_flag_router : 0) |
               ((value_ >> 61 & 1) != 0 ? packet::nd_flag_override : 0);
    }

  private:
    uint64_t value_;
};
using address_table = hash::table<address_key, uint64_t>;

/// Classes of flooded frames with separate storm limits.
enum class flood_kind : uint8_t { unknown, multicast, broadcast, count_ };
inline constexpr size_t flood_kinds = static_cast<size_t>(flood_kind::count_);

/// Action for frames to a reserved address, 01-80-c2-00-00-0x (IEEE 802.1Q-2018 table 8-1).
enum class reserved_choice : uint8_t { drop, flood, punt };

struct alignas(64) bridge_member {
    uint16_t bridge = 0;    ///< index into bridge_tables::bridges; 0: not a member
    uint16_t untagged = 0;  ///< domain of untagged frames; 0: they are dropped
    uint16_t first_domain = 0;
    bool learns = true;
    bool floods_unknown = true;  ///< unknown unicast is flooded to it
    bool locked = false;         ///< frames from sources without an FDB entry here are dropped
    /// control answers ARP and ND for it, so these are not flooded to it
    bool neigh_suppress = false;
    /// FDB entries that may be learnt here, enforced by control; 0: no limit
    uint32_t max_addresses = 0;
    /// [4096] domain of tagged frames by VLAN ID; 0: dropped; null: the bridge ignores tags
    const uint16_t* by_vlan = nullptr;
    /// [domain - first_domain] egress TPID and VLAN ID; 0: untagged; null: always untagged
    const uint32_t* tag_out = nullptr;
    /// Storm control by flood_kind, of all workers, in TSC cycles; null: no limit
    std::array<shared_token_bucket*, flood_kinds> storm{};

    /// value of tag_out: not a member of that domain
    static constexpr uint32_t not_here = ~uint32_t{0};

    /// Domain of an ingress frame; `tagged` with the TCI of its tag. 0: the member does not accept
    /// it.
    [[nodiscard]] uint16_t domain_of(bool tagged, uint16_t tci) const noexcept {
        if (by_vlan == nullptr || !tagged) return untagged;
        const uint16_t id = tci & packet::vlan_id_mask;
        return id == 0 ? untagged : by_vlan[id];
    }
};
static_assert(sizeof(bridge_member) == 64);

/// Egress data of an interface that an FDB entry may point to: 4 bytes, so that the array stays
/// cached.
struct bridge_exit {
    uint16_t port = 0;
    uint8_t isolation = 0;  ///< members of the same group do not reach each other; 0: no group
    /// member, tunnel: a bridge member; local: a routing interface. Distinct bits.
    enum : uint8_t { member = 0, tunnel = 1, local = 2, nowhere = 4 } is = nowhere;
    /// Mask of word() bits that take a frame off the fast path; isolated: its ingress member has an
    /// isolation group.
    [[nodiscard]] static uint32_t second_look(bool isolated) noexcept {
        const bridge_exit looked_at{.port = 0,
                                    .isolation = isolated ? uint8_t{0xff} : uint8_t{0},
                                    .is = decltype(is)(local | nowhere)};
        return looked_at.word();
    }
    [[nodiscard]] uint32_t word() const noexcept { return std::bit_cast<uint32_t>(*this); }
};
static_assert(sizeof(bridge_exit) == sizeof(uint32_t));

struct bridge_domain {
    uint32_t first_flooded = 0;  ///< in bridge_tables::flooded
    uint16_t flooded = 0;        ///< number of entries in it
    uint16_t routing = 0;        ///< index of its routing interface; 0: none
    uint16_t bridge = 0;         ///< 0: unused
};

struct bridge_policy {
    std::array<reserved_choice, 16> reserved{};
    /// Maximum length of frames that leave by its ports, with the tags that are in them: their MTU
    /// (all have the same), an Ethernet header and two VLAN tags (IEEE 802.1Q-2018 section 6.5.8). A bridge that looks at
    /// no VLAN carries both of a provider's and a customer's.
    uint32_t max_bytes = INT32_MAX;
    /// Likely egress ports, a mask: of its members, and of the routed interfaces in the VRFs of its tunnels.
    uint32_t ports = 0;
    /// Possible ones: all ports if a member is a tunnel, whose route may be another VRF's.
    uint32_t possible_ports = 0;
};

struct bridge_tables {
    std::array<bridge_member, max_interfaces> members{};  ///< by interface
    std::array<bridge_exit, max_interfaces> exits{};      ///< by interface
    std::vector<bridge_domain> domains{};
    std::vector<uint16_t> flooded{};       ///< interface indices
    std::vector<bridge_policy> bridges{};  ///< index 0 is unused
    const fdb_table* fdb_entries = nullptr;
    /// Incremented when an entry moves or is removed, and every second: invalidates the workers'
    /// source caches.
    const std::atomic<uint32_t>* fdb_changes = nullptr;
    bool any_locked = false;
    uint32_t min_max_bytes = INT32_MAX;  ///< minimum of bridges' max_bytes
    /// neighbour bindings; null: no member has neigh_suppress
    const address_table* addresses = nullptr;
    /// Whether an FDB entry of this domain may point to this interface.
    [[nodiscard]] bool is_member(uint16_t domain, uint16_t ifindex) const noexcept {
        if (domain >= domains.size() || domains[domain].bridge == 0) return false;
        if (exits[ifindex].is == bridge_exit::local) return domains[domain].routing == ifindex;
        const bridge_member& m = members[ifindex];
        return m.bridge == domains[domain].bridge &&
               (m.tag_out == nullptr ||
                m.tag_out[domain - m.first_domain] != bridge_member::not_here);
    }
    // Storage for members' pointers.
    std::vector<std::unique_ptr<uint16_t[]>> vlans{};
    std::vector<std::unique_ptr<uint32_t[]>> tags{};
    std::map<std::pair<uint16_t, flood_kind>, std::shared_ptr<shared_token_bucket>> storms{};
};

/// Message from a worker to control: a source address without an FDB entry, or one on another
/// interface.
struct learnt_fdb_entry {
    fdb_key key = 0;
    uint64_t ifindex = 0;
};

/// Threads  written by one worker, read by anyone.
struct domain_counters {
    counters::counter rx_packets, rx_bytes, tx_packets, flooded;
};

/// Per-worker bridge state.
/// Threads  the worker's, except where noted.
class bridge_worker_state {
  public:
    /// learnt  ring of learnt_station to control
    explicit bridge_worker_state(rte_ring* learnt);

    /// Mark an FDB entry active.
    void seen(uint32_t number) noexcept {
        uint64_t* const map = talking_.load(std::memory_order_acquire);
        uint64_t& word = map[number / 64];
        const uint64_t bit = uint64_t{1} << number % 64;
        if ((word & bit) == 0) word |= bit;
    }
    /// Cache of sources whose FDB entry was current; valid until station_changes increments. The
    /// whole key is compared, because a sender chooses its MAC address and could construct a hash
    /// collision. Sources of one slot evict each other, at the cost of further lookups.
    class source {
      public:
        source(fdb_key key, uint16_t ifindex, uint32_t changes) noexcept
            : key_(key), seen_(uint64_t{changes} << 16 | ifindex) {}
        [[nodiscard]] size_t slot() const noexcept {
            return isa::crc32c(0, key_) & (found_slots - 1);
        }
        /// 0: they are the same.
        [[nodiscard]] uint64_t differs(const source& other) const noexcept {
            return (key_ ^ other.key_) | (seen_ ^ other.seen_);
        }

      private:
        fdb_key key_;
        uint64_t seen_;  ///< | changes 32 | ifindex 16 |; 0 in an empty slot (ifindex 0 is unused)
    };
    [[nodiscard]] bool was_found(const source& s) const noexcept { return not_found(s) == 0; }
    /// 0: the source is in the cache.
    [[nodiscard]] uint64_t not_found(const source& s) const noexcept {
        return found_[s.slot()].differs(s);
    }
    void remember(const source& s) noexcept { found_[s.slot()] = s; }

    /// Rate limit for copies of ARP and ND to control: about 2,000 per second and ingress interface, bursts of 64.
    bool may_tell(uint16_t ifindex, uint64_t now) noexcept {
        return message_limits_[ifindex].allow(
            {.interval = again_cycles_, .depth = 64 * again_cycles_}, now);
    }
    /// Send a source address to control, at most once per period.
    void learn(fdb_key key, uint16_t ifindex, uint64_t now) noexcept;
    [[nodiscard]] domain_counters& domain(uint16_t d) noexcept { return domains_[d]; }

    /// Called by control: switch the worker to another map, from the next packet on. Answers the
    /// previous map, which control may read after a grace period, and clears before the next call.
    uint64_t* exchange_talking() noexcept;
    // Any thread.
    [[nodiscard]] const domain_counters& domain(uint16_t d) const noexcept { return domains_[d]; }
    [[nodiscard]] uint64_t messages_lost() const noexcept { return messages_lost_.read(); }

    static constexpr size_t map_words = max_fdb_entries / 64;

  private:
    static constexpr size_t reported_slots = 1024, found_slots = 32768;
    struct reported_source {
        fdb_key key = 0;
        uint64_t place_until = 0;  ///< interface, and the period in which it was sent
    };
    template <class T>
    struct release {
        void operator()(T* p) const noexcept { std::free(p); }
    };
    template <class T>
    using pages = std::unique_ptr<T[], release<T>>;

    rte_ring* learnt_;
    std::atomic<uint64_t*> talking_;
    uint64_t again_cycles_;
    counters::counter messages_lost_;  ///< messages lost because the ring was full
    // The kernel zeroes these pages on first write: without bridges they take no memory.
    pages<uint64_t> maps_;
    pages<reported_source> reported_;
    pages<source> found_;
    pages<domain_counters> domains_;
    std::array<token_bucket, max_interfaces> message_limits_{};
};

}  // namespace turnpike::datapath
