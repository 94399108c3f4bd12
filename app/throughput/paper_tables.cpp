// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "html/chart.hpp"
#include "html/figures.hpp"
#include "html/page.hpp"
#include "paper.hpp"
#include "result_page.hpp"
#include "tables.hpp"
#include "traffic.hpp"

namespace turnpike::throughput {
namespace {

using nlohmann::json;

std::string fixed(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }

/// The steps of a result, by workload, cores, SMT and frequency, each in the order of its first appearance.
class paper_steps {
  public:
    explicit paper_steps(const json& paper) : steps_(paper.value("steps", json::array())) {
        for (const json& s : steps_) {
            add(workloads, s.at("workload").get<std::string>());
            add(cores, s.at("cores").get<unsigned>());
            add(frequencies, mhz_of(s));
            has_smt |= s.at("smt").get<bool>();
        }
    }

    std::vector<std::string> workloads{};
    std::vector<unsigned> cores{}, frequencies{};
    bool has_smt = false;

    /// Null: the plan has no such step.
    [[nodiscard]] const json* find(const std::string& workload, unsigned n, bool smt,
                                   unsigned mhz) const {
        for (const json& s : steps_)
            if (s.at("workload") == workload && s.at("cores") == n && s.at("smt") == smt &&
                mhz_of(s) == mhz)
                return &s;
        return nullptr;
    }
    [[nodiscard]] const json& all() const noexcept { return steps_; }
    [[nodiscard]] bool has_core(unsigned n) const { return std::ranges::count(cores, n) != 0; }

  private:
    template <class T>
    static void add(std::vector<T>& to, const T& value) {
        if (std::ranges::find(to, value) == to.end()) to.push_back(value);
    }
    static unsigned mhz_of(const json& s) {
        return s.at("mhz").is_number() ? s.at("mhz").get<unsigned>() : 0;
    }
    const json steps_;
};

/// Frames per second of the first frame size; 0: not measured.
double fps_of(const json* step) {
    if (step == nullptr || step->at("sizes").empty()) return 0;
    return number_or(step->at("sizes").front(), "throughput_fps", 0);
}

/// The sender limited it, or the search was irregular.
bool is_lower_bound(const json* step) {
    return fps_of(step) > 0 && step->at("sizes").front().value("at_least", false);
}

double score_of(const json* step) { return step == nullptr ? 0 : number_or(*step, "score", 0); }

/// Frames per second, or a score.
double work_of(const json* step) { return std::max(fps_of(step), score_of(step)); }

/// The paper's indirect figure: the frequency of the cores over the throughput.
double cycles_by_rate(const json* step) {
    const double fps = fps_of(step);
    return fps > 0 ? number_or(*step, "core_hz", 0) * step->at("cores").get<double>() / fps : 0;
}

std::string positive(double value, int digits) { return value > 0 ? fixed(value, digits) : "n/a"; }
std::string figure_cell(const json* step, const char* figure, int digits) {
    return fps_of(step) > 0 ? figure_text(*step, figure, digits) : "n/a";
}
/// ">= 2.00", "<= 2.00" where one of the two is a lower bound; of two there is no ratio.
std::string ratio(const json* of, const json* to) {
    const double n = work_of(of), base = work_of(to);
    const bool low = is_lower_bound(of), low_base = is_lower_bound(to);
    if (n <= 0 || base <= 0 || (low && low_base && of != to)) return "n/a";
    return (low == low_base ? "" : low ? ">= " : "<= ") + fixed(n / base, 2);
}

std::string at_frequency(unsigned mhz) { return mhz == 0 ? "" : fmt::format(", {} MHz", mhz); }
std::string suffix(bool smt) { return smt ? ", SMT" : ""; }
std::vector<bool> modes(const paper_steps& s) {
    return s.has_smt ? std::vector{false, true} : std::vector{false};
}

/// Tables 4 and 5, and figures 7 and 9 to 11: one core.
paper_table efficiency_table(const paper_steps& s, unsigned mhz) {
    paper_table t{.id = fmt::format("efficiency{}", mhz == 0 ? "" : std::to_string(mhz)),
                  .title = "Performance and efficiency of one core" + at_frequency(mhz),
                  .headings = {"workload"}};
    struct column {
        const char* name;
        std::string (*cell)(const json*);
    };
    static constexpr column columns[] = {
        {"Mfps",
         [](const json* step) {
             return (is_lower_bound(step) ? ">= " : "") + positive(fps_of(step) / 1e6, 3);
         }},
        {"IPP", [](const json* step) { return figure_cell(step, "ipp", 0); }},
        {"IPC", [](const json* step) { return figure_cell(step, "ipc", 2); }},
        {"CPP", [](const json* step) { return figure_cell(step, "cpp", 0); }},
        {"Hz/fps", [](const json* step) {
             return (is_lower_bound(step) ? "<= " : "") + positive(cycles_by_rate(step), 0);
         }}};
    for (const column& c : columns)
        for (const bool smt : modes(s)) t.headings.push_back(c.name + suffix(smt));
    for (const std::string& w : s.workloads) {
        std::vector<std::string> row{w};
        for (const column& c : columns)
            for (const bool smt : modes(s)) {
                const json* step = s.find(w, 1, smt, mhz);
                // Scores are relative to the first, as the paper's of CoreMark.
                const bool is_score = &c == columns && score_of(step) > 0;
                row.push_back(is_score ? ratio(step, s.find(w, 1, false, s.frequencies[0])) + " x"
                                       : c.cell(step));
            }
        t.rows.push_back(std::move(row));
    }
    return t;
}

/// Figure 8, of cycles: I/O, processing and the rest.
paper_table breakdown_table(const paper_steps& s) {
    paper_table t{.id = "breakdown",
                  .title = "Cycles per packet by kind, one core" + at_frequency(s.frequencies[0]),
                  .headings = {"workload", "I/O", "packet processing", "other"}};
    for (const std::string& w : s.workloads) {
        const json* step = s.find(w, 1, false, s.frequencies[0]);
        const json groups = fps_of(step) > 0 ? step->value("groups", json()) : json();
        std::vector<std::string> row{w};
        for (const char* group : {"io", "processing", "other"})
            row.push_back(groups.is_object() ? fixed(number_or(groups, group, 0), 0)
                          : fps_of(step) > 0 ? "no report"
                                             : "n/a");
        t.rows.push_back(std::move(row));
    }
    return t;
}

/// Figure 12, of one core.
paper_table frequency_table(const paper_steps& s) {
    paper_table t{
        .id = "frequency",
        .title = fmt::format("Speedup with frequency over {} MHz, one core", s.frequencies[0]),
        .headings = {"workload"}};
    for (size_t i = 1; i < s.frequencies.size(); ++i)
        for (const bool smt : modes(s))
            t.headings.push_back(fmt::format("{} MHz{} (linear: {:.2f})", s.frequencies[i],
                                             suffix(smt),
                                             1.0 * s.frequencies[i] / s.frequencies[0]));
    for (const std::string& w : s.workloads) {
        std::vector<std::string> row{w};
        for (size_t i = 1; i < s.frequencies.size(); ++i)
            for (const bool smt : modes(s))
                row.push_back(ratio(s.find(w, 1, smt, s.frequencies[i]),
                                    s.find(w, 1, smt, s.frequencies[0])));
        t.rows.push_back(std::move(row));
    }
    return t;
}

/// Figure 13: two threads of a core over one.
paper_table smt_table(const paper_steps& s) {
    paper_table t{.id = "smt", .title = "Speedup with SMT, one core", .headings = {"workload"}};
    for (const unsigned mhz : s.frequencies)
        t.headings.push_back(mhz == 0 ? "speedup" : fmt::format("{} MHz", mhz));
    for (const std::string& w : s.workloads) {
        std::vector<std::string> row{w};
        for (const unsigned mhz : s.frequencies)
            row.push_back(ratio(s.find(w, 1, true, mhz), s.find(w, 1, false, mhz)));
        t.rows.push_back(std::move(row));
    }
    return t;
}

/// Figure 14, at the first frequency.
paper_table cores_table(const paper_steps& s, bool smt) {
    const unsigned mhz = s.frequencies[0], first = s.cores[0];
    paper_table t{.id = smt ? "cores-smt" : "cores",
                  .title = fmt::format("Speedup over {} core{}{}{}", first, first == 1 ? "" : "s",
                                       suffix(smt), at_frequency(mhz)),
                  .headings = {"workload"}};
    for (const unsigned n : s.cores)
        t.headings.push_back(fmt::format("{} core{}", n, n == 1 ? "" : "s"));
    std::vector<std::string> linear{"linear"};
    for (const unsigned n : s.cores) linear.push_back(fixed(1.0 * n / first, 2));
    for (const std::string& w : s.workloads) {
        std::vector<std::string> row{w};
        for (const unsigned n : s.cores)
            row.push_back(ratio(s.find(w, n, smt, mhz), s.find(w, first, smt, mhz)));
        t.rows.push_back(std::move(row));
    }
    t.rows.push_back(std::move(linear));
    return t;
}

/// A run's differences from section 13.4.
void add_differences(const json& run, std::vector<std::string>& out) {
    const auto add = [&out](std::string text) {
        if (std::ranges::find(out, text) == out.end()) out.push_back(std::move(text));
    };
    const json traffic = run.value("traffic", json::object());
    const bool by_mac = traffic.value("flows_by", "") == "mac";
    const uint32_t flows = by_mac ? l2_flows_of_paper : l3_flows_of_paper;
    if (number_or(traffic, "flows", 0) != flows)
        add(fmt::format("{} flows by {} addresses, not {}", number_or(traffic, "flows", 0),
                        by_mac ? "MAC" : "IP", flows));
    const json sizes = run.value("sizes", json::array());
    if (sizes.empty()) return;
    const json& size = sizes.front();
    if (size.at("size") != "64")
        add("frames of " + size.at("size").get<std::string>() + ", not 64 bytes");
    const json t = size.value("throughput", json::object());
    if (t.value("method", "") != "rfc2544") return add("another search than a binary one");
    if (const double s = number_or(t, "trial_s", 0); s != 20)
        add(fmt::format("trials of {:g} s, not 20", s));
    if (const double n = number_or(t, "trials_per_load", 0); n != 8)
        add(fmt::format("{:g} trial{} of a load, not 8", n, n == 1 ? "" : "s"));
    if (const double loss = number_or(t, "loss_ratio", 0); loss > 1e-4)
        add(fmt::format("a loss of up to {:g} %, not less than 0.01", 100 * loss));
    if (const double fps = number_or(t, "resolution_fps", 0); fps != 1e5)
        add(fmt::format("a rate change of {:g} Mfps, not 0.1", fps / 1e6));
    if (t.value("sender_limited", false))
        add("the sender limited a throughput: Hz/fps is above the device's cycles");
}

}  // namespace

std::vector<paper_table> paper_tables(const json& paper) {
    const paper_steps s(paper);
    std::vector<paper_table> out;
    if (s.workloads.empty()) return out;
    if (s.has_core(1)) {
        for (const unsigned mhz : s.frequencies) out.push_back(efficiency_table(s, mhz));
        out.push_back(breakdown_table(s));
        if (s.frequencies.size() > 1) out.push_back(frequency_table(s));
        if (s.has_smt) out.push_back(smt_table(s));
    }
    for (const bool smt : modes(s))
        if (s.cores.size() > 1) out.push_back(cores_table(s, smt));
    return out;
}

std::vector<std::string> paper_notes(const json& paper) {
    const json steps = paper.value("steps", json::array());
    std::vector<std::string> differences, sources;
    for (const json& step : steps) {
        if (const json& run = step.at("result"); run.is_object()) add_differences(run, differences);
        const json source = step.value("core_hz_source", json());
        if (!source.is_string()) continue;
        std::string text = fmt::format(
            "Hz/fps: the frequency of the cores ({}, {:.0f} MHz) over the throughput, the paper's "
            "CPP",
            source.get<std::string>(), number_or(step, "core_hz", 0) / 1e6);
        if (std::ranges::find(sources, text) == sources.end()) sources.push_back(std::move(text));
    }
    std::vector<std::string> out;
    if (first_result(steps).is_object())
        out.push_back(differences.empty() ? "method: section 13.4 of the paper"
                                          : fmt::format("method: section 13.4 of the paper, but {}",
                                                        fmt::join(differences, "; ")));
    if (!steps.empty())
        out.emplace_back(
            "IPP, IPC, CPP: instructions per packet, instructions per cycle, cycles per packet, of "
            "turnpike's report; IPP and IPC include the polls without packets of the whole step, "
            "CPP does not");
    out.insert(out.end(), sources.begin(), sources.end());
    const std::vector<std::string> notes = notes_of(steps);
    out.insert(out.end(), notes.begin(), notes.end());
    return out;
}

std::string paper_text(const json& paper) {
    std::string out;
    if (const json run = first_result(paper.value("steps", json::array())); run.is_object())
        out += run.at("kind").get<std::string>() + ": " + run.at("setup").get<std::string>() + "\n";
    for (const paper_table& t : paper_tables(paper)) {
        std::vector<size_t> widths;
        for (const std::string& h : t.headings) widths.push_back(h.size());
        for (const auto& row : t.rows)
            for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
        const auto line = [&widths](const std::vector<std::string>& cells) {
            std::string text = fmt::format("{:<{}}", cells[0], widths[0]);
            for (size_t i = 1; i < cells.size(); ++i)
                text += fmt::format("  {:>{}}", cells[i], widths[i]);
            return text + "\n";
        };
        out += "\n" + t.title + "\n" + line(t.headings);
        for (const auto& row : t.rows) out += line(row);
    }
    out += "\n";
    for (const std::string& note : paper_notes(paper)) out += note + "\n";
    if (!paper.at("complete").get<bool>())
        out += "\nnot complete: " + paper.at("stopped").get<std::string>() + "\n";
    return out;
}

namespace {

std::string html_of(const paper_table& t) {
    std::vector<std::string> names;
    std::vector<html::table_row> rows;
    for (const std::string& h : t.headings) names.push_back((names.empty() ? "" : "#") + h);
    for (const auto& row : t.rows) {
        html::table_row cells;
        for (const std::string& cell : row) cells.push_back(html::html_text(cell));
        rows.push_back(std::move(cells));
    }
    return html::table(t.title, {names.begin(), names.end()}, rows);
}

/// Figures 7 and 9 to 11: a figure of one core, by workload.
std::string bars_of(const paper_steps& s, const char* title, double (*value)(const json*)) {
    std::vector<std::string> series;
    std::vector<html::bar_group> groups;
    for (const std::string& w : s.workloads) groups.push_back({.name = w});
    bool any = false;
    for (const unsigned mhz : s.frequencies)
        for (const bool smt : modes(s)) {
            series.push_back(fmt::format("1 core{}{}", suffix(smt), at_frequency(mhz)));
            for (size_t i = 0; i < s.workloads.size(); ++i) {
                const double n = value(s.find(s.workloads[i], 1, smt, mhz));
                groups[i].values.push_back(n > 0 ? n : -1);
                any |= n > 0;
            }
        }
    return any ? html::grouped_bars(title, series, groups) : "";
}

double report_figure(const json* step, const char* name) {
    return fps_of(step) > 0 ? number_or(*step, name, 0) : 0;
}

/// Figure 14.
std::string speedup_chart(const paper_steps& s) {
    std::vector<html::chart_series> all;
    html::chart_series linear{.name = "linear"};
    for (const unsigned n : s.cores) linear.points.emplace_back(n, 1.0 * n / s.cores[0]);
    for (const bool smt : modes(s))
        for (const std::string& w : s.workloads) {
            html::chart_series line{.name = w + suffix(smt)};
            // A line of bounds would be taken for the device's: the table has them.
            const json* first = s.find(w, s.cores[0], smt, s.frequencies[0]);
            for (const unsigned n : s.cores)
                if (const json* step = s.find(w, n, smt, s.frequencies[0]);
                    work_of(step) > 0 && work_of(first) > 0 && !is_lower_bound(step) &&
                    !is_lower_bound(first))
                    line.points.emplace_back(n, work_of(step) / work_of(first));
            if (line.points.size() > 1) all.push_back(std::move(line));
        }
    if (all.empty()) return {};
    all.push_back(std::move(linear));
    return html::line_chart("Speedup with cores", {.title = "cores", .whole = true},
                            {.title = "throughput / the first's"}, all);
}

}  // namespace

std::string to_paper_page(const json& paper) {
    const paper_steps s(paper);
    std::string out = begin_result_page(paper, first_result(s.all()));
    for (const paper_table& t : paper_tables(paper)) {
        std::string body = html_of(t);
        if (t.id == "breakdown")
            body += bars_of(s, "cycles per packet",
                            [](const json* step) { return report_figure(step, "cpp"); });
        if (t.id == "cores") body += speedup_chart(s);
        if (t.id.starts_with("efficiency") && t.title == paper_tables(paper).front().title)
            body += bars_of(s, "frames per second", fps_of) +
                    bars_of(s, "instructions per packet",
                            [](const json* step) { return report_figure(step, "ipp"); }) +
                    bars_of(s, "instructions per cycle",
                            [](const json* step) { return report_figure(step, "ipc"); });
        out += html::section(t.id, t.title, body);
    }
    std::string notes;
    for (const std::string& note : paper_notes(paper))
        notes += "<p class=\"soft\">" + html::html_text(note) + "</p>";
    return out + html::section("notes", "Method, and figures that are not there", notes) +
           "</main>" + html::end_page();
}

}  // namespace turnpike::throughput
