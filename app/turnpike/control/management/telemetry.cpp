// SPDX-License-Identifier: BSD-3-Clause
#include "control/management/telemetry.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <utility>

#include "base/printable.hpp"
#include "control/management/show.hpp"
#include "control/management/telemetry_compat.hpp"

namespace turnpike::control {
namespace {

using nlohmann::json;

/// DPDK truncates replies at 16 KiB without an error: our JSON is a little shorter than DPDK's
/// encoding.
constexpr size_t max_bytes = 12 * 1024;

struct endpoint {
    const char* command;
    const char* what;  ///< subject of `show`
    const char* list;  ///< list of elements in its result
    const char* name;  ///< name of an element; null: the list is an object by name
    const char* all;   ///< member with the totals; null: none
    const char* help;
};
constexpr endpoint endpoints[] = {
    {"/turnpike/ports", "ports", "ports", "name", nullptr,
     "Ports, their settings and counters. Parameters: a port's name, or none"},
    {"/turnpike/drops", "drops", "ports", nullptr, "drops",
     "Dropped packets, by port and reason. Parameters: a port's name, or none"},
    {"/turnpike/cost", "cost", "workers", "lcore", nullptr,
     "Cycles per packet, by worker and stage. Parameters: an lcore, or none"},
    {"/turnpike/pcie", "pcie", "ports", "name", nullptr,
     "PCIe transactions per packet, by port. Parameters: a port's name, or none"},
};

struct request {
    const char* what;
    json shown{};  ///< null: failed
    bool done = false;
};

/// The queue of requests. Exists as long as the process.
struct request_queue {
    std::mutex lock;
    std::condition_variable changed;
    std::list<request*> waiting;
    std::atomic<bool> anybody{false};
    bool open = false;
    std::chrono::milliseconds patience{};
    bool registered = false;
};
request_queue& the_queue() {
    static request_queue& one = *new request_queue;
    return one;
}

/// DPDK accepts letters, digits, _ and /.
std::string plain(std::string name) {
    for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    return name;
}
std::string free_name(const json& in, const std::string& wanted) {
    std::string name = plain(wanted);
    while (in.contains(name)) name += '_';
    return name;
}

/// Numbers and texts by their path, without lists of texts and by_purpose: a dict has at most 256
/// entries. A port's PCIe object is under /turnpike/pcie.
void flatten(json& into, const std::string& name, const json& value) {
    const std::string below = name.empty() ? "" : name + "_";
    if (value.is_object()) {
        for (const auto& [inner, one] : value.items())
            if (inner != "by_purpose" && inner != "pcie") flatten(into, below + inner, one);
    } else if (value.is_array()) {
        for (json one : value) {
            if (!one.is_object() || !one.contains("name")) continue;
            const std::string inner = one["name"].get<std::string>();
            one.erase("name");
            flatten(into, below + inner, one);
        }
    } else if (value.is_number_float()) {  // DPDK has no floating-point values
        into[free_name(into, name)] = fmt::format("{:.6g}", value.get<double>());
    } else if (value.is_boolean()) {
        into[free_name(into, name)] = value.get<bool>() ? 1U : 0U;
    } else if (value.is_string()) {
        into[free_name(into, name)] =
            printable(value.get<std::string>()).substr(0, RTE_TEL_MAX_STRING_LEN - 1);
    } else if (!value.is_null()) {
        into[free_name(into, name)] = value;
    }
}

std::string name_of(const endpoint& e, const json& thing) {
    const json& name = thing.at(e.name);
    return name.is_string() ? name.get<std::string>() : name.dump();
}

/// The result of a subject: {thing: {name: value}}, or one thing's object; null: no such thing.
json arranged(const endpoint& e, json shown, const std::string& only) {
    json things = json::object();  // by name
    if (e.name == nullptr)
        things = shown.at(e.list);
    else
        for (const json& one : shown.at(e.list)) things[name_of(e, one)] = one;
    json out = json::object();
    if (!only.empty() && !things.contains(only)) return nullptr;
    flatten(out, "since_s", shown.at("since_s"));
    if (e.all != nullptr && only.empty()) flatten(out["all"] = json::object(), "", shown.at(e.all));
    for (const auto& [name, one] : things.items()) {
        json flat = json::object();
        flatten(flat, "", one);
        if (name == only)
            out.update(flat);
        else if (only.empty())
            out[free_name(out, name)] = std::move(flat);
    }
    if (out.dump().size() <= max_bytes) return out;
    json names = json::array();
    for (const auto& [name, one] : things.items()) names.push_back(name);
    return names;
}

int fill(rte_tel_data* into, const json& from);

int add(rte_tel_data* into, const char* name, const json& value) {
    if (value.is_string())
        return rte_tel_data_add_dict_string(into, name,
                                            value.get_ref<const std::string&>().c_str());
    if (!value.is_object()) return add_number(into, name, value.get<uint64_t>());
    rte_tel_data* inner = rte_tel_data_alloc();
    if (inner == nullptr) return -ENOMEM;
    int code = fill(inner, value);
    if (code == 0) code = rte_tel_data_add_dict_container(into, name, inner, 0);
    if (code != 0) rte_tel_data_free(inner);
    return code;
}

int fill(rte_tel_data* into, const json& from) {
    if (from.is_array()) {
        rte_tel_data_start_array(into, RTE_TEL_STRING_VAL);
        for (const json& name : from)
            if (const int code =
                    rte_tel_data_add_array_string(into, name.get_ref<const std::string&>().c_str());
                code != 0)
                return code;
        return 0;
    }
    rte_tel_data_start_dict(into);
    for (const auto& [name, value] : from.items())
        if (const int code = add(into, name.c_str(), value); code != 0) return code;
    return 0;
}

/// A subject of `show` from control; null: timeout.
json shown_by_control(const char* what) {
    request_queue& d = the_queue();
    request mine{what};
    std::unique_lock hold(d.lock);
    if (!d.open) return nullptr;
    d.waiting.push_back(&mine);
    d.anybody.store(true, std::memory_order_relaxed);
    d.changed.wait_for(hold, d.patience, [&] { return mine.done; });
    d.waiting.remove(&mine);
    return std::move(mine.shown);
}

}  // namespace

int telemetry::ask(const char* command, const char* thing, rte_tel_data* into) noexcept {
    try {
        const auto* const e = std::find_if(
            std::begin(endpoints), std::end(endpoints),
            [&](const endpoint& row) { return std::string_view(row.command) == command; });
        if (e == std::end(endpoints)) return -ENOENT;
        json shown = shown_by_control(e->what);
        if (shown.is_null()) return -EAGAIN;
        const json data = arranged(*e, std::move(shown), thing == nullptr ? "" : thing);
        return data.is_null() ? -ENOENT : fill(into, data);
    } catch (const std::exception&) {  // out of memory
        return -ENOMEM;
    }
}

size_t telemetry::waiting() noexcept {
    request_queue& d = the_queue();
    const std::lock_guard hold(d.lock);
    return d.waiting.size();
}

telemetry::telemetry(controller& c, control_calls& calls, std::chrono::milliseconds patience)
    : controller_(c), calls_(calls) {
    request_queue& d = the_queue();
    const std::lock_guard hold(d.lock);
    d.open = true;
    d.patience = patience;
    if (std::exchange(d.registered, true)) return;
    // If registration fails, DPDK reports an unknown command.
    for (const endpoint& e : endpoints) (void)rte_telemetry_register_cmd(e.command, ask, e.help);
}

telemetry::~telemetry() {
    request_queue& d = the_queue();
    const std::lock_guard hold(d.lock);
    d.open = false;
    for (request* t : d.waiting) t->done = true;
    d.waiting.clear();
    d.changed.notify_all();
}

void telemetry::serve() noexcept {
    request_queue& d = the_queue();
    if (!d.anybody.load(std::memory_order_relaxed)) return;
    const std::lock_guard hold(d.lock);
    if (!d.waiting.empty()) {
        request& next = *d.waiting.front();
        d.waiting.pop_front();
        try {
            const json request = {{"request", "show"}, {"what", next.what}};
            next.shown = controller_.with_loan(
                calls_, [&] { return show(controller_, request_fields(request)); });
        } catch (const std::exception&) {  // out of memory: no result
        } catch (const error&) {
        }
        next.done = true;
        d.changed.notify_all();
    }
    d.anybody.store(!d.waiting.empty(), std::memory_order_relaxed);
}

}  // namespace turnpike::control
