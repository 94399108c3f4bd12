// SPDX-License-Identifier: BSD-3-Clause
// Rates of counters over 1 s, 10 s and 1 min: control adds a sample of every counted object each second, and a rate is
// the difference of two samples. Workers only count, as without rates.
//
//   life     the object's counters continue as long as its life; a port that is removed and added again has another
//   begins   an object has rates from its second sample on. A drop reason that counts for the first time had counted 0 at
//            the sample before, if its port was there
//   falls    a counter that is less than before restarted: the samples before are discarded
//
// Threads  control
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace turnpike::observe {

enum class rated_kind : uint8_t { port, interface, bridge, worker, drop };

inline constexpr size_t max_rated = 6;
/// Counters by kind, where `counts` has them:
///   port       rx_packets, rx_bytes, tx_packets, tx_bytes, rx_missed, drops
///   interface  rx_packets, rx_bytes, tx_packets, tx_bytes
///   bridge     rx_packets, rx_bytes, tx_packets, flooded
///   worker     packets, busy_cycles, total_cycles without control's, injected
///   drop       packets, bytes
using rated_counts = std::array<uint64_t, max_rated>;

/// An object at the time of a sample.
struct rated_object {
    rated_kind kind = rated_kind::port;
    uint64_t life = 0;    ///< of a drop: the port's
    std::string name{};   ///< of a drop: the reason
    std::string owner{};  ///< of a drop: the port
    rated_counts counts{};
};

class rate_history {
  public:
    static constexpr uint64_t windows_ms[] = {1000, 10'000, 60'000};
    /// One more than the seconds of the longest window; of ports five minutes, for lines on the page.
    static constexpr size_t max_samples(rated_kind kind) noexcept {
        return kind == rated_kind::port ? 301 : 61;
    }

    /// Adds a sample. Objects that are not in it any more are forgotten. Ignored if the time has not advanced.
    void add(uint64_t now_ms, const std::vector<rated_object>& all);

    struct sample {
        uint64_t at_ms = 0;
        rated_counts counts{};
    };
    struct entry {
        rated_object object{};          ///< as of the last sample
        std::vector<sample> samples{};  ///< oldest first, at most max_samples()
        uint64_t seen = 0;              ///< number of the last sample that had it
    };
    /// Counts per second.
    struct rate {
        /// Between the two samples: more than the window if control was late, less since a start.
        uint64_t ms = 0;
        std::array<double, max_rated> per_s{};
    };
    /// nullopt: fewer than two samples
    [[nodiscard]] static std::optional<rate> over(const entry& e, uint64_t window_ms) noexcept;

    using key = std::tuple<rated_kind, uint64_t, std::string>;
    /// By kind, life and name.
    [[nodiscard]] const std::map<key, entry>& entries() const noexcept { return entries_; }

  private:
    std::map<key, entry> entries_{};
    uint64_t number_ = 0;
    uint64_t last_ms_ = 0;
};

}  // namespace turnpike::observe
