// SPDX-License-Identifier: BSD-3-Clause
#include "test_bed.hpp"

#include <fmt/format.h>
#include <rte_lcore.h>

#include <algorithm>
#include <map>

#include "contents.hpp"
#include "interleave.hpp"
#include "isa/flush.hpp"

namespace turnpike::bench::dma {
namespace {

// Slots outside the window, in lines that stay in cache: source of writes to the window and target
// of reads from it. An odd number, so that a unit uses another slot in the next pass.
constexpr uint64_t slots = 31;
enum slot_group : uint64_t { sources, destinations, spare, slot_groups };

// Tags of test patterns (contents.hpp): each byte of a run has a unique correct place.
constexpr uint64_t tag_of(uint64_t space, uint64_t index) noexcept { return space << 32 | index; }
constexpr uint64_t unit_space = 1, gap_space = 2, slot_space = 3, no_space = 4;

constexpr uint64_t slot_bytes(uint32_t transfer_bytes) noexcept {
    return (uint64_t{transfer_bytes} + host_line_bytes - 1) / host_line_bytes * host_line_bytes;
}

void touch_lines(std::span<std::byte> bytes) noexcept {
    for (size_t at = 0; at < bytes.size(); at += host_line_bytes) {
        volatile std::byte* line = &bytes[at];
        *line = *line;
    }
}

void flush_lines(std::span<std::byte> bytes) noexcept {
    for (size_t at = 0; at < bytes.size(); at += isa::flush_bytes()) isa::flush_line(&bytes[at]);
    isa::flush_fence();
}

}  // namespace

struct test_bed::memory {
    std::map<int, dma_memory> windows;  ///< by the requested node
    std::optional<dma_memory> beside;   ///< slot_groups x slots
    std::vector<std::byte> thrash;
};

namespace {

/// A row on its memory: the transfers of a repetition and their expected results.
class scene {
  public:
    scene(const row& r, engine& e, dma_memory& window, dma_memory& beside, uint64_t transfers)
        : row_(r),
          engine_(e),
          window_(window),
          beside_(beside),
          fill_(e.can_fill() &&
                (r.test == micro_benchmark::bw_wr || r.test == micro_benchmark::lat_wrrd)),
          units_(r.window.units()),
          reachable_(r.test == micro_benchmark::bw_rdwr ? units_ / 2 : units_),
          order_(visit_order(reachable_, r.pattern, 1)) {
        for (uint64_t i = 0; i < transfers; ++i) plan(i);
    }

    void write_contents_everywhere();
    void set_cache(std::vector<std::byte>& thrash);
    /// Returns the cycles of all transfers, and for latency tests fills in the cycles of each.
    uint64_t run(std::span<uint32_t> each);
    /// Returns the number of bytes checked.
    uint64_t check() const;

  private:
    [[nodiscard]] uint64_t unit_of(uint64_t visit) const { return order_[visit % reachable_]; }
    /// BW_RDWR: the target unit in the other half, a different one in each pass.
    [[nodiscard]] uint64_t target_of(uint64_t visit) const {
        return reachable_ + order_[(visit + visit / reachable_) % reachable_];
    }
    [[nodiscard]] uint64_t contents_of(uint64_t unit) const noexcept {
        return row_.cache == cache_state::device ? tag_of(slot_space, warming_slot(unit))
                                                 : tag_of(unit_space, unit);
    }
    [[nodiscard]] static uint64_t warming_slot(uint64_t unit) noexcept {
        return (unit + 7) % slots;
    }
    [[nodiscard]] uint64_t slot_offset(slot_group group, uint64_t visit) const noexcept {
        return (group * slots + visit % slots) * slot_bytes(row_.window.transfer_bytes);
    }
    [[nodiscard]] uint64_t slot(slot_group group, uint64_t visit) const noexcept {
        return beside_.address(slot_offset(group, visit));
    }
    [[nodiscard]] std::span<std::byte> slot_contents(slot_group group,
                                                     uint64_t visit) const noexcept {
        return beside_.bytes().subspan(slot_offset(group, visit), row_.window.transfer_bytes);
    }
    [[nodiscard]] std::span<std::byte> unit_contents(uint64_t unit) const noexcept {
        return window_.bytes().subspan(row_.window.place_of(unit), row_.window.transfer_bytes);
    }
    [[nodiscard]] std::span<std::byte> used() const noexcept {
        return window_.bytes().first(units_ * row_.window.unit_bytes());
    }
    [[nodiscard]] uint64_t written_by(uint64_t visit) const noexcept {
        return fill_ ? contents_word(tag_of(slot_space, visit % slots), 0) : slot(sources, visit);
    }

    void plan(uint64_t visit);
    void wake();
    void write_window_by_engine();
    uint64_t run_pass(std::span<const transfer> first, std::span<const transfer> second,
                      std::span<uint32_t> each, uint64_t from_visit);
    void expect(std::span<const std::byte> at, uint64_t tag, const std::string& what) const;
    void expect_written(std::span<const std::byte> at, uint64_t visit,
                        const std::string& what) const;
    void expect_read(uint64_t visit) const;
    uint64_t check_units() const;

    const row& row_;
    engine& engine_;
    dma_memory& window_;
    dma_memory& beside_;
    bool fill_;
    uint64_t units_, reachable_;
    std::vector<uint32_t> order_;
    std::vector<transfer> first_, second_;  ///< second_: the reads of LAT_WRRD
};

void scene::plan(uint64_t visit) {
    const uint64_t at = window_.address(row_.window.place_of(unit_of(visit)));
    switch (row_.test) {
        case micro_benchmark::lat_rd:
        case micro_benchmark::bw_rd:
            first_.push_back({at, slot(destinations, visit)});
            break;
        case micro_benchmark::lat_wrrd:
            first_.push_back({written_by(visit), at});
            second_.push_back({at, slot(destinations, visit)});
            break;
        case micro_benchmark::bw_wr:
            first_.push_back({written_by(visit), at});
            break;
        case micro_benchmark::bw_rdwr:
            first_.push_back({at, window_.address(row_.window.place_of(target_of(visit)))});
            break;
    }
}

void scene::write_contents_everywhere() {
    const uint64_t bytes = row_.window.unit_bytes(),
                   behind = row_.window.offset_bytes + row_.window.transfer_bytes;
    for (uint64_t unit = 0; unit < units_; ++unit) {
        const auto whole = window_.bytes().subspan(unit * bytes, bytes);
        write_contents(whole.first(row_.window.offset_bytes), tag_of(gap_space, 2 * unit));
        write_contents(whole.subspan(behind), tag_of(gap_space, 2 * unit + 1));
        write_contents(unit_contents(unit), contents_of(unit));
    }
    for (uint64_t s = 0; s < slots; ++s) {
        write_contents(slot_contents(sources, s), tag_of(slot_space, s));
        write_contents(slot_contents(destinations, s), tag_of(no_space, s));
    }
}

void scene::set_cache(std::vector<std::byte>& thrash) {
    switch (row_.cache) {
        case cache_state::cold:
            break;  // before each pass, in run()
        case cache_state::warm:
            touch_lines(used());
            break;
        case cache_state::device:
            write_window_by_engine();
            break;
        case cache_state::thrash:
            touch_lines(thrash);
            break;
    }
}

void scene::write_window_by_engine() {
    std::vector<transfer> all;
    for (uint64_t unit = 0; unit < units_; ++unit)
        all.push_back(
            {slot(sources, warming_slot(unit)), window_.address(row_.window.place_of(unit))});
    engine_.at_once(all, row_.window.transfer_bytes, false);
}

/// Wake a sleeping engine before the measurement: some copies outside the window.
void scene::wake() {
    const std::vector<transfer> some(64, {slot(sources, 0), slot(spare, 0)});
    engine_.at_once(some, row_.window.transfer_bytes, false);
}

uint64_t scene::run(std::span<uint32_t> each) {
    const uint64_t pass = row_.cache == cache_state::cold ? reachable_ : first_.size();
    uint64_t cycles = 0;
    for (uint64_t done = 0; done < first_.size(); done += pass) {
        const uint64_t n = std::min<uint64_t>(pass, first_.size() - done);
        if (row_.cache == cache_state::cold) flush_lines(used());
        wake();
        const std::span<const transfer> reads(second_);
        cycles += run_pass(std::span<const transfer>(first_).subspan(done, n),
                           reads.empty() ? reads : reads.subspan(done, n),
                           each.empty() ? each : each.subspan(done, n), done);
    }
    return cycles;
}

uint64_t scene::run_pass(std::span<const transfer> first, std::span<const transfer> second,
                         std::span<uint32_t> each, uint64_t from_visit) {
    const uint32_t bytes = row_.window.transfer_bytes;
    if (row_.test == micro_benchmark::lat_rd)
        engine_.one_by_one(first, bytes, false, each,
                           [&](size_t i) { expect_read(from_visit + i); });
    else if (row_.test == micro_benchmark::lat_wrrd)
        engine_.written_and_read(first, second, bytes, fill_, each, [&](size_t i) {
            expect_written(slot_contents(destinations, from_visit + i), from_visit + i,
                           "the data read back");
        });
    else
        return engine_.at_once(first, bytes, fill_);
    return 0;
}

[[noreturn]] void fail_at(const row& r, size_t byte, const std::string& what) {
    throw void_run(
        fmt::format("{} of {} bytes at offset {}, window {}, {}: {} is wrong from byte {} on; "
                    "the figures are void",
                    name_of(r.test), r.window.transfer_bytes, r.window.offset_bytes,
                    bytes_text(r.window.bytes), name_of(r.cache), what, byte));
}

void scene::expect(std::span<const std::byte> at, uint64_t tag, const std::string& what) const {
    if (const auto byte = first_difference(at, tag)) fail_at(row_, *byte, what);
}

void scene::expect_written(std::span<const std::byte> at, uint64_t visit,
                           const std::string& what) const {
    const auto byte = fill_ ? first_difference_from_fill(at, written_by(visit))
                            : first_difference(at, tag_of(slot_space, visit % slots));
    if (byte) fail_at(row_, *byte, what);
}

void scene::expect_read(uint64_t visit) const {
    if (const auto byte =
            first_difference(slot_contents(destinations, visit), contents_of(unit_of(visit))))
        fail_at(row_, *byte, fmt::format("the data read by transfer {}", visit));
}

uint64_t scene::check() const {
    uint64_t checked = check_units();
    const uint64_t n = first_.size();
    if (row_.test == micro_benchmark::lat_rd || row_.test == micro_benchmark::bw_rd)
        for (uint64_t visit = n > slots ? n - slots : 0; visit < n; ++visit) {
            expect_read(visit);
            checked += row_.window.transfer_bytes;
        }
    return checked;
}

/// Check that every unit has the data of its last visit, or its original data, and that the bytes
/// between transfers are unchanged.
uint64_t scene::check_units() const {
    constexpr uint64_t never = UINT64_MAX;
    std::vector<uint64_t> last(units_, never);
    if (row_.test == micro_benchmark::bw_rdwr)
        for (uint64_t visit = 0; visit < first_.size(); ++visit) last[target_of(visit)] = visit;
    else if (row_.test == micro_benchmark::bw_wr || row_.test == micro_benchmark::lat_wrrd)
        for (uint64_t visit = 0; visit < first_.size(); ++visit) last[unit_of(visit)] = visit;
    const uint64_t bytes = row_.window.unit_bytes(),
                   behind = row_.window.offset_bytes + row_.window.transfer_bytes;
    for (uint64_t unit = 0; unit < units_; ++unit) {
        const auto whole = window_.bytes().subspan(unit * bytes, bytes);
        expect(whole.first(row_.window.offset_bytes), tag_of(gap_space, 2 * unit),
               "the data before a transfer");
        expect(whole.subspan(behind), tag_of(gap_space, 2 * unit + 1), "the data after a transfer");
        if (last[unit] == never)
            expect(unit_contents(unit), contents_of(unit), "a unit that must not change");
        else if (row_.test == micro_benchmark::bw_rdwr)
            expect(unit_contents(unit), contents_of(unit_of(last[unit])), "the copied data");
        else
            expect_written(unit_contents(unit), last[unit], "the written data");
    }
    return units_ * bytes;
}

}  // namespace

test_bed::test_bed(engine& e, uint64_t last_cache_bytes)
    : engine_(e), last_cache_bytes_(last_cache_bytes), memory_(std::make_unique<memory>()) {}
test_bed::~test_bed() = default;

result<void> test_bed::reserve(const std::vector<row>& rows) {
    std::map<int, uint64_t> windows;
    uint64_t slot = 0;
    bool thrash = false;
    for (const row& r : rows) {
        windows[r.node] = std::max(windows[r.node], r.window.bytes);
        slot = std::max(slot, slot_bytes(r.window.transfer_bytes));
        thrash |= r.cache == cache_state::thrash;
    }
    for (const auto& [node, bytes] : windows) {
        auto made = dma_memory::reserve(fmt::format("dma window {}", node), bytes, node,
                                        engine_.by_virtual_address());
        if (!made) return tl::unexpected(made.error());
        memory_->windows.emplace(node, std::move(*made));
    }
    auto beside = dma_memory::reserve("dma slots", slot_groups * slots * slot, engine_.node(),
                                      engine_.by_virtual_address());
    if (!beside) return tl::unexpected(beside.error());
    memory_->beside.emplace(std::move(*beside));
    if (thrash) memory_->thrash.resize(2 * last_cache_bytes_);
    return {};
}

row_result test_bed::run(const row& r, uint64_t transfers, unsigned repetitions) {
    dma_memory& window = memory_->windows.at(r.node);
    scene s(r, engine_, window, *memory_->beside, transfers);
    row_result out{.node = window.node(), .transfers = transfers, .latency = {}, .cycles = {}};
    std::vector<uint32_t> all;
    std::vector<uint32_t> each(is_latency(r.test) ? transfers : 0);
    for (unsigned i = 0; i < repetitions; ++i) {
        s.write_contents_everywhere();
        s.set_cache(memory_->thrash);
        const uint64_t cycles = s.run(each);
        if (is_latency(r.test)) {
            all.insert(all.end(), each.begin(), each.end());
            out.cycles.push_back(distribution(each).quantile(0.5));
        } else {
            out.cycles.push_back(static_cast<double>(cycles) / static_cast<double>(transfers));
        }
        out.checked_bytes += s.check();
    }
    if (is_latency(r.test)) {
        out.checked_bytes += all.size() * r.window.transfer_bytes;
        out.latency.emplace(std::move(all));
    }
    return out;
}

}  // namespace turnpike::bench::dma
