// SPDX-License-Identifier: BSD-3-Clause
// The keys of the configuration's objects: one row per key (field.hpp).
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sources/field.hpp"

namespace turnpike::sources {

[[nodiscard]] std::span<const field<state::port>> port_fields() noexcept;
/// The keys of a VLAN sub-interface, of a port for its untagged interface, and of a bridge for its routed one.
[[nodiscard]] std::span<const field<state::interface>> interface_fields() noexcept;

[[nodiscard]] std::span<const field<state::bridge>> bridge_fields() noexcept;
[[nodiscard]] std::span<const field<state::bridge_member>> member_fields() noexcept;
[[nodiscard]] std::span<const field<state::tunnel>> tunnel_fields() noexcept;
[[nodiscard]] std::span<const field<state::mirror>> mirror_fields() noexcept;
[[nodiscard]] std::span<const field<state::vrf>> vrf_fields() noexcept;
[[nodiscard]] std::span<const field<state::neighbour>> neighbour_fields() noexcept;

/// The object whose map has an interface's keys.
[[nodiscard]] unsigned kind_of(const state::interface& i, const state::configuration& in) noexcept;

/// A kind of objects, or the settings.
struct object_facts {
    struct entry : field_facts {
        written_value usual;  ///< the default
    };
    /// A key with a list of objects of another kind.
    struct inner_list {
        std::string_view key, of, meaning;
        bool required = false;
    };
    std::string_view name;             ///< "port"; "settings"
    std::string_view list;             ///< key of the file: "ports"; empty: not in the file itself
    std::vector<field_facts> names{};  ///< the keys that name an object
    std::vector<entry> fields{};
    std::vector<inner_list> lists{};
    unsigned in_files = ~0u;  ///< object_kind of an object in a file
};
[[nodiscard]] const std::vector<object_facts>& all_objects();

/// The object that a key names; refuses another name, with the most similar one.
/// what  "a port"
template <class Objects>
auto& named_object(const yaml::reader& name, Objects& all, std::string_view what) {
    const std::string wanted = name.text();
    if (auto* const there = all.find(wanted); there != nullptr) return *there;
    std::vector<std::string_view> names;
    for (const auto& [one, object] : all) names.push_back(one);
    name.refuse("names '{}', which is not {}{}", wanted.substr(0, 80), what,
                yaml::suggestion(wanted, names));
}

/// A list of different values; where the type permits, also one value alone.
template <class Read>
auto read_distinct(const yaml::reader& from, const value_type& type, const Read& read) {
    std::vector<std::invoke_result_t<Read, const yaml::reader&>> out;
    const auto all = type.or_one && !from.is_list() ? std::vector{from} : from.list(type.plural);
    for (const yaml::reader& one : all) {
        out.push_back(read(one));
        if (std::find(out.begin(), out.end() - 1, out.back()) != out.end() - 1)
            one.refuse("names {} twice", one.text());
    }
    if (type.most != 0 && out.size() > type.most)
        from.refuse("names {} {}; at most {} are possible", out.size(), type.plural, type.most);
    return out;
}

uint16_t read_vlan(const yaml::reader& from);
/// A unicast MAC address.
mac_address read_station_mac(const yaml::reader& from);

}  // namespace turnpike::sources
