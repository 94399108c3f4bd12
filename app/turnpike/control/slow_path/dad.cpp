// SPDX-License-Identifier: BSD-3-Clause
#include "control/slow_path/dad.hpp"

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

}  // namespace

void dad::begin(uint16_t ifindex, std::span<const ipv6_address> had) {
    const interface& on = context_.interface(ifindex);
    if (on.addresses == nullptr) return forget(ifindex);
    const auto& has = on.addresses->v6;
    const auto stays = [&](const ipv6_address& a) {
        return std::ranges::find(had, a) != had.end() && std::ranges::find(has, a) != has.end();
    };
    std::erase_if(tentative_, [&](const auto& t) {
        return t.first.first == ifindex && !stays(t.first.second);
    });
    std::erase_if(duplicates_,
                  [&](const key& k) { return k.first == ifindex && !stays(k.second); });
    if (had.empty()) reports_.forget(ifindex);
    const auto is_detected = [&](const ipv6_address& a) {
        return std::ranges::find(on.addresses->no_dad, a) == on.addresses->no_dad.end();
    };
    for (const ipv6_address& a : has)
        if (!stays(a) && is_detected(a)) tentative_[{ifindex, a}] = context_.now_ms + retransmit_ms;
    reports_.begin(ifindex);  // before the first probe: RFC 4862 section 5.4.2
    for (const ipv6_address& a : has)
        if (!stays(a)) is_detected(a) ? probe(ifindex, a) : advertise(ifindex, a);
}

void dad::forget(uint16_t ifindex) noexcept {
    std::erase_if(tentative_, [&](const auto& t) { return t.first.first == ifindex; });
    std::erase_if(duplicates_, [&](const key& k) { return k.first == ifindex; });
    reports_.forget(ifindex);
}

void dad::forget_gone() noexcept {
    const auto gone = [&](uint16_t ifindex) {
        return context_.interface(ifindex).addresses == nullptr;
    };
    std::erase_if(tentative_, [&](const auto& t) { return gone(t.first.first); });
    std::erase_if(duplicates_, [&](const key& k) { return gone(k.first); });
    reports_.forget_gone();
}

void dad::tick() {
    for (auto at = tentative_.begin(); at != tentative_.end();) {
        if (at->second > context_.now_ms) {
            ++at;
            continue;
        }
        advertise(at->first.first, at->first.second);
        at = tentative_.erase(at);
    }
    reports_.tick();
}

bool dad::is_tentative(uint16_t ifindex, const ipv6_address& a) const noexcept {
    return tentative_.contains({ifindex, a});
}

bool dad::any_tentative(uint16_t ifindex) const noexcept {
    return std::any_of(tentative_.begin(), tentative_.end(),
                       [&](const auto& t) { return t.first.first == ifindex; });
}

bool dad::is_duplicate(uint16_t ifindex, const ipv6_address& a) const noexcept {
    return duplicates_.contains({ifindex, a});
}

bool dad::is_duplicate(const ipv6_address& a, uint16_t in) const noexcept {
    if (packet::is_link_local(a)) return is_duplicate(in, a);
    const auto vrf = context_.interface(in).vrf;
    return std::any_of(duplicates_.begin(), duplicates_.end(), [&](const key& k) {
        return k.second == a && context_.interface(k.first).vrf == vrf;
    });
}

void dad::claimed(uint16_t ifindex, const ipv6_address& a, const mac_address& by) {
    if (context_.interface(ifindex).answers_to(by) || tentative_.erase({ifindex, a}) == 0) return;
    duplicates_.insert({ifindex, a});
    const std::string address = ip_address::from_v6(a).text();
    observe::log(observe::log_level::error,
                 "address " + address + " is used by " + by.text() +
                     " already: it is not used until its link goes down and up again",
                 {{"what", "duplicate"}, {"address", address}, {"mac", by.text()}});
}

void dad::queried(uint16_t ifindex, const packet::mld_query& query) {
    const auto group = query.group == packet::ipv6_unspecified
                           ? std::nullopt
                           : std::optional(ip_address::from_v6(query.group));
    reports_.queried(ifindex, {query.version, query.max_response_ms, group});
}

void dad::probe(uint16_t ifindex, const ipv6_address& a) {
    const interface& on = context_.interface(ifindex);
    std::array<uint8_t, packet::nd_frame_bytes> frame;
    const uint32_t bytes =
        packet::write_neighbour_solicitation(frame, {on.mac, packet::ipv6_unspecified}, a);
    context_.out.originate_and_send(on.out(), std::span(frame).first(bytes));
}

/// The address is ours: update the caches of other nodes (RFC 4429 section 3.3).
void dad::advertise(uint16_t ifindex, const ipv6_address& a) {
    const interface& on = context_.interface(ifindex);
    if (on.addresses == nullptr) return;
    std::array<uint8_t, packet::nd_frame_bytes> frame;
    const uint32_t bytes = packet::write_neighbour_advertisement(
        frame, {on.mac, a}, {broadcast_mac, packet::ipv6_unspecified},
        packet::nd_flag_router | packet::nd_flag_override);
    context_.out.originate_and_send(on.out(), std::span(frame).first(bytes));
}

}  // namespace turnpike::control::slow_path
