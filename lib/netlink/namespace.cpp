// SPDX-License-Identifier: BSD-3-Clause
#include "netlink/namespace.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>

#include <exception>
#include <system_error>
#include <thread>

#include "base/owned_fd.hpp"

namespace turnpike::netlink {

result<void> in_namespace(const std::string& name, const std::function<result<void>()>& act) {
    if (name.empty()) return act();
    const std::string path = "/run/netns/" + name;
    const owned_fd there(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (there.get() < 0)
        return fail(
            errno, path,
            fmt::format("cannot open the network namespace; `ip netns add {}` creates it", name));
    result<void> done;
    std::exception_ptr thrown;
    const auto enter = [&] {
        try {
            if (::setns(there.get(), CLONE_NEWNET) != 0)
                done = fail(errno, path,
                            "it is not a network namespace, or the process may not enter it");
            else
                done = act();
        } catch (...) {
            thrown = std::current_exception();
        }
    };
    std::thread helper;
    try {
        helper = std::thread(enter);
    } catch (const std::system_error& e) {
        return fail(e.code().value(), path,
                    "there is no thread to enter the network namespace: the limit of processes or "
                    "memory is reached");
    }
    helper.join();
    if (thrown) std::rethrow_exception(thrown);
    return done;
}

}  // namespace turnpike::netlink
