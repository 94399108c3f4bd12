// SPDX-License-Identifier: BSD-3-Clause
#include "procedures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "burst_search.hpp"
#include "recovery.hpp"
#include "search/binary_search.hpp"
#include "search/mlr_search.hpp"

namespace turnpike::throughput {
namespace {

using nlohmann::json;

json or_null(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

/// The procedures for one frame size.
class size_procedures {
  public:
    /// direct  null: the tester's own latency is not measured
    size_procedures(test_bed& bed, test_bed* direct, const run& settings, const frame_size& size,
                    double max_fps, json& out, const progress& show)
        : run_(settings),
          max_fps_(max_fps),
          hz_(bed.cycles_per_second()),
          out_(out),
          trials_(bed, size.name, out["trials"], settings.attempts, show) {
        if (direct != nullptr)
            tester_.emplace(*direct, size.name, out["trials"], settings.attempts, show);
    }

    result<void> perform() {
        if (run_.throughput.method == search_method::binary)
            if (auto done = search_rfc2544(); !done) return done;
        if (run_.throughput.method == search_method::mlr)
            if (auto done = search_mlr_goals(); !done) return done;
        if (run_.latency.trial_s > 0)
            if (auto done = measure_latency(); !done) return done;
        if (run_.frame_loss_trial_s > 0)
            if (auto done = measure_frame_loss(); !done) return done;
        if (run_.back_to_back.repeats > 0)
            if (auto done = measure_back_to_back(); !done) return done;
        if (run_.system_recovery.repeats > 0)
            if (auto done = measure_system_recovery(trials_, run_.system_recovery, throughput_fps_,
                                                    max_fps_, out_["system_recovery"]);
                !done)
                return done;
        if (run_.reset.repeats > 0)
            return measure_reset(trials_, run_.reset, throughput_fps_, out_["reset"]);
        return {};
    }

  private:
    [[nodiscard]] double min_fps() const {
        return run_.min_fps > 0 ? std::min(run_.min_fps, max_fps_ / 2) : max_fps_ / 1000;
    }
    [[nodiscard]] double us(double cycles) const { return cycles / hz_ * 1e6; }

    /// Null figures if no frame arrived.
    /// own  cycles of the tester, which are subtracted
    json latency_json(const latency_histogram& h, double own) const {
        const auto figure = [&](double cycles) {
            return h.count() == 0 ? json(nullptr) : json(us(cycles));
        };
        const auto less = [&](double cycles) { return figure(std::max(0.0, cycles - own)); };
        return {{"frames", h.count()},
                {"min_us", less(static_cast<double>(h.min()))},
                {"mean_us", less(h.mean())},
                {"p50_us", less(h.percentile(50))},
                {"p90_us", less(h.percentile(90))},
                {"p99_us", less(h.percentile(99))},
                {"p99_9_us", less(h.percentile(99.9))},
                {"max_us", less(static_cast<double>(h.max()))},
                {"pdv_us", figure(h.percentile(99.9) - static_cast<double>(h.min()))}};
    }

    search::measurer measure(const char* procedure) {
        return [this, procedure](const search::trial_input& in) -> result<search::trial_output> {
            const auto r =
                trials_.perform(procedure, {.rate_fps = in.load_fps, .duration_s = in.duration_s});
            if (!r) return tl::unexpected<error>(r.error());
            return search::trial_output{.loss_ratio = r->loss_ratio(),
                                        .rate_held = r->unheld.empty()};
        };
    }

    result<void> search_rfc2544() {
        const throughput_plan& p = run_.throughput;
        const double resolution =
            p.resolution_fps > 0 ? p.resolution_fps : p.resolution_ratio * max_fps_;
        const auto found = search::search_binary({.limits = {min_fps(), max_fps_},
                                                  .loss_ratio = p.loss_ratio,
                                                  .duration_s = p.trial_s,
                                                  .trials = p.trials,
                                                  .resolution_fps = resolution},
                                                 measure("throughput"));
        if (!found) return tl::unexpected<error>(found.error());
        out_["throughput"] = {{"method", "rfc2544"},
                              {"loss_ratio", p.loss_ratio},
                              {"trial_s", p.trial_s},
                              {"trials_per_load", p.trials},
                              {"resolution_fps", resolution},
                              {"throughput_fps", or_null(found->throughput_fps)},
                              {"failed_fps", or_null(found->failed_fps)},
                              {"sender_limited", found->sender_limited},
                              {"complete", !found->stopped}};
        throughput_fps_ = buffer_fps_ = found->throughput_fps.value_or(0);
        if (found->stopped) return tl::unexpected<error>(*found->stopped);
        return {};
    }

    result<void> search_mlr_goals() {
        const auto& goals = run_.throughput.goals;
        const double before_s = trials_.duration_s();
        const auto found = search::search_mlr({.limits = {min_fps(), max_fps_}, .goals = goals},
                                              measure("throughput"));
        if (!found) return tl::unexpected<error>(found.error());
        json all = json::array();
        for (size_t i = 0; i < goals.size(); ++i) {
            const search::goal_result& r = found->goals[i];
            all.push_back(
                {{"name", goals[i].name},
                 {"goal_loss_ratio", goals[i].loss_ratio},
                 {"goal_exceed_ratio", goals[i].exceed_ratio},
                 {"goal_final_trial_duration_s", goals[i].final_duration_s},
                 {"goal_duration_sum_s", goals[i].duration_sum_s},
                 {"goal_width", goals[i].width},
                 {"regular", r.regular()},
                 {"irregularity", r.regular() ? json(nullptr) : json(search::name_of(r.why))},
                 {"relevant_lower_bound_fps", or_null(r.relevant_lower_fps)},
                 {"relevant_upper_bound_fps", or_null(r.relevant_upper_fps)},
                 {"conditional_throughput_fps", or_null(r.conditional_throughput_fps)}});
        }
        out_["throughput"] = {{"method", "mlrsearch"},
                              {"goals", std::move(all)},
                              {"search_duration_s", trials_.duration_s() - before_s},
                              {"complete", !found->stopped}};
        throughput_fps_ = found->goals.front().relevant_lower_fps.value_or(0);
        const auto lossless = std::ranges::find(goals, 0, &search::goal::loss_ratio);
        const size_t by =
            lossless == goals.end() ? 0 : static_cast<size_t>(lossless - goals.begin());
        buffer_fps_ = found->goals[by].relevant_lower_fps.value_or(0);
        if (found->stopped) return tl::unexpected<error>(*found->stopped);
        return {};
    }

    /// The least latency over the direct wire at a rate, in cycles. The least, because the rest is the delay by other programs,
    /// which the frames through the device suffer as well.
    result<std::optional<double>> tester_latency(double rate_fps) {
        if (!tester_) return std::optional<double>();
        constexpr double max_trial_s = 2;
        const auto r = tester_->perform("tester's latency",
                                        {.rate_fps = rate_fps,
                                         .duration_s = std::min(run_.latency.trial_s, max_trial_s),
                                         .measures_latency = true});
        if (!r) return tl::unexpected<error>(r.error());
        if (r->latency.count() == 0)
            return fail(EIO, run_.latency.direct[0].where,
                        "no frame passed the direct wire: its two devices are not connected");
        return std::optional(static_cast<double>(r->latency.min()));
    }

    /// RFC 2544 section 26.2, at shares of the throughput.
    result<void> measure_latency() {
        out_["latency"] = json::array();
        if (throughput_fps_ <= 0) return {};
        for (const unsigned percent : run_.latency.percent) {
            const double rate = throughput_fps_ * percent / 100;
            const auto r = trials_.perform(
                "latency",
                {.rate_fps = rate, .duration_s = run_.latency.trial_s, .measures_latency = true});
            if (!r) return tl::unexpected<error>(r.error());
            const auto own = tester_latency(rate);
            if (!own) return tl::unexpected<error>(own.error());
            json row = latency_json(r->latency, own->value_or(0));
            row.update({{"percent", percent},
                        {"load_fps", rate},
                        {"loss_ratio", r->loss_ratio()},
                        {"counts", r->unheld.empty()},
                        {"tester_us", *own ? json(us(**own)) : json(nullptr)}});
            out_["latency"].push_back(std::move(row));
        }
        return {};
    }

    /// RFC 2544 section 26.3: down in steps of a tenth, until two loads in succession lose nothing. A trial at another rate is
    /// none of the two, and does not separate them.
    result<void> measure_frame_loss() {
        out_["frame_loss"] = json::array();
        unsigned clean = 0;
        for (unsigned percent = 100; percent >= 10 && clean < 2; percent -= 10) {
            const double rate = max_fps_ * percent / 100;
            const auto r = trials_.perform(
                "frame loss rate", {.rate_fps = rate, .duration_s = run_.frame_loss_trial_s});
            if (!r) return tl::unexpected<error>(r.error());
            if (r->unheld.empty()) clean = r->loss_ratio() > 0 ? 0 : clean + 1;
            out_["frame_loss"].push_back({{"percent", percent},
                                          {"load_fps", rate},
                                          {"loss_ratio", r->loss_ratio()},
                                          {"counts", r->unheld.empty()}});
        }
        return {};
    }

    /// RFC 9004: the longest burst without loss, several times; the device forwards during the burst, which is taken off: the
    /// buffer is null without a throughput.
    result<void> measure_back_to_back() {
        const back_to_back_plan& p = run_.back_to_back;
        std::vector<double> lengths, buffers, implied_us, corrected_us;
        bool limited = false, counts = true;
        const auto publish = [&](bool complete) {
            if (lengths.empty()) return;
            const auto mean = [](const std::vector<double>& of) {
                double sum = 0;
                for (const double x : of) sum += x;
                return sum / static_cast<double>(of.size());
            };
            const auto [least, most] = std::minmax_element(lengths.begin(), lengths.end());
            double squares = 0;
            for (const double x : lengths) squares += (x - mean(lengths)) * (x - mean(lengths));
            out_["back_to_back"] = {
                {"repeats", lengths.size()},
                {"max_burst_frames", p.max_frames},
                {"mean_frames", mean(lengths)},
                {"min_frames", *least},
                {"max_frames", *most},
                {"deviation_frames", std::sqrt(squares / static_cast<double>(lengths.size()))},
                {"buffer_frames", buffer_fps_ > 0 ? json(mean(buffers)) : json(nullptr)},
                {"implied_buffer_us", mean(implied_us)},
                {"corrected_buffer_us", buffer_fps_ > 0 ? json(mean(corrected_us)) : json(nullptr)},
                {"limited", limited},
                {"counts", counts},
                {"complete", complete}};
        };
        for (unsigned n = 0; n < p.repeats; ++n) {
            const auto longest = search_longest_burst(
                p.max_frames, [this](uint32_t frames) { return measure_burst(frames); });
            if (!longest) {
                publish(false);
                return tl::unexpected<error>(longest.error());
            }
            const double frames = longest->frames, sending_s = longest->sending_s;
            limited |= longest->frames == p.max_frames;
            counts &= longest->counts;
            lengths.push_back(frames);
            buffers.push_back(std::max(0.0, frames - buffer_fps_ * sending_s));
            // RFC 9004 section 6.4: the burst's duration, and the share of it that filled the buffer.
            implied_us.push_back(sending_s * 1e6);
            corrected_us.push_back(frames == 0 ? 0 : implied_us.back() * buffers.back() / frames);
        }
        publish(true);
        return {};
    }

    result<burst_trial> measure_burst(uint32_t frames) {
        const auto r = trials_.perform("back-to-back", {.burst_frames = frames});
        if (!r) return tl::unexpected<error>(r.error());
        return burst_trial{
            .loss_ratio = r->loss_ratio(), .sending_s = r->sending_s, .counts = r->unheld.empty()};
    }

    const run& run_;
    const double max_fps_, hz_;
    json& out_;
    trial_recorder trials_;
    std::optional<trial_recorder> tester_{};
    double throughput_fps_ = 0;  ///< 0: unknown
    double buffer_fps_ = 0;      ///< of the first goal without loss, if there is one; 0: unknown
};

}  // namespace

result<double> max_rate_fps(const run& settings, const frame_size& size,
                            uint32_t slower_link_mbps) {
    const double line = slower_link_mbps != 0 ? size.line_rate_fps(slower_link_mbps * 1e6,
                                                                   encapsulation_bytes(settings))
                                              : settings.max_fps;
    if (line <= 0)
        return fail(
            EINVAL, settings.ports[0].where,
            "no port reports its link's speed: the run needs the maximum rate (rate: {max: 1M})");
    return settings.max_fps > 0 ? std::min(settings.max_fps, line) : line;
}

result<void> perform_procedures(test_bed& bed, test_bed* direct, const run& settings, json& out,
                                const progress& show) {
    uint32_t mbps = 0;  // of the slowest link that reports its speed
    for (unsigned i = 0; i < settings.ports.size(); ++i)
        if (const uint32_t n = bed.port(i).link_mbps(); mbps == 0 || (n != 0 && n < mbps)) mbps = n;
    out["sizes"] = json::array();
    for (const frame_size& size : settings.sizes) {
        const auto max = max_rate_fps(settings, size, mbps);
        if (!max) return tl::unexpected<error>(max.error());
        out["sizes"].push_back(
            {{"size", size.name},
             {"mean_bytes", size.mean_bytes()},
             {"line_rate_fps",
              mbps != 0 ? json(size.line_rate_fps(mbps * 1e6, encapsulation_bytes(settings)))
                        : json(nullptr)},
             {"max_rate_fps", *max},
             {"streams", settings.ports.size() / (settings.both_ways ? 1 : 2)},
             {"trials", json::array()}});
        constexpr double max_learning_fps = 100e3;
        bed.select(size, std::min(max_learning_fps, *max / 4));
        if (direct != nullptr) direct->select(size, 0);
        size_procedures procedures(bed, direct, settings, size, *max, out["sizes"].back(), show);
        if (auto done = procedures.perform(); !done) return done;
    }
    return {};
}

}  // namespace turnpike::throughput
