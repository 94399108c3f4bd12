// SPDX-License-Identifier: BSD-3-Clause
// Bridges: broadcast domains, the interfaces that are in them, and behind which of those each station is
// (IEEE 802.1Q-2018 section 8: the forwarding process and the filtering database).
//
//   bridge ---> domain (one; or one a VLAN) ---> who gets what is flooded, the routing interface
//   member ---> its domain by the frame's VLAN; the tag that it sends a domain's frames with
//   stations: (MAC address, domain) ---> member
//
// The tables here never change, like the view that they hang on; stations come and go. A station that a
// worker does not know is told to control by a ring, and all workers know it when control has put it
// into the table. That a station still talks is a bit in a map of the worker's own.
#pragma once

#include <immintrin.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "cost/counter.hpp"
#include "datapath/interface.hpp"
#include "exact/table.hpp"
#include "packet/headers.hpp"

struct rte_ring;

namespace turnpike::datapath {

/// Of all bridges together. Domains 1 to 4095 are of bridges that do not look at VLANs; the others have
/// 4096 each, by VLAN.
inline constexpr uint32_t domains_of_bridge = 4096;
inline constexpr uint32_t most_domains = 65536;
inline constexpr uint32_t vlan_bridges_max = most_domains / domains_of_bridge - 1;
inline constexpr uint32_t most_stations = 1u << 20;

/// A MAC address, its first byte lowest, and its domain above it.
using station_key = uint64_t;

/// mac  eight bytes can be read there
inline station_key station_key_of(const uint8_t* mac, uint16_t domain) noexcept {
    static_assert(std::endian::native == std::endian::little);
    uint64_t bytes;
    std::memcpy(&bytes, mac, sizeof bytes);
    return (bytes & 0xffff'ffff'ffffULL) | uint64_t{domain} << 48;
}
/// Of both stations of a frame, of which fourteen bytes can be read: destination's, source's. No more are read: behind a
/// tunnel's headers the next ones lie in another line.
inline void station_keys_of(const uint8_t* frame, uint16_t domain, station_key& to,
                            station_key& from) noexcept {
    const __m128 first = _mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(frame)));
    const __m128i addresses =
        _mm_castps_si128(_mm_loadh_pi(first, reinterpret_cast<const __m64*>(frame + 6)));
    const __m128i keys = _mm_insert_epi16(_mm_insert_epi16(addresses, domain, 3), domain, 7);
    to = static_cast<station_key>(_mm_cvtsi128_si64(keys));
    from = static_cast<station_key>(_mm_extract_epi64(keys, 1));
}
inline station_key station_key_of(const mac_address& mac, uint16_t domain) noexcept {
    uint8_t bytes[8] = {};
    std::memcpy(bytes, mac.bytes, sizeof mac.bytes);
    return station_key_of(bytes, domain);
}

/// Where a station is: | number 20 | held 1 | fixed 1 | place 10 |
class station {
  public:
    constexpr station() = default;
    constexpr explicit station(uint32_t value) : value_(value) {}
    constexpr station(uint32_t number, uint16_t place, bool fixed, bool held)
        : value_(number << 12 | uint32_t{held} << 11 | uint32_t{fixed} << 10 | place) {}

    [[nodiscard]] constexpr uint32_t value() const noexcept { return value_; }
    /// The interface that it is behind; a routed one: it is ourselves. 0: there is no such station.
    [[nodiscard]] constexpr uint16_t place() const noexcept { return value_ & 0x3ff; }
    /// It does not move: an operator said where it is.
    [[nodiscard]] constexpr bool fixed() const noexcept { return (value_ >> 10 & 1) != 0; }
    /// It moved too often: what comes from elsewhere in its name goes no further.
    [[nodiscard]] constexpr bool held() const noexcept { return (value_ >> 11 & 1) != 0; }
    /// Below most_stations; its bit in the maps of those that talk.
    [[nodiscard]] constexpr uint32_t number() const noexcept { return value_ >> 12; }

  private:
    uint32_t value_ = 0;
};
static_assert(max_interfaces == 1024);

using station_table = exact::table<station_key, uint32_t>;

/// An IP address in a domain.
struct address_key {
    uint64_t network;     ///< | domain 16 | 1: of IPv6 |
    uint64_t address[2];  ///< as it lies in a packet; of IPv4 as a number
    uint64_t nothing[2];  ///< 0
};
inline address_key address_key_of(uint32_t v4, uint16_t domain) noexcept {
    return {.network = uint64_t{domain} << 1, .address = {v4, 0}, .nothing = {}};
}
inline address_key address_key_of(const ipv6_address& v6, uint16_t domain) noexcept {
    address_key key{.network = uint64_t{domain} << 1 | 1, .address = {}, .nothing = {}};
    std::memcpy(key.address, v6.bytes, sizeof key.address);
    return key;
}

/// Who has an address, by his own word: | known 1 | router 1 | overrides 1 | MAC address, its first byte lowest, 48 |
class bound_address {
  public:
    constexpr explicit bound_address(uint64_t value) : value_(value) {}
    /// flags  packet::nd_flag_*, as its advertisement had them
    bound_address(const mac_address& mac, uint32_t flags)
        : value_(station_key_of(mac, 0) | uint64_t{1} << 63 |
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
using address_table = exact::table<address_key, uint64_t>;

/// What is flooded, and may be limited.
enum class flood_kind : uint8_t { unknown, multicast, broadcast, count_ };
inline constexpr size_t flood_kinds = static_cast<size_t>(flood_kind::count_);

/// What becomes of frames to a reserved address, 01-80-c2-00-00-0x (IEEE 802.1Q-2018 table 8-1).
enum class reserved_choice : uint8_t { drop, flood, punt };

/// At most so many packets of a kind, of one worker: a token bucket whose tokens are cycles.
struct storm_limit {
    uint64_t cycles_per_packet = 0;  ///< 0: no limit
    uint64_t most_cycles = 0;        ///< saved up
};

struct alignas(64) bridge_member {
    uint16_t bridge = 0;    ///< its place in bridge_tables::bridges; 0: a member of none
    uint16_t untagged = 0;  ///< domain of frames without a tag; 0: they are dropped
    uint16_t first_domain = 0;
    bool learns = true;
    bool floods_unknown = true;   ///< unknown unicast leaves by it
    bool locked = false;          ///< who is not known here may not send
    bool looked_into = false;     ///< a list may judge the IP packets that come in
    bool judged_l2 = false;       ///< an L2 list judges what comes in
    bool limits = false;          ///< any of storm[] is one
    bool neigh_suppress = false;  ///< it is spared questions that control answers
    uint32_t max_addresses = 0;   ///< control's: stations that are learnt behind it; 0: no limit
    const uint16_t* by_vlan =
        nullptr;  ///< [4096] domain of tagged frames; 0: dropped; null: tags stay
    /// [domain - first_domain] type and identifier; 0: without a tag; null: always
    const uint32_t* tag_out = nullptr;
    const storm_limit* storm = nullptr;  ///< [flood_kinds] where `limits`

    static constexpr uint32_t not_here = ~uint32_t{0};  ///< in tag_out: not a member of that domain

    /// Of a frame with or without a tag that was taken off. 0: this member takes no such frames.
    [[nodiscard]] uint16_t domain_of(bool tagged, uint16_t tci) const noexcept {
        if (by_vlan == nullptr || !tagged) return untagged;
        const uint16_t id = tci & packet::vlan_id_mask;
        return id == 0 ? untagged : by_vlan[id];
    }
};
static_assert(sizeof(bridge_member) == 64);

/// What is asked of each place that a station may be behind: small, so that it stays near.
struct bridge_exit {
    uint16_t port = 0;
    uint8_t isolation = 0;  ///< members of one group do not reach each other; 0: no group
    /// tunnel: a member, too; local: a routing interface. Each a bit.
    enum : uint8_t { member = 0, tunnel = 1, local = 2, nowhere = 4 } is = nowhere;
    /// What a frame to it needs a second look for; isolated: it is from a member that some do not reach.
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
    uint16_t flooded = 0;        ///< how many
    uint16_t routing = 0;        ///< place of its routing interface; 0: none
    uint16_t bridge = 0;         ///< 0: nobody's
};

struct bridge_policy {
    std::array<reserved_choice, 16> reserved{};
};

struct bridge_tables {
    std::array<bridge_member, max_interfaces> members{};  ///< by interface
    std::array<bridge_exit, max_interfaces> exits{};      ///< by interface
    std::vector<bridge_domain> domains{};
    std::vector<uint16_t> flooded{};       ///< interfaces
    std::vector<bridge_policy> bridges{};  ///< from 1 on
    const station_table* stations = nullptr;
    /// Changes whenever a station moves or goes, and every second: what was found before may not hold.
    const std::atomic<uint32_t>* station_changes = nullptr;
    bool any_locked = false;
    const address_table* addresses = nullptr;  ///< who has them; null: no member has neigh_suppress
    /// May a station of this domain be behind this interface?
    [[nodiscard]] bool is_member(uint16_t domain, uint16_t place) const noexcept {
        if (domain >= domains.size() || domains[domain].bridge == 0) return false;
        if (exits[place].is == bridge_exit::local) return domains[domain].routing == place;
        const bridge_member& m = members[place];
        return m.bridge == domains[domain].bridge &&
               (m.tag_out == nullptr ||
                m.tag_out[domain - m.first_domain] != bridge_member::not_here);
    }
    // What members' pointers lead to.
    std::vector<std::unique_ptr<uint16_t[]>> vlans{};
    std::vector<std::unique_ptr<uint32_t[]>> tags{};
    std::vector<std::unique_ptr<storm_limit[]>> storms{};
};

/// From a worker to control: a station that it does not know, or that is behind another interface now.
struct learnt_station {
    station_key key = 0;
    uint64_t place = 0;
};

/// Threads  written by one worker, read by anyone.
struct domain_counters {
    cost::counter rx_packets, rx_bytes, tx_packets, flooded;
};

/// What a worker keeps for bridges.
/// Threads  the worker's own, but for what says otherwise.
class bridge_books {
  public:
    /// learnt  to control, of learnt_station
    explicit bridge_books(rte_ring* learnt);

    /// It talks.
    void seen(uint32_t number) noexcept {
        uint64_t* const map = talking_.load(std::memory_order_acquire);
        uint64_t& word = map[number / 64];
        const uint64_t bit = uint64_t{1} << number % 64;
        if ((word & bit) == 0) word |= bit;
    }
    /// Sources that were found where they are need not be looked up again until something changes. All of a source is
    /// compared, since its sender chooses the address: a checksum could be chosen with it. Sources of one slot
    /// displace each other, which costs lookups and nothing else.
    class source {
      public:
        source(station_key key, uint16_t place, uint32_t changes) noexcept
            : key_(key), seen_(uint64_t{changes} << 16 | place) {}
        [[nodiscard]] size_t slot() const noexcept {
            return _mm_crc32_u64(0, key_) & (found_slots - 1);
        }
        /// 0: they are the same.
        [[nodiscard]] uint64_t differs(const source& other) const noexcept {
            return (key_ ^ other.key_) | (seen_ ^ other.seen_);
        }

      private:
        station_key key_;
        uint64_t seen_;  ///< | changes 32 | place 16 |; in an empty slot 0, which is nobody's place
    };
    [[nodiscard]] bool was_found(const source& s) const noexcept { return not_found(s) == 0; }
    /// 0: it was.
    [[nodiscard]] uint64_t not_found(const source& s) const noexcept {
        return found_[s.slot()].differs(s);
    }
    void remember(const source& s) noexcept { found_[s.slot()] = s; }

    /// May control be told one more thing that stations say of addresses? Some 2,000 a second, 64 at once.
    bool may_tell(uint64_t now) noexcept {
        const uint64_t from = telling_until_ > now ? telling_until_ : now;
        if (from - now > 64 * again_cycles_) return false;
        telling_until_ = from + again_cycles_;
        return true;
    }
    /// Tell control, unless that was done just now.
    void learn(station_key key, uint16_t place, uint64_t now) noexcept;
    /// One more packet of a kind came in by a member: may it be flooded?
    bool take(uint16_t place, flood_kind kind, const storm_limit& limit, uint64_t now) noexcept {
        uint64_t& until = storm_[place * flood_kinds + static_cast<size_t>(kind)];
        // The bucket is full at `until - most_cycles` and empty at `until`.
        const uint64_t from = until > now ? until : now;
        if (from - now > limit.most_cycles) return false;
        until = from + limit.cycles_per_packet;
        return true;
    }
    [[nodiscard]] domain_counters& domain(uint16_t d) noexcept { return domains_[d]; }

    /// Control's: another map from the next packet on. Answers the one before, which is control's to read
    /// when the worker was quiescent, and to clear before the next call.
    uint64_t* exchange_talking() noexcept;
    /// Anyone's.
    [[nodiscard]] const domain_counters& domain(uint16_t d) const noexcept { return domains_[d]; }
    [[nodiscard]] uint64_t not_told() const noexcept { return not_told_.read(); }

    static constexpr size_t map_words = most_stations / 64;

  private:
    static constexpr size_t told_places = 1024, found_slots = 32768;
    struct told {
        station_key key = 0;
        uint64_t place_until = 0;  ///< place, and in which period it was told
    };
    template <class T>
    struct release {
        void operator()(T* p) const noexcept { std::free(p); }
    };
    template <class T>
    using pages = std::unique_ptr<T[], release<T>>;

    rte_ring* learnt_;
    std::atomic<uint64_t*> talking_;
    uint64_t again_cycles_, telling_until_ = 0;
    cost::counter not_told_;  ///< the ring was full
    // Zeroed by the kernel when they are first written: a program without bridges has none of it.
    pages<uint64_t> maps_, storm_;
    pages<told> told_;
    pages<source> found_;
    pages<domain_counters> domains_;
};

}  // namespace turnpike::datapath
