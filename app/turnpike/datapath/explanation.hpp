// SPDX-License-Identifier: BSD-3-Clause
// The explanation of a synthetic packet: its trace, and the decisions behind the steps: the ACL rules that matched, with
// the key that they were compared with; route lookups; choices of ECMP members; FDB lookups. The stages are the
// workers' own; explanation.cpp only observes them.
#pragma once

#include <array>
#include <vector>

#include "acl/rule.hpp"
#include "datapath/trace.hpp"

namespace turnpike::datapath {

/// At most `size` elements without allocation; further ones are dropped.
template <class T, size_t size>
class short_list {
  public:
    void add(const T& one) noexcept {
        if (n_ < size) of_[n_++] = one;
    }
    [[nodiscard]] const T* begin() const noexcept { return of_.data(); }
    [[nodiscard]] const T* end() const noexcept { return of_.data() + n_; }
    [[nodiscard]] bool empty() const noexcept { return n_ == 0; }

  private:
    std::array<T, size> of_{};
    size_t n_ = 0;
};

/// An ACL as bound to an interface, with separate counters, which show the rules that matched.
struct watched_acl {
    uint16_t ifindex = 0;
    bool out = false, l2 = false;
    std::string_view direction{};  ///< name in state::acl_bindings
    bound_acl bound{};
};

/// The keys of a packet, as the stages of ACLs read it.
struct acl_packet {
    bool ipv4 = false, ipv6 = false;
    acl::key4 v4{};
    acl::key6 v6{};
    acl::key4 frame{};  ///< for L2 ACLs
};

/// The rules of a list that matched in a step.
struct acl_decision {
    uint8_t step = 0;
    const watched_acl* by = nullptr;
    acl_packet packet{};
    /// ids in the list: the deciding rule, and count rules
    short_list<uint32_t, acl::max_categories> matched{};
};

struct route_lookup {
    uint8_t step = 0;
    uint8_t vrf = 0;  ///< index
    ip_address address{};
};

/// ECMP: the flow's hash selects a bucket, and the bucket's member is the next hop.
struct member_choice {
    uint8_t step = 0;
    uint32_t group = 0, nexthop = 0;  ///< indices of next hops
    uint32_t hash = 0, bucket = 0;
};

struct fdb_lookup {
    uint8_t step = 0;
    uint16_t domain = 0;
    mac_address destination{};
};

struct explanation : packet_trace {
    std::vector<watched_acl> lists{};  ///< the bound lists; filled before the dispatch, then fixed
    short_list<acl_decision, 16> acls{};
    short_list<route_lookup, 8> routes{};  ///< of destinations, and of sources in stage urpf
    short_list<member_choice, 8> members{};
    short_list<fdb_lookup, 8> stations{};
};

/// explained_table, with the decisions recorded. Requires  context::traced is an explanation
extern const std::array<stage_row, stages> decision_table;

}  // namespace turnpike::datapath
