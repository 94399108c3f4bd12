// SPDX-License-Identifier: BSD-3-Clause
#include "pcie/profile_yaml.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "yaml/reader.hpp"
#include "yaml/yaml_file.hpp"

namespace turnpike::pcie {
namespace {

template <class Policy>
using policy_names = std::vector<std::pair<std::string, Policy>>;

const policy_names<fetch_policy>& names_of(fetch_policy) {
    static const policy_names<fetch_policy> names{{"full_batch", fetch_policy::full_batch},
                                                  {"as_posted", fetch_policy::as_posted}};
    return names;
}

const policy_names<write_back_policy>& names_of(write_back_policy) {
    static const policy_names<write_back_policy> names{
        {"none", write_back_policy::none},
        {"per_packet", write_back_policy::per_packet},
        {"every", write_back_policy::every},
        {"batch", write_back_policy::batch},
        {"by_line", write_back_policy::by_line}};
    return names;
}

const policy_names<doorbell_policy>& names_of(doorbell_policy) {
    static const policy_names<doorbell_policy> names{{"none", doorbell_policy::none},
                                                     {"every", doorbell_policy::every},
                                                     {"per_burst", doorbell_policy::per_burst},
                                                     {"burst_end", doorbell_policy::burst_end}};
    return names;
}

using yaml::node;
using yaml::node_kind;

/// Parse the whole text as a number.
template <class Number>
bool convert(std::string_view text, Number& out) {
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
    return code == std::errc() && end == text.data() + text.size();
}
bool convert(const node& from, uint32_t& out) { return convert(from.text(), out); }
bool convert(const node& from, double& out) {
    std::string_view text = from.text();
    if (text == ".nan" || text == ".inf") text.remove_prefix(1);  // YAML's spelling
    return convert(text, out);
}
bool convert(const node& from, bool& out) {
    out = from.text() == "true";
    return out || from.text() == "false";
}
bool convert(const node& from, std::string& out) {
    out = from.text();
    return from.kind() == node_kind::scalar;
}
bool convert(const node& from, std::vector<std::string>& out) {
    out.clear();
    for (const node element : from.children())
        if (!convert(element, out.emplace_back())) return false;
    return from.kind() == node_kind::list;
}

/// A mapping: reads known fields, then rejects the rest.
class mapping {
  public:
    mapping(const node& from, std::string name) : node_(from), name_(std::move(name)) {
        if (node_.kind() != node_kind::map)
            refuse(node_, "'" + name_ + "' must hold fields (key: value)");
    }

    template <class T>
    void read(const std::string& key, T& out) {
        known_.push_back(key);
        const auto value = node_.find(key);
        if (value && !convert(*value, out)) refuse(*value, "'" + key + "' must be " + kind_of(out));
    }

    template <class Policy>
    void read_policy(Policy& out) {
        std::string name;
        read("policy", name);
        if (name.empty()) return;
        std::string choices;
        for (const auto& [text, policy] : names_of(out)) {
            if (text == name) {
                out = policy;
                return;
            }
            choices += (choices.empty() ? "" : ", ") + text;
        }
        refuse(node_of("policy"), "no policy is named '" + name + "'; there are: " + choices);
    }

    template <class Read>
    void read_mapping(const std::string& key, Read read_fields) {
        known_.push_back(key);
        if (const auto value = node_.find(key)) {
            mapping inner(*value, key);
            read_fields(inner);
            inner.refuse_other_keys();
        }
    }

    void refuse_other_keys() const {
        for (const node key : node_.children())
            if (std::ranges::find(known_, key.text()) == known_.end())
                refuse(key, "'" + name_ + "' has no field '" + std::string(key.text()) +
                                "'; it has: " + fields());
    }

    [[noreturn]] static void refuse(const node& at, std::string text) {
        throw yaml::complaint{
            {EINVAL, at.file() + ":" + std::to_string(at.line()), std::move(text)}};
    }

    /// The node of a dotted field name, or its nearest parent in the file.
    [[nodiscard]] node node_of(std::string_view field) const {
        node nearest = node_;
        while (!field.empty()) {
            const std::string_view name = field.substr(0, field.find('.'));
            field.remove_prefix(std::min(field.size(), name.size() + 1));
            const auto next = nearest.find(name);
            if (!next) break;
            nearest = *next;
        }
        return nearest;
    }

  private:
    static const char* kind_of(double) { return "a number"; }
    static const char* kind_of(uint32_t) { return "a whole number from 0 to 4294967295"; }
    static const char* kind_of(bool) { return "true or false"; }
    static const char* kind_of(const std::string&) { return "a word or a sentence"; }
    static const char* kind_of(const std::vector<std::string>&) { return "a list [of, words]"; }

    [[nodiscard]] std::string fields() const {
        std::string names;
        for (const auto& key : known_) names += (names.empty() ? "" : ", ") + key;
        return names;
    }

    node node_;
    std::string name_;
    std::vector<std::string> known_;
};

void read_direction(mapping& fields, direction_profile& d) {
    fields.read_mapping("fetch", [&d](mapping& fetch) {
        fetch.read("bytes", d.fetch.bytes);
        fetch.read("batch", d.fetch.batch);
        fetch.read("index_bytes", d.fetch.index_bytes);
        fetch.read_policy(d.fetch.policy);
    });
    fields.read_mapping("write_back", [&d](mapping& write_back) {
        write_back.read_policy(d.write_back.policy);
        write_back.read("bytes", d.write_back.bytes);
        write_back.read("index_bytes", d.write_back.index_bytes);
        write_back.read("packets", d.write_back.packets);
        write_back.read("full_line_share", d.write_back.full_line_share);
        write_back.read("partial_entries", d.write_back.partial_entries);
    });
    fields.read_mapping("doorbell", [&d](mapping& doorbell) {
        doorbell.read_policy(d.doorbell.policy);
        doorbell.read("packets", d.doorbell.packets);
        doorbell.read("bytes", d.doorbell.bytes);
    });
    fields.read("refill_packets", d.refill_packets);
    fields.read("packets_per_interrupt", d.packets_per_interrupt);
    fields.read("packets_per_register_read", d.packets_per_register_read);
    fields.read("prefix_bytes", d.prefix_bytes);
    fields.read("carries_fcs", d.carries_fcs);
}

/// earlier  profiles earlier in the file
nic_profile read_profile(const node& from, const std::vector<nic_profile>& earlier) {
    mapping fields(from, "profile");
    std::string name, base;
    fields.read("name", name);
    fields.read("base", base);
    const auto taken = [&name](const nic_profile& other) { return other.name == name; };
    if (name.empty()) fields.refuse(from, "a profile needs a name");
    if (std::ranges::any_of(builtin_profiles(), taken) || std::ranges::any_of(earlier, taken))
        fields.refuse(fields.node_of("name"), "duplicate profile '" + name + "'");

    nic_profile profile;
    if (!base.empty()) {
        std::vector<nic_profile> bases(earlier);
        bases.insert(bases.end(), builtin_profiles().begin(), builtin_profiles().end());
        const auto found = find_profile(base, bases);
        if (!found) fields.refuse(fields.node_of("base"), found.error().message());
        profile = *found;
        profile.drivers.clear();
    }
    profile.name = name;
    fields.read("summary", profile.summary);
    fields.read("drivers", profile.drivers);
    fields.read("ethernet_gbps", profile.ethernet_gbps);
    fields.read_mapping("rx", [&](mapping& rx) { read_direction(rx, profile.rx); });
    fields.read_mapping("tx", [&](mapping& tx) { read_direction(tx, profile.tx); });
    fields.read("known", profile.known);
    fields.read("assumptions", profile.assumptions);
    fields.refuse_other_keys();
    if (const auto good = validate(profile); !good)
        fields.refuse(fields.node_of(good.error().object), good.error().message());
    return profile;
}

}  // namespace

result<std::vector<nic_profile>> parse_profiles(const std::string& yaml,
                                                const std::string& origin) try {
    const auto parsed = yaml::parse_yaml(yaml, origin);
    if (!parsed) return tl::unexpected<error>(parsed.error());
    const node root(*parsed);
    const auto list = root.find("profiles");
    if (!list || list->kind() != node_kind::list)
        return fail(EINVAL, origin + ":1",
                    "the file must contain a list of profiles: 'profiles: [...]'");
    for (const node key : root.children())
        if (key.text() != "profiles")
            mapping::refuse(key, "the only key of the file is 'profiles', not '" +
                                     std::string(key.text()) + "'");
    std::vector<nic_profile> profiles;
    for (const node profile : list->children()) profiles.push_back(read_profile(profile, profiles));
    if (profiles.empty()) return fail(EINVAL, origin, "the list of profiles is empty");
    return profiles;
} catch (const yaml::complaint& complaint) {
    return tl::unexpected<error>(complaint.what);
}

result<std::vector<nic_profile>> load_profiles(const std::filesystem::path& file) {
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored))
        return fail(EISDIR, file.string(), "cannot read the profiles");
    const auto text = yaml::read_file(file);
    if (text) return parse_profiles(*text, file.string());
    const error& why = text.error();
    return fail(why.code, file.string(),
                "cannot read the profiles" + (why.code == EINVAL ? ": it " + why.text : ""));
}

}  // namespace turnpike::pcie
