// SPDX-License-Identifier: BSD-3-Clause
#include "observe/console.hpp"

#include <cstdio>
#include <memory>
#include <utility>

namespace turnpike::observe {

namespace {

void write_lines(const std::deque<log_line>& lines, uint64_t lost) noexcept {
    try {
        for (const log_line& l : lines) write_log_line(l);
        if (lost != 0)
            write_log_line({std::chrono::system_clock::now(),
                            log_level::warning,
                            std::to_string(lost) + " log lines lost: the reader is too slow",
                            {{"lost", std::to_string(lost)}}});
    } catch (const std::exception&) {
        std::fputs("turnpike: no memory to write log lines\n", stderr);
    }
}

}  // namespace

void console::start() {
    shared_ = std::make_shared<shared>();
    thread_ = std::thread([s = shared_] { write(s); });
}

void console::line(log_line l) noexcept {
    try {
        if (shared_ == nullptr) return write_log_line(l);
        const std::lock_guard hold(shared_->lock);
        if (shared_->lines.size() < max_lines)
            shared_->lines.push_back(std::move(l));
        else
            ++shared_->lines_lost;
        shared_->changed.notify_one();
    } catch (const std::exception&) {
        line_is_lost();
    }
}

void console::line_is_lost() noexcept {
    if (shared_ == nullptr) {
        std::fputs("turnpike: no memory for a log line\n", stderr);
        return;
    }
    const std::lock_guard hold(shared_->lock);
    ++shared_->lines_lost;
    shared_->changed.notify_one();
}

void console::table(std::string text) noexcept {
    if (shared_ == nullptr) {
        std::fputs(text.c_str(), stdout);
        std::fflush(stdout);
        return;
    }
    const std::lock_guard hold(shared_->lock);
    if (!shared_->table.empty()) ++shared_->tables_skipped;
    shared_->table.swap(text);
    shared_->changed.notify_one();
}

void console::write(const std::shared_ptr<shared>& s) noexcept {
    std::unique_lock hold(s->lock);
    for (;;) {
        s->changed.wait(hold, [&] {
            return s->stop || !s->lines.empty() || s->lines_lost != 0 || !s->table.empty();
        });
        s->being_written.swap(s->lines);
        const std::string table = std::exchange(s->table, {});
        const uint64_t lost = std::exchange(s->lines_lost, 0);
        const uint64_t skipped = std::exchange(s->tables_skipped, 0);
        s->busy = true;
        const bool last = s->stop;
        hold.unlock();
        write_lines(s->being_written, lost);
        s->being_written.clear();
        if (skipped != 0)
            std::fprintf(stdout, "(%llu tables skipped: the reader is too slow)\n",
                         static_cast<unsigned long long>(skipped));
        std::fputs(table.c_str(), stdout);
        std::fflush(stdout);
        hold.lock();
        s->busy = false;
        if (last && s->lines.empty() && s->table.empty()) break;
    }
    s->ended = true;
    s->changed.notify_all();
}

bool console::finish(std::chrono::milliseconds patience) noexcept {
    if (shared_ == nullptr) return true;
    bool ended = false;
    {
        std::unique_lock hold(shared_->lock);
        shared_->stop = true;
        shared_->changed.notify_all();
        ended = shared_->changed.wait_for(hold, patience, [&] { return shared_->ended; });
    }
    if (ended)
        thread_.join();
    else
        thread_.detach();
    shared_.reset();
    return ended;
}

console& the_console() noexcept {
    static console one;
    return one;
}

}  // namespace turnpike::observe
