// SPDX-License-Identifier: BSD-3-Clause
#include "search/binary_search.hpp"

#include <algorithm>
#include <cstdint>

namespace turnpike::search {
namespace {

enum class verdict : uint8_t { passed, failed, not_offered, stopped };

result<void> check_settings(const binary_settings& s) {
    const goal as_goal{.name = "binary search",
                       .loss_ratio = s.loss_ratio,
                       .final_duration_s = s.duration_s,
                       .duration_sum_s = s.duration_s};
    if (auto good = check({as_goal}, s.limits); !good) return good;
    if (!(s.resolution_fps > 0)) return fail(EINVAL, "resolution", "is above 0");
    if (s.trials == 0) return fail(EINVAL, "trials", "each load needs at least one");
    if (s.start_fps != 0 && !(s.start_fps >= s.limits.min_fps && s.start_fps <= s.limits.max_fps))
        return fail(EINVAL, "start", "is a load between the minimum and the maximum");
    return {};
}

class binary_controller {
  public:
    binary_controller(const binary_settings& s, const measurer& measure)
        : settings_(s), measure_(measure) {}

    binary_result run() {
        const double start =
            settings_.start_fps != 0 ? settings_.start_fps : settings_.limits.max_fps / 10;
        double next = std::clamp(start, settings_.limits.min_fps, settings_.limits.max_fps);
        while (step(next)) next = next_load();
        // The lower of the two bounds above the throughput is the reason for it.
        out_.sender_limited = ceiling_ && (!out_.failed_fps || *ceiling_ < *out_.failed_fps);
        return std::move(out_);
    }

  private:
    /// Measure one load and move a bound; false: the search is over.
    bool step(double load) {
        switch (try_load(load)) {
            case verdict::passed:
                out_.throughput_fps = load;
                break;
            case verdict::failed:
                out_.failed_fps = load;
                break;
            case verdict::not_offered:
                ceiling_ = load;
                break;
            case verdict::stopped:
                return false;
        }
        if (!out_.throughput_fps && load <= settings_.limits.min_fps) return false;
        if (out_.throughput_fps && *out_.throughput_fps >= settings_.limits.max_fps) return false;
        return top() - bottom() > settings_.resolution_fps || !decided();
    }

    /// Each bound was measured. The limits of the search themselves are not.
    [[nodiscard]] bool decided() const {
        return out_.throughput_fps && (out_.failed_fps || ceiling_);
    }
    [[nodiscard]] double bottom() const {
        return out_.throughput_fps.value_or(settings_.limits.min_fps);
    }
    [[nodiscard]] double top() const {
        return std::min(out_.failed_fps.value_or(settings_.limits.max_fps),
                        ceiling_.value_or(settings_.limits.max_fps));
    }
    [[nodiscard]] double next_load() const {
        if (top() - bottom() > settings_.resolution_fps) return (top() + bottom()) / 2;
        return out_.throughput_fps ? settings_.limits.max_fps : settings_.limits.min_fps;
    }

    verdict try_load(double load) {
        for (unsigned n = 0; n < settings_.trials; ++n) {
            const trial_input input{load, settings_.duration_s};
            const auto measured = measure_(input);
            if (!measured) {
                out_.stopped = measured.error();
                return verdict::stopped;
            }
            out_.trials.push_back({input, *measured});
            out_.duration_s += settings_.duration_s;
            if (!measured->rate_held) return verdict::not_offered;
            if (measured->loss_ratio > settings_.loss_ratio) return verdict::failed;
        }
        return verdict::passed;
    }

    const binary_settings& settings_;
    const measurer& measure_;
    binary_result out_{};
    std::optional<double> ceiling_{};  ///< the lowest load that the sender did not reach
};

}  // namespace

result<binary_result> search_binary(const binary_settings& settings, const measurer& measure) {
    if (auto good = check_settings(settings); !good) return tl::unexpected<error>(good.error());
    return binary_controller(settings, measure).run();
}

}  // namespace turnpike::search
