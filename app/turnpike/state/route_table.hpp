// SPDX-License-Identifier: BSD-3-Clause
// Sorted table of routes, changed in place: a two-level list of small parts, so that a change
// moves little memory. A route takes one word (IPv4) or three, and the lines of a part can be prefetched.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "net/ip.hpp"

namespace turnpike::state {

struct route {
    ip_prefix to{};
    uint32_t target = 0;  ///< index into targets()
};

/// Upper bound of target indices.
inline constexpr uint32_t targets_most = 1U << 24;

/// A route of IPv4: address << 32 | length << 24 | target.
class packed4 {
  public:
    using key_type = uint64_t;  ///< with the target's bits zero
    explicit packed4(const route& r) noexcept : word_(key_of(r.to) | r.target) {}
    static key_type key_of(const ip_prefix& p) noexcept {
        return uint64_t{p.address.v4()} << 32 | uint64_t{p.length} << 24;
    }
    [[nodiscard]] key_type key() const noexcept { return word_ & ~uint64_t{targets_most - 1}; }
    [[nodiscard]] uint32_t target() const noexcept { return word_ & (targets_most - 1); }
    void lead_to(uint32_t target) noexcept { word_ = key() | target; }
    [[nodiscard]] route unpacked() const noexcept {
        return {{ip_address::from_v4(static_cast<uint32_t>(word_ >> 32)),
                 static_cast<uint8_t>(word_ >> 24)},
                target()};
    }

  private:
    uint64_t word_;
};

/// A route of IPv6: the address in two words, length and target in one.
class packed6 {
  public:
    struct key_type {
        uint64_t high = 0, low = 0, length = 0;
        auto operator<=>(const key_type&) const = default;
    };
    explicit packed6(const route& r) noexcept : key_(key_of(r.to)) { lead_to(r.target); }
    static key_type key_of(const ip_prefix& p) noexcept;
    [[nodiscard]] key_type key() const noexcept {
        return {key_.high, key_.low, key_.length >> 32 << 32};
    }
    [[nodiscard]] uint32_t target() const noexcept { return static_cast<uint32_t>(key_.length); }
    void lead_to(uint32_t target) noexcept { key_.length = key_.length >> 32 << 32 | target; }
    [[nodiscard]] route unpacked() const noexcept;

  private:
    key_type key_;  ///< with the target below the length
};

/// Threads  control.
template <class Packed>
class route_parts {
  public:
    using key_type = typename Packed::key_type;
    /// Tuned by turnpike-bench-control, replace/12000: 16 to 64 are as good.
    static constexpr size_t part_most = 32, part_made = 24, group_most = 64, group_made = 48;

    /// Position of a route, or its insertion position.
    struct position {
        size_t group = 0, part = 0, at = 0;
        bool operator==(const position&) const = default;
    };

    [[nodiscard]] size_t size() const noexcept { return size_; }
    [[nodiscard]] size_t parts() const noexcept { return parts_; }

    /// The first route not before a key.
    [[nodiscard]] position lower_bound(const key_type& k) const noexcept {
        if (groups_.empty()) return {};
        position p = part_of(k);
        const auto& in = routes_at(p);
        const auto r =
            std::lower_bound(in.begin(), in.end(), k,
                             [](const Packed& a, const key_type& b) { return a.key() < b; });
        p.at = static_cast<size_t>(r - in.begin());
        return p;
    }
    /// The route of a key, or null.
    [[nodiscard]] Packed* find(const key_type& k, position& p) noexcept {
        p = lower_bound(k);
        if (groups_.empty()) return nullptr;
        auto& in = routes_at(p);
        return p.at < in.size() && in[p.at].key() == k ? &in[p.at] : nullptr;
    }
    /// Prefetches the lines of a key.
    void expect(const key_type& k) const noexcept {
        if (groups_.empty()) return;
        const auto& in = routes_at(part_of(k));
        constexpr size_t line = 64 / sizeof(Packed) == 0 ? 1 : 64 / sizeof(Packed);
        for (size_t at = 0; at < in.size(); at += line) __builtin_prefetch(in.data() + at, 1);
    }
    /// Inserts a new route at the position returned by find(). Allocates only if the part is full.
    void insert(position p, const Packed& r) {
        if (groups_.empty()) begin_with(r.key());
        if (routes_at(p).size() == part_most) {
            split(p);
            p = lower_bound(r.key());
        }
        auto& in = routes_at(p);
        in.insert(in.begin() + static_cast<std::ptrdiff_t>(p.at), r);
        ++size_;
    }
    /// Parts keep their capacity, so that an erased route can be reinserted without allocation.
    void erase(const position& p) noexcept {
        auto& in = routes_at(p);
        in.erase(in.begin() + static_cast<std::ptrdiff_t>(p.at));
        --size_;
    }
    /// Appends a route that sorts after all others.
    void append(const Packed& r) {
        if (groups_.empty() || groups_.back().parts.back().routes.size() >= part_made) {
            if (groups_.empty() || groups_.back().parts.size() >= group_made) {
                groups_.push_back({r.key(), {}});
                groups_.back().parts.reserve(group_most);
            }
            groups_.back().parts.push_back(new_part(r.key()));
            ++parts_;
        }
        groups_.back().parts.back().routes.push_back(r);
        ++size_;
    }

    [[nodiscard]] bool is_end(const position& p) const noexcept {
        return p.group == groups_.size();
    }
    [[nodiscard]] position end() const noexcept { return {groups_.size(), 0, 0}; }
    /// p, or the next position if p is at the end of its part.
    [[nodiscard]] position settled(position p) const noexcept {
        while (p.group < groups_.size() && p.at >= routes_at(p).size()) {
            p.at = 0;
            if (++p.part == groups_[p.group].parts.size()) {
                p.part = 0;
                ++p.group;
            }
        }
        return p;
    }
    [[nodiscard]] std::span<const Packed> part_at(const position& p) const noexcept {
        return routes_at(p);
    }

  private:
    /// Routes from `first` up to the next part's; the first part also has smaller keys.
    struct part {
        key_type first;
        std::vector<Packed> routes;  ///< capacity part_most
    };
    struct group {
        key_type first;
        std::vector<part> parts;  ///< capacity group_most
    };

    static part new_part(const key_type& first) {
        part made{first, {}};
        made.routes.reserve(part_most);
        return made;
    }
    std::vector<Packed>& routes_at(const position& p) noexcept {
        return groups_[p.group].parts[p.part].routes;
    }
    const std::vector<Packed>& routes_at(const position& p) const noexcept {
        return groups_[p.group].parts[p.part].routes;
    }
    template <class List>
    static size_t last_from(const List& all, const key_type& k) noexcept {
        const auto behind =
            std::upper_bound(all.begin(), all.end(), k,
                             [](const key_type& a, const auto& b) { return a < b.first; });
        return static_cast<size_t>(std::max<std::ptrdiff_t>(behind - all.begin(), 1)) - 1;
    }
    [[nodiscard]] position part_of(const key_type& k) const noexcept {
        // Ordered access mostly hits the same group again.
        size_t g = last_group_;
        if (g >= groups_.size() || k < groups_[g].first ||
            (g + 1 < groups_.size() && !(k < groups_[g + 1].first)))
            g = last_group_ = last_from(groups_, k);
        return {g, last_from(groups_[g].parts, k), 0};
    }
    void begin_with(const key_type& first) {
        group made{first, {}};
        made.parts.reserve(group_most);
        made.parts.push_back(new_part(first));
        groups_.push_back(std::move(made));
        parts_ = 1;
    }
    /// Splits a full part in two.
    void split(const position& p) {
        constexpr size_t half_group = group_most / 2;
        if (groups_[p.group].parts.size() == group_most) {
            group upper{groups_[p.group].parts[half_group].first, {}};
            upper.parts.reserve(group_most);
            groups_.reserve(groups_.size() + 1);
            auto& lower = groups_[p.group].parts;
            const auto from = lower.begin() + half_group;
            upper.parts.insert(upper.parts.end(), std::make_move_iterator(from),
                               std::make_move_iterator(lower.end()));
            lower.erase(from, lower.end());
            groups_.insert(groups_.begin() + static_cast<std::ptrdiff_t>(p.group) + 1,
                           std::move(upper));
            const bool in_upper = p.part >= half_group;
            return split({p.group + in_upper, p.part - (in_upper ? half_group : 0), 0});
        }
        auto& in = routes_at(p);
        const auto half = in.begin() + part_most / 2;
        part upper = new_part(half->key());
        upper.routes.assign(half, in.end());
        in.erase(half, in.end());
        auto& parts = groups_[p.group].parts;
        parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(p.part) + 1, std::move(upper));
        ++parts_;
    }

    std::vector<group> groups_;
    size_t size_ = 0, parts_ = 0;
    mutable size_t last_group_ = 0;
};

/// Both families; IPv4 first. Threads  control.
class route_table {
  public:
    static constexpr uint32_t none = UINT32_MAX;  ///< target value: no route

    class cursor {
      public:
        cursor() = default;
        [[nodiscard]] const route& operator*() const noexcept { return now_; }
        [[nodiscard]] bool at_end() const noexcept { return in_ == nullptr; }
        void next() noexcept {
            if (v6_ ? ++six_.at < part6_.size() : ++four_.at < part4_.size())
                unpack();
            else
                settle();
        }
        /// Both cursors must belong to one table.
        bool operator==(const cursor& other) const noexcept {
            return in_ == other.in_ && v6_ == other.v6_ && four_ == other.four_ &&
                   six_ == other.six_;
        }

      private:
        friend class route_table;
        void settle() noexcept;
        void unpack() noexcept {
            now_ = v6_ ? part6_[six_.at].unpacked() : part4_[four_.at].unpacked();
        }
        const route_table* in_ = nullptr;  ///< null: the end
        bool v6_ = false;
        route_parts<packed4>::position four_{};
        route_parts<packed6>::position six_{};
        std::span<const packed4> part4_{};  ///< the current part
        std::span<const packed6> part6_{};
        route now_{};
    };

    [[nodiscard]] cursor lower_bound(const ip_prefix& to) const noexcept;
    /// The target of a prefix, or none.
    [[nodiscard]] uint32_t target_of(const ip_prefix& to) noexcept;
    void expect(const ip_prefix& to) const noexcept;
    /// Sets the target of a prefix, or removes it; returns the old target. Changes nothing without memory;
    /// reinserting the old route needs no memory, since parts keep their capacity.
    uint32_t exchange(const ip_prefix& to, uint32_t target);
    /// Appends a route that sorts after all others.
    void append(const route& r);

    [[nodiscard]] size_t size() const noexcept { return four_.size() + six_.size(); }
    [[nodiscard]] size_t parts() const noexcept { return four_.parts() + six_.parts(); }
    /// Whether parts are nearly empty: a copy would be much smaller.
    [[nodiscard]] bool is_sparse() const noexcept { return parts() > 64 + size() / 4; }

  private:
    route_parts<packed4> four_;
    route_parts<packed6> six_;
};

}  // namespace turnpike::state
