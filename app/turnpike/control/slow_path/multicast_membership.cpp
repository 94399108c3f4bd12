// SPDX-License-Identifier: BSD-3-Clause
#include "control/slow_path/multicast_membership.hpp"

#include <algorithm>

namespace turnpike::control::slow_path {

using packet::group_record;

namespace {

// Unsolicited Report Interval, and Robustness Variable 2 (RFC 3376 section 8, RFC 3810 section 9).
constexpr uint64_t report_again_ms = 1000;
// Older Version Querier Present Timeout (RFC 3376 section 8.12, RFC 3810 section 9.12): 2 x 125 s +
// 10 s by its defaults.
constexpr uint64_t older_version_ms = 260'000;

}  // namespace

void multicast_membership::begin(uint16_t ifindex) {
    report(ifindex, group_record::to_exclude, newest_);
    due_[{ifindex, std::nullopt}] = {context_.now_ms + report_again_ms, group_record::to_exclude,
                                     newest_};
}

void multicast_membership::forget(uint16_t ifindex) noexcept {
    std::erase_if(due_, [&](const auto& d) { return d.first.first == ifindex; });
    std::erase_if(older_, [&](const auto& o) { return o.first.first == ifindex; });
}

void multicast_membership::forget_gone() noexcept {
    const auto gone = [&](const auto& of) {
        return context_.interface(of.first.first).addresses == nullptr;
    };
    std::erase_if(due_, gone);
    std::erase_if(older_, gone);
}

void multicast_membership::tick() {
    for (auto at = due_.begin(); at != due_.end();) {
        const auto& [ifindex, group] = at->first;
        const due_report& due = at->second;
        if (due.at_ms > context_.now_ms) {
            ++at;
            continue;
        }
        if (!group)
            report(ifindex, due.kind, due.version);
        else if (is_in(ifindex, *group) == (due.kind != group_record::to_include))
            send(ifindex, std::min(version_of(ifindex), due.version), {&*group, 1}, due.kind);
        at = due_.erase(at);
    }
}

void multicast_membership::joined(uint16_t ifindex, const ip_address& group) {
    if (is_in(ifindex, group)) send_twice(ifindex, group, group_record::to_exclude);
}

void multicast_membership::left(uint16_t ifindex, const ip_address& group) {
    if (context_.interface(ifindex).addresses != nullptr && !is_in(ifindex, group))
        send_twice(ifindex, group, group_record::to_include);
}

void multicast_membership::send_twice(uint16_t ifindex, const ip_address& group,
                                      group_record kind) {
    send(ifindex, version_of(ifindex), {&group, 1}, kind);
    due_[{ifindex, group}] = {context_.now_ms + report_again_ms, kind, newest_};
}

/// RFC 3376 section 5.2, RFC 3810 section 6.2: report at a random time within the maximum response
/// time, unless a report is due earlier. A group-and-source query is answered for the group, which
/// includes its sources. A querier with an address of another network (a switch's management address) is
/// answered in its version, but only one of the link sets the version of later reports (RFC 3376 section 9.1).
void multicast_membership::queried(uint16_t ifindex, const group_query& q) {
    if (!q.group && q.version < newest_ && q.of_link)
        older_[{ifindex, q.version}] = context_.now_ms + older_version_ms;
    if (q.group && !is_in(ifindex, *q.group)) return;
    const uint64_t at =
        context_.now_ms + std::uniform_int_distribution<uint32_t>{0, q.max_response_ms}(random_);
    due_report& due =
        due_.try_emplace({ifindex, q.group}, due_report{at, group_record::is_exclude, q.version})
            .first->second;
    due.at_ms = std::min(due.at_ms, at);
    due.version = std::min(due.version, q.version);
}

bool multicast_membership::is_in(uint16_t ifindex, const ip_address& group) const {
    const datapath::interface& on = context_.interface(ifindex);
    if (on.addresses == nullptr) return false;
    const auto groups = groups_of(on);
    return std::find(groups.begin(), groups.end(), group) != groups.end();
}

unsigned multicast_membership::version_of(uint16_t ifindex) const noexcept {
    for (unsigned version = 1; version < newest_; ++version) {
        const auto older = older_.find({ifindex, version});
        if (older != older_.end() && older->second > context_.now_ms) return version;
    }
    return newest_;
}

void multicast_membership::report(uint16_t ifindex, group_record kind, unsigned version) {
    const datapath::interface& on = context_.interface(ifindex);
    if (on.addresses == nullptr) return;
    if (const auto groups = groups_of(on); !groups.empty())
        send(ifindex, std::min(version_of(ifindex), version), groups, kind);
}

}  // namespace turnpike::control::slow_path
