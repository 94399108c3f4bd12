// SPDX-License-Identifier: BSD-3-Clause
// The writer of a table: placement of keys, and growth.
//
// A table of one region below full size grows by building its successor, which is bounded work (a
// full region has a few thousand slots). A larger one doubles its regions: region r's keys go to
// regions 2r and 2r + 1, one old region at a time, every few additions. Readers see how many
// regions were moved (generation::moved) and read the rest in the old generation; a moved region
// does not change there any more, and its generation is freed when no reader can hold it.
#pragma once

#include <algorithm>
#include <memory>
#include <new>

#include "hash/generation.hpp"
#include "hash/region.hpp"
#include "hash/store.hpp"

namespace turnpike::hash {

/// Maximum load before growth begins, in thousandths of the slots.
inline constexpr uint64_t full_permille = 860;

template <class B>
class writer final : public store {
  public:
    using value = typename B::value;

    writer(const config& c, shape form, const secret& keys)
        : store(c, form), keys_(keys), region_(keys) {}

    /// Create the empty table. ENOMEM.
    [[nodiscard]] result<void> start() {
        now_ = make(first_size());
        if (now_ == nullptr) return refused(ENOMEM, no_memory);
        now_->clear(0, now_->extent().regions);
        show(&now_->whole);
        return {};
    }

    [[nodiscard]] result<bool> put(const void* key, uint64_t v) override {
        const hashed h = hash<B::words>(keys_, key);
        if (const auto it = region_writer<B>::find(home_of(h), key)) {
            it.in.set_value(it.slot, static_cast<value>(v));
            return false;
        }
        if (entries_ >= config_.max_entries)
            return refused(ENOSPC, "the table is full (max_entries)");
        grow_some();
        while (!region_.insert(home_of(h), key, static_cast<value>(v)))
            if (const int code = more_room(); code != 0)
                return refused(code, code == ENOMEM ? no_memory : no_slot);
        ++entries_;
        return true;
    }

    bool erase(const void* key) noexcept override {
        const home where = home_of(hash<B::words>(keys_, key));
        const auto it = region_writer<B>::find(where, key);
        if (!it) return false;
        region_.erase(where, it);
        --entries_;
        return true;
    }

    void prefetch(const void* key) const noexcept override {
        const home where = home_of(hash<B::words>(keys_, key));
        __builtin_prefetch(region_writer<B>::at(where, where.first).line);
    }

    [[nodiscard]] std::optional<uint64_t> find(const void* key) const noexcept override {
        const auto it = region_writer<B>::find(home_of(hash<B::words>(keys_, key)), key);
        if (!it) return std::nullopt;
        return it.in.value_of(it.slot);
    }

    void for_each(const visitor& visit) const override {
        const auto show_it = [&](const bucket<B>& in, unsigned slot) {
            visit(in.key_at(slot), in.value_of(slot));
            return true;
        };
        if (before_ == nullptr) {
            each_entry(now_->all(), 0, now_->extent().regions, show_it);
        } else {
            each_entry(now_->all(), 0, 2 * now_->moved, show_it);
            each_entry(before_->all(), now_->moved, before_->extent().regions, show_it);
        }
    }

    [[nodiscard]] statistics stats() const noexcept override {
        return {.entries = entries_,
                .slots = now_->extent().slot_count(),
                .bytes = now_->extent().bytes() + (before_ ? before_->extent().bytes() : 0),
                .displaced = region_.displaced(),
                .moves = region_.moves(),
                .growths = growths_,
                .load_at_growth = load_at_growth_,
                .growing = before_ != nullptr};
    }

  private:
    static constexpr char no_memory[] = "no memory";  // short strings, which do not allocate
    static constexpr char no_slot[] = "no free slot for this key, even after moving other keys";
    static constexpr uint32_t least_region_bits = 2;
    /// A growth completes before the load rises by this much (thousandths).
    static constexpr uint64_t growth_permille = 40;

    // ---- sizes ----

    static uint64_t buckets_for(uint64_t entries) noexcept {
        return (entries * 1000 / full_permille + B::slots) / B::slots;
    }
    static generation::size size_of(uint64_t regions, uint32_t region_bits) noexcept {
        return {static_cast<uint32_t>(regions), region_bits, B::slots, B::entry_bytes};
    }
    /// Size for expected_entries; a number of regions whose doublings end just above the need of
    /// max_entries.
    generation::size first_size() const noexcept {
        const uint64_t wanted = buckets_for(config_.expected_entries);
        for (uint32_t bits = least_region_bits; bits <= B::region_bits; ++bits)
            if (wanted <= uint64_t{1} << bits) return size_of(1, bits);
        const auto regions = [](uint64_t buckets) {
            return (buckets + (1U << B::region_bits) - 1) >> B::region_bits;
        };
        const uint64_t most = regions(buckets_for(config_.max_entries));
        unsigned doublings = 0;
        while (most >> (doublings + 1) >= regions(wanted)) ++doublings;
        return size_of((most + (uint64_t{1} << doublings) - 1) >> doublings, B::region_bits);
    }
    /// True if max_entries would exceed this load (thousandths).
    bool may_grow(uint64_t permille) const noexcept {
        return now_->extent().slot_count() * permille < uint64_t{config_.max_entries} * 1000;
    }

    std::unique_ptr<generation> make(const generation::size& s) noexcept {
        std::unique_ptr<generation> made(new (std::nothrow) generation(config_.allocator, s));
        if (made == nullptr || !made->valid()) return nullptr;
        made->whole = {.now = made->all(),
                       .before = {},
                       .moved = nullptr,
                       .changes = region_.changes(),
                       .form = form_,
                       .keys = keys_};
        return made;
    }

    // ---- where keys are ----

    home home_of(hashed h) const noexcept {
        if (before_ != nullptr &&
            layout::region_of(h.first, before_->extent().regions) >= now_->moved)
            return home(before_->all(), h);
        return home(now_->all(), h);
    }

    /// visit(bucket, slot) for each entry of regions [first, last). Returns false if a visit did,
    /// which ends it.
    template <class Visit>
    static bool each_entry(const buckets& in, uint32_t first, uint32_t last, const Visit& visit) {
        const uint64_t end = uint64_t{last} << in.region_bits;
        for (uint64_t n = uint64_t{first} << in.region_bits; n < end; ++n) {
            const auto here = bucket<B>::at(in, n);
            for (auto used = here.used(); used != 0; used &= used - 1)
                if (!visit(here, bucket<B>::lowest(used))) return false;
        }
        return true;
    }

    // ---- growth ----

    /// Before an addition: begin a growth if the table is full, or continue one.
    void grow_some() noexcept {
        if (before_ != nullptr) {
            if (--until_move_ == 0) (void)move_region();  // on failure: later, or in more_room()
            return;
        }
        const uint64_t slot_count = now_->extent().slot_count();
        if ((entries_ + 1) * 1000 <= slot_count * full_permille || !may_grow(full_permille)) return;
        if (entries_ < retry_at_) return;
        // Without memory, continue until a key finds no slot; retry now and then.
        retry_at_ = begin_growth() == 0 ? 0 : entries_ + slot_count / 128 + 1;
    }

    /// Make room for a key that found no slot. Returns 0 to try again, or ENOSPC, ENOMEM.
    int more_room() noexcept {
        if (before_ != nullptr) return move_region() ? 0 : ENOSPC;
        // An unlucky small table may grow to twice the size it needs.
        return may_grow(full_permille / 2) ? begin_growth() : ENOSPC;
    }

    int begin_growth() noexcept {
        generation::size next = now_->extent();
        const bool small = next.region_bits < B::region_bits;
        small ? ++next.region_bits : next.regions *= 2;
        auto made = make(next);
        if (made == nullptr) return ENOMEM;
        if (small) {
            made->clear(0, 1);
            if (!copy(now_->all(), 0, made->all())) return ENOSPC;
        }
        ++growths_;
        load_at_growth_ =
            static_cast<double>(entries_) / static_cast<double>(now_->extent().slot_count());
        std::swap(now_, made);
        if (small) {
            show(&now_->whole);
            retire(made);
            return 0;
        }
        before_ = std::move(made);
        now_->growing = now_->whole;
        now_->growing.before = before_->all();
        now_->growing.moved = &now_->moved;
        show(&now_->growing);
        until_move_ = adds_per_move();
        return 0;
    }

    /// Move the next region to its two regions of the new generation. Returns false if a key finds
    /// no slot there; the readers' view is unchanged.
    bool move_region() noexcept {
        until_move_ = adds_per_move();
        const uint32_t region = now_->moved;
        now_->clear(2 * region, 2);
        if (!copy(before_->all(), region, now_->all())) return false;
        __atomic_store_n(&now_->moved, region + 1, __ATOMIC_RELEASE);
        if (region + 1 == before_->extent().regions) {
            show(&now_->whole);
            retire(before_);
        }
        return true;
    }

    /// Copy one region's entries to regions that no reader uses yet.
    bool copy(const buckets& from, uint32_t region, const buckets& to) noexcept {
        const uint64_t displaced = region_.displaced();
        uint64_t displaced_here = 0;
        const bool whole =
            each_entry(from, region, region + 1, [&](const bucket<B>& in, unsigned slot) noexcept {
                const hashed h = hash<B::words>(keys_, in.key_at(slot));
                const home old(from, h);
                displaced_here += in.line != region_writer<B>::at(old, old.first).line;
                return region_.insert(home(to, h), in.key_at(slot), in.value_of(slot));
            });
        region_.set_displaced(whole ? region_.displaced() - displaced_here : displaced);
        return whole;
    }

    static uint64_t adds_per_move() noexcept {
        return (uint64_t{B::slots} << B::region_bits) * growth_permille / 1000;
    }

    void retire(std::unique_ptr<generation>& old) noexcept {
        config_.defer_free(
            {[](void* it, uint64_t) { delete static_cast<generation*>(it); }, old.release(), 0});
    }

    secret keys_;
    std::unique_ptr<generation> now_, before_;
    uint64_t entries_ = 0, growths_ = 0, until_move_ = 0, retry_at_ = 0;
    double load_at_growth_ = 0;
    region_writer<B> region_;
};

}  // namespace turnpike::hash
