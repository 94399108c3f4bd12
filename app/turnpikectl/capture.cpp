// SPDX-License-Identifier: BSD-3-Clause
#include "capture.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>

#include "ask.hpp"
#include "base/arguments.hpp"
#include "base/printable.hpp"
#include "connection.hpp"
#include "rotating_files.hpp"
#include "signals.hpp"

namespace turnpike::ctl {
namespace {

using nlohmann::json;

constexpr int status_ms = 200;
/// After the end: how long turnpike may write on.
constexpr auto end_patience = std::chrono::seconds(10);

/// "64K", "100M", "1G": bytes.
std::optional<uint64_t> bytes_of(std::string text) {
    uint64_t unit = 1, number = 0;
    if (const size_t at = std::string_view("KMG").find(text.empty() ? ' ' : text.back());
        at != std::string_view::npos) {
        unit = uint64_t{1024} << 10 * at;
        text.pop_back();
    }
    constexpr uint64_t most = uint64_t{1} << 32;
    if (!read_number<uint64_t>(text, 1, most, number)) return std::nullopt;
    return number * unit;
}

/// A filter of pcap-filter(7) for Ethernet, compiled to BPF instructions [code, jt, jf, k]. libpcap resolves its names here.
result<json> program_of(const std::string& filter) {
    struct close_capture {
        void operator()(pcap_t* p) const noexcept { pcap_close(p); }
    };
    constexpr int longest_frame = 65535;
    const std::unique_ptr<pcap_t, close_capture> dead(pcap_open_dead(DLT_EN10MB, longest_frame));
    if (dead == nullptr) throw std::bad_alloc();
    bpf_program program{};
    if (pcap_compile(dead.get(), &program, filter.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0)
        return misuse("--filter", fmt::format("'{}' is no pcap-filter(7): {}", filter,
                                              pcap_geterr(dead.get())));
    json out = json::array();
    for (const bpf_insn* i = program.bf_insns; i != program.bf_insns + program.bf_len; ++i)
        out.push_back({i->code, i->jt, i->jf, i->k});
    pcap_freecode(&program);
    return out;
}

result<json> request_of(const given& g) {
    json request = {{"request", "capture"}, {"port", g.value("CAPTURED")}};
    for (const auto& [option, member] :
         {std::pair("--direction", "direction"), {"--reason", "reason"}})
        if (g.options.contains(option)) request[member] = g.option(option);
    for (const auto& [option, member] :
         {std::pair("--vlan", "vlan"), {"--snaplen", "snaplen"}, {"--count", "packets"}})
        if (g.options.contains(option)) request[member] = std::stoull(g.option(option));
    if (g.options.contains("--filter")) {
        auto program = program_of(g.option("--filter"));
        if (!program) return program;
        request["program"] = std::move(*program);
        request["filter"] = printable(g.option("--filter"));
    }
    if (g.options.contains("--control")) request["control"] = true;
    if (g.options.contains("--drops")) request["drops"] = true;
    return request;
}

/// Where packets go: a descriptor for turnpike, and what this program does with it.
struct destination {
    owned_fd given{};  ///< passed to turnpike
    owned_fd read{};   ///< the other end, where this program rotates files
    std::optional<rotating_files> files{};
    std::string made{};  ///< the file, if it did not exist before

    void remove_made() const noexcept {
        if (!made.empty()) ::unlink(made.c_str());
    }
};

/// Open a file without emptying it: turnpike replaces the contents when the capture begins; a refused one leaves them.
result<void> open_file(const std::string& name, destination& out) {
    constexpr mode_t mode = 0640;
    out.given.reset(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (out.given.get() >= 0)
        out.made = name;
    else if (errno == EEXIST)
        out.given.reset(::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, mode));
    if (out.given.get() < 0) return fail(errno, name, "cannot be written");
    return {};
}

result<destination> destination_of(const given& g) {
    const std::string name = g.option("--write", "-");
    const bool rotates = g.options.contains("--rotate-size") || g.options.contains("--rotate-time");
    if (g.options.contains("--files") && !rotates)
        return misuse("--files", "requires --rotate-size or --rotate-time");
    destination out;
    if (rotates) {
        if (name == "-") return misuse("--write", "should name a file, to be rotated");
        rotating_files::limits l{.time = g.seconds("--rotate-time", 0)};
        if (g.options.contains("--rotate-size")) {
            const auto bytes = bytes_of(g.option("--rotate-size"));
            if (!bytes)
                return misuse("--rotate-size", "should be bytes, e.g. 65536, 64K, 100M or 1G");
            l.bytes = *bytes;
        }
        if (g.options.contains("--files")) l.files = std::stoull(g.option("--files"));
        out.files.emplace(name, l);
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) return fail(errno, {}, "no pipe");
        out.read.reset(ends[0]);
        out.given.reset(ends[1]);
        return out;
    }
    if (name == "-") {
        if (::isatty(STDOUT_FILENO) != 0)
            return misuse("--write",
                          "names no file, and standard output is a terminal; "
                          "capture ... | tcpdump -r - prints packets");
        out.given.reset(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
        if (out.given.get() < 0) return fail(errno, name, "cannot be written");
    } else if (auto opened = open_file(name, out); !opened) {
        return tl::unexpected<error>(opened.error());
    }
    return out;
}

class capturing_client {
  public:
    capturing_client(connection& to, destination d) : to_(to), to_files_(std::move(d)) {}

    /// Answers  the last status
    result<json> run(const json& request) {
        auto begun = begin(request);
        if (!begun) {
            to_files_.remove_made();
            return begun;
        }
        number_ = (*begun)["capture"].get<uint64_t>();
        while (true) {
            if (auto done = wait(); !done) return tl::unexpected<error>(done.error());
            auto status = asked("status");
            if (!status) return status;
            if ((*status)["done"].get<bool>()) {
                if (auto rest = read_all(); !rest) return tl::unexpected<error>(rest.error());
                return status;
            }
            if (ended_ && rotating_files::clock::now() - ended_at_ > end_patience)
                return fail(EIO, "capture", "turnpike cannot write the rest");
        }
    }

  private:
    result<json> begin(const json& request) {
        if (auto sent = to_.send(request, to_files_.given.get()); !sent)
            return tl::unexpected<error>(sent.error());
        to_files_.given.reset();  // turnpike's copy is the last: a reader then sees the end
        return result_in(to_.receive());
    }
    result<json> asked(const char* verb) {
        if (auto sent = to_.send({{"request", "capture"}, {verb, number_}}); !sent)
            return tl::unexpected<error>(sent.error());
        return result_in(to_.receive());
    }
    /// Until the next look at the status; ends the capture at a signal.
    result<void> wait() {
        const auto until = rotating_files::clock::now() + std::chrono::milliseconds(status_ms);
        while (rotating_files::clock::now() < until) {
            pollfd waited[] = {{signals_.fd(), POLLIN, 0},
                               {to_files_.read.get(), POLLIN, 0},
                               {to_.descriptor(), 0, 0}};
            ::poll(waited, std::size(waited), status_ms);
            if ((waited[1].revents & POLLIN) != 0)
                if (auto done = read_some(); !done) return tl::unexpected<error>(done.error());
            if ((waited[1].revents & (POLLIN | POLLHUP)) == POLLHUP) return {};
            if (waited[2].revents != 0) return {};
            if (signals_.read() == 0) continue;
            if (ended_) return fail(EINTR, "capture", "was interrupted twice");
            ended_ = true;
            ended_at_ = rotating_files::clock::now();
            if (auto status = asked("end"); !status) return tl::unexpected<error>(status.error());
            return {};
        }
        return {};
    }
    /// Answers  false: the end
    result<bool> read_some() {
        char bytes[65536];
        const ssize_t n = ::read(to_files_.read.get(), bytes, sizeof bytes);
        if (n <= 0) return false;
        auto taken =
            to_files_.files->write({bytes, static_cast<size_t>(n)}, rotating_files::clock::now());
        if (!taken) return tl::unexpected<error>(taken.error());
        return true;
    }
    result<void> read_all() {
        while (to_files_.files) {
            const auto more = read_some();
            if (!more) return tl::unexpected<error>(more.error());
            if (!*more) break;
        }
        return {};
    }

    connection& to_;
    destination to_files_;
    signals signals_{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    uint64_t number_ = 0;
    bool ended_ = false;
    rotating_files::clock::time_point ended_at_{};
};

}  // namespace

int capture(const given& g) {
    const auto request = request_of(g);
    if (!request) return complain(request.error(), exit_of(request.error()));
    auto to_files = destination_of(g);
    if (!to_files) return complain(to_files.error(), exit_of(to_files.error()));
    auto to = connect(g);
    if (!to) {
        to_files->remove_made();
        return complain(to.error(), exit_no_connection);
    }
    capturing_client client(*to, std::move(*to_files));
    const auto status = client.run(*request);
    if (!status) return complain(status.error(), exit_of_answer(status.error()));
    const std::string why = status->value("why", json()).is_string() ? (*status)["why"] : "";
    if (g.as_json())
        std::fprintf(stderr, "%s\n", status->dump().c_str());
    else
        std::fprintf(stderr, "%s packets written, %s lost%s\n", (*status)["written"].dump().c_str(),
                     (*status)["lost"].dump().c_str(), why.empty() ? "" : (": " + why).c_str());
    // As for `tcpdump -w - | head`: the reader has enough.
    return why.empty() || why == "the reader has gone" ? 0 : exit_refused;
}

}  // namespace turnpike::ctl
