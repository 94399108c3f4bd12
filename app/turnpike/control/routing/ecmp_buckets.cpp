// SPDX-License-Identifier: BSD-3-Clause
#include "control/routing/ecmp_buckets.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

namespace turnpike::control {

using datapath::nexthop_group;

uint64_t mix(uint64_t x) noexcept {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

namespace {

/// The members' scores for buckets: log(u) / weight, with u uniform in (0, 1]. Among members of equal weight, u decides.
/// For the best member of each weight, (u - 1) / weight is an upper bound of the score, so most need no logarithm, which
/// takes the time of twenty u.
class scores {
  public:
    /// usable  members that best() chooses from
    scores(std::span<const group_member> members, const std::vector<bool>& usable) {
        std::map<uint16_t, std::vector<named>> by_weight;
        for (size_t m = 0; m < members.size(); ++m) {
            all_.push_back({mix(members[m].name), m, static_cast<double>(members[m].weight)});
            weighted_ |= members[m].weight != members.front().weight;
            if (usable[m]) by_weight[members[m].weight].push_back(all_.back());
        }
        for (auto& [weight, some] : by_weight) classes_.push_back({.all = std::move(some)});
    }
    /// The usable member with the highest score.
    [[nodiscard]] size_t best(uint32_t bucket) noexcept {
        const uint64_t salt = mix(bucket);
        weight_class* first = &classes_.front();
        for (weight_class& c : classes_) {
            c.find_best(salt);
            work_.scores += c.all.size();
            if (c.bound > first->bound) first = &c;
        }
        if (classes_.size() == 1) return first->best->member;
        const named* out = first->best;
        double most = of(*out, salt);
        for (const weight_class& c : classes_)
            if (&c != first && c.bound > most) improve(out, most, *c.best, salt);
        return out->member;
    }
    /// The same, if `holder` has the highest score of all members but `fresh`.
    [[nodiscard]] size_t best_of(uint32_t bucket, size_t holder,
                                 const std::vector<size_t>& fresh) noexcept {
        const uint64_t salt = mix(bucket);
        const named* out = &all_[holder];
        double most = of(*out, salt);
        for (const size_t m : fresh) improve(out, most, all_[m], salt);
        work_.scores += 1 + fresh.size();
        return out->member;
    }
    [[nodiscard]] const group_work& work() const noexcept { return work_; }

  private:
    struct named {
        uint64_t name;
        size_t member;
        double weight;
    };
    struct weight_class {
        std::vector<named> all;
        const named* best = nullptr;
        double bound = 0;

        void find_best(uint64_t salt) noexcept {
            best = all.data();
            uint64_t greatest = hash_of(*best, salt);
            for (const named& n : all)
                if (const uint64_t hash = hash_of(n, salt); hash > greatest) {
                    greatest = hash;
                    best = &n;
                }
            bound = (uniform(greatest) - 1) / best->weight;
        }
    };
    /// Both factors are results of mix(), so one multiplication is enough.
    static uint64_t hash_of(const named& n, uint64_t salt) noexcept {
        return (n.name ^ salt) * 0x9e3779b97f4a7c15;
    }
    static double uniform(uint64_t hash) noexcept {
        return static_cast<double>((hash >> 11) + 1) * 0x1p-53;
    }
    /// With equal weights, u sorts the same.
    [[nodiscard]] double of(const named& n, uint64_t salt) noexcept {
        if (!weighted_) return uniform(hash_of(n, salt));
        ++work_.logarithms;
        return std::log(uniform(hash_of(n, salt))) / n.weight;
    }
    void improve(const named*& out, double& most, const named& by, uint64_t salt) noexcept {
        if (weighted_ && (uniform(hash_of(by, salt)) - 1) / by.weight < most) return;
        const double score = of(by, salt);
        if (score < most || (score == most && by.member > out->member)) return;
        most = score;
        out = &by;
    }

    std::vector<named> all_;
    std::vector<weight_class> classes_;
    bool weighted_ = false;
    group_work work_{};
};

}  // namespace

/// A member's share of buckets deviates by the square root of its size: 1.6 % of two members, 6 %
/// of 16 and more.
uint32_t buckets_for(size_t members) noexcept {
    constexpr uint32_t least = 4096;
    if (members == 1) return 1;
    const auto wanted = static_cast<uint32_t>(std::bit_ceil(members * 256));
    return std::clamp(wanted, least, nexthop_group::max_buckets);
}

/// Buckets of failed members move to the best of the others; a member that is usable again takes buckets where it is
/// better than the holder.
nexthop_group::owned make_group(std::span<const group_member> members,
                                const std::vector<bool>& able, const group_before& before,
                                group_work* work) {
    auto made = nexthop_group::make(buckets_for(members.size()));
    made->members = static_cast<uint32_t>(members.size());
    for (size_t m = 0; m < members.size(); ++m) made->nexthop[m] = members[m].nexthop;
    const bool any = std::find(able.begin(), able.end(), true) != able.end();
    const std::vector<bool> all(members.size(), true);
    std::vector<size_t> fresh;
    for (size_t m = 0; before.able != nullptr && m < members.size(); ++m)
        if (able[m] && !(*before.able)[m]) fresh.push_back(m);
    scores by(members, any ? able : all);
    for (uint32_t b = 0; b < made->buckets(); ++b) {
        const uint8_t was = before.table == nullptr ? 0 : before.table->bucket()[b];
        size_t is = was;
        if (before.table == nullptr || !able[was])
            is = by.best(b);
        else if (!fresh.empty())
            is = by.best_of(b, was, fresh);
        made->bucket()[b] = static_cast<uint8_t>(is);
    }
    if (work != nullptr) *work += by.work();
    return made;
}

}  // namespace turnpike::control
