// SPDX-License-Identifier: BSD-3-Clause
#include "devargs.hpp"

#include <net/if.h>

#include <array>

#include "base/arguments.hpp"

namespace turnpike::xsk {
namespace {

constexpr uint32_t max_queues = 256;

struct argument {
    std::string_view name;
    std::string_view takes;
    bool (*read)(std::string_view, device_arguments&);
};

bool read_mode(std::string_view text, device_arguments& a) {
    constexpr std::pair<std::string_view, bind_mode> modes[] = {{"auto", bind_mode::auto_},
                                                                {"zerocopy", bind_mode::zerocopy},
                                                                {"copy", bind_mode::copy},
                                                                {"skb", bind_mode::skb}};
    for (const auto& [name, mode] : modes)
        if (name == text) {
            a.mode = mode;
            return true;
        }
    return false;
}

bool read_path(std::string_view text, std::string& into) {
    into = text;
    return !text.empty();
}

constexpr std::array table{
    argument{"iface", "the name of a network interface, such as eth0",
             [](std::string_view v, device_arguments& a) {
                 a.iface = v;
                 return !v.empty() && v.size() < IFNAMSIZ && v.find('/') == std::string_view::npos;
             }},
    argument{"queues", "number of queues of the interface, 1 to 256",
             [](std::string_view v, device_arguments& a) {
                 return read_number<uint32_t>(v, 1, max_queues, a.queues);
             }},
    argument{"start_queue", "the first of the interface's queues, 0 to 65535",
             [](std::string_view v, device_arguments& a) {
                 return read_number<uint32_t>(v, 0, 65535, a.start_queue);
             }},
    argument{"mode", "auto, zerocopy, copy or skb", read_mode},
    argument{"busy_budget", "packets per busy poll, 0 (no busy polling) to 65535",
             [](std::string_view v, device_arguments& a) {
                 return read_number<uint32_t>(v, 0, 65535, a.busy_budget);
             }},
    argument{"filter", "a filter file: packets that match it go to the kernel",
             [](std::string_view v, device_arguments& a) { return read_path(v, a.filter); }},
    argument{"xskmap", "the path of a pinned XSKMAP",
             [](std::string_view v, device_arguments& a) { return read_path(v, a.xskmap); }},
    argument{"replace", "0 or 1: replace an XDP program that is already attached",
             [](std::string_view v, device_arguments& a) {
                 a.replace = v == "1";
                 return v == "0" || v == "1";
             }},
};

}  // namespace

result<device_arguments> parse_arguments(std::string_view text) {
    device_arguments out;
    const auto given = read_arguments(
        text, std::span(table), [&out](const argument& a, std::string_view value) -> result<void> {
            if (a.read(value, out)) return {};
            return fail(EINVAL, std::string(a.name) + "=" + std::string(value),
                        std::string(a.name) + " takes " + std::string(a.takes));
        });
    if (!given) return tl::unexpected<error>(given.error());
    if (out.iface.empty())
        return fail(EINVAL, "iface", "is missing: it takes " + std::string(table[0].takes));
    if (!out.xskmap.empty() && !out.filter.empty())
        return fail(EINVAL, "filter=" + out.filter,
                    "excludes xskmap: the program that owns the map does the filtering");
    if (!out.xskmap.empty() && out.replace)
        return fail(EINVAL, "replace=1", "excludes xskmap: turnpike attaches no program then");
    return out;
}

}  // namespace turnpike::xsk
