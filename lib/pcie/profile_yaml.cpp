// SPDX-License-Identifier: BSD-3-Clause
#include "pcie/profile_yaml.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

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

/// Thrown and caught within this file: yaml-cpp throws, so its readers may as well.
struct refused {
    error why;
};

/// One mapping: reads the fields it is asked for, then refuses what is left.
class mapping {
  public:
    mapping(const YAML::Node& node, std::string origin, std::string name)
        : node_(node), origin_(std::move(origin)), name_(std::move(name)) {
        if (!node_.IsMap()) refuse(node_, "'" + name_ + "' must hold fields (key: value)");
    }

    template <class T>
    void read(const std::string& key, T& out) {
        known_.push_back(key);
        const YAML::Node value = node_[key];
        if (!value) return;
        try {
            out = value.as<T>();
        } catch (const YAML::Exception&) {
            refuse(value, "'" + key + "' must be " + kind_of(out));
        }
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
        refuse(node_["policy"], "no policy is named '" + name + "'; there are: " + choices);
    }

    template <class Read>
    void read_mapping(const std::string& key, Read read_fields) {
        known_.push_back(key);
        if (const YAML::Node value = node_[key]) {
            mapping inner(value, origin_, key);
            read_fields(inner);
            inner.refuse_other_keys();
        }
    }

    void refuse_other_keys() const {
        std::set<std::string> seen;
        for (const auto& field : node_) {
            if (!field.first.IsScalar()) refuse(field.first, "a key must be a word");
            const std::string& key = field.first.Scalar();
            if (std::ranges::find(known_, key) == known_.end())
                refuse(field.first,
                       "'" + name_ + "' has no field '" + key + "'; it has: " + fields());
            if (!seen.insert(key).second) refuse(field.first, "'" + key + "' stands here twice");
        }
    }

    [[noreturn]] void refuse(const YAML::Node& at, std::string text) const {
        throw refused{
            {EINVAL, origin_ + ":" + std::to_string(at.Mark().line + 1), std::move(text)}};
    }

    /// The node of a dotted field name, or the nearest one around it that is in the file.
    [[nodiscard]] YAML::Node node_of(const std::string& field) const {
        YAML::Node nearest = node_;
        std::istringstream names(field);
        for (std::string name; std::getline(names, name, '.');) {
            if (!nearest.IsMap() || !nearest[name]) break;
            nearest.reset(nearest[name]);
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

    YAML::Node node_;
    std::string origin_;
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

/// earlier  the profiles above this one in the file
nic_profile read_profile(const YAML::Node& node, const std::string& origin,
                         const std::vector<nic_profile>& earlier) {
    mapping fields(node, origin, "profile");
    std::string name, base;
    fields.read("name", name);
    fields.read("base", base);
    const auto taken = [&name](const nic_profile& other) { return other.name == name; };
    if (name.empty()) fields.refuse(node, "a profile needs a name");
    if (std::ranges::any_of(builtin_profiles(), taken) || std::ranges::any_of(earlier, taken))
        fields.refuse(fields.node_of("name"), "there is a profile '" + name + "' already");

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
    const YAML::Node root = YAML::Load(yaml);
    if (!root.IsMap() || !root["profiles"] || !root["profiles"].IsSequence())
        return fail(EINVAL, origin + ":1",
                    "the file must hold a list of profiles: 'profiles: [...]'");
    for (const auto& field : root)
        if (field.first.Scalar() != "profiles")
            return fail(
                EINVAL, origin + ":" + std::to_string(field.first.Mark().line + 1),
                "the file holds 'profiles' and nothing else, not '" + field.first.Scalar() + "'");
    std::vector<nic_profile> profiles;
    for (const auto& node : root["profiles"])
        profiles.push_back(read_profile(node, origin, profiles));
    if (profiles.empty()) return fail(EINVAL, origin, "the list of profiles is empty");
    return profiles;
} catch (const refused& refusal) {
    return tl::unexpected<error>(refusal.why);
} catch (const YAML::Exception& malformed) {
    return fail(EINVAL, origin + ":" + std::to_string(malformed.mark.line + 1),
                "this is not YAML: " + malformed.msg);
}

result<std::vector<nic_profile>> load_profiles(const std::filesystem::path& file) {
    std::error_code ignored;
    const bool is_folder = std::filesystem::is_directory(file, ignored);
    errno = 0;
    std::ifstream in(file);
    if (!in || is_folder)
        return fail(is_folder ? EISDIR : errno, file.string(), "cannot read the profiles");
    std::ostringstream text;
    text << in.rdbuf();
    return parse_profiles(text.str(), file.string());
}

}  // namespace turnpike::pcie
