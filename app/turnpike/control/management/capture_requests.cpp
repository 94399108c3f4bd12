// SPDX-License-Identifier: BSD-3-Clause
// The request `capture`, and `show captures`: doc/capture.md.
#include <fcntl.h>
#include <rte_cycles.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "control/controller.hpp"
#include "control/forwarding/captures.hpp"
#include "control/management/bpf_program.hpp"
#include "control/management/control_calls.hpp"
#include "control/management/show.hpp"
#include "version.hpp"

namespace turnpike::control {
namespace {

using nlohmann::json;

constexpr uint32_t least_snaplen = 16;

[[noreturn]] void refuse_capture(std::string_view field, std::string text, int code = EINVAL) {
    throw error{code, std::string(field), std::move(text)};
}

datapath::drop_reason reason_of(const std::string& name) {
    for (size_t i = 1; i < datapath::drop_reasons; ++i)
        if (datapath::drop_texts[i].name == name) return static_cast<datapath::drop_reason>(i);
    refuse_capture("reason",
                   "names '" + name.substr(0, 80) + "', which is not a drop reason (doc/drops.md)");
}

std::vector<bpf_insn> program_of(const json& list) {
    if (!list.is_array() || list.size() > max_bpf_instructions)
        refuse_capture("program", "should be a list of 1 to 4096 instructions");
    const auto is_number = [](const json& n, uint64_t most) {
        return n.is_number_unsigned() && n.get<uint64_t>() <= most;
    };
    std::vector<bpf_insn> out;
    for (const json& i : list) {
        if (!i.is_array() || i.size() != 4 || !is_number(i[0], UINT16_MAX) ||
            !is_number(i[1], UINT8_MAX) || !is_number(i[2], UINT8_MAX) ||
            !is_number(i[3], UINT32_MAX))
            refuse_capture("program[" + std::to_string(out.size()) + "]",
                           "should be a BPF instruction, [code, jt, jf, k]");
        out.push_back({i[0], i[1], i[2], i[3]});
    }
    if (auto valid = validate_bpf(out); !valid) throw valid.error();
    return out;
}

datapath::capture_filter filter_of(const request_fields& f) {
    datapath::capture_filter out;
    out.control = f.truth_or("control", false);
    out.drops = f.truth_or("drops", false) || f.has("reason");
    if (f.has("reason")) out.why = reason_of(f.text("reason"));
    if (f.has("direction")) {
        const std::string direction = f.text("direction");
        if (direction != "in" && direction != "out" && direction != "both")
            refuse_capture("direction", "should be in, out or both");
        out.in = direction != "out";
        out.out = direction != "in";
    } else if (out.drops && !out.control) {
        out.in = out.out = false;  // drops only, unless a direction is asked for as well
    }
    if (f.has("vlan"))
        out.vlan = static_cast<uint16_t>(f.number_or("vlan", 0, 1, state::last_vlan));
    if (f.has("program")) out.program = program_of(f.member("program"));
    if (f.has("filter")) {
        constexpr size_t max_text = 4096;
        const std::string text = f.text("filter");
        if (text.size() > max_text || printable(text) != text)
            refuse_capture("filter", "should be a line of at most 4096 bytes of text");
        if (!f.has("program"))
            refuse_capture("filter",
                           "is a description; the filter is program, a list of "
                           "BPF instructions [code, jt, jf, k]");
    }
    out.snaplen = static_cast<uint32_t>(
        f.number_or("snaplen", out.snaplen, least_snaplen, datapath::capture::max_frame_bytes));
    return out;
}

std::vector<captured_port> ports_of(controller& c, const request_fields& f) {
    const std::string name = f.text("port");
    std::vector<captured_port> out;
    const bool all = name == "any" && c.running().ports.find(name) == nullptr;
    for (const auto& open : c.ports().open())
        if (all || open->name == name)
            out.push_back({.index = open->port_index,
                           .name = open->name,
                           .description = open->device.driver() + " " + open->config.device +
                                          (open->clock ? ", RX timestamps of the device" : ""),
                           .bits_per_second = uint64_t{open->device.link_mbps()} * 1'000'000});
    if (out.empty())
        refuse_capture("port",
                       "names '" + name.substr(0, 80) + "', which is not a port; any: all ports",
                       ENOENT);
    return out;
}

/// A duplicate of the client's descriptor, which must be open for writing.
owned_fd writable(int descriptor) {
    if (descriptor < 0)
        refuse_capture(
            {}, "a capture needs a descriptor to write to, sent with the request (SCM_RIGHTS)");
    const int flags = ::fcntl(descriptor, F_GETFL);
    struct stat s {};
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH) != 0)
        refuse_capture({}, "the descriptor is not open for writing", EBADF);
    if (::fstat(descriptor, &s) != 0 || S_ISDIR(s.st_mode) || S_ISBLK(s.st_mode))
        refuse_capture({}, "the descriptor is no file, pipe, socket or terminal");
    owned_fd out(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    if (out.get() < 0) refuse_capture({}, "the descriptor cannot be duplicated", errno);
    return out;
}

json status_json(uint64_t number, const capture_session& s) {
    // Read first: the counters of a capture that is done are its last ones.
    const bool done = s.done.load(std::memory_order_acquire);
    uint64_t accepted = 0, lost = 0;
    json ports = json::array();
    for (size_t i = 0; i < s.ports.size(); ++i) {
        const auto n = s.counted(i);
        accepted += n.accepted;
        lost += n.lost;
        ports.push_back(s.ports[i].name);
    }
    const std::string why = s.why();
    return {{"capture", number},
            {"ports", std::move(ports)},
            {"filter", s.filter_text.empty() ? json(nullptr) : json(s.filter_text)},
            {"accepted", accepted},
            {"written", s.written.load(std::memory_order_relaxed)},
            {"bytes", s.bytes.load(std::memory_order_relaxed)},
            {"lost", lost + s.unwritten.load(std::memory_order_relaxed)},
            {"timed_by_device", s.timed_by_device.load(std::memory_order_relaxed)},
            {"done", done},
            {"why", why.empty() ? json(nullptr) : json(why)}};
}

/// Threads  control
json begun(controller& c, const request_fields& f, datapath::capture_filter filter, owned_fd& to,
           uint64_t connection) {
    auto ports = ports_of(c, f);
    datapath::packet_mask mask = 0;
    for (const captured_port& p : ports) mask |= datapath::packet_mask{1} << p.index;
    auto s = std::make_shared<capture_session>(std::move(filter), mask, size_t{max_workers()} + 1);
    s->ports = std::move(ports);
    if (f.has("filter")) s->filter_text = f.text("filter");
    s->version = version;
    s->max_packets = f.number_or("packets", 0, 0, UINT64_MAX);
    s->tsc_hz = rte_get_tsc_hz();
    s->set_clocks(c.ports().known_clocks());
    const auto number = c.capturing().begin(std::move(s), std::move(to), connection);
    if (!number) throw number.error();
    return {{"capture", *number}};
}

}  // namespace

json capture_request(controller& c, control_calls& calls, const request_fields& f, int descriptor,
                     uint64_t connection) {
    for (const char* const verb : {"status", "end"}) {
        if (!f.has(verb)) continue;
        f.expect(verb);
        const uint64_t number = f.number_or(verb, 0, 1, UINT64_MAX);
        return calls.run([&] {
            const capture_session* const s = c.capturing().find(number);
            if (s == nullptr)
                refuse_capture(verb, "is not a capture's number; see show captures", ENOENT);
            if (std::string_view(verb) == "end") c.capturing().end(number);
            return status_json(number, *s);
        });
    }
    f.expect("port direction control vlan program filter drops reason snaplen packets");
    auto filter = filter_of(f);
    // System calls with a client's descriptor may block (NFS, FUSE): not on the control thread.
    owned_fd to = writable(descriptor);
    return calls.run([&] { return begun(c, f, std::move(filter), to, connection); });
}

json show_captures(controller& c, const request_fields&) {
    json list = json::array();
    for (const uint64_t number : c.capturing().numbers())
        list.push_back(status_json(number, *c.capturing().find(number)));
    return {{"captures", std::move(list)}};
}

}  // namespace turnpike::control
