// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_writer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sources/yaml_acl_writer.hpp"

namespace turnpike::sources {
namespace {

using fmt::format_to;
using state::desired;
using state::interface_kind;

/// EAL's arguments as one text that split_arguments() makes them of again.
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

class writer {
  public:
    explicit writer(const desired& d) : d_(d) {}

    std::string text() && {
        process();
        settings();
        lists();
        ports();
        patches();
        routes();
        return std::move(out_);
    }

  private:
    template <class... T>
    void add(fmt::format_string<T...> text, T&&... values) {
        format_to(std::back_inserter(out_), text, std::forward<T>(values)...);
    }

    void process() {
        const state::process& p = d_.fixed;
        add("eal: {{hugepages: {}", p.eal_options.hugepages_optional ? "optional" : "required");
        if (!p.eal_options.args.empty()) add(", args: {}", quoted(joined(p.eal_options.args)));
        add("}}\n");
        if (!d_.workers.empty()) add("workers: [{}]\n", fmt::join(d_.workers, ", "));
        add("mempool: {{");
        if (p.pool.buffers != 0) add("buffers: {}, ", p.pool.buffers);
        add("buffer_size: {}", p.pool.buffer_size);
        if (!p.pool.ops.empty()) add(", ops: {}", quoted(p.pool.ops));
        add("}}\n");
        if (d_.control != state::control_socket{}) {
            std::vector<std::string> members;
            for (const auto& [name, value] : {std::pair("socket", &d_.control.path),
                                              {"group", &d_.control.group},
                                              {"owner", &d_.control.owner}})
                if (!value->empty()) members.push_back(fmt::format("{}: {}", name, quoted(*value)));
            add("control: {{{}}}\n", fmt::join(members, ", "));
        }
        if (const std::string& file = d_.pcie_profiles.file; !file.empty())
            add("pcie_profiles: {}\n", quoted(file));
    }

    void settings() {
        const state::neighbour_limits& l = d_.limits;
        add("tx: {{drain_us: {}}}\n", d_.sending.drain_us);
        add("icmp: {{rate: {}}}\n", d_.messages.rate);
        add("neighbours:\n");
        add("  limit: {}\n  held: {}\n  rate: {}\n", l.limit, l.held, l.rate);
        add("  reachable_ms: {}\n  retransmit_ms: {}\n  attempts: {}\n", l.reachable_ms,
            l.retransmit_ms, l.attempts);
        add("  failed_ms: {}\n  forget_ms: {}\n", l.failed_ms, l.forget_ms);
        if (d_.neighbours.empty()) return;
        add("  static:\n");
        for (const auto& [name, n] : d_.neighbours)
            add("    - {{address: {}, port: {}, mac: {}}}\n", quoted(name.address.text()),
                quoted(name.interface), quoted(n.mac.text()));
    }

    void lists() {
        if (!d_.acls.empty()) add("acl:\n");
        for (const auto& [name, list] : d_.acls) add_list(out_, *list);
    }

    void ports() {
        add("ports:\n");
        for (const auto& [name, p] : d_.ports) {
            add("  - name: {}\n    device: {}\n", quoted(name), quoted(p.device));
            add("    mtu: {}\n    rx_queues: {}\n    descriptors: {}\n", p.mtu, p.rx_queues,
                p.descriptors);
            if (!p.rx_workers.empty()) add("    rx_workers: [{}]\n", fmt::join(p.rx_workers, ", "));
            bill(p.bill);
            const state::interface& i = d_.interfaces.at(name);
            if (!i.addresses.empty()) {
                add("    addresses:\n");
                for (const ip_prefix& a : i.addresses) add("      - {}\n", quoted(a.text()));
            }
            if (i.acl_in.empty() && i.acl_out.empty()) continue;
            add("    acl: {{");
            if (!i.acl_in.empty()) add("in: {}", quoted(i.acl_in));
            if (!i.acl_out.empty())
                add("{}out: {}", i.acl_in.empty() ? "" : ", ", quoted(i.acl_out));
            add("}}\n");
        }
    }
    void bill(const state::pcie& b) {
        if (b == state::pcie{}) return;
        add("    pcie:\n");
        if (!b.profile.empty()) add("      profile: {}\n", quoted(b.profile));
        if (!b.link.empty()) add("      link: {}\n", quoted(b.link));
        if (b.mps != 0) add("      mps: {}\n", b.mps);
        if (b.mrrs != 0) add("      mrrs: {}\n", b.mrrs);
    }

    void patches() {
        bool first = true;
        for (const auto& [name, i] : d_.interfaces) {
            // Each once: at the end that comes first.
            if (i.kind != interface_kind::patched || position(name) > position(i.peer)) continue;
            if (std::exchange(first, false)) add("patches:\n");
            add("  - [{}, {}]\n", quoted(name), quoted(i.peer));
        }
    }
    [[nodiscard]] size_t position(const std::string& name) const {
        return static_cast<size_t>(std::find_if(d_.interfaces.begin(), d_.interfaces.end(),
                                                [&](const auto& i) { return i.first == name; }) -
                                   d_.interfaces.begin());
    }

    void routes() {
        if (d_.routes.empty()) return;
        std::vector<std::string> leads;  // by target: said once, not once a route
        for (const state::route_target& t : d_.routes.targets())
            leads.push_back(t.type == state::route_type::unicast
                                ? fmt::format(" via {} dev {}\n", t.via.text(), t.interface)
                                : "\n");
        add("routes:\n  lines: |\n");
        for (const state::route& r : d_.routes) {
            const state::route_type type = d_.routes.targets()[r.target].type;
            add("    ");
            if (type != state::route_type::unicast)
                add("{} ", state::route_type_names[static_cast<size_t>(type)]);
            add("{}{}", r.to.text(), leads[r.target]);
        }
    }

    const desired& d_;
    std::string out_;
};

}  // namespace

std::string to_yaml(const desired& d) { return writer(d).text(); }

}  // namespace turnpike::sources
