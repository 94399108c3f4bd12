// SPDX-License-Identifier: BSD-3-Clause
// The list of free objects by itself: order, counts, nothing lost, nothing twice, under any
// concurrent calls. Run under TSan too.
#include "free_list.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace turnpike::cache_aware {
namespace {

constexpr unsigned lcores = 8;

struct aligned_delete {
    void operator()(char* p) const { std::free(p); }
};

/// A list in memory of exactly its size (ASan reports accesses beyond), with objects 1 to n in it.
class list_of {
  public:
    list_of(uint32_t n, bool asymmetric, unsigned of_lcores = lcores) : n_(n) {
        const size_t bytes = (free_list::bytes_for(n, of_lcores) + 63) / 64 * 64;
        memory_.reset(static_cast<char*>(std::aligned_alloc(alignof(free_list), bytes)));
        std::memset(memory_.get(), 0, bytes);
        list_ = free_list::create(memory_.get(), n, of_lcores, asymmetric);
        if (list_ == nullptr) return;
        for (uint32_t i = 0; i < n; ++i) {
            void* object = object_of(i);
            EXPECT_TRUE(list_->put(0, &object, 1));
        }
    }
    static void* object_of(uint32_t i) { return reinterpret_cast<void*>(uintptr_t{i} + 1); }
    static uint32_t index_of(void* o) {
        return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(o) - 1);
    }
    free_list* operator->() { return list_; }
    bool there() const { return list_ != nullptr; }
    uint32_t size() const { return n_; }

    /// Any caller gets all objects, each once, and the list is full again afterwards.
    void expect_whole(unsigned lcore) {
        ASSERT_EQ(list_->count(), n_);
        std::vector<void*> all(n_);
        ASSERT_TRUE(list_->get(lcore, all.data(), n_));
        EXPECT_EQ(list_->count(), 0u);
        void* none = nullptr;
        EXPECT_FALSE(list_->get(lcore, &none, 1));
        std::vector<unsigned> seen(n_);
        for (void* o : all) {
            ASSERT_LT(index_of(o), n_);
            ++seen[index_of(o)];
        }
        EXPECT_EQ(std::count(seen.begin(), seen.end(), 1u), n_);
        ASSERT_TRUE(list_->put(lcore, all.data(), n_));
        EXPECT_EQ(list_->count(), n_);
    }

  private:
    uint32_t n_;
    std::unique_ptr<char, aligned_delete> memory_;
    free_list* list_;
};

class free_lists : public ::testing::TestWithParam<bool> {};

TEST_P(free_lists, of_any_size_are_whole_from_any_lcore_or_none) {
    for (const uint32_t n : {1u, 2u, 7u, 8u, 9u, 63u, 64u, 511u, 1024u, 4097u, 16384u}) {
        list_of list(n, GetParam());
        for (const unsigned lcore : {0u, 1u, 7u, free_list::no_lcore, 3u}) list.expect_whole(lcore);
    }
}

TEST_P(free_lists, are_of_as_many_lcores_as_they_have_room_for) {
    constexpr unsigned most = free_list::max_lcores;
    list_of list(4096, GetParam(), most);
    ASSERT_TRUE(list.there());
    for (const unsigned lcore : {most - 1, 0u, free_list::no_lcore}) list.expect_whole(lcore);
    EXPECT_FALSE(list_of(4096, GetParam(), most + 1).there());
}

TEST_P(free_lists, give_the_latest_first) {
    list_of list(4096, GetParam());
    for (const unsigned lcore : {2u, free_list::no_lcore})
        for (const unsigned n : {1u, 3u, 32u, 64u}) {
            std::vector<void*> first(n), second(n), again(n);
            ASSERT_TRUE(list->get(lcore, first.data(), n));
            ASSERT_TRUE(list->get(lcore, second.data(), n));
            ASSERT_TRUE(list->put(lcore, first.data(), n));
            ASSERT_TRUE(list->put(lcore, second.data(), n));
            ASSERT_TRUE(list->get(lcore, again.data(), n));
            EXPECT_EQ(again, second);
            ASSERT_TRUE(list->get(lcore, again.data(), n));
            EXPECT_EQ(again, first);
            ASSERT_TRUE(list->put(lcore, first.data(), n));
            ASSERT_TRUE(list->put(lcore, second.data(), n));
        }
}

/// Objects freed by another lcore are recycled while warm, not after a round through the whole
/// pool.
TEST_P(free_lists, give_another_lcores_latest_first_by_bundles) {
    list_of list(4096, GetParam());
    std::vector<void*> taken(1024), back(256);
    ASSERT_TRUE(list->get(1, taken.data(), 1024));
    ASSERT_TRUE(list->put(2, taken.data(), 1024));  // lcore 2 keeps some, the rest is on the stack
    ASSERT_TRUE(list->get(3, back.data(), 256));
    for (void* o : back) EXPECT_NE(std::find(taken.begin(), taken.end(), o), taken.end());
}

TEST_P(free_lists, that_cannot_give_all_give_none) {
    list_of list(100, GetParam());
    std::vector<void*> objects(101, nullptr);
    EXPECT_FALSE(list->get(1, objects.data(), 101));
    EXPECT_EQ(list->count(), 100u);
    ASSERT_TRUE(list->get(1, objects.data(), 60));
    EXPECT_FALSE(list->get(2, objects.data() + 60, 41));
    EXPECT_TRUE(list->get(2, objects.data() + 60, 40));
    EXPECT_EQ(list->count(), 0u);
    ASSERT_TRUE(list->put(3, objects.data(), 100));
    list.expect_whole(4);
}

TEST_P(free_lists, refuse_more_than_there_can_be) {
    list_of list(64, GetParam());
    std::vector<void*> twice(64 * 64, list_of::object_of(0));
    bool taken = true;
    for (int i = 0; i < 64 && taken; ++i) taken = list->put(0, twice.data(), 64 * 64);
    EXPECT_FALSE(taken);
    EXPECT_LE(list->count(), 64u);
}

/// Threads with lcores of their own and some without get and put random numbers; every object is with
/// one of them or in the list.
void stress(list_of& list, unsigned most, unsigned threads, unsigned guests, unsigned rounds) {
    std::vector<std::atomic<unsigned>> owners(list.size());
    std::atomic<uint64_t> twice = 0, refused = 0, wrong_count = 0;
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads + guests; ++t)
        all.emplace_back([&, t] {
            const unsigned lcore = t < threads ? t : free_list::no_lcore;
            std::mt19937 random(t);
            std::vector<void*> mine, some(most);
            for (unsigned i = 0; i < rounds; ++i) {
                const unsigned n = 1 + static_cast<unsigned>(random()) % most;
                if ((random() & 1) != 0) {
                    if (!list->get(lcore, some.data(), n)) {
                        ++refused;
                        continue;
                    }
                    for (unsigned k = 0; k < n; ++k) {
                        twice += owners[list_of::index_of(some[k])].exchange(1);
                        mine.push_back(some[k]);
                    }
                } else if (mine.size() >= n) {
                    void** from = mine.data() + mine.size() - n;
                    for (unsigned k = 0; k < n; ++k) owners[list_of::index_of(from[k])] = 0;
                    if (!list->put(lcore, from, n)) ++wrong_count;
                    mine.resize(mine.size() - n);
                }
                if (list->count() > list.size()) ++wrong_count;
            }
            for (void* o : mine) owners[list_of::index_of(o)] = 0;
            if (!mine.empty()) list->put(lcore, mine.data(), static_cast<unsigned>(mine.size()));
        });
    for (auto& t : all) t.join();
    EXPECT_EQ(twice, 0u) << "objects that two threads had";
    EXPECT_EQ(wrong_count, 0u);
    list.expect_whole(5);
}

TEST_P(free_lists, under_stress_lose_nothing_and_give_nothing_twice) {
    list_of large(4096, GetParam()), tight(200, GetParam());
    stress(large, 64, 4, 2, 20000);
    stress(tight, 40, 4, 2, 20000);  // always nearly empty: threads steal from each other
}

/// Threads that together never want more than there is are never refused for long.
TEST_P(free_lists, give_to_all_who_want_no_more_than_their_share) {
    constexpr unsigned threads = 4, share = 32;
    list_of list(threads * share, GetParam());
    std::atomic<uint64_t> starved = 0;
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            std::vector<void*> mine(share);
            for (unsigned i = 0; i < 3000; ++i) {
                unsigned tries = 0;
                while (!list->get(t, mine.data(), share))
                    if (++tries == 100000) {
                        ++starved;
                        return;
                    }
                list->put((t + i) % 2 == 0 ? t : free_list::no_lcore, mine.data(), share);
            }
        });
    for (auto& t : all) t.join();
    EXPECT_EQ(starved, 0u);
    list.expect_whole(6);
}

/// One thread gets, another puts, through a ring between them: no bundle may get stuck.
TEST_P(free_lists, flow_from_one_lcore_to_another) {
    list_of list(512, GetParam());
    std::atomic<void*> slot = nullptr;
    constexpr unsigned rounds = 50000;
    std::thread putter([&] {
        for (unsigned i = 0; i < rounds; ++i) {
            void* o = nullptr;
            while ((o = slot.exchange(nullptr)) == nullptr) std::this_thread::yield();
            list->put(1, &o, 1);
        }
    });
    for (unsigned i = 0; i < rounds; ++i) {
        void* o = nullptr;
        while (!list->get(0, &o, 1)) std::this_thread::yield();
        while (slot.load() != nullptr) std::this_thread::yield();
        slot = o;
    }
    putter.join();
    list.expect_whole(2);
}

/// A stash of another process's lcore is not robbed: the barrier does not reach that process.
TEST(free_lists_of_two_processes, leave_each_others_stashes_alone) {
    if (!barrier::available) GTEST_SKIP() << "the kernel has no membarrier: owners pay for a fence";
    constexpr uint32_t n = 16;  // two bundles, which one stash can hold
    void* memory = mmap(nullptr, free_list::bytes_for(n, lcores), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    free_list* list = free_list::create(memory, n, lcores, true);
    std::vector<void*> objects(n);
    for (uint32_t i = 0; i < n; ++i) objects[i] = list_of::object_of(i);
    ASSERT_TRUE(list->put(0, objects.data(), n));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        void* object = nullptr;
        const bool robbed = list->get(1, &object, 1);
        const bool counted = list->count() == n;
        const bool own = list->get(0, objects.data(), n) && list->put(0, objects.data(), n) &&
                         list->get(1, &object, 1) && list->put(1, &object, 1);
        _exit((robbed ? 1 : 0) | (counted ? 0 : 2) | (own ? 0 : 4));
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0)
        << "1: robbed, 2: wrong count, 4: not its own after it took over the lcore";
    munmap(memory, free_list::bytes_for(n, lcores));
}

INSTANTIATE_TEST_SUITE_P(fences, free_lists, ::testing::Bool(),
                         [](const auto& row) { return row.param ? "asymmetric" : "symmetric"; });

}  // namespace
}  // namespace turnpike::cache_aware
