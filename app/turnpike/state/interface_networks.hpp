// SPDX-License-Identifier: BSD-3-Clause
// Addresses of interfaces by their networks, to find addresses that exclude each other: a neighbour in the networks of two
// interfaces could be on either link. A host address (/32, /128) may be in the network of an interface that has it, too: it is
// borrowed from that (an unnumbered interface). The cost of a search does not depend on the number of interfaces and addresses.
#pragma once

#include <array>
#include <bitset>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "net/ip.hpp"

namespace turnpike::state {

/// The names that it is given must outlive it.
class interface_networks {
  public:
    struct owned {
        std::string_view interface {};
        ip_prefix address{};
    };
    /// All addresses of an interface are noted before the first search that it may be part of.
    void note(std::string_view vrf, std::string_view interface, const ip_address& a) {
        noted_.emplace(vrf, interface, a);
    }
    void add(std::string_view vrf, std::string_view interface, const ip_prefix& a);
    /// An address for which may_both_be() is false, of another interface of the VRF, where none of both is borrowed.
    /// Returns  null: none
    [[nodiscard]] const owned* find_overlap(std::string_view vrf, std::string_view interface,
                                            const ip_prefix& a) const;

  private:
    [[nodiscard]] bool is_borrowed(std::string_view vrf, const owned& host,
                                   std::string_view from) const;
    std::set<std::tuple<std::string_view, std::string_view, ip_address>> noted_{};
    std::map<std::pair<std::string_view, ip_prefix>, std::vector<owned>> by_network_{};
    std::array<std::bitset<129>, 2> lengths_{};  ///< of the networks; IPv4, IPv6
};

}  // namespace turnpike::state
