// SPDX-License-Identifier: BSD-3-Clause
#include "control/forwarding/capture_writer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <rte_cycles.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>
#include <thread>

#include "observe/pcapng.hpp"

namespace turnpike::control {
namespace {

namespace pcapng = observe::pcapng;
using steady = std::chrono::steady_clock;
using datapath::capture_point;
using datapath::capture_record;

constexpr size_t flush_bytes = 64 * 1024;
constexpr auto flush_after = std::chrono::milliseconds(50),
               idle_sleep = std::chrono::milliseconds(2);
/// How long a reader may take nothing after the end.
constexpr auto last_patience = std::chrono::seconds(2);
constexpr int poll_ms = 50;

uint64_t wall_clock_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

/// A file, pipe, socket or terminal, written without an endless wait.
class sink {
  public:
    explicit sink(owned_fd fd) : fd_(std::move(fd)) {
        struct stat s {};
        if (::fstat(fd_.get(), &s) == 0) {
            is_file_ = S_ISREG(s.st_mode);
            is_socket_ = S_ISSOCK(s.st_mode);
        }
        if (!is_file_) return;
        const bool appends = (::fcntl(fd_.get(), F_GETFL) & O_APPEND) != 0;
        begin_ = appends ? s.st_size : ::lseek(fd_.get(), 0, SEEK_CUR);
        // A client opens its file as it is: a refused request leaves its contents.
        if (!appends && begin_ == 0) (void)!::ftruncate(fd_.get(), 0);
    }
    /// Writes blocks; `is_over` ends the wait for a reader. A part of a block at a file's end is taken back: readers would
    /// complain of it.
    /// written  out: the whole blocks that are there
    /// Answers  0, or errno; EAGAIN: given up
    template <class IsOver>
    int write(std::string_view blocks, pcapng::whole_blocks& written, const IsOver& is_over) {
        size_t done = 0;
        int why = 0;
        while (done < blocks.size() && why == 0) {
            const ssize_t n = write_some(blocks.data() + done, blocks.size() - done);
            if (n > 0)
                done += static_cast<size_t>(n);
            else if (n == 0 || (errno != EAGAIN && errno != EINTR))
                why = n == 0 ? ENOSPC : errno;
            else if (is_over())
                why = EAGAIN;
        }
        written = pcapng::whole_blocks_of(blocks.substr(0, done));
        whole_ += static_cast<off_t>(written.bytes);
        if (is_file_ && written.bytes != done) (void)!::ftruncate(fd_.get(), begin_ + whole_);
        return why;
    }
    /// Whether the reader has gone.
    [[nodiscard]] bool is_dead() const noexcept {
        if (is_file_) return false;
        pollfd p{fd_.get(), POLLOUT, 0};
        return ::poll(&p, 1, 0) > 0 && (p.revents & (POLLERR | POLLHUP)) != 0;
    }

  private:
    /// Other descriptors share the client's flags, O_NONBLOCK among them, which are not ours to change: a pipe
    /// that polls as writable takes PIPE_BUF bytes at once (pipe(7)).
    ssize_t write_some(const char* from, size_t n) noexcept {
        if (is_file_) return ::write(fd_.get(), from, n);
        pollfd p{fd_.get(), POLLOUT, 0};
        const int ready = ::poll(&p, 1, poll_ms);
        if (ready <= 0) {
            errno = EAGAIN;
            return -1;
        }
        if (is_socket_) return ::send(fd_.get(), from, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        return ::write(fd_.get(), from, std::min<size_t>(n, PIPE_BUF));
    }

    owned_fd fd_;
    bool is_file_ = false, is_socket_ = false;
    off_t begin_ = 0, whole_ = 0;
};

std::string comment_of(const capture_record& r) {
    std::string out;
    if (r.point == capture_point::punt)
        out = fmt::format("for control: {}: {}", name(r.punted), meaning(r.punted));
    if (r.why != datapath::drop_reason::none) {
        const auto& text = datapath::drop_texts[static_cast<size_t>(r.why)];
        out += fmt::format("{}dropped: {}: {}", out.empty() ? "" : "; ", text.name, text.meaning);
    }
    return out;
}

class capture_thread {
  public:
    capture_thread(std::shared_ptr<capture_session> s, owned_fd to)
        : s_(std::move(s)), to_(std::move(to)) {}

    void run() {
        begin_ns_ = wall_clock_ns();
        synchronize();
        add_head();
        flush();
        while (!ended_ && !s_->stop.load(std::memory_order_relaxed)) {
            // Producers stamp a burst, and commit its copies within the same iteration.
            const bool any = drain(rte_rdtsc() - s_->tsc_hz / 1000);
            if (out_.size() >= flush_bytes || steady::now() - flushed_ >= flush_after) flush();
            if (!any) std::this_thread::sleep_for(idle_sleep);
        }
        stopped_ = s_->stop.load(std::memory_order_relaxed);
        stopped_at_ = steady::now();
        while (!ended_ && drain(UINT64_MAX)) flush();
        add_statistics();
        flush();
    }

  private:
    /// TSC and wall clock at one moment; again each second, as the wall clock is disciplined. A pair between whose readings the
    /// thread was preempted is read again.
    void synchronize() {
        constexpr uint64_t parts = 50'000;  // of a second: 20 us
        constexpr int tries = 100;
        synchronized_ = steady::now();
        for (int i = 0; i < tries; ++i) {
            const uint64_t earlier = rte_rdtsc();
            ns_ = wall_clock_ns();
            const uint64_t later = rte_rdtsc();
            tsc_ = earlier + (later - earlier) / 2;
            if (later - earlier < s_->tsc_hz / parts) break;
        }
    }
    /// By the device's timestamp, where there is one that can be believed.
    [[nodiscard]] uint64_t time_of(const capture_record& r) {
        constexpr uint64_t parts = 10;  // of a second, within which a received packet is polled
        const auto& clock = clocks_[r.port];
        if (!r.stamped || !clock) return time_of(r.tsc);
        const uint64_t arrived = clock->arrival_of(r.timestamp, r.tsc, s_->tsc_hz / parts);
        if (arrived != r.tsc) s_->timed_by_device.fetch_add(1, std::memory_order_relaxed);
        return time_of(arrived);
    }
    [[nodiscard]] uint64_t time_of(uint64_t tsc) const noexcept {
        const auto ticks = static_cast<int64_t>(tsc - tsc_);
        return ns_ + static_cast<uint64_t>(static_cast<int64_t>(static_cast<double>(ticks) * 1e9 /
                                                                static_cast<double>(s_->tsc_hz)));
    }
    void add_head() {
        utsname os{};
        (void)::uname(&os);
        const std::string system = std::string(os.sysname) + " " + os.release;
        const std::string application = "turnpike " + s_->version;
        append(out_, pcapng::section{os.machine, system, application});
        for (size_t i = 0; i < s_->ports.size(); ++i) {
            const captured_port& p = s_->ports[i];
            append(out_,
                   pcapng::interface_description{p.name, p.description, s_->filter_text,
                                                 s_->packets.filter().snaplen, p.bits_per_second});
        }
    }
    /// Writes copies from before `limit` in order of time, of all producers.
    /// Answers  whether there were any
    bool drain(uint64_t limit) {
        if (steady::now() - synchronized_ >= std::chrono::seconds(1)) synchronize();
        clocks_ = s_->clocks();
        for (size_t n = 0; n < max_at_once; ++n) {
            datapath::capture_ring* from = nullptr;
            const capture_record* first = nullptr;
            for (size_t p = 0; p < s_->packets.producers(); ++p) {
                const capture_record* const r = s_->packets.ring(p).front();
                if (r == nullptr || r->tsc > limit || (first != nullptr && first->tsc <= r->tsc))
                    continue;
                first = r;
                from = &s_->packets.ring(p);
            }
            if (first == nullptr) return n != 0;
            add(*first);
            from->pop();
            if (ended_) return false;
        }
        return true;
    }
    void add(const capture_record& r) {
        const std::string comment = comment_of(r);
        append(out_,
               pcapng::enhanced_packet{.interface = s_->interface_of(r.port),
                                       .time_ns = time_of(r),
                                       .bytes = {r.bytes(), r.kept},
                                       .frame_bytes = r.frame_bytes,
                                       .side = r.point == capture_point::out ||
                                                       r.why == datapath::drop_reason::tx_refused
                                                   ? pcapng::direction::outbound
                                                   : pcapng::direction::inbound,
                                       .comment = comment});
        ++in_out_;
        ++of_interface_[s_->interface_of(r.port)];
        if (++taken_ == s_->max_packets) ended_ = true;
        if (out_.size() >= flush_bytes) flush();
    }
    void add_statistics() {
        const uint64_t now = wall_clock_ns();
        for (size_t i = 0; i < s_->ports.size(); ++i) {
            const auto n = s_->counted(i);
            append(out_, pcapng::statistics{.interface = static_cast<uint32_t>(i),
                                            .begin_ns = begin_ns_,
                                            .end_ns = now,
                                            .received = n.seen,
                                            .accepted = n.accepted,
                                            .lost = n.lost,
                                            .delivered = of_interface_[i]});
        }
    }
    void flush() {
        flushed_ = steady::now();
        if (failed_) return out_.clear();
        if (out_.empty()) {
            if (to_.is_dead()) fail_because(EPIPE);
            return;
        }
        pcapng::whole_blocks written;
        const int why = to_.write(out_, written, [&] {
            if (!stopped_ && s_->stop.load(std::memory_order_relaxed)) {
                stopped_ = true;
                stopped_at_ = steady::now();
            }
            return stopped_ && steady::now() - std::max(stopped_at_, flushed_) > last_patience;
        });
        s_->bytes.fetch_add(written.bytes, std::memory_order_relaxed);
        s_->written.fetch_add(written.packets, std::memory_order_relaxed);
        s_->unwritten.fetch_add(in_out_ - written.packets, std::memory_order_relaxed);
        if (why != 0) fail_because(why);
        in_out_ = 0;
        out_.clear();
    }
    void fail_because(int why) {
        failed_ = ended_ = true;
        s_->end_because(why == EPIPE || why == ECONNRESET ? "the reader has gone"
                        : why == EAGAIN                   ? "the reader takes nothing"
                                        : std::string("cannot be written: ") + std::strerror(why));
    }

    static constexpr size_t max_at_once = 4096;

    const std::shared_ptr<capture_session> s_;
    sink to_;
    std::string out_{};
    uint64_t in_out_ = 0, taken_ = 0;
    std::array<uint64_t, datapath::max_ports> of_interface_{};
    uint64_t begin_ns_ = 0, tsc_ = 0, ns_ = 0;
    clock_lines clocks_{};
    steady::time_point flushed_{}, synchronized_{}, stopped_at_{};
    bool ended_ = false, failed_ = false, stopped_ = false;
};

}  // namespace

void capture_session::follow(uint16_t port, size_t interface) noexcept {
    const std::lock_guard hold(lock_);
    const auto now = packets.counted(port);
    if (const uint8_t before = interface_of(port); before != no_interface)
        earlier_[before] += now - begun_[port];
    begun_[port] = now;
    interface_of_[port].store(static_cast<uint8_t>(interface), std::memory_order_relaxed);
}

datapath::capture::counts capture_session::counted(size_t interface) const noexcept {
    const std::lock_guard hold(lock_);
    datapath::capture::counts sum = earlier_[interface];
    for (uint16_t port = 0; port < datapath::max_ports; ++port)
        if (interface_of(port) == interface) sum += packets.counted(port) - begun_[port];
    return sum;
}

namespace {

/// Signals are for the main thread: a thread inherits the mask of the one that makes it.
class signals_blocked {
  public:
    signals_blocked() noexcept {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    signals_blocked(const signals_blocked&) = delete;
    signals_blocked& operator=(const signals_blocked&) = delete;

  private:
    sigset_t before_;
};

}  // namespace

result<void> write_capture(std::shared_ptr<capture_session> s, owned_fd&& to) {
    const auto fd = std::make_shared<owned_fd>(std::move(to));
    try {
        const signals_blocked here;
        std::thread made([s = std::move(s), fd] {
            try {
                capture_thread(s, std::move(*fd)).run();
            } catch (const std::exception& e) {  // out of memory
                s->end_because(e.what());
            }
            s->done.store(true, std::memory_order_release);
        });
        pthread_setname_np(made.native_handle(), "turnpike-pcap");
        made.detach();
        return {};
    } catch (const std::exception& e) {
        to = std::move(*fd);
        const auto* const why = dynamic_cast<const std::system_error*>(&e);
        return fail(why != nullptr ? why->code().value() : ENOMEM, {}, "no thread for the capture");
    }
}

}  // namespace turnpike::control
