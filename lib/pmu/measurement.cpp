// SPDX-License-Identifier: BSD-3-Clause
#include "pmu/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pmu/event_name.hpp"
#include "pmu/fit.hpp"

namespace turnpike::pmu {
namespace {

/// sysfs names of the PMUs of a PCIe stack: uncore_iio_2 and uncore_irp_2 belong to one stack.
constexpr std::string_view stack_kinds[] = {"uncore_iio", "uncore_irp"};

bool is_of_stack(const pmu_kind& kind) {
    return std::find(std::begin(stack_kinds), std::end(stack_kinds), kind.devices) !=
           std::end(stack_kinds);
}

bool is_of_core(const pmu_kind& kind) { return kind.devices == "cpu"; }

result<encoding> code_of(const device& of, const event& e) {
    if (e.config.empty()) return encode_name(e.native);
    const auto terms = parse_terms(e.config);
    if (!terms) return tl::unexpected<error>(terms.error());
    return encode(of.formats, *terms);
}

/// A CPU of the device's cpumask in a socket; -1: none.
int cpu_in(const machine& on, const device& of, unsigned package) {
    for (const unsigned cpu : of.cpus)
        if (package_of_cpu(on.sysfs, cpu) == package) return static_cast<int>(cpu);
    return -1;
}

}  // namespace

/// The events of a metric, including the events of metrics that it uses.
std::set<const event*> measurement::events_of(const metric& m) const {
    std::set<const event*> events;
    for (const std::string& name : m.how.names()) {
        if (const event* const e = on_.table->find_event(name)) {
            events.insert(e);
        } else if (const metric* const inner = on_.table->find_metric(name)) {
            events.merge(events_of(*inner));
        }
    }
    return events;
}

void measurement::want(std::initializer_list<scope> scopes) {
    for (const metric& m : on_.table->metrics)
        if (std::find(scopes.begin(), scopes.end(), m.of) != scopes.end()) metrics_.push_back(&m);
}

void measurement::open_group(const device& of, std::vector<const event*> events, target whose) {
    std::vector<coded_event> coded;
    group g{.device = of.name, .events = std::move(events), .counters = nullptr};
    for (const event* const e : g.events) {
        auto code = code_of(of, *e);
        if (!code) {
            g.wrong = {code.error().code, fmt::format("{}/{}", of.name, e->name),
                       code.error().text};
            break;
        }
        coded.push_back({e->name, *code});
    }
    if (coded.size() == g.events.size()) {
        auto counters = on_.source->open(of, coded, whose);
        if (counters)
            g.counters = std::move(*counters);
        else
            g.wrong = counters.error();
    }
    // Retry without the group: one unsupported event must not disable the others.
    if (g.counters == nullptr && g.events.size() > 1 && g.events[1]->leader.empty()) {
        for (const event* const e : g.events) open_group(of, {e}, whose);
        return;
    }
    g.last.resize(g.events.size());
    g.totals.resize(g.events.size());
    groups_.push_back(std::move(g));
}

void measurement::open(const std::string& name, const std::vector<const event*>& events,
                       target whose, unsigned package, const pmu_kind& kind) {
    const auto found = read_device(on_.sysfs, name);
    if (found && !is_of_core(kind)) whose = {.cpu = cpu_in(on_, *found, package), .thread = -1};
    if (!found || (whose.cpu < 0 && whose.thread < 0)) {
        groups_.push_back(
            {.device = name,
             .events = events,
             .counters = nullptr,
             .wrong = found ? error{ENODEV, name,
                                    fmt::format("its cpumask has no CPU on socket {}", package)}
                            : found.error()});
        return;
    }
    std::vector<fit_event> wanted;
    for (const event* const e : events) {
        const auto leader = std::find_if(events.begin(), events.end(), [&](const event* other) {
            return other->name == e->leader;
        });
        const auto code = code_of(*found, *e);
        wanted.push_back(
            {.counters = e->counters,
             .fixed = e->fixed,
             .leader = leader == events.end() ? -1 : static_cast<int>(leader - events.begin()),
             .filter = code ? code->words[1] : 0});
    }
    const bool smt = kind.counters_smt != 0 && smt_active(on_.sysfs);
    for (const auto& indices :
         fit(wanted, smt ? kind.counters_smt : kind.counters, kind.one_filter)) {
        std::vector<const event*> together;
        for (const size_t i : indices) together.push_back(events[i]);
        open_group(*found, std::move(together), whose);
    }
}

void measurement::open_all(target whose, unsigned package) {
    std::set<const event*> all;
    for (const metric* const m : metrics_) all.merge(events_of(*m));
    for (const pmu_kind& kind : on_.table->pmus) {
        std::vector<const event*> events;
        // In the order of the metrics, so that the operands of a division are counted together.
        for (const metric* const m : metrics_)
            for (const event* const e : events_of(*m))
                if (e->pmu == kind.name &&
                    std::find(events.begin(), events.end(), e) == events.end())
                    events.push_back(e);
        for (size_t i = 0; i < events.size(); ++i)
            if (const event* const leader = on_.table->find_event(events[i]->leader);
                leader != nullptr &&
                std::find(events.begin(), events.end(), leader) == events.end())
                events.push_back(leader);
        if (events.empty()) continue;
        auto names = devices_of(on_.sysfs, kind.devices);
        if (names.empty()) names = {kind.devices};  // read_device reports its absence
        for (const std::string& name : names) open(name, events, whose, package, kind);
    }
}

measurement measurement::of_core(const machine& on, target whose) {
    measurement m(on);
    m.want({scope::core});
    m.open_all(whose, 0);
    return m;
}

measurement measurement::of_socket(const machine& on, unsigned package) {
    measurement m(on);
    m.want({scope::socket, scope::instance});
    m.open_all({}, package);
    return m;
}

result<measurement> measurement::of_device(const machine& on, std::string_view address) {
    auto pci = read_pci_device(on.sysfs, address);
    if (!pci) return tl::unexpected<error>(pci.error());
    measurement m(on);
    m.pci_ = std::move(*pci);
    m.stack_ = find_stack(on.sysfs, m.pci_);
    const bool stacks = std::any_of(on.table->pmus.begin(), on.table->pmus.end(), is_of_stack);
    if (stacks)
        m.want({scope::stack, scope::socket, scope::instance});
    else
        m.want({scope::socket, scope::instance});
    unsigned package = 0;
    if (m.stack_) {
        const auto found = package_of_cpu(on.sysfs, m.stack_->cpu);
        if (!found)
            return fail(ENOENT, m.pci_.address,
                        fmt::format("the socket of CPU {} is unknown", m.stack_->cpu));
        package = *found;
    } else if (m.pci_.node > 0) {
        const auto found = package_of_node(on.sysfs, static_cast<unsigned>(m.pci_.node));
        if (!found)
            return fail(ENOENT, m.pci_.address,
                        fmt::format("the socket of NUMA node {} is unknown", m.pci_.node));
        package = *found;
    }
    m.open_all({}, package);
    return m;
}

bool measurement::read_group(group& g) {
    if (g.counters == nullptr) return false;
    const auto taken = g.counters->read(g.last);
    if (taken) return true;
    g.wrong = {taken.error().code, g.device, taken.error().text};
    g.counters = nullptr;
    return false;
}

void measurement::start() {
    for (group& g : groups_) g.totals.assign(g.totals.size(), {});
    resume();
}

void measurement::read() {
    for (group& g : groups_) {
        const std::vector<reading> before = g.last;
        if (!read_group(g)) continue;
        for (size_t i = 0; i < before.size(); ++i) {
            const uint64_t enabled = g.last[i].enabled_ns - before[i].enabled_ns,
                           running = g.last[i].running_ns - before[i].running_ns;
            total& t = g.totals[i];
            t.enabled_ns += enabled;
            t.running_ns += running;
            t.unscaled_ns += enabled;
            if (running == 0) continue;
            t.value += static_cast<double>(g.last[i].value - before[i].value) *
                       std::max(1.0, static_cast<double>(std::exchange(t.unscaled_ns, 0)) /
                                         static_cast<double>(running));
        }
    }
}

void measurement::resume() {
    for (group& g : groups_) read_group(g);
}

void measurement::mark() {
    for (group& g : groups_) g.marked = g.totals;
}

/// The event's count over all selected PMUs.
result<measured> measurement::count(const event& e, std::string_view of) const {
    measured sum;
    bool found = false;
    for (const group& g : groups_) {
        if (!of.empty() && g.device != of) continue;
        const auto at = std::find(g.events.begin(), g.events.end(), &e);
        if (at == g.events.end()) continue;
        if (g.counters == nullptr) return tl::unexpected<error>(g.wrong);
        const auto i = static_cast<size_t>(at - g.events.begin());
        const total from = since_mark_ && !g.marked.empty() ? g.marked[i] : total{};
        const uint64_t enabled = g.totals[i].enabled_ns - from.enabled_ns;
        const uint64_t running = g.totals[i].running_ns - from.running_ns;
        if (running == 0)
            return fail(ENODATA, fmt::format("{}/{}", g.device, e.name),
                        enabled == 0 ? "not counted yet"
                                     : "the counters never ran: other programs use this PMU");
        const double share =
            std::min(1.0, static_cast<double>(running) / static_cast<double>(enabled));
        sum.value += g.totals[i].value - from.value;
        sum.share = std::min(sum.share, share);
        found = true;
    }
    if (!found) return fail(ENOENT, e.name, "is not counted here");
    return sum;
}

result<measured> measurement::value(std::string_view name, const given_values& given,
                                    std::string_view of) const {
    if (const event* const e = on_.table->find_event(name)) {
        const pmu_kind& kind = *on_.table->find_pmu(e->pmu);
        if (!of.empty() && !of.starts_with(kind.devices) && is_of_stack(kind))
            return count(*e, fmt::format("{}_{}", kind.devices, stack_->number));
        return count(*e, of.starts_with(kind.devices) ? of : std::string_view{});
    }
    const metric* const m = on_.table->find_metric(name);
    if (m == nullptr) return fail(ENOENT, std::string(name), "no such metric");
    if (m->of == scope::stack) {
        if (!stack_) return tl::unexpected<error>(stack_.error());
        of = stack_->device;
    } else if (m->of != scope::instance) {
        of = {};
    }
    measured out;
    const auto computed = m->how.value([&](const std::string& inner) -> result<double> {
        const bool counted =
            on_.table->find_event(inner) != nullptr || on_.table->find_metric(inner) != nullptr;
        if (!counted) {
            if (const auto at = given.find(inner); at != given.end()) return at->second;
            return fail(ENODATA, std::string(name), fmt::format("{} is not known", inner));
        }
        const auto one = value(inner, given, of);
        if (!one) return tl::unexpected<error>(one.error());
        out.share = std::min(out.share, one->share);
        return one->value;
    });
    if (!computed) {
        const error& wrong = computed.error();
        return fail(wrong.code, wrong.object.empty() ? std::string(name) : wrong.object,
                    wrong.text);
    }
    out.value = *computed;
    return out;
}

std::vector<std::string> measurement::instances(std::string_view kind) const {
    const pmu_kind* const of = on_.table->find_pmu(kind);
    std::vector<std::string> names;
    for (const group& g : groups_)
        if (of != nullptr && g.events[0]->pmu == kind &&
            std::find(names.begin(), names.end(), g.device) == names.end())
            names.push_back(g.device);
    return names;
}

const error* measurement::why() const noexcept {
    for (const group& g : groups_)
        if (g.counters != nullptr) return nullptr;
    return groups_.empty() ? nullptr : &groups_[0].wrong;
}

const error* measurement::why(scope of) const noexcept {
    if (of == scope::stack && !stack_) return &stack_.error();
    return why();
}

result<user_counter> measurement::readable(std::string_view event) const {
    for (const group& g : groups_)
        for (size_t i = 0; i < g.events.size(); ++i)
            if (g.counters != nullptr && g.events[i]->name == event) return g.counters->readable(i);
    return fail(ENOENT, std::string(event), "is not counted here");
}

}  // namespace turnpike::pmu
