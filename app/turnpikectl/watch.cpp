// SPDX-License-Identifier: BSD-3-Clause
#include "watch.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "ask.hpp"
#include "connection.hpp"
#include "rates.hpp"
#include "screen.hpp"

namespace turnpike::ctl {
namespace {

using nlohmann::json;
using clock = std::chrono::steady_clock;

/// Signals that end or stop the program or resize the window, as a descriptor to poll.
class signals {
  public:
    signals() {
        ::sigemptyset(&set_);
        for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH})
            ::sigaddset(&set_, s);
        ::sigprocmask(SIG_BLOCK, &set_, nullptr);
        ::signal(SIGPIPE, SIG_IGN);  // write() reports a closed pipe
        fd_.reset(::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK));
    }
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    /// The next signal, or 0.
    [[nodiscard]] int take() const noexcept {
        signalfd_siginfo one{};
        return ::read(fd_.get(), &one, sizeof one) == sizeof one ? static_cast<int>(one.ssi_signo)
                                                                 : 0;
    }

  private:
    sigset_t set_{};
    owned_fd fd_;
};

class watcher {
  public:
    watcher(const given& g, connection& to)
        : as_json_(g.as_json()),
          every_(g.seconds("--interval", 2)),
          patience_(g.seconds("--timeout", 60)),
          what_(g.words.at(1).second),
          rates_(what_),
          to_(to) {}

    /// Errors  turnpike does not answer, or refuses the request
    result<void> run() {
        while (!ended_) {
            const auto begun = clock::now();
            if (auto sent = to_.send({{"request", "show"}, {"what", what_}}); !sent) return sent;
            if (!wait(begun + patience_, to_.descriptor()))
                return ended_ ? result<void>() : fail(ETIMEDOUT, "turnpike", "does not answer");
            auto answer = to_.hear();
            if (!answer) return tl::unexpected<error>(answer.error());
            if (!answer->is_object() || !answer->contains("result"))
                return tl::unexpected<error>(refusal_of(*answer));
            show((*answer)["result"]);
            if (!ended_) wait(begun + every_, -1);
        }
        return {};
    }

  private:
    void show(json result) {
        if (as_json_) {
            ended_ = !write_all(result.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
            return;
        }
        rates_.look(std::move(result));
        if (screen_.is_terminal()) return draw();
        std::string block = rates_.title() + "\n";
        for (const std::string& line : rates_.lines()) block += line + "\n";
        ended_ = !write_all(block + "\n");
    }
    void draw() {
        shown_ = true;
        ended_ =
            !screen_.draw("turnpike  " + rates_.title() + "  (q quits)", rates_.lines()) || ended_;
    }

    /// Waits until `fd` is readable. Returns false after the timeout or at the end.
    bool wait(clock::time_point until, int fd) {
        while (!ended_) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now());
            if (left.count() <= 0) return false;
            pollfd waited[] = {{signals_.fd(), POLLIN, 0},
                               {screen_.has_keys() ? STDIN_FILENO : -1, POLLIN, 0},
                               {fd, POLLIN, 0}};
            ::poll(waited, 3, static_cast<int>(std::min<int64_t>(left.count(), 3'600'000)));
            if (waited[0].revents != 0) take_signal();
            if (waited[1].revents != 0) take_key();
            if (waited[2].revents != 0) return !ended_;
        }
        return false;
    }
    void take_key() {
        char key = 0;
        // A closed terminal ends the program as `q` does.
        if (::read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q') ended_ = true;
    }
    void take_signal() {
        const int s = signals_.take();
        if (s == SIGTSTP) {
            screen_.leave();
            ::raise(SIGSTOP);  // until SIGCONT
            screen_.enter();
        }
        if (s == SIGTSTP || s == SIGWINCH) {
            if (screen_.is_terminal() && shown_) draw();
        } else if (s != 0) {
            ended_ = true;
        }
    }

    const bool as_json_;
    const std::chrono::milliseconds every_, patience_;
    const std::string what_;
    rates rates_;
    connection& to_;
    signals signals_{};
    screen screen_{!as_json_};
    bool shown_ = false, ended_ = false;
};

}  // namespace

int watch(const given& g) {
    auto to = connection::open(g.option("--socket", default_socket), g.seconds("--timeout", 60));
    if (!to) return complain(to.error(), exit_no_connection);
    // Restore the terminal before printing an error.
    const auto done = [&] { return watcher(g, *to).run(); }();
    if (done) return 0;
    return complain(done.error(), done.error().code == EINVAL ? exit_refused : exit_no_connection);
}

}  // namespace turnpike::ctl
