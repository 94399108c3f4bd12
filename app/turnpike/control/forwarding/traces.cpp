// SPDX-License-Identifier: BSD-3-Clause
#include "control/forwarding/traces.hpp"

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>

#include "control/controller.hpp"
#include "control/forwarding/ring_compat.hpp"
#include "eal/simd_bitwidth.hpp"

namespace turnpike::control {

using datapath::packet_trace;

void traces::begin(const datapath::trace_filter& filter) {
    std::vector<std::unique_ptr<datapath::trace_buffer>> next;
    auto drops = filter.packets == 0 ? nullptr : std::make_unique<datapath::trace_buffer>(filter);
    if (filter.packets != 0)
        for (size_t w = 0; w < workers_.all().size(); ++w)
            next.push_back(std::make_unique<datapath::trace_buffer>(filter));
    for (size_t w = 0; w < workers_.all().size(); ++w)
        workers_.all()[w]->worker.trace_in(w < next.size() ? next[w].get() : nullptr);
    rcu_.synchronize();
    buffers_ = std::move(next);
    control_tx_.trace_drops_in(drops.get());
    drops_ = std::move(drops);
    requested_ = filter.packets;
}

std::vector<traces::found> traces::written() const {
    std::vector<found> all;
    for (size_t w = 0; w < buffers_.size(); ++w)
        for (const packet_trace& t : buffers_[w]->written())
            all.push_back({workers_.all()[w]->worker.parts().lcore, false, &t});
    if (drops_ != nullptr)
        for (const packet_trace& t : drops_->written())
            all.push_back({rte_get_main_lcore(), true, &t});
    std::stable_sort(all.begin(), all.end(),
                     [](const found& a, const found& b) { return a.trace->tsc < b.trace->tsc; });
    if (all.size() > requested_) all.resize(requested_);
    return all;
}

namespace {

/// A worker's context for one synthetic packet: separate counters and caches, and unconnected
/// rings.
class dry_run_worker {
  public:
    /// Errors  ENOMEM
    [[nodiscard]] static result<std::unique_ptr<dry_run_worker>> of(const datapath::snapshot& now) {
        rte_ring* learnt = create_ring_of("explain", sizeof(datapath::learnt_fdb_entry), 8,
                                          SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
        if (learnt == nullptr) return fail(rte_errno, "explain", "no memory for the ring");
        std::unique_ptr<rte_ring, workers::free_ring> ring(learnt);
        const auto find = tunnel::choose_find(eal::max_simd_bitwidth());
        if (!find) return tl::unexpected<error>(find.error());
        return std::unique_ptr<dry_run_worker>(new dry_run_worker(now, std::move(ring), *find));
    }

    std::unique_ptr<datapath::explanation> walk(rte_mbuf* m, const datapath::rx_queue& from) {
        context_.now = rte_rdtsc();
        explanation_->begin(context_.now, from, m);
        context_.traced = explanation_.get();
        context_.table = datapath::decision_table.data();
        burst_.begin(1, from.port);
        burst_.packet[0] = m;
        datapath::dispatch(context_.table, context_, burst_,
                           enqueue(burst_, 1, datapath::stage::rx),
                           [](size_t, datapath::packet_mask) {});
        return std::move(explanation_);
    }

  private:
    dry_run_worker(const datapath::snapshot& now,
                   std::unique_ptr<rte_ring, workers::free_ring> learnt, const tunnel::finder* find)
        : learnt_(std::move(learnt)),
          bridge_state_(learnt_.get()),
          tunnel_state_(find),
          snapshot_(now) {
        watch_lists();
        snapshot_.sampling = nullptr;
        context_.is_dry_run = true;
        context_.snapshot = &snapshot_;
        context_.bridge_state = &bridge_state_;
        context_.tunnel_state = &tunnel_state_;
    }
    /// Bind each list anew, with separate counters.
    void watch_lists() {
        std::vector<std::pair<const datapath::bound_acl**, size_t>> bound;
        for (datapath::interface& i : snapshot_.interfaces)
            for (size_t k = 0; k < std::size(state::acl_bindings); ++k)
                if (const datapath::bound_acl*& list = list_at(state::acl_bindings[k], i);
                    list != nullptr) {
                    bound.emplace_back(&list, explanation_->lists.size());
                    explanation_->lists.push_back({.ifindex = i.ifindex,
                                                   .out = state::acl_bindings[k].out,
                                                   .l2 = state::acl_bindings[k].l2,
                                                   .direction = state::acl_bindings[k].name,
                                                   .bound = {.list = list->list, .counters = {}}});
                }
        for (datapath::watched_acl& w : explanation_->lists)
            w.bound.counters.push_back(
                std::make_unique<datapath::acl_counter[]>(w.bound.list->id_limit()));
        for (const auto& [list, index] : bound) *list = &explanation_->lists[index].bound;
    }
    static const datapath::bound_acl*& list_at(const state::acl_binding& where,
                                               datapath::interface& on) {
        if (where.l2) return where.out ? on.l2_out : on.l2_in;
        return where.out ? on.acl_out : on.acl_in;
    }

    std::unique_ptr<rte_ring, workers::free_ring> learnt_;
    datapath::bridge_worker_state bridge_state_;
    datapath::tunnel_worker_state tunnel_state_;
    datapath::snapshot snapshot_;
    std::unique_ptr<datapath::explanation> explanation_ = std::make_unique<datapath::explanation>();
    datapath::context context_;
    datapath::burst burst_;
};

}  // namespace

result<std::unique_ptr<datapath::explanation>> explain(controller& c, uint16_t port,
                                                       std::span<const uint8_t> frame) {
    auto one = dry_run_worker::of(c.snapshot());
    if (!one) return tl::unexpected<error>(one.error());
    rte_mbuf* const m = rte_pktmbuf_alloc(c.pool());
    if (m == nullptr) return fail(ENOMEM, "explain", "the packet pool is empty");
    char* const room = frame.size() > UINT16_MAX
                           ? nullptr
                           : rte_pktmbuf_append(m, static_cast<uint16_t>(frame.size()));
    if (room == nullptr) {
        const unsigned most = rte_pktmbuf_tailroom(m);
        rte_pktmbuf_free(m);
        return fail(
            EINVAL, "bytes",
            "the frame is longer than a packet's buffer, " + std::to_string(most) + " bytes");
    }
    std::memcpy(room, frame.data(), frame.size());
    m->port = c.snapshot().port[port].ethdev_id;
    return (*one)->walk(m, {.port = port, .queue_id = 0});
}

}  // namespace turnpike::control
