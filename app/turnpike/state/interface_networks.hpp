// SPDX-License-Identifier: BSD-3-Clause
// Addresses of interfaces by their networks, to find addresses that exclude each other: a neighbour in the networks of two
// interfaces could be on either link. The cost of a search does not depend on the number of interfaces and addresses.
#pragma once

#include <array>
#include <bitset>
#include <map>
#include <string_view>
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
    void add(std::string_view vrf, std::string_view interface, const ip_prefix& a);
    /// An address for which may_both_be() is false, of another interface of the VRF.
    /// Returns  null: none
    [[nodiscard]] const owned* find_overlap(std::string_view vrf, std::string_view interface,
                                            const ip_prefix& a) const;

  private:
    std::map<std::pair<std::string_view, ip_prefix>, std::vector<owned>> by_network_{};
    std::array<std::bitset<129>, 2> lengths_{};  ///< of the networks; IPv4, IPv6
};

}  // namespace turnpike::state
