// SPDX-License-Identifier: BSD-3-Clause
// The mailbox between an HTTP thread and control, and the pages made of a copy.
#include "observe/mailbox.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "observe/metrics_pages.hpp"
#include "observe/open_metrics.hpp"

namespace turnpike::observe {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

mailbox::copy copy_of(double duration_s, bool page = false) {
    auto out = std::make_shared<scraped>();
    if (page) {
        out->rates = R"({"ports": []})";
        out->changes = R"({"states": [{"by": "me", "what": "apply <script>", "when": 1}]})";
    }
    out->numbers.duration_s = duration_s;
    return out;
}

/// Control in a thread: answers each request with the number of the answer.
class answering_control {
  public:
    explicit answering_control(mailbox& box)
        : thread_([this, &box] {
              while (!stop_.load())
                  if (box.asked())
                      box.publish(copy_of(++answers_, box.page_asked()));
                  else
                      std::this_thread::sleep_for(100us);
          }) {}
    ~answering_control() {
        stop_.store(true);
        thread_.join();
    }
    [[nodiscard]] int answers() const { return answers_; }

  private:
    std::atomic<bool> stop_{false};
    std::atomic<int> answers_{0};
    std::thread thread_;
};

std::atomic<bool> going_on{false};

TEST(metrics_mailbox, control_answers) {
    mailbox box({.patience = 10s, .min_age = 0ms});
    EXPECT_FALSE(box.asked());
    const answering_control control(box);
    for (int i = 1; i <= 3; ++i) {
        const mailbox::copy got = box.ask(going_on);
        ASSERT_NE(got, nullptr);
        EXPECT_EQ(got->numbers.duration_s, i);
    }
}

TEST(metrics_mailbox, a_young_copy_is_served_again) {
    mailbox box({.patience = 10s, .min_age = 60s});
    const answering_control control(box);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(box.ask(going_on)->numbers.duration_s, 1);
    EXPECT_EQ(control.answers(), 1);
}

TEST(metrics_mailbox, what_only_the_page_has_is_collected_for_the_page) {
    mailbox box({.patience = 10s, .min_age = 60s});
    const answering_control control(box);
    EXPECT_FALSE(box.ask(going_on)->is_for_page());
    EXPECT_TRUE(box.ask(going_on, true)->is_for_page()) << "the young copy has no rates";
    EXPECT_TRUE(box.ask(going_on, true)->is_for_page());
    EXPECT_TRUE(box.ask(going_on)->is_for_page()) << "and is served to all";
    EXPECT_EQ(control.answers(), 2);
}

TEST(metrics_mailbox, a_page_that_is_asked_for_while_control_collects_numbers) {
    mailbox box({.patience = 10s, .min_age = 0ms});
    std::thread waiting([&] { EXPECT_TRUE(box.ask(going_on, true)->is_for_page()); });
    while (!box.asked()) std::this_thread::sleep_for(100us);
    box.publish(copy_of(1));  // begun before the page was asked for
    EXPECT_TRUE(box.asked() && box.page_asked());
    box.publish(copy_of(2, true));
    waiting.join();
    EXPECT_FALSE(box.asked() || box.page_asked());
}

TEST(metrics_mailbox, waiters_share_a_copy) {
    mailbox box({.patience = 10s, .min_age = 0ms});
    std::vector<std::thread> waiting;
    std::atomic<int> got{0};
    for (int i = 0; i < 4; ++i)
        waiting.emplace_back([&] { got += box.ask(going_on)->numbers.duration_s == 7; });
    while (!box.asked()) std::this_thread::sleep_for(1ms);
    // One that comes late asks again; all are answered.
    while (got.load() < 4) box.publish(copy_of(7));
    for (std::thread& t : waiting) t.join();
}

TEST(metrics_mailbox, control_that_does_not_answer_is_not_waited_for) {
    mailbox box({.patience = 50ms});
    const auto begun = steady::now();
    EXPECT_EQ(box.ask(going_on), nullptr);
    EXPECT_GE(steady::now() - begun, 50ms);
    EXPECT_LT(steady::now() - begun, 10s);
    EXPECT_EQ(metrics_page({.path = "/metrics"}, box, going_on).status, 503U);
    // Control is back: the next one gets numbers.
    EXPECT_TRUE(box.asked());
    box.publish(copy_of(1));
    EXPECT_FALSE(box.asked());
    EXPECT_EQ(metrics_page({.path = "/metrics"}, box, going_on).status, 200U);
}

TEST(metrics_mailbox, numbers_that_cannot_be_collected_are_refused) {
    mailbox box({.patience = 60s, .min_age = 0ms});
    std::thread control([&] {
        while (!box.asked()) std::this_thread::sleep_for(100us);
        box.publish(nullptr);
    });
    EXPECT_EQ(box.ask(going_on), nullptr);
    control.join();
}

TEST(metrics_mailbox, a_listener_that_closes_ends_the_wait) {
    mailbox box({.patience = 600s});
    std::atomic<bool> stopping{false};
    std::thread waiting([&] { EXPECT_EQ(box.ask(stopping), nullptr); });
    while (!box.asked()) std::this_thread::sleep_for(100us);
    stopping.store(true);
    box.wake();
    waiting.join();
}

TEST(metrics_pages, paths) {
    mailbox box;
    for (const char* path : {"", "/metrics/", "/METRICS", "/../metrics", "/etc/passwd"})
        EXPECT_EQ(metrics_page({.path = path}, box, going_on).status, 404U) << path;
    EXPECT_FALSE(box.asked()) << "a path that does not exist costs control nothing";
    const answering_control control(box);
    EXPECT_EQ(metrics_page({.path = "/metrics"}, box, going_on).status, 200U);
    const http_answer page = metrics_page({.path = "/"}, box, going_on);
    EXPECT_EQ(page.status, 200U);
    EXPECT_EQ(page.type, "text/html; charset=utf-8");
    for (const char* part : {"href=\"/metrics\"", "apply &lt;script&gt;", "http-equiv=\"refresh\""})
        EXPECT_NE(page.body.find(part), std::string::npos) << part << "\n" << page.body;
    EXPECT_EQ(page.body.find("<script"), std::string::npos);
}

TEST(open_metrics, the_format_follows_accept) {
    using enum exposition_format;
    struct row {
        const char* accept;
        exposition_format f;
    };
    // Prometheus 2.42 and 3.0, curl, browsers, and requests at the limits of RFC 9110.
    for (const row& r :
         {row{"", prometheus_0_0_4}, row{"*/*", prometheus_0_0_4},
          row{"application/openmetrics-text;version=1.0.0,application/"
              "openmetrics-text;version=0.0.1;"
              "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
              open_metrics_1_0},
          row{"text/html,application/xhtml+xml,*/*;q=0.8", prometheus_0_0_4},
          row{"application/openmetrics-text;q=0", prometheus_0_0_4},
          row{"application/openmetrics-text;q=0.000,text/plain;q=0", prometheus_0_0_4},
          row{"application/openmetrics-text;q=0.001", open_metrics_1_0},
          row{"text/plain , application/openmetrics-text ; q=1.000", open_metrics_1_0},
          row{"text/plain;q=0.5, application/openmetrics-text;q=0.499", prometheus_0_0_4},
          row{"application/openmetrics-textile", prometheus_0_0_4},
          row{",,;q=,application/openmetrics-text;q=x", prometheus_0_0_4}})
        EXPECT_EQ(format_of(r.accept), r.f) << r.accept;
}

}  // namespace
}  // namespace turnpike::observe
