// SPDX-License-Identifier: BSD-3-Clause
#include "control/management/socket_owner.hpp"

#include <sys/stat.h>

#include <filesystem>

#include "control/management/requests.hpp"
#include "observe/log.hpp"

namespace turnpike::control {
namespace {

std::string path_of(const state::control_socket& says) {
    return says.path.empty() ? default_socket : says.path;
}

result<sources::listener> listen_as(const state::control_socket& says) {
    const std::string path = path_of(says);
    // On failure, the next call fails too and reports the error.
    const bool made =
        says.path.empty() && ::mkdir(std::filesystem::path(path).parent_path().c_str(), 0755) == 0;
    auto out = sources::listener::at(path, says.group, says.owner);
    if (out && made) out->owns_folder();
    return out;
}

}  // namespace

result<std::unique_ptr<socket_owner>> socket_owner::open(
    const state::configuration& config, sources::line_socket::answer_function answer,
    std::function<void(const sources::socket_peer&)> gone) {
    std::unique_ptr<socket_owner> out(new socket_owner(
        {.greeting = requests::greeting(),
         .answer = std::move(answer),
         .refusal = requests::refusal,
         .gone = std::move(gone),
         .log = [](const std::string& text) { observe::log(observe::log_level::warning, text); }}));
    auto listener = listen_as(config.control);
    auto ready =
        listener ? out->socket_.get_ready(*listener) : tl::unexpected<error>(listener.error());
    if (ready) {
        out->socket_.listen_by(std::move(*listener));
        return out;
    }
    // An unknown owner or group is a configuration error, whatever the path.
    if (config.control != state::control_socket{}) return tl::unexpected<error>(ready.error());
    observe::log(observe::log_level::warning, "no control socket: " + ready.error().message());
    return out;
}

class socket_owner::prepared_socket : public prepared_change {
  public:
    prepared_socket(socket_owner& of, const transaction& c)
        : of_(of), before_(c.before.control), after_(c.after.control) {}
    ~prepared_socket() override {
        if (committed_ || !given_) return;
        try {
            if (of_.socket_.listening().set_owner(before_.group, before_.owner)) return;
        } catch (const std::bad_alloc&) {  // the previous owner stays
        }
        observe::log(observe::log_level::error,
                     "the control socket keeps the owner and group of a refused change; reload");
    }

    result<void> get_ready() {
        if (after_ == before_) return {};
        const sources::listener& now = of_.socket_.listening();
        if (now.path() == path_of(after_) && now.has_its_file()) {
            given_ = true;
            return now.set_owner(after_.group, after_.owner);
        }
        auto next = listen_as(after_);
        if (!next) return tl::unexpected<error>(next.error());
        next_ = std::move(*next);
        return of_.socket_.get_ready(next_);
    }
    void commit() noexcept override {
        committed_ = true;
        if (next_.fd() >= 0) of_.socket_.listen_by(std::move(next_));
    }

  private:
    socket_owner& of_;
    const state::control_socket before_, after_;
    sources::listener next_{};
    bool given_ = false;  ///< the file has the new owner
    bool committed_ = false;
};

result<std::unique_ptr<prepared_change>> socket_owner::prepare(transaction& c) {
    auto ready = std::make_unique<prepared_socket>(*this, c);
    if (auto done = ready->get_ready(); !done) return tl::unexpected<error>(done.error());
    return ready;
}

}  // namespace turnpike::control
