// SPDX-License-Identifier: BSD-3-Clause
#include "rates.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/printable.hpp"
#include "print.hpp"

namespace turnpike::ctl {
namespace {

using nlohmann::json;

double number(const json& of, const char* name) {
    const json value = of.is_object() ? of.value(name, json()) : json();
    return value.is_number() ? value.get<double>() : 0;
}
const json none = json::object();

const json& member(const json& of, std::string_view name) {
    const auto at = of.is_object() ? of.find(name) : of.end();
    return at == of.end() ? none : *at;
}

/// The entry of a list with the same name, or an empty object.
const json& same(const json& list, const char* name, const json& as) {
    for (const json& one : list)
        if (one.is_object() && one.value(name, json()) == as.value(name, json())) return one;
    return none;
}
/// The increase of a counter. A smaller value than before means that it was reset to 0.
double grown(const json& now, const json& before, const char* name) {
    const double n = number(now, name), b = number(before, name);
    return n >= b ? n - b : n;
}

/// The sum of removed ports: it rises by all that a port had counted when that is removed, which is no rate.
constexpr std::string_view removed_ports = "(removed)";

double all_drops(const json& port) {
    double sum = 0;
    for (const auto& [reason, n] : member(port, "drops").items())
        if (n.is_number()) sum += n.get<double>();
    return sum;
}

/// "tx 98  rx 42": cycles per packet in each stage, in descending order.
std::string stages_text(const json& now, const json& before) {
    std::vector<std::pair<double, std::string>> all;
    for (const json& s : member(now, "stages")) {
        const json& was = same(member(before, "stages"), "name", s);
        const double packets = grown(s, was, "sampled_packets");
        if (packets <= 0) continue;
        const bool on = number(s, "sampled_packets") > packets;
        const double cycles =
            number(s, "cycles_per_packet") * number(s, "sampled_packets") -
            (on ? number(was, "cycles_per_packet") * number(was, "sampled_packets") : 0);
        all.emplace_back(cycles / packets, value_text(s, "name"));
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string out;
    for (const auto& [cycles, name] : all) out += fmt::format("{} {:.0f}  ", name, cycles);
    return out;
}

struct columns {
    std::string_view what;
    std::vector<std::string> names;
    std::vector<bool> right;
};
const columns& columns_of(std::string_view what) {
    static const columns all[] = {
        {"drops", {"packets/s", "packets", "port", "reason"}, {true, true, false, false}},
        {"cost",
         {"lcore", "busy", "packets/s", "cycles/pkt", "headroom/s", "sampled cycles by stage"},
         {true, true, true, true, true, false}},
        {"ports",
         {"port", "link", "rx/s", "tx/s", "rx bit/s", "tx bit/s", "missed/s", "drops/s"},
         {false, false, true, true, true, true, true, true}},
    };
    return *std::find_if(std::begin(all), std::end(all) - 1,
                         [&](const columns& c) { return c.what == what; });
}

}  // namespace

rates::rates(std::string_view what)
    : what_(what), now_(std::make_unique<json>()), before_(std::make_unique<json>()) {}
rates::~rates() = default;

void rates::update(json shown) {
    *before_ = std::exchange(*now_, std::move(shown));
    const double since = number(*now_, "since_s"), was = number(*before_, "since_s");
    first_ = !before_->is_object() || since < was;  // cleared since the last update
    if (first_) *before_ = json::object();
    seconds_ = first_ ? since : since - was;
}

std::string rates::title() const {
    return fmt::format("{}  {:.1f} s{}", what_, seconds_,
                       !first_                                  ? ""
                       : now_->value("cleared", json()) == true ? " since the last clear"
                                                                : " since the start");
}

rates::interval rates::interval_of(const json& before, const json& since, const json& was) const {
    if (!since.is_number()) return {before, seconds_};
    const double now = since.get<double>(), then = was.is_number() ? was.get<double>() : 0;
    return now < then ? interval{none, now} : interval{before, now - then};
}

std::vector<rates::row> rates::drops() const {
    std::vector<row> out;
    const json &since = member(*now_, "port_since_s"), &was = member(*before_, "port_since_s");
    for (const auto& [port, reasons] : member(*now_, "ports").items()) {
        const bool has_rate = first_ || port != removed_ports;
        const interval in = interval_of(member(member(*before_, "ports"), port),
                                        member(since, port), member(was, port));
        for (const auto& [reason, n] : reasons.items()) {
            const double rate = has_rate ? in.over(grown(reasons, in.before, reason.c_str())) : 0;
            const double total = number(reasons, reason.c_str());
            out.push_back({rate + total * 1e-12,
                           {has_rate ? scaled(rate) : "-", fmt::format("{:.0f}", total),
                            printable(port), printable(reason)}});
        }
    }
    return out;
}

std::vector<rates::row> rates::cost() const {
    std::vector<row> out;
    const double hz = number(*now_, "tsc_hz");
    for (const json& w : member(*now_, "workers")) {
        const json& was = same(member(*before_, "workers"), "lcore", w);
        const double packets = grown(w, was, "packets"), busy = grown(w, was, "busy_cycles"),
                     processed = packets + grown(w, was, "injected"),
                     control = grown(w, was, "control_cycles"),
                     total = grown(w, was, "total_cycles"), available = total - control;
        const double cpp = processed > 0 ? busy / processed : 0,
                     share = available > 0 ? busy / available : 0;
        // Single packets of an idle worker do not show the cost of more (observe/verdict.hpp).
        const bool shows_cost = cpp > 0 && share >= 0.01;
        const double headroom =
            shows_cost ? std::max(0.0, hz / cpp * available / total - over(processed)) : 0;
        out.push_back({share,
                       {value_text(w, "lcore"), fmt::format("{:.1f}%", 100 * share),
                        scaled(over(packets)), cpp > 0 ? fmt::format("{:.0f}", cpp) : "-",
                        shows_cost ? scaled(headroom) : "-", stages_text(w, was)}});
    }
    return out;
}

std::vector<rates::row> rates::ports() const {
    std::vector<row> out;
    for (const json& p : member(*now_, "ports")) {
        if (!first_ && value_text(p, "name") == removed_ports) continue;
        const json& earlier = same(member(*before_, "ports"), "name", p);
        const interval in = interval_of(earlier, member(p, "since_s"), member(earlier, "since_s"));
        const auto rate = [&](const char* name) { return in.over(grown(p, in.before, name)); };
        const double drops = all_drops(p), dropped = drops - all_drops(in.before);
        out.push_back({rate("rx_packets") + rate("tx_packets"),
                       {value_text(p, "name"), value_text(p, "link"), scaled(rate("rx_packets")),
                        scaled(rate("tx_packets")), scaled(8 * rate("rx_bytes")),
                        scaled(8 * rate("tx_bytes")), scaled(rate("rx_missed")),
                        scaled(in.over(dropped >= 0 ? dropped : drops))}});
    }
    return out;
}

std::vector<std::string> rates::lines(size_t) {
    std::vector<row> rows = what_ == "drops" ? drops() : what_ == "cost" ? cost() : ports();
    std::stable_sort(rows.begin(), rows.end(),
                     [](const row& a, const row& b) { return a.weight > b.weight; });
    const columns& c = columns_of(what_);
    std::vector<std::vector<std::string>> cells = {c.names};
    for (row& r : rows) cells.push_back(std::move(r.cells));
    return aligned(cells, c.right);
}

}  // namespace turnpike::ctl
