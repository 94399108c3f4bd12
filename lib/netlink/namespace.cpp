// SPDX-License-Identifier: BSD-3-Clause
#include "netlink/namespace.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>

#include <exception>
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
    std::thread([&] {
        try {
            if (::setns(there.get(), CLONE_NEWNET) != 0)
                done = fail(errno, path,
                            "it is not a network namespace, or the process may not enter it");
            else
                done = act();
        } catch (...) {
            thrown = std::current_exception();
        }
    }).join();
    if (thrown) std::rethrow_exception(thrown);
    return done;
}

}  // namespace turnpike::netlink
