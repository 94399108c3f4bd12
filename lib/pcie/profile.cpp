// SPDX-License-Identifier: BSD-3-Clause
#include "pcie/profile.hpp"

#include <algorithm>
#include <cctype>

#include "pcie/access.hpp"

namespace turnpike::pcie {
namespace {

std::string names_of(std::span<const nic_profile> profiles) {
    std::string names;
    for (const auto& profile : profiles) names += (names.empty() ? "" : ", ") + profile.name;
    return names;
}

/// Reports the first field out of range; later checks have no effect.
class field_checks {
  public:
    explicit field_checks(std::string prefix) : prefix_(std::move(prefix)) {}

    void within(const char* field, double value, double low, double high, const char* unit) {
        if (!failure_.object.empty() || (value >= low && value <= high)) return;
        refuse(field,
               "must be from " + text(low) + " to " + text(high) + unit + ", not " + text(value));
    }
    void require(const char* field, bool good, const char* what) {
        if (failure_.object.empty() && !good) refuse(field, what);
    }
    [[nodiscard]] result<void> outcome() const {
        if (!failure_.object.empty()) return tl::unexpected<error>(failure_);
        return {};
    }

  private:
    static std::string text(double number) {
        std::string digits = std::to_string(number);
        digits.erase(digits.find_last_not_of('0') + 1);
        if (digits.ends_with('.')) digits.pop_back();
        return digits;
    }
    void refuse(const char* field, std::string what) {
        failure_ = {EINVAL, prefix_ + field, std::move(what)};
    }
    std::string prefix_;
    error failure_;
};

void check_write_back(field_checks& check, const write_back& w) {
    if (w.policy == write_back_policy::none) return;
    check.within("write_back.bytes", w.bytes, 1, 256, " bytes");
    check.within("write_back.index_bytes", w.index_bytes, 0, 64, " bytes");
    check.within("write_back.packets", w.packets, 1, 4096, " packets");
    if (w.policy != write_back_policy::by_line) return;
    check.require("write_back.bytes",
                  w.bytes > 0 && w.bytes < line_bytes && line_bytes % w.bytes == 0,
                  "by_line needs entries of which 2 or more fill a 64-byte line exactly");
    check.within("write_back.full_line_share", w.full_line_share, 0, 1, "");
    const uint32_t entries_of_a_line = line_bytes / std::max(1u, w.bytes);
    check.require("write_back.partial_entries",
                  w.partial_entries >= 1 && w.partial_entries < entries_of_a_line,
                  "must be at least 1 and fewer than fill a 64-byte line");
}

result<void> validate(const direction_profile& d, const std::string& name) {
    field_checks check(name + ".");
    check.within("fetch.bytes", d.fetch.bytes, 0, 256, " bytes");
    check.within("fetch.index_bytes", d.fetch.index_bytes, 0, 64, " bytes");
    check.within("fetch.batch", d.fetch.batch, 1, 4096, " descriptors");
    check_write_back(check, d.write_back);
    if (d.doorbell.policy != doorbell_policy::none) {
        const bool may_be_unlimited = d.doorbell.policy == doorbell_policy::per_burst;
        check.within("doorbell.packets", d.doorbell.packets, may_be_unlimited ? 0 : 1, 65536,
                     " packets");
        check.within("doorbell.bytes", d.doorbell.bytes, 1, 64, " bytes");
    }
    check.within("refill_packets", d.refill_packets, 1, 65536, " packets");
    check.within("packets_per_interrupt", d.packets_per_interrupt, 0, 1e9, " packets");
    check.within("packets_per_register_read", d.packets_per_register_read, 0, 1e9, " packets");
    check.within("prefix_bytes", d.prefix_bytes, 0, 256, " bytes");
    return check.outcome();
}

}  // namespace

result<nic_profile> find_profile(std::string_view name, std::span<const nic_profile> among) {
    const auto found = std::ranges::find(among, name, &nic_profile::name);
    if (found == among.end())
        return fail(EINVAL, "profile '" + std::string(name) + "'",
                    "no NIC profile has that name; there are: " + names_of(among));
    return *found;
}

result<nic_profile> find_profile(std::string_view name) {
    return find_profile(name, builtin_profiles());
}

result<nic_profile> profile_for_driver(std::string_view driver,
                                       std::span<const nic_profile> among) {
    const auto found = std::ranges::find_if(among, [driver](const nic_profile& profile) {
        return std::ranges::find(profile.drivers, driver) != profile.drivers.end();
    });
    if (found == among.end())
        return fail(EINVAL, "driver '" + std::string(driver) + "'",
                    "no NIC profile is known for this driver; name one of: " + names_of(among));
    return *found;
}

result<nic_profile> profile_for_driver(std::string_view driver) {
    return profile_for_driver(driver, builtin_profiles());
}

result<void> validate(const nic_profile& profile) {
    field_checks check("");
    const auto fits_a_name = [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
    };
    check.require("name", !profile.name.empty() && std::ranges::all_of(profile.name, fits_a_name),
                  "a profile's name consists of letters, digits, '-', '_' and '.'");
    check.within("ethernet_gbps", profile.ethernet_gbps, 0, 10'000, " Gb/s");
    if (auto good = check.outcome(); !good) return good;
    if (auto good = validate(profile.rx, "rx"); !good) return good;
    return validate(profile.tx, "tx");
}

}  // namespace turnpike::pcie
