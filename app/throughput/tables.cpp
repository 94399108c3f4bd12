// SPDX-License-Identifier: BSD-3-Clause
#include "tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace turnpike::throughput {
namespace {

using nlohmann::json;

std::string mega(const json& fps) {
    return fps.is_number() ? fmt::format("{:.6f}", fps.get<double>() / 1e6) : std::string("-");
}

std::string throughput_text(const json& size) {
    const auto found = size.find("throughput");
    if (found == size.end()) return {};
    const std::string name = size.at("size").get<std::string>();
    if (found->at("method") == "rfc2544")
        return fmt::format("{:>6}  {:<12} {:>12} {:>12}  {}\n", name, "rfc2544",
                           mega(found->at("throughput_fps")), mega(found->at("failed_fps")),
                           throughput_remark(*found));
    std::string out;
    for (const json& g : found->at("goals"))
        out +=
            fmt::format("{:>6}  {:<12} {:>12} {:>12}  {}\n", name, g.at("name").get<std::string>(),
                        mega(g.at("conditional_throughput_fps")),
                        mega(g.at("relevant_upper_bound_fps")), throughput_remark(g));
    return out;
}

std::string latency_text(const json& size) {
    std::string out;
    for (const json& r : size.value("latency", json::array())) {
        out += fmt::format("{:>6}  {:>4} % {:>12}", size.at("size").get<std::string>(),
                           r.at("percent").get<unsigned>(), mega(r.at("load_fps")));
        for (const char* figure : latency_figures)
            out += fmt::format(" {:>9}", decimal_or_dash(r, figure));
        const std::string remark = latency_remark(r);
        out += (remark.empty() ? "" : "  " + remark) + "\n";
    }
    return out;
}

std::string frame_loss_text(const json& size) {
    std::string out;
    for (const json& r : size.value("frame_loss", json::array()))
        out += fmt::format("{:>6}  {:>4} % {:>12} {:>11.4f}{}\n",
                           size.at("size").get<std::string>(), r.at("percent").get<unsigned>(),
                           mega(r.at("load_fps")), 100 * r.at("loss_ratio").get<double>(),
                           r.at("counts").get<bool>() ? "" : "  rate missed");
    return out;
}

std::string back_to_back_text(const json& size) {
    const auto b = size.find("back_to_back");
    if (b == size.end()) return {};
    return fmt::format("{:>6}  {:>12.1f} {:>10.0f} {:>10.0f} {:>16} {:>12}{}{}\n",
                       size.at("size").get<std::string>(), b->at("mean_frames").get<double>(),
                       b->at("min_frames").get<double>(), b->at("max_frames").get<double>(),
                       decimal_or_dash(*b, "buffer_frames"),
                       decimal_or_dash(*b, "corrected_buffer_us"),
                       b->at("limited").get<bool>() ? "  limited by max_frames" : "",
                       b->value("counts", true) ? "" : "  does not count");
}

/// System recovery or reset.
std::string times_text(const json& size, const char* procedure) {
    const auto t = size.find(procedure);
    if (t == size.end()) return {};
    const auto ms = [&](const char* key) {
        return t->at(key).is_number() ? fmt::format("{:.3f}", t->at(key).get<double>()) : "-";
    };
    std::string out = fmt::format("{:>6}  {:>12} {:>12} {:>12}", size.at("size").get<std::string>(),
                                  ms("mean_ms"), ms("min_ms"), ms("max_ms"));
    // The figures leave out the first two.
    for (const auto& [flag, text] : {std::pair{"recovered", "not recovered"},
                                     {"counts", "rate missed"},
                                     {"overloaded", "not overloaded"}})
        if (const std::string remark = trials_without(*t, flag, text); !remark.empty())
            out += "  " + remark;
    return out + "\n";
}

}  // namespace

double number_or(const json& of, const char* member, double otherwise) {
    const auto at = of.find(member);
    return at != of.end() && at->is_number() ? at->get<double>() : otherwise;
}

std::string decimal_or_dash(const json& of, const char* member) {
    const double value = number_or(of, member, -1);
    return value < 0 ? "-" : fmt::format("{:.1f}", value);
}

std::string throughput_remark(const json& found) {
    if (found.contains("regular"))
        return found["regular"].get<bool>()
                   ? ""
                   : "irregular: " + found.at("irregularity").get<std::string>();
    if (!found.value("complete", true)) return "stopped";
    return found.value("sender_limited", false) ? "limited by the sender" : "";
}

std::string latency_remark(const json& row) {
    if (!row.value("counts", true)) return "does not count";
    if (number_or(row, "frames", 1) == 0) return "no frame arrived";
    const double loss = number_or(row, "loss_ratio", 0);
    return loss > 0 ? fmt::format("{:.3g} % lost", 100 * loss) : "";
}

std::string trials_without(const json& times, const char* flag, const char* text) {
    const json& results = times.at("results");
    const auto n =
        std::ranges::count_if(results, [flag](const json& row) { return !row.value(flag, true); });
    return n == 0 ? "" : fmt::format("{}: {} of {} trials", text, n, results.size());
}

std::string timestamps_of(const json& result) {
    std::string out;
    for (const json& p : result.value("ports", json::array()))
        if (const json source = p.value("rx_timestamps", json()); source.is_string())
            out += (out.empty() ? "" : ", ") + p.at("name").get<std::string>() + " " +
                   source.get<std::string>();
    return out;
}

json tester_method_of(const json& result) {
    const json tester = result.value("tester_latency", json());
    return tester.is_object() ? tester.value("method", json()) : json();
}

std::string to_text(const json& result) {
    std::string out =
        result.at("kind").get<std::string>() + ": " + result.at("setup").get<std::string>() + "\n";
    const auto section = [&](const char* head, const auto& rows) {
        std::string all;
        for (const json& size : result.value("sizes", json::array())) all += rows(size);
        if (!all.empty()) out += std::string("\n") + head + "\n" + all;
    };
    section("  size  goal                 Mfps   above, Mfps", throughput_text);
    section(
        "  size    load         Mfps    min us   mean us    p50 us    p90 us    p99 us  p99.9 us   "
        " max us    pdv us tester us",
        latency_text);
    if (const json method = tester_method_of(result); method.is_string())
        out += "tester's own latency: " + method.get<std::string>() + "\n";
    if (const std::string sources = timestamps_of(result); !sources.empty())
        out += "timestamps of received frames: " + sources + "\n";
    section("  size    load         Mfps  frame loss rate %", frame_loss_text);
    section("  size   back-to-back        min        max  buffer (frames)   buffer, us",
            back_to_back_text);
    section("  size   recovery, ms          min          max",
            [](const json& size) { return times_text(size, "system_recovery"); });
    section("  size      reset, ms          min          max",
            [](const json& size) { return times_text(size, "reset"); });
    if (!result.at("complete").get<bool>())
        out += "\nnot complete: " + result.at("stopped").get<std::string>() + "\n";
    return out;
}

}  // namespace turnpike::throughput
