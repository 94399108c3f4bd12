// SPDX-License-Identifier: BSD-3-Clause
// The keys of ports and of interfaces: one row per key (field.hpp).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sources/field.hpp"

namespace turnpike::sources {

[[nodiscard]] std::span<const field<state::port>> port_fields() noexcept;
/// The keys of a VLAN sub-interface, of a port for its untagged interface, and of a bridge for its routed one.
[[nodiscard]] std::span<const field<state::interface>> interface_fields() noexcept;

/// The object whose map has an interface's keys.
[[nodiscard]] unsigned kind_of(const state::interface& i, const state::configuration& in) noexcept;

/// Objects, and the settings, whose keys `set` and `unset` change.
struct object_facts {
    struct entry : field_facts {
        written_value usual;  ///< the default
    };
    std::string_view name;  ///< "port"; "settings"
    std::vector<entry> fields;
};
[[nodiscard]] const std::vector<object_facts>& all_objects();

/// A unicast MAC address.
mac_address read_station_mac(const yaml::reader& from);

}  // namespace turnpike::sources
