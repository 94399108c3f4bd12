// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/acl_list.hpp"

#include <fmt/format.h>

#include "acl/acl_dpdk.hpp"

namespace turnpike::datapath {
namespace {

constexpr int any_socket = -1;

/// The rules of one family. max_bytes: what may be used, and what is left.
template <class Classifier>
result<void> compile_into(std::unique_ptr<Classifier>& to, const config::acl_list& l, bool v6,
                          uint64_t& max_bytes) {
    std::vector<acl::rule> rules;
    for (const config::acl_rule& r : l.rules)
        if (v6 ? r.ipv6 : r.ipv4) rules.push_back(r.match);
    acl::config c = acl::eal_config("access list '" + l.name + "'", any_socket);
    c.max_bytes = max_bytes;
    auto made = Classifier::create(c);
    if (!made) return tl::unexpected<error>(made.error());
    to = std::move(*made);
    if (auto built = to->build(rules); !built) return built;
    max_bytes -= std::min(max_bytes, to->stats().reserved_bytes);
    return {};
}

}  // namespace

result<std::shared_ptr<const acl_list>> acl_list::compile(const config::acl_list& l) {
    auto made = std::make_shared<acl_list>();
    made->categories = l.categories;
    made->default_hit = config::acl_hit(l.rules.size(), !l.default_permits);
    const uint64_t limit = uint64_t{l.memory_mb} << 20;
    uint64_t left = limit;
    auto built = compile_into(made->v4, l, false, left);
    if (built) built = compile_into(made->v6, l, true, left);
    if (built) {
        made->bytes = limit - left;
        return made;
    }
    if (built.error().code != ENOMEM) return tl::unexpected<error>(built.error());
    return fail(ENOMEM, l.where,
                fmt::format("access list '{}': its {} rules do not fit in memory_mb: {}, or there "
                            "is no memory; allow it more, or reserve more hugepages",
                            l.name, l.rules.size(), l.memory_mb));
}

}  // namespace turnpike::datapath
