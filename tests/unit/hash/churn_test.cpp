// SPDX-License-Identifier: BSD-3-Clause
// Readers beside the writer, also under TSan: every hit has a value of its own key, no older than the
// last one that was shown; a key that is there all the while is found, whatever moves, goes, comes and
// grows. Quiescence is counted here, without DPDK, so that TSan sees all of it.
#include <atomic>
#include <chrono>
#include <thread>

#include "family.hpp"
#include "lib/epochs.hpp"
#include "lib/sanitized.hpp"

namespace turnpike::hash::test {
namespace {

constexpr unsigned reader_count = 2;

/// Keys 0 to `lasting` stay, the rest come and go. A value is number << 12 | version.
template <class Key, class Value>
class churn {
  public:
    struct plan {
        config made;
        uint32_t keys, lasting;
        std::chrono::milliseconds time;
    };

    void run(plan p) {
        p.made.defer_free = domain_.hook();
        p.made.keys = secret::of(11);
        table_ = *table<Key, Value>::create(p.made);
        keys_ = p.keys;
        lasting_ = p.lasting;
        newest_ = std::vector<std::atomic<uint32_t>>(keys_);
        for (uint32_t n = 0; n < lasting_; ++n) put(n);
        std::vector<std::thread> readers;
        for (unsigned id = 0; id < reader_count; ++id)
            readers.emplace_back([this, id] { read(id); });
        write(std::chrono::steady_clock::now() + p.time);
        stop_.store(true);
        for (auto& r : readers) r.join();
        domain_.reclaim();
        EXPECT_EQ(domain_.pending(), 0U);
        EXPECT_EQ(wrong_.load(), 0U);
        EXPECT_EQ(missed_.load(), 0U);
        EXPECT_GT(answers_.load(), 0U);
    }
    statistics stats() const { return table_->stats(); }

  private:
    static constexpr uint32_t versions = 1 << 12;
    static Value value_of(uint32_t number, uint32_t version) {
        return static_cast<Value>(number << 12 | (version & (versions - 1)));
    }

    void put(uint32_t n) {
        const uint32_t version = newest_[n].load() + 1;
        newest_[n].store(version);
        const auto done = table_->put(numbered<Key>(n), value_of(n, version));
        if (!done) ADD_FAILURE() << done.error().message();
    }

    void write(std::chrono::steady_clock::time_point end) {
        std::mt19937 random(1);
        uint32_t reach = lasting_ + 1;  // keys that come and go: more and more of them
        for (uint64_t n = 0; !::testing::Test::HasFailure(); ++n) {
            if (n % 256 == 0 && std::chrono::steady_clock::now() >= end && answers_.load() > 1000)
                break;
            reach = std::min(keys_, reach + (n % 2 == 0));
            const auto k = static_cast<uint32_t>(random() % reach);
            if (k < lasting_ || random() % 8 < 5)
                put(k);
            else
                table_->erase(numbered<Key>(k));
            if (n % 16 == 0) domain_.reclaim();
        }
    }

    void read(unsigned id) {
        std::mt19937 random(100 + id);
        std::array<uint32_t, 48> number;
        std::array<Key, 48> keys;
        std::array<Value, 48> values;
        std::array<uint32_t, 48> before;
        while (!stop_.load()) {
            for (size_t i = 0; i < keys.size(); ++i) {
                number[i] = static_cast<uint32_t>(random() % (i % 2 == 0 ? lasting_ : keys_));
                keys[i] = numbered<Key>(number[i]);
                before[i] = newest_[number[i]].load();
            }
            const uint64_t hits = table_->lookup(keys, values);
            for (size_t i = 0; i < keys.size(); ++i) {
                if ((hits >> i & 1) == 0) {
                    missed_ += number[i] < lasting_;
                    wrong_ += values[i] != 0;
                    continue;
                }
                // A version is announced before it is shown, and shown before the next is announced.
                const auto least = before[i] - 1;
                const auto seen = static_cast<uint32_t>(values[i]) - least;
                wrong_ += values[i] >> 12 != number[i] ||
                          seen % versions > newest_[number[i]].load() - least;
            }
            answers_ += keys.size();
            domain_.quiescent(id);
        }
        domain_.leave(id);
    }

    turnpike::test::epochs<reader_count> domain_;  // before the table: it outlives it
    std::unique_ptr<table<Key, Value>> table_;
    std::vector<std::atomic<uint32_t>> newest_;
    std::atomic<bool> stop_{false};
    std::atomic<uint64_t> wrong_{0}, missed_{0}, answers_{0};
    uint32_t keys_ = 0, lasting_ = 0;
};

constexpr std::chrono::milliseconds a_while{turnpike::test::sanitized ? 300 : 200};

/// Four buckets, where every slot is reused for another key a moment later.
template <class Key, class Value>
void few() {
    churn<Key, Value> c;
    c.run({{.max_entries = 60}, 60, 3, a_while});
}
TEST(exact_churn, a_few_slots_change_hands) {
#define CALL(Key, Value) few<Key, Value>()
    FOR_ALL_SHAPES(CALL)
#undef CALL
}

/// Growth from an empty table to several regions; erased keys are added again meanwhile.
template <class Key, class Value>
void growing() {
    churn<Key, Value> c;
    c.run({{.max_entries = 100'000},
           turnpike::test::sanitized ? 30'000U : 60'000U,
           100,
           2 * a_while});
    EXPECT_GE(c.stats().growths, 4U);
}
TEST(exact_churn, a_growing_table) {
#define CALL(Key, Value) growing<Key, Value>()
    FOR_ALL_SHAPES(CALL)
#undef CALL
}

/// The table is filled to its limit, so that most insertions displace entries.
template <class Key, class Value>
void full() {
    churn<Key, Value> c;
    c.run({{.max_entries = 1200, .expected_entries = 650}, 1200, 500, a_while});
}
TEST(exact_churn, a_full_table) {
#define CALL(Key, Value) full<Key, Value>()
    FOR_ALL_SHAPES(CALL)
#undef CALL
}

}  // namespace
}  // namespace turnpike::hash::test
