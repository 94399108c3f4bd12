// SPDX-License-Identifier: BSD-3-Clause
#include "sources/old_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace turnpike::sources {
namespace {

using yaml::document;
using yaml::node_kind;

/// Where a key is valid.
enum class section { file, interface, neighbours };

struct key_rename {
    section in;
    std::string_view old, now;
};
constexpr key_rename renamings[] = {
    {section::file, "patches", "xconnects"},
    {section::file, "special_purpose", "drop_bogons"},
    {section::interface, "kernel", "host_interface"},
    {section::interface, "macs", "extra_macs"},
    {section::interface, "redirects", "send_redirects"},
    {section::interface, "source_routed", "accept_source_route"},
    {section::neighbours, "limit", "max_entries"},
    {section::neighbours, "held", "queue_len"},
    {section::neighbours, "failed_ms", "negative_ms"},
    {section::neighbours, "forget_ms", "gc_stale_ms"},
};

/// Sections of a file, and kinds of objects in requests, whose maps have an interface's keys at any depth.
constexpr std::array<std::string_view, 6> interface_sections = {"ports", "interfaces", "bridges",
                                                                "port",  "interface",  "bridge"};

class renamer {
  public:
    explicit renamer(document& in) : in_(in) {}

    result<std::vector<std::string>> run() {
        if (in_.entries.empty()) return lines_;
        if (kind(0) == node_kind::map) visit_sections(0);
        if (kind(0) == node_kind::list)  // the changes of a request: {verb: {kind: object}}
            each_child(0, [&](uint32_t change) {
                each_child(change, [&](uint32_t verb) {
                    if (kind(verb + 1) != node_kind::map) return;
                    visit_sections(verb + 1);
                    if (text(verb) == "unset") visit_keys_to_unset(verb + 1);
                });
            });
        if (twice_) return tl::unexpected<error>(*twice_);
        return lines_;
    }

  private:
    [[nodiscard]] node_kind kind(uint32_t at) const { return in_.entries[at].kind; }
    [[nodiscard]] std::string_view text(uint32_t at) const {
        const yaml::tree_entry& e = in_.entries[at];
        return e.kind == node_kind::scalar ? std::string_view(in_.texts).substr(e.begin, e.size)
                                           : std::string_view{};
    }
    [[nodiscard]] uint32_t after(uint32_t at) const {
        return at + 1 + (kind(at) >= node_kind::list ? in_.entries[at].size : 0);
    }
    /// f(index) for each element of a list and each key of a map.
    template <class F>
    void each_child(uint32_t at, const F& f) {
        if (kind(at) < node_kind::list) return;
        const bool keys = kind(at) == node_kind::map;
        const uint32_t end = after(at);
        for (uint32_t i = at + 1; i < end; i = keys ? after(i + 1) : after(i)) f(i);
    }

    /// A map of sections (a file) or of one object or setting (a request).
    void visit_sections(uint32_t map) {
        rename_in(map, section::file);
        each_child(map, [&](uint32_t key) {
            const std::string name(text(key));  // a copy: a rename may move the texts
            if (name == "neighbours" && kind(key + 1) == node_kind::map)
                rename_in(key + 1, section::neighbours);
            if (std::ranges::find(interface_sections, name) != interface_sections.end())
                visit_interfaces(key + 1);
        });
    }

    void visit_interfaces(uint32_t at) {
        if (kind(at) == node_kind::map) {
            rename_in(at, section::interface);
            each_child(at, [&](uint32_t key) { visit_interfaces(key + 1); });
        } else {
            each_child(at, [&](uint32_t element) { visit_interfaces(element); });
        }
    }

    /// {kind: {keys: [...]}}, where settings are dotted: "neighbours.limit".
    void visit_keys_to_unset(uint32_t kinds) {
        each_child(kinds, [&](uint32_t object) {
            const bool settings = text(object) == "settings";
            each_child(object + 1, [&](uint32_t member) {
                if (text(member) != "keys") return;
                each_child(member + 1, [&](uint32_t key) {
                    for (const key_rename& r : renamings) {
                        const std::string in = r.in == section::neighbours ? "neighbours." : "";
                        if ((r.in == section::interface) == settings ||
                            text(key) != in + std::string(r.old))
                            continue;
                        add_line(key, r);
                        set_text(key, in + std::string(r.now));
                        return;
                    }
                });
            });
        });
    }

    void rename_in(uint32_t map, section in) {
        each_child(map, [&](uint32_t key) {
            for (const key_rename& r : renamings)
                if (r.in == in && text(key) == r.old) rename(map, key, r);
        });
    }

    void rename(uint32_t map, uint32_t key, const key_rename& r) {
        each_child(map, [&](uint32_t other) {
            if (text(other) == r.now && !twice_)
                twice_ = error{
                    EINVAL, where_is(key),
                    fmt::format("`{}` is the old name of `{}`, and both are here: keep the latter",
                                r.old, r.now)};
        });
        set_text(key, r.now);
        if (r.old == "special_purpose") {
            if (text(key + 1) == "drop")
                set_text(key + 1, "true");
            else if (text(key + 1) == "route")
                set_text(key + 1, "false");
        }
        add_line(key, r);
    }

    [[nodiscard]] std::string where_is(uint32_t key) const {
        return fmt::format("{}:{}", in_.name, uint32_t{in_.entries[key].line});
    }
    /// The line of the log, once for each old key.
    void add_line(uint32_t key, const key_rename& r) {
        const auto index = static_cast<size_t>(&r - renamings);
        if (std::exchange(named_[index], true)) return;
        lines_.push_back(fmt::format(
            "{}: `{}` is called `{}` now; the old name will be refused by the next release",
            where_is(key), r.old, r.now));
    }

    void set_text(uint32_t at, std::string_view to) {
        in_.entries[at].begin = static_cast<uint32_t>(in_.texts.size());
        in_.entries[at].size = static_cast<uint32_t>(to.size());
        in_.texts += to;
    }

    document& in_;
    std::vector<std::string> lines_{};
    std::array<bool, std::size(renamings)> named_{};
    std::optional<error> twice_{};
};

}  // namespace

result<std::vector<std::string>> rename_old_keys(document& in) { return renamer(in).run(); }

}  // namespace turnpike::sources
