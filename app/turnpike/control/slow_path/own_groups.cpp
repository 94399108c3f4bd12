// SPDX-License-Identifier: BSD-3-Clause
#include "control/slow_path/own_groups.hpp"

#include <algorithm>
#include <array>

#include "observe/console.hpp"
#include "packet/ipv6.hpp"
#include "packet/nd.hpp"

namespace turnpike::control::slow_path {

using datapath::interface;

namespace {

constexpr uint64_t retransmit_ms =
    1000;  // RetransTimer (RFC 4861 section 10); one probe (RFC 4862 5.1)
constexpr uint64_t report_again_ms = 1000;  // Unsolicited Report Interval (RFC 3810 section 9.11)
// Older Version Querier Present Timeout (RFC 3810 section 9.12): 2 x 125 s + 10 s by its defaults.
constexpr uint64_t version_1_ms = 260'000;

}  // namespace

void own_groups::begin(uint16_t place) {
    forget(place);
    const interface& on = tools_.interface(place);
    if (on.addresses == nullptr) return;
    for (const ipv6_address& a : on.addresses->v6)
        tentative_[{place, a}] = tools_.now_ms + retransmit_ms;
    report(place, false);  // before the first probe: RFC 4862 section 5.4.2
    for (const ipv6_address& a : on.addresses->v6) probe(place, a);
    due_[place] = {tools_.now_ms + report_again_ms, false};
}

void own_groups::forget(uint16_t place) noexcept {
    std::erase_if(tentative_, [&](const auto& t) { return t.first.first == place; });
    std::erase_if(duplicates_, [&](const key& k) { return k.first == place; });
    due_.erase(place);
    version_1_.erase(place);
}

void own_groups::forget_gone() noexcept {
    const auto gone = [&](uint16_t place) { return tools_.interface(place).addresses == nullptr; };
    std::erase_if(tentative_, [&](const auto& t) { return gone(t.first.first); });
    std::erase_if(duplicates_, [&](const key& k) { return gone(k.first); });
    std::erase_if(due_, [&](const auto& d) { return gone(d.first); });
    std::erase_if(version_1_, [&](const auto& d) { return gone(d.first); });
}

void own_groups::tick() {
    for (auto at = tentative_.begin(); at != tentative_.end();) {
        if (at->second > tools_.now_ms) {
            ++at;
            continue;
        }
        advertise(at->first.first, at->first.second);
        at = tentative_.erase(at);
    }
    for (auto at = due_.begin(); at != due_.end();) {
        if (at->second.at_ms > tools_.now_ms) {
            ++at;
            continue;
        }
        report(at->first, at->second.asked);
        at = due_.erase(at);
    }
}

bool own_groups::is_tentative(uint16_t place, const ipv6_address& a) const noexcept {
    return tentative_.contains({place, a});
}

bool own_groups::any_tentative(uint16_t place) const noexcept {
    return std::any_of(tentative_.begin(), tentative_.end(),
                       [&](const auto& t) { return t.first.first == place; });
}

bool own_groups::is_duplicate(uint16_t place, const ipv6_address& a) const noexcept {
    return duplicates_.contains({place, a});
}

bool own_groups::is_duplicate(const ipv6_address& a, uint16_t in) const noexcept {
    if (packet::is_link_local(a)) return is_duplicate(in, a);
    return std::any_of(duplicates_.begin(), duplicates_.end(),
                       [&](const key& k) { return k.second == a; });
}

void own_groups::claimed(uint16_t place, const ipv6_address& a, const mac_address& by) {
    if (by == tools_.interface(place).mac || tentative_.erase({place, a}) == 0) return;
    duplicates_.insert({place, a});
    const std::string address = ip_address::from_v6(a).text();
    observe::log(observe::log_level::error,
                 "address " + address + " is used by " + by.text() +
                     " already: it is not used until its link goes down and up again",
                 {{"what", "duplicate"}, {"address", address}, {"mac", by.text()}});
}

/// RFC 3810 section 6.2: at a random time within what the router said. One that is due earlier does.
void own_groups::queried(uint16_t place, const packet::mld_query& query) {
    if (query.version == 1) version_1_[place] = tools_.now_ms + version_1_ms;
    const uint64_t at =
        tools_.now_ms + std::uniform_int_distribution<uint32_t>{0, query.max_response_ms}(random_);
    due_report& due = due_.try_emplace(place, due_report{at, true}).first->second;
    due.at_ms = std::min(due.at_ms, at);
}

void own_groups::report(uint16_t place, bool asked) {
    const interface& on = tools_.interface(place);
    if (on.addresses == nullptr) return;
    // RFC 3810 section 5.2.13, RFC 3590: from no address while the link-local one is not ours.
    const ipv6_address& near = on.addresses->v6.front();
    const bool ours = !is_tentative(place, near) && !is_duplicate(place, near);
    const packet::nd_host us{on.mac, ours ? near : packet::ipv6_unspecified};
    const auto older = version_1_.find(place);
    if (older != version_1_.end() && older->second > tools_.now_ms)
        report_1(on, us);
    else
        report_2(on, us, asked);
}

void own_groups::report_1(const interface& on, const packet::nd_host& us) {
    std::array<uint8_t, packet::mld1_report_bytes> frame;
    for (const ipv6_address& group : on.addresses->v6_groups) {
        if (group == packet::ipv6_all_nodes) continue;  // RFC 2710 section 5
        const uint32_t bytes = packet::write_mld1_report(frame, us, group);
        tools_.out.originate_and_send(on.out(), std::span(frame).first(bytes));
    }
}

void own_groups::report_2(const interface& on, const packet::nd_host& us, bool asked) {
    std::array<uint8_t, packet::mld_report_bytes(packet::mld_groups_max)> frame;
    std::vector<ipv6_address> groups = on.addresses->v6_groups;
    std::erase(groups, packet::ipv6_all_nodes);  // RFC 3810 section 6: never reported
    for (std::span<const ipv6_address> left = groups; !left.empty();) {
        const auto some = left.first(std::min(left.size(), packet::mld_groups_max));
        const uint32_t bytes = packet::write_mld_report(
            frame, us, some,
            asked ? packet::mld_record::is_exclude : packet::mld_record::to_exclude);
        tools_.out.originate_and_send(on.out(), std::span(frame).first(bytes));
        left = left.subspan(some.size());
    }
}

void own_groups::probe(uint16_t place, const ipv6_address& a) {
    const interface& on = tools_.interface(place);
    std::array<uint8_t, packet::nd_frame_bytes> frame;
    const uint32_t bytes =
        packet::write_neighbour_solicitation(frame, {on.mac, packet::ipv6_unspecified}, a);
    tools_.out.originate_and_send(on.out(), std::span(frame).first(bytes));
}

/// Ours alone: whoever knew the address by another MAC address is told (RFC 4429 section 3.3).
void own_groups::advertise(uint16_t place, const ipv6_address& a) {
    const interface& on = tools_.interface(place);
    if (on.addresses == nullptr) return;
    std::array<uint8_t, packet::nd_frame_bytes> frame;
    const uint32_t bytes = packet::write_neighbour_advertisement(
        frame, {on.mac, a}, {broadcast_mac, packet::ipv6_unspecified},
        packet::nd_flag_router | packet::nd_flag_override);
    tools_.out.originate_and_send(on.out(), std::span(frame).first(bytes));
}

}  // namespace turnpike::control::slow_path
