// SPDX-License-Identifier: BSD-3-Clause
// Addresses before trials: the tester resolves its gateways, and the device learns from frames of each flow.
#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>

#include "test_bed.hpp"

namespace turnpike::throughput {

result<void> test_bed::resolve_gateways() {
    constexpr unsigned attempts = 25;
    constexpr double wait_s = 0.2;
    for (unsigned i = 0; i < ports_.size(); ++i) {
        if (!run_.ports[i].gateway) continue;
        for (unsigned n = 0; n < attempts && !stations_[i].gateway_mac(); ++n) {
            if (stop_)
                return fail(ECANCELED, ports_[i].name(), "stopped while it resolved its gateway");
            if (rte_mbuf* m = rte_pktmbuf_alloc(pool_); m != nullptr) {
                auto* at = reinterpret_cast<uint8_t*>(rte_pktmbuf_append(m, max_reply_bytes));
                std::memset(at, 0, max_reply_bytes);  // padding
                const uint32_t bytes = stations_[i].write_request({at, max_reply_bytes});
                rte_pktmbuf_trim(m, static_cast<uint16_t>(max_reply_bytes - std::max(bytes, 60u)));
                if (rte_eth_tx_burst(ports_[i].id(), 0, &m, 1) != 1) rte_pktmbuf_free(m);
            }
            const uint64_t end = rte_rdtsc() + static_cast<uint64_t>(wait_s * hz_);
            while (rte_rdtsc() < end && !stations_[i].gateway_mac())
                for (unsigned p = 0; p < ports_.size(); ++p) poll(p);
        }
        if (!stations_[i].gateway_mac())
            return fail(ETIMEDOUT, run_.ports[i].where,
                        fmt::format("port '{}': its gateway {} did not answer within 5 s",
                                    ports_[i].name(), run_.ports[i].gateway->text()));
    }
    return {};
}

result<void> test_bed::learn_if_due() {
    if (learning_fps_ <= 0) return {};
    if (learning_end_ && static_cast<double>(rte_rdtsc() - *learning_end_) < run_.relearn_s * hz_)
        return {};
    if (auto up = check_or_wait_for_links(); !up) return up;
    return learn();
}

result<void> test_bed::learn() {
    trial_ = 0;
    refused_are_lost_ = false;
    std::vector<sender> senders;
    for (unsigned i = 0; i < ports_.size(); ++i)
        senders.push_back({.port = i,
                           .times = {.first = run_.traffic.flows,
                                     .total = run_.traffic.flows,
                                     .interval = hz_ / learning_fps_}});
    const double time = static_cast<double>(run_.traffic.flows) / learning_fps_;
    learned_ = 0;
    const bool sent = send_all(senders, rte_rdtsc() + static_cast<uint64_t>(hz_ * (1 + 2 * time)));
    expected_ = 0;
    for (const sender& s : senders) expected_ += s.next;
    if (!sent || !wait_for_frames()) return fail(ECANCELED, "learning frames", "stopped");
    learning_end_ = rte_rdtsc();
    return check_or_wait_for_links();
}

}  // namespace turnpike::throughput
