// SPDX-License-Identifier: BSD-3-Clause
#include "watch.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "ask.hpp"
#include "connection.hpp"
#include "rates.hpp"
#include "screen.hpp"
#include "signals.hpp"
#include "top_view.hpp"

namespace turnpike::ctl {
namespace {

using nlohmann::json;
using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds reconnect_patience{1000};
/// Output that is not a terminal has all lines.
constexpr size_t max_lines = 1'000'000;

/// The parameters of a command.
struct watched {
    std::string what;  ///< the subject of show
    std::unique_ptr<live_view> view;
    double interval_s = 2;
    bool once = false;
    /// Connects again when turnpike is gone, as long as the screen shows it.
    bool stays = false;
};

class watcher {
  public:
    watcher(const given& g, watched of)
        : as_json_(g.as_json()),
          every_(g.seconds("--interval", of.interval_s)),
          patience_(g.seconds("--timeout", 60)),
          path_(g.option("--socket", usual_socket())),
          of_(std::move(of)),
          screen_(!as_json_ && !of_.once) {}

    /// Errors  turnpike does not answer, or refuses the request
    result<void> run() {
        while (!ended_) {
            const auto begun = clock::now();
            if (auto answered = ask(); !answered) {
                const bool again = of_.stays && shown_ && answered.error().code != EINVAL;
                if (ended_ || !again) return ended_ ? result<void>() : answered;
                to_.reset();
                draw("no answer, trying again: " + answered.error().message());
            }
            if (of_.once) break;
            if (!ended_) wait(begun + every_, -1);
        }
        if (lost_output_ == 0) return {};
        return fail(EINVAL, "standard output", std::strerror(lost_output_));
    }

  private:
    /// One request, and its answer on the screen.
    result<void> ask() {
        if (!to_) {
            // A server that starts does not answer at once, and keys are to work meanwhile.
            auto opened = connection::open(path_, shown_ ? reconnect_patience : patience_);
            if (!opened) return tl::unexpected<error>(opened.error());
            to_ = std::move(*opened);
        }
        if (auto sent = to_->send({{"request", "show"}, {"what", of_.what}}); !sent) return sent;
        if (!wait(clock::now() + patience_, to_->descriptor()))
            return ended_ ? result<void>() : fail(ETIMEDOUT, "turnpike", "does not answer");
        auto result = result_in(to_->receive());
        if (!result) return tl::unexpected<error>(result.error());
        show(std::move(*result));
        return {};
    }
    void show(json result) {
        if (as_json_) {
            write(json_line(result));
            return;
        }
        of_.view->update(std::move(result));
        if (screen_.is_terminal()) return draw();
        std::string block = of_.view->title() + "\n";
        for (const std::string& line : of_.view->lines(max_lines)) block += line + "\n";
        write(of_.once ? block : block + "\n");
    }
    /// A closed pipe ends the command as `q` does: its reader has enough.
    void write(const std::string& text) {
        if (write_stdout(text)) return;
        ended_ = true;
        if (errno != EPIPE) lost_output_ = errno;
    }
    void draw(const std::string& instead = {}) {
        shown_ = true;
        const std::string title = instead.empty() ? of_.view->title() + "  (q quits)" : instead;
        const auto lines = of_.view->lines(screen::rows());
        ended_ = !screen_.draw("turnpike  " + title, lines, of_.view->headings()) || ended_;
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
            if (waited[0].revents != 0) read_signal();
            if (waited[1].revents != 0) read_key();
            if (waited[2].revents != 0) return !ended_;
        }
        return false;
    }
    void read_key() {
        char key = 0;
        // A closed terminal ends the program as `q` does.
        if (::read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q') ended_ = true;
    }
    void read_signal() {
        const int s = signals_.read();
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
    const std::string path_;
    watched of_;
    std::optional<connection> to_{};
    /// That end or stop the program or resize the window.
    signals signals_{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
    screen screen_;
    bool shown_ = false, ended_ = false;
    int lost_output_ = 0;  ///< errno
};

int run_watcher(const given& g, watched of) {
    // Restore the terminal before printing an error.
    const auto done = [&] { return watcher(g, std::move(of)).run(); }();
    if (done) return 0;
    return complain(done.error(), done.error().code == EINVAL ? exit_refused : exit_no_connection);
}

}  // namespace

int watch(const given& g) {
    const std::string& what = g.words.at(1).second;
    return run_watcher(g, {.what = what, .view = std::make_unique<rates>(what)});
}

int top(const given& g) {
    return run_watcher(g, {.what = "rates",
                           .view = std::make_unique<top_view>(),
                           .interval_s = 1,
                           .once = g.options.contains("--once"),
                           .stays = true});
}

}  // namespace turnpike::ctl
