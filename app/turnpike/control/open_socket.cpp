// SPDX-License-Identifier: BSD-3-Clause
#include "control/open_socket.hpp"

#include <sys/stat.h>

#include <filesystem>

#include "control/requests.hpp"
#include "observe/console.hpp"

namespace turnpike::control {

result<std::unique_ptr<sources::line_socket>> open_socket(
    const state::desired& wanted, sources::line_socket::answer_function answer,
    std::function<void(const sources::socket_peer&)> gone) {
    const state::control_socket& says = wanted.fixed.control;
    auto socket = std::make_unique<sources::line_socket>(sources::line_socket::surroundings{
        .greeting = requests::greeting(),
        .answer = std::move(answer),
        .refusal = requests::refusal,
        .gone = std::move(gone),
        .say = [](const std::string& text) { observe::log(observe::log_level::warning, text); }});
    const std::string path = says.path.empty() ? default_socket : says.path;
    // Where that fails, so does what follows, and says why.
    const bool made =
        says.path.empty() && ::mkdir(std::filesystem::path(path).parent_path().c_str(), 0755) == 0;
    auto listens = socket->listen(path, says.group, says.owner);
    if (listens) {
        if (made) socket->owns_folder();
        return socket;
    }
    // An owner or a group that is not there is a mistake in the file, wherever the socket is to be.
    if (says != state::control_socket{}) return tl::unexpected<error>(listens.error());
    observe::log(observe::log_level::warning, "no control socket: " + listens.error().message());
    return nullptr;
}

}  // namespace turnpike::control
