// SPDX-License-Identifier: BSD-3-Clause
// The keys of the process: EAL, the packet pool, workers, and the control socket.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sources/fields.hpp"
#include "sources/settings.hpp"
#include "sources/yaml.hpp"
#include "sources/yaml_acl_writer.hpp"
#include "yaml/yaml_file.hpp"

namespace turnpike::sources {
namespace {

using state::configuration;
using state::control_plane;
using state::control_socket;
using state::eal;
using state::mempool;
using state::process;
using yaml::reader;

constexpr std::string_view hugepages_words[] = {"required", "optional"};

std::vector<std::string> read_arguments(const reader& from) {
    auto args = from.taken(split_arguments(from.text()));
    if (std::ranges::find(args, "--") != args.end())
        from.refuse("holds '--': only EAL options belong here");
    return args;
}

/// The inverse of split_arguments().
std::string joined(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words) {
        if (!out.empty()) out += ' ';
        const bool plain = !word.empty() && word.find_first_of(" \t\n'\"") == std::string::npos;
        if (plain) {
            out += word;
            continue;
        }
        out += '\'';
        for (const char c : word) {
            if (c == '\'')
                out += "'\"'\"'";
            else
                out += c;
        }
        out += '\'';
    }
    return out;
}

constexpr accessor<configuration> arguments_access() {
    using args = member<&configuration::fixed, &process::eal_options, &eal::args>;
    accessor<configuration> out = access<args, read_arguments>();
    out.write = [](const configuration& of, const value_type&) {
        const auto& words = args::in(of);
        return words.empty() ? written_value{} : written_value{{quoted(joined(words))}};
    };
    return out;
}

std::vector<unsigned> read_workers(const reader& from, const value_type& type) {
    auto out = read_distinct(from, type, [&](const reader& lcore) {
        return static_cast<unsigned>(lcore.number(type.least, type.max_element));
    });
    if (out.empty()) from.refuse("is empty; without the key, all lcores but the main one");
    return out;
}

std::string read_ops(const reader& from, const value_type& type) {
    std::string name = from.text();
    if (name.size() > type.most)
        from.refuse(
            "should be a mempool handler's name, like cache_aware or ring_mp_mc, of at most {} "
            "characters",
            type.most);
    return name;
}

std::string read_path(const reader& from, const value_type& type) {
    std::string path = from.text();
    if (!path.starts_with('/') || path.ends_with('/') || path.size() > type.most)
        from.refuse("should be a whole path, from / on, of at most {} characters", type.most);
    return path;
}

std::string read_namespace(const reader& from, const value_type& type) {
    std::string name = from.text();
    if (name.size() > type.most || name.find('/') != std::string::npos || name == "." ||
        name == "..")
        from.refuse("should be a name as `ip netns add` takes it, of at most {} characters",
                    type.most);
    return name;
}

/// Relative to the configuration's folder.
state::pcie_profiles read_profiles(const reader& from, const configuration& in) {
    constexpr size_t max_bytes = 1u << 20;
    state::pcie_profiles out;
    out.file = std::filesystem::absolute(std::filesystem::path(in.file).parent_path() / from.text())
                   .lexically_normal()
                   .string();
    auto text = yaml::read_file(out.file);
    if (!text) from.refuse("is {}, which cannot be read: {}", out.file, text.error().text);
    if (text->size() > max_bytes) from.refuse("is {}, which is longer than 1 MiB", out.file);
    out.text = std::move(*text);
    return out;
}

constexpr field<configuration> process_rows[] = {
    {"eal.args", text_type("options of EAL, as on a command line", any_length),
     "EAL options: lcores, hugepages, devices", of_process, arguments_access(), needs_restart},
    {"eal.hugepages", word_type(hugepages_words),
     "optional: starts without hugepages if there are none", of_process,
     access<&configuration::fixed, &process::eal_options, &eal::hugepages_optional>(),
     is_always_compared | needs_restart},
    {"workers", number_list_type("an lcore", "lcores", 0, state::max_lcore, 0),
     "Lcores of workers; without it, all but the main one", of_process,
     access<member<&configuration::workers>, read_workers>()},
    {"mempool.buffers", number_type(512, 1u << 27, "mbufs"),
     "Size of the packet pool; without it, derived from ports and workers", of_process,
     access<&configuration::fixed, &process::pool, &mempool::buffers>(), needs_restart},
    {"mempool.buffer_size", number_type(128 + 64, 65535, "bytes"),
     "Data buffer of an mbuf, with 128 bytes of headroom", of_process,
     access<&configuration::fixed, &process::pool, &mempool::buffer_size>(),
     is_always_compared | needs_restart},
    {"mempool.ops", text_type("a mempool handler, as cache_aware or ring_mp_mc", 31),
     "Mempool handler; without it, EAL's --mbuf-pool-ops-name, or cache_aware", of_process,
     access<member<&configuration::fixed, &process::pool, &mempool::ops>, read_ops>(),
     needs_restart},
    {"control.socket", text_type("a path from / on", 107),
     "Control socket; without it, /run/turnpike/control.sock: doc/control.md", of_process,
     access<member<&configuration::control, &control_socket::path>, read_path>()},
    {"control.group", text_type("a group, by name or number", any_length),
     "Group of the control socket; without it, the process's", of_process,
     access<&configuration::control, &control_socket::group>()},
    {"control.owner", text_type("a user, by name or number", any_length),
     "Owner of the control socket; without it, the process's", of_process,
     access<&configuration::control, &control_socket::owner>()},
    {"control_plane.netlink", truth_type(),
     "Follows the kernel's routes, addresses and neighbours: doc/control-plane.md", of_process,
     access<&configuration::control_plane, &control_plane::netlink>()},
    {"control_plane.rate", number_type(1, 10'000'000, "packets per second"),
     "Maximum rate of an interface's packets to the kernel", of_process,
     access<&configuration::control_plane, &control_plane::rate>()},
    {"control_plane.follow_admin_status", truth_type(),
     "An interface that is set down in the kernel (`ip link set NAME down`) forwards nothing: "
     "doc/control-plane.md",
     of_process, access<&configuration::control_plane, &control_plane::follow_admin_status>()},
    {"control_plane.namespace", text_type("a network namespace, as of ip netns", 255),
     "Network namespace of host interfaces; without it, the process's", of_process,
     access<member<&configuration::control_plane, &control_plane::network_namespace>,
            read_namespace>()},
    {"pcie_profiles",
     text_type("a file, relative to the configuration's folder", any_length, "FILE"),
     "NIC profiles of the PCIe model: doc/pcie.md", of_process,
     access<member<&configuration::pcie_profiles>, read_profiles>()},
};

}  // namespace

std::span<const field<configuration>> process_fields() noexcept { return process_rows; }

}  // namespace turnpike::sources
