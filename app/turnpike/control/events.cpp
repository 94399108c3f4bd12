// SPDX-License-Identifier: BSD-3-Clause
#include "control/events.hpp"

#include <fmt/format.h>

#include "observe/console.hpp"

namespace turnpike::control {

using observe::log_level;

namespace {

/// Out of memory: the line is lost, not the event.
template <class Write>
void write_line(const Write& write) noexcept {
    try {
        write();
    } catch (const std::exception&) {
        observe::the_console().line_is_lost();
    }
}

}  // namespace

void events::link(const std::string& port, bool up, uint64_t now_ms) noexcept {
    write_line([&] {
        if (!observe::logs(log_level::notice) || !links_.allow(now_ms)) return;
        const char *is = up ? "up" : "down", *was = up ? "down" : "up";
        observe::log(log_level::notice, fmt::format("port '{}': link {}", port, is),
                     {{"what", "link"}, {"port", port}, {"from", was}, {"to", is}});
    });
}

void events::device_gone(const std::string& port, const std::string& device,
                         bool optional) noexcept {
    write_line([&] {
        observe::log(log_level::error,
                     fmt::format("port '{}': its device {} is gone; {}", port, device,
                                 optional ? "it is opened when it is there again"
                                          : "when it is there again, reload, or replace the port"),
                     {{"what", "removed"}, {"port", port}, {"device", device}});
    });
}

void events::device_reset(const std::string& port, const std::string& device) noexcept {
    write_line([&] {
        observe::log(log_level::error,
                     fmt::format("port '{}': its device {} was reset, as a virtual function is by "
                                 "its physical function; it is opened again",
                                 port, device),
                     {{"what", "reset"}, {"port", port}, {"device", device}});
    });
}

/// A changed MAC address may be spoofing, and a lost gateway affects routes. A host can change its MAC
/// address at any rate: messages about gateways have a separate limit.
void events::neighbour(const std::string& on, const neighbour_event& e, uint64_t now_ms) noexcept {
    write_line([&] {
        const log_level level = e.from && e.to             ? log_level::notice
                                : e.whose.gateway && !e.to ? log_level::warning
                                : e.whose.gateway          ? log_level::notice
                                                           : log_level::info;
        observe::log_rate_limit& limit = e.whose.gateway ? gateways_ : neighbours_;
        if (!observe::logs(level) || !limit.allow(now_ms)) return;
        const std::string address = e.whose.address.text(), from = e.from ? e.from->text() : "",
                          to = e.to ? e.to->text() : "";
        const std::string what = !e.to     ? "does not answer"
                                 : !e.from ? "is " + to
                                           : fmt::format("was {} and is {}", from, to);
        observe::log(level,
                     fmt::format("{} {} on {} {}", e.whose.gateway ? "gateway" : "neighbour",
                                 address, on, what),
                     {{"what", "neighbour"},
                      {"interface", on},
                      {"address", address},
                      {"from", from},
                      {"to", to}});
    });
}

void events::address_conflict(const std::string& on, const ip_address& address,
                              const mac_address& by, uint64_t now_ms) noexcept {
    write_line([&] {
        if (!observe::logs(log_level::warning) || !conflicts_.allow(now_ms)) return;
        const std::string ours = address.text(), other = by.text();
        observe::log(log_level::warning,
                     fmt::format("{}: our address {} is used by {}, too", on, ours, other),
                     {{"what", "conflict"}, {"interface", on}, {"address", ours}, {"mac", other}});
    });
}

void events::fdb_entry_held(const std::string& mac, const std::string& held_at,
                            const std::string& other, uint32_t hold_s, uint64_t now_ms) noexcept {
    write_line([&] {
        if (!observe::logs(log_level::warning) || !fdb_entries_.allow(now_ms)) return;
        observe::log(log_level::warning,
                     fmt::format("station {} moves between '{}' and '{}' too often: there may be a "
                                 "loop; it is held at '{}' for {} s",
                                 mac, held_at, other, held_at, hold_s),
                     {{"what", "station"}, {"mac", mac}, {"from", held_at}, {"to", other}});
    });
}

void events::poll(uint64_t now_ms) noexcept {
    conflicts_.flush(now_ms);
    fdb_entries_.flush(now_ms);
    gateways_.flush(now_ms);
    links_.flush(now_ms);
    neighbours_.flush(now_ms);
}

}  // namespace turnpike::control
