// SPDX-License-Identifier: BSD-3-Clause
#include "control/forwarding/sflow_export.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <rte_cycles.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <thread>

#include "base/owned_fd.hpp"
#include "control/controller.hpp"
#include "control/management/inventory.hpp"
#include "control/management/show.hpp"

namespace turnpike::control {
namespace {

using clock = std::chrono::steady_clock;
using datapath::capture_point;
using datapath::max_ports;
using datapath::sampled_path;
using observe::sflow::datagram;

constexpr size_t records_a_round = 256;
constexpr auto poll_interval = std::chrono::milliseconds(20);
/// "The sFlow Agent must not wait for a buffer to fill with samples": at most a second (sFlow version 5, section 5).
constexpr auto max_delay = std::chrono::milliseconds(500);

sockaddr_storage sockaddr_of(const ip_address& a, uint16_t port, socklen_t& bytes) {
    sockaddr_storage out{};
    if (a.v6) {
        sockaddr_in6 to{};
        to.sin6_family = AF_INET6;
        to.sin6_port = htons(port);
        std::memcpy(&to.sin6_addr, a.bytes.data(), sizeof to.sin6_addr);
        std::memcpy(&out, &to, bytes = sizeof to);
    } else {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        std::memcpy(&to.sin_addr, a.bytes.data(), sizeof to.sin_addr);
        std::memcpy(&out, &to, bytes = sizeof to);
    }
    return out;
}

/// A collector. Its socket is not connected: each datagram goes by the route, and from the address, that the kernel has then.
struct collector {
    owned_fd socket;
    sockaddr_storage to;
    socklen_t bytes;

    [[nodiscard]] bool send(std::span<const uint8_t> datagram) const noexcept {
        return ::sendto(socket.get(), datagram.data(), datagram.size(), 0,
                        reinterpret_cast<const sockaddr*>(&to), bytes) >= 0;
    }
};

result<collector> collector_at(const state::listen_address& at) {
    owned_fd fd(
        ::socket(at.address.v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (fd.get() < 0)
        return fail(
            errno, {},
            errno == EAFNOSUPPORT
                ? "no socket: neither the kernel nor the service's RestrictAddressFamilies= "
                  "may forbid this family (doc/install.md)"
                : "no socket");
    collector out{std::move(fd), {}, 0};
    out.to = sockaddr_of(at.address, at.port, out.bytes);
    return out;
}

/// The address that datagrams to a collector come from now; none: the kernel has no route to it.
std::optional<ip_address> source_of(const collector& of) {
    const bool v6 = of.to.ss_family == AF_INET6;
    const owned_fd fd(::socket(of.to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (fd.get() < 0 ||
        ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&of.to), of.bytes) != 0)
        return std::nullopt;
    sockaddr_in6 v6_name{};
    sockaddr_in v4_name{};
    ip_address out;
    out.v6 = v6;
    socklen_t bytes = v6 ? sizeof v6_name : sizeof v4_name;
    ::getsockname(
        fd.get(),
        v6 ? reinterpret_cast<sockaddr*>(&v6_name) : reinterpret_cast<sockaddr*>(&v4_name), &bytes);
    if (v6)
        std::memcpy(out.bytes.data(), &v6_name.sin6_addr, sizeof v6_name.sin6_addr);
    else
        std::memcpy(out.bytes.data(), &v4_name.sin_addr, sizeof v4_name.sin_addr);
    return out;
}

/// ifIndex of a port.
constexpr uint32_t source_of(uint16_t port) noexcept { return port + uint32_t{1}; }

uint32_t input_of(const sampled_path& path) noexcept {
    return path.in == sampled_path::no_port ? observe::sflow::no_interface : source_of(path.in);
}
uint32_t output_of(const datapath::capture_record& r) noexcept {
    switch (r.path.how) {
        using enum sampled_path::end;
        case sent:
            return source_of(r.path.out);
        case flooded:
            return observe::sflow::multiple_interfaces(r.path.out);
        case dropped:
            return observe::sflow::discarded(r.why);
        case to_router:
            return observe::sflow::no_interface;
        case unknown:
            break;
    }
    return observe::sflow::unknown_interface;
}

/// The stages of all ports.
void add_sampling_stages(datapath::snapshot& v, const state::sflow& says) {
    using datapath::stage;
    if (says.samples_in())
        for (datapath::port_snapshot& port : v.port)
            if (port.state != nullptr) port.in_front |= bit(stage::sample_in);
    if (!says.samples_out()) return;
    for (datapath::interface_paths& of : v.paths)
        if ((of.output & bit(stage::tx)) != 0) of.output |= bit(stage::sample_out);
}

}  // namespace

/// One configuration of the export, its sockets and its thread.
class sflow_export::session {
  public:
    /// life  of its counters
    session(const state::sflow& says, std::vector<collector> collectors, size_t workers,
            uint64_t life)
        : config_(says),
          life_(life),
          collectors_(std::move(collectors)),
          knows_agent_(!says.agent.empty()),
          building_(says.agent.empty() ? ip_address{} : *parse_address(says.agent)) {
        const datapath::sampling_limits limits{.one_in = says.sample,
                                               .header_bytes = says.header_bytes,
                                               .drops_per_s = says.drops_per_s,
                                               .tsc_hz = rte_get_tsc_hz()};
        for (size_t w = 0; w < workers; ++w)
            sampling_.of_producer.push_back(
                std::make_unique<datapath::sampler>(limits, rte_rdtsc() * (2 * w + 3)));
    }
    ~session() { end(); }
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    result<void> start() {
        try {
            thread_ = std::thread([this] { run(); });
        } catch (const std::system_error& e) {
            return fail(e.code().value(), {}, "no thread");
        }
        return {};
    }

    /// Export the last samples; no producer has it any more.
    void end() noexcept {
        {
            const std::lock_guard hold(lock_);
            stop_ = true;
        }
        wake_.notify_all();
        if (thread_.joinable()) thread_.join();
    }

    [[nodiscard]] datapath::samplers& sampling() noexcept { return sampling_; }
    [[nodiscard]] const state::sflow& config() const noexcept { return config_; }
    [[nodiscard]] bool wants_counters() const noexcept {
        return wants_counters_.load(std::memory_order_acquire);
    }
    void export_counters(std::vector<observe::sflow::interface_counters> ports,
                         std::vector<std::string> names) {
        const std::lock_guard hold(lock_);
        ports_ = std::move(ports);
        names_ = std::move(names);
        wants_counters_.store(false, std::memory_order_release);
        has_counters_ = true;
    }
    [[nodiscard]] observe::sflow_report counted() const noexcept {
        observe::sflow_report out{.life = life_,
                                  .datagrams = datagrams_.read(),
                                  .unsent = unsent_.read(),
                                  .samples = samples_.read(),
                                  .drops = drops_.read()};
        for (const auto& of : sampling_.of_producer) {
            out.lost_samples += of->lost_samples();
            out.lost_drops += of->lost_drops();
        }
        return out;
    }

  private:
    void run() noexcept {
        begun_ = last_sent_ = clock::now();
        next_counters_ = begun_;
        std::unique_lock hold(lock_);
        while (!stop_) {
            hold.unlock();
            const bool more = with_memory([this] { return export_some(); });
            hold.lock();
            if (!more) wake_.wait_for(hold, poll_interval, [&] { return stop_; });
        }
        hold.unlock();
        with_memory([this] {
            receive_samples(SIZE_MAX);  // the last ones
            if (!building_.empty()) send();
            return false;
        });
    }
    /// Out of memory: the datagram is lost, and counted.
    template <class Call>
    bool with_memory(const Call& call) noexcept {
        try {
            return call();
        } catch (const std::exception&) {
            building_.clear();
            unsent_.add(1);
            return false;
        }
    }
    /// Answers  whether more samples may be there
    bool export_some() {
        const auto now = clock::now();
        if (config_.counters_s != 0 && now >= next_counters_) {
            next_counters_ = now + std::chrono::seconds(config_.counters_s);
            wants_counters_.store(true, std::memory_order_release);
        }
        {
            const std::lock_guard hold(lock_);
            if (std::exchange(has_counters_, false)) send_counters();
        }
        const bool more = receive_samples(records_a_round);
        if (!building_.empty() && clock::now() - last_sent_ >= max_delay) send();
        return more;
    }
    /// At most `most` records of each producer, so that none keeps others and the ports' counters waiting.
    /// Answers  whether more may be there
    bool receive_samples(size_t most) {
        bool more = false;
        for (const auto& of : sampling_.of_producer) {
            size_t n = 0;
            for (; n < most; ++n) {
                const datapath::capture_record* r = of->ring().front();
                if (r == nullptr) break;
                add_sample(*r);
                of->ring().pop();
            }
            more |= n == most;
        }
        return more;
    }
    void add_sample(const datapath::capture_record& r) {
        const observe::sflow::sampled_header header{.bytes = {r.bytes(), r.kept},
                                                    .frame_bytes = r.frame_bytes};
        const uint32_t source = source_of(r.port);
        if (r.point == capture_point::drop) {
            uint64_t lost = 0;
            for (const auto& one : sampling_.of_producer) lost += one->lost_drops();
            drops_.add(1);
            return add(observe::sflow::discarded_packet{.sequence = ++drop_sequence_[r.port],
                                                        .source = source,
                                                        .lost = static_cast<uint32_t>(lost),
                                                        .why = r.why,
                                                        .header = header});
        }
        samples_.add(1);
        uint64_t pool = 0, lost = 0;
        for (const auto& one : sampling_.of_producer) {
            pool += one->pool(r.port);
            lost += one->lost_samples();
        }
        add(observe::sflow::flow_sample{.sequence = ++flow_sequence_[r.port],
                                        .source = source,
                                        .rate = config_.sample,
                                        .pool = static_cast<uint32_t>(pool),
                                        .lost = static_cast<uint32_t>(lost),
                                        .input = input_of(r.path),
                                        .output = output_of(r),
                                        .header = header});
    }
    void send_counters() {
        for (size_t i = 0; i < ports_.size(); ++i) {
            observe::sflow::interface_counters& one = ports_[i];
            one.name = names_[i];
            counter_source& of = counter_sources_[(one.source - 1) % max_ports];
            if (of.life != one.life) of = {.life = one.life};
            one.sequence = ++of.sequence;
            add(one);
        }
    }
    template <class Sample>
    void add(const Sample& s) {
        if (building_.empty()) last_sent_ = clock::now();
        if (building_.add(s)) return;
        send();
        static_cast<void>(building_.add(s));
    }
    /// The address of the first datagram that can be sent.
    void find_agent() {
        for (const collector& to : collectors_)
            if (const auto agent = source_of(to)) {
                building_.set_agent(*agent);
                knows_agent_ = true;
                return;
            }
    }
    void send() {
        if (!knows_agent_) find_agent();
        const auto now = clock::now();
        const auto uptime = std::chrono::duration_cast<std::chrono::milliseconds>(now - begun_);
        const auto bytes =
            building_.finish(++datagram_sequence_, static_cast<uint32_t>(uptime.count()));
        for (const collector& to : collectors_)
            (knows_agent_ && to.send(bytes) ? datagrams_ : unsent_).add(1);
        building_.clear();
        last_sent_ = now;
    }

    const state::sflow config_;
    const uint64_t life_;
    const std::vector<collector> collectors_;
    datapath::samplers sampling_{};

    // The thread's.
    bool knows_agent_;  ///< the agent's address
    datagram building_;
    clock::time_point begun_{}, last_sent_{}, next_counters_{};
    uint32_t datagram_sequence_ = 0;
    std::array<uint32_t, max_ports> flow_sequence_{}, drop_sequence_{};
    /// Numbers begin anew with a port's counters.
    struct counter_source {
        uint64_t life = 0;  ///< of the counters
        uint32_t sequence = 0;
    };
    std::array<counter_source, max_ports> counter_sources_{};
    counters::counter datagrams_, unsent_, samples_, drops_;

    std::atomic<bool> wants_counters_{false};
    std::mutex lock_{};
    std::condition_variable wake_{};
    bool stop_ = false, has_counters_ = false;                 // by lock_
    std::vector<observe::sflow::interface_counters> ports_{};  // by lock_
    std::vector<std::string> names_{};                         // by lock_
    std::thread thread_{};
};

class sflow_export::prepared_session : public prepared_change {
  public:
    prepared_session(sflow_export& of, std::shared_ptr<session> next)
        : of_(of), next_(std::move(next)) {}
    /// This object now owns the previous session, and is destroyed after a grace period.
    void commit() noexcept override { of_.session_.swap(next_); }
    void settle() noexcept override {
        if (next_ == of_.session_) return;
        if (next_ != nullptr && of_.session_ != nullptr) {
            next_->end();
            of_.earlier_ = next_->counted().plus(of_.earlier_);
        } else {
            of_.earlier_ = {};
        }
    }

  private:
    sflow_export& of_;
    std::shared_ptr<session> next_;
};

sflow_export::sflow_export() = default;
sflow_export::~sflow_export() = default;

result<std::unique_ptr<prepared_change>> sflow_export::prepare(transaction& c) {
    const state::sflow& says = c.after.sflow;
    std::shared_ptr<session> next;
    if (session_ != nullptr && session_->config() == says) {
        next = session_;
    } else if (!says.collectors.empty()) {
        std::vector<collector> collectors;
        for (const state::listen_address& at : says.collectors) {
            auto one = collector_at(at);
            if (!one)
                return fail(one.error().code, says.where.text,
                            "sflow.collectors: " + at.text() + ": " + one.error().text);
            collectors.push_back(std::move(*one));
        }
        next = std::make_shared<session>(
            says, std::move(collectors), datapath::producer_of(max_workers()),
            session_ != nullptr ? session_->counted().life : observe::new_life());
        if (auto started = next->start(); !started)
            return fail(started.error().code, says.where.text, started.error().text);
    }
    c.snapshot->sampling = next != nullptr ? &next->sampling() : nullptr;
    if (next != nullptr && says.sample != 0) add_sampling_stages(*c.snapshot, says);
    return std::make_unique<prepared_session>(*this, std::move(next));
}

bool sflow_export::wants_counters() const noexcept {
    return session_ != nullptr && session_->wants_counters();
}

void sflow_export::export_counters(std::vector<observe::sflow::interface_counters> ports,
                                   std::vector<std::string> names) {
    session_->export_counters(std::move(ports), std::move(names));
}

observe::sflow_report sflow_export::counted() const noexcept {
    return session_ != nullptr ? session_->counted().plus(earlier_) : observe::sflow_report{};
}

/// The counters of all ports, for the export.
void controller::export_sflow_counters() {
    std::vector<observe::sflow::interface_counters> all;
    std::vector<std::string> names;
    for (const auto& p : ports_->open()) {
        observe::port_totals n;
        n.add(counted(p->port_index), p->before);
        const auto* const state = snapshot_->port[p->port_index].state;
        all.push_back(
            {.life = p->life,
             .source = source_of(p->port_index),
             .bits_per_second = uint64_t{p->device.link_mbps()} * 1'000'000,
             .admin_up = !p->config.shutdown,
             .link_up = state != nullptr && state->link_up.load(std::memory_order_relaxed),
             .promiscuous = p->filters_set && p->filters_set->promiscuous});
        all.back().set(n, p->losses().missed);
        names.push_back(p->name);
    }
    sflow_->export_counters(std::move(all), std::move(names));
}

nlohmann::json show_sflow(controller& c, const request_fields&) {
    using nlohmann::json;
    const state::sflow& says = c.running().sflow;
    json collectors = json::array();
    for (const state::listen_address& at : says.collectors) collectors.push_back(at.text());
    const observe::inventory all = shown_objects(c, add_sflow);
    const observe::sflow_report n = all.sflow.empty() ? observe::sflow_report{} : all.sflow.front();
    return with_period(
        c, {{"sflow",
             {{"collectors", std::move(collectors)},
              {"sample", says.sample},
              {"direction", state::sampling_direction_names[static_cast<size_t>(says.direction)]},
              {"header", says.header_bytes},
              {"counters_s", says.counters_s},
              {"drops_per_s", says.drops_per_s},
              {"datagrams", n.datagrams},
              {"unsent", n.unsent},
              {"samples", n.samples},
              {"drop_notifications", n.drops},
              {"lost_samples", n.lost_samples},
              {"lost_drop_notifications", n.lost_drops}}}});
}

}  // namespace turnpike::control
