// SPDX-License-Identifier: BSD-3-Clause
// Assignment of RX and TX queues to workers, and their hand-over by way of no worker.
#include "control/forwarding/queues.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace turnpike::control {
namespace {

using datapath::rx_queue, datapath::worker_queues;
using testing::Test;

/// Plans one after the other, each from the snapshot that the one before made.
class queues : public Test {
  protected:
    struct port_plan {
        std::string name;
        uint16_t rx_queues = 1;
        std::vector<unsigned> rx_workers{};
        uint16_t tx_queues = 8;
        int node = -1;
    };
    /// Workers are lcores 1, 2...; which of them forward. All may send by all ports.
    result<std::vector<worker_queues>> plan(const std::vector<bool>& forward,
                                            const std::vector<port_plan>& ports) {
        std::vector<transaction::worker> workers;
        for (unsigned w = 0; w < forward.size(); ++w)
            workers.push_back({w + 1, forward[w], w < nodes_.size() ? nodes_[w] : -1});
        std::vector<state::port> says(ports.size());
        std::vector<queue_plan::port> all;
        for (uint16_t p = 0; p < ports.size(); ++p) {
            says[p].rx_queues = ports[p].rx_queues;
            says[p].rx_workers = ports[p].rx_workers;
            all.push_back({ports[p].name, p, &says[p], ports[p].node});
        }
        queue_plan q(workers, running_.get(), forward != forward_ && running_ != nullptr);
        if (auto done = q.share_rx(all); !done) return tl::unexpected<error>(done.error());
        for (uint16_t p = 0; p < ports.size(); ++p)
            if (auto done = q.share_tx(all[p], ports[p].tx_queues,
                                       q.senders([&](uint16_t from) { return reaches(from, p); }));
                !done)
                return tl::unexpected<error>(done.error());
        between_ = q.hand_over();
        auto next = std::make_unique<datapath::snapshot>();
        next->queues = q.after();
        for (uint16_t p = 0; p < ports.size(); ++p) next->port[p].state = &state_;
        if (running_ != nullptr) before_ = running_->queues;
        running_ = std::move(next);
        forward_ = forward;
        return q.after();
    }
    /// "0.1 2.0, 1.0": port.queue by worker.
    static std::string text(const std::vector<worker_queues>& all) {
        std::string out;
        for (const worker_queues& w : all) {
            out += &w == &all.front() ? "" : ",";
            for (const rx_queue& q : w.rx)
                out += (out.empty() ? "" : " ") + std::to_string(q.port) + "." +
                       std::to_string(q.queue_id);
        }
        return out;
    }
    std::string shared(const std::vector<bool>& forward, const std::vector<port_plan>& ports) {
        const auto made = plan(forward, ports);
        return made ? text(*made) : made.error().message();
    }

    std::function<bool(uint16_t, uint16_t)> reaches = [](uint16_t, uint16_t) { return true; };
    std::unique_ptr<datapath::snapshot> running_;
    std::vector<worker_queues> before_, between_;
    std::vector<bool> forward_;
    std::vector<int> nodes_{};  ///< of workers; none: unknown
    datapath::port_state state_;
};

TEST_F(queues, are_polled_by_turns_and_stay) {
    EXPECT_EQ(shared({true, true}, {{"a", 2}, {"b", 1}}), "0.0 1.0, 0.1");
    EXPECT_EQ(shared({true, true}, {{"a", 2}, {"b", 1}, {"c", 1}}), "0.0 1.0, 0.1 2.0");
    EXPECT_TRUE(between_.empty());
}

TEST_F(queues, are_polled_by_whom_rx_workers_name) {
    EXPECT_EQ(shared({true, true}, {{"a", 3, {2, 1}}, {"b", 1}, {"c", 2, {1}}}),
              "0.1 2.0 2.1, 0.0 0.2 1.0");
    EXPECT_EQ(shared({true, true}, {{"a", 3, {1}}, {"b", 1}, {"c", 2, {1}}}),
              "0.0 0.1 0.2 2.0 2.1, 1.0");
    EXPECT_EQ(text(between_), "0.1 2.0 2.1, 1.0") << "between: a moving queue is no worker's";
    EXPECT_EQ(shared({true, false}, {{"a", 1, {2}}}),
              "port 'a': rx_workers names lcore 2, which is none of the workers");
}

TEST_F(queues, are_polled_on_the_node_of_their_port) {
    nodes_ = {0, 1, 1};
    // The NUMA node of c is unknown, and d's node has no worker: the worker with the fewest queues
    // polls them.
    EXPECT_EQ(shared({true, true, true}, {{.name = "a", .rx_queues = 2, .node = 1},
                                          {.name = "b", .node = 0},
                                          {.name = "c", .rx_queues = 2},
                                          {.name = "d", .node = 2}}),
              "1.0 2.0, 0.0 2.1, 0.1 3.0");
}

TEST_F(queues, come_to_the_node_of_their_port_with_its_first_worker) {
    nodes_ = {0, 1, 1};
    const std::vector<port_plan> ports = {{.name = "a", .rx_queues = 2, .node = 1},
                                          {.name = "b", .rx_queues = 2, .node = 0}};
    EXPECT_EQ(shared({true, false, false}, ports), "0.0 0.1 1.0 1.1,,");
    EXPECT_EQ(shared({true, true, false}, ports), "1.0 1.1, 0.0 0.1,");
    EXPECT_EQ(shared({true, true, true}, ports), "1.0 1.1, 0.1, 0.0");
}

TEST_F(queues, are_evened_out_when_workers_come_and_go) {
    const std::vector<port_plan> ports = {{"a", 2}, {"b", 2}, {"c", 1, {1}}};
    EXPECT_EQ(shared({true}, ports), "2.0 0.0 0.1 1.0 1.1");
    EXPECT_EQ(shared({true, true}, ports), "0.1 1.1 2.0, 0.0 1.0");
    EXPECT_EQ(text(between_), "0.1 1.1 2.0,");
    EXPECT_EQ(shared({true, true, true}, ports), "1.1 2.0, 0.0 1.0, 0.1");
    EXPECT_EQ(shared({true, false, true}, ports), "1.1 2.0 1.0,, 0.1 0.0");
    EXPECT_EQ(shared({true, true, true}, ports), "1.1 2.0, 1.0, 0.0 0.1");
}

/// A worker that needs a TX queue still owned by another worker polls nothing until it owns the
/// queue: received packets could not be sent.
TEST_F(queues, to_send_by_are_waited_for) {
    reaches = [](uint16_t from, uint16_t to) { return to == from + 2 || to + 2 == from; };
    const std::vector<port_plan> ports = {
        {"a", 1, {1}}, {"b", 1, {2}}, {"c", 1, {1}, 1}, {"d", 1, {2}, 1}};
    ASSERT_TRUE(plan({true, true}, ports));
    EXPECT_EQ(running_->queues[0].tx[2], 0);
    EXPECT_EQ(running_->queues[1].tx[2], -1);
    reaches = [](uint16_t from, uint16_t to) { return to == 3 - from; };
    ASSERT_TRUE(plan({true, true}, ports));
    EXPECT_EQ(running_->queues[0].tx[2], -1);
    EXPECT_EQ(running_->queues[1].tx[2], 0);
    EXPECT_EQ(text(between_), ",");
    for (const worker_queues& w : between_) EXPECT_EQ(w.tx[2], -1);
    reaches = [](uint16_t, uint16_t) { return true; };
    const auto refused = plan({true, true}, ports);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EBUSY);
}

/// For any request: no queue has two pollers or two senders, neither in one snapshot nor over two
/// snapshots that workers may have at a time; all queues are polled in the end, and each poller may
/// send.
TEST_F(queues, change_hands_over_nobodys) {
    std::mt19937 random(7);
    const auto below = [&](unsigned n) { return static_cast<uint16_t>(random() % n); };
    const auto owners_differ = [](const std::vector<worker_queues>& a,
                                  const std::vector<worker_queues>& b) {
        for (size_t one = 0; one < a.size(); ++one)
            for (size_t other = 0; other < b.size(); ++other) {
                if (one == other) continue;
                for (const rx_queue& q : a[one].rx)
                    EXPECT_EQ(std::find(b[other].rx.begin(), b[other].rx.end(), q),
                              b[other].rx.end());
                for (size_t p = 0; p < datapath::max_ports; ++p)
                    if (a[one].tx[p] >= 0) {
                        EXPECT_NE(a[one].tx[p], b[other].tx[p]);
                    }
            }
    };
    unsigned handed_over = 0, refused = 0;
    size_t numbers = 1;
    std::vector<port_plan> ports(4);
    for (port_plan& p : ports) p = {"p", 0, {}, static_cast<uint16_t>(1 + below(4))};
    for (port_plan& p : ports) p.rx_queues = static_cast<uint16_t>(1 + below(3));
    for (int turn = 0; turn < 5000; ++turn) {
        numbers = std::min<size_t>(5, numbers + (below(10) == 0 ? 1 : 0));
        std::vector<bool> forward(numbers);
        for (size_t w = 0; w < numbers; ++w) forward[w] = below(2) == 0;
        forward[below(static_cast<unsigned>(numbers))] = true;
        for (port_plan& p : ports) {
            p.rx_workers.clear();
            for (unsigned w = 0; w < numbers; ++w)
                if (forward[w] && below(3) == 0) p.rx_workers.push_back(w + 1);
        }
        if (!plan(forward, ports)) {
            ++refused;
            continue;
        }
        const auto& after = running_->queues;
        owners_differ(after, after);
        if (between_.empty()) {
            owners_differ(before_, after);
        } else {
            ++handed_over;
            owners_differ(before_, between_);
            owners_differ(between_, between_);
            owners_differ(between_, after);
        }
        size_t polled = 0, wanted = 0;
        for (const port_plan& p : ports) wanted += p.rx_queues;
        for (size_t w = 0; w < after.size(); ++w) {
            polled += after[w].rx.size();
            if (!forward[w]) {
                EXPECT_TRUE(after[w].rx.empty());
            }
            for (size_t p = 0; p < ports.size(); ++p) {
                EXPECT_LT(after[w].tx[p], ports[p].tx_queues);
                if (!after[w].rx.empty()) {
                    EXPECT_GE(after[w].tx[p], 0);
                }
                if (w < between_.size() && !between_[w].rx.empty()) {
                    EXPECT_EQ(between_[w].tx[p], after[w].tx[p]);
                }
            }
        }
        EXPECT_EQ(polled, wanted);
        if (HasFailure()) FAIL() << "in turn " << turn;
    }
    EXPECT_GT(handed_over, 200U);
    EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace turnpike::control
