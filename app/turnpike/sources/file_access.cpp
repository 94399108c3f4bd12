// SPDX-License-Identifier: BSD-3-Clause
#include "sources/file_access.hpp"

#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <vector>

namespace turnpike::sources {
namespace {

constexpr uint32_t dac_capabilities = 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH;

// glibc's setgroups() changes all threads of the process, and glibc has no capset().
bool set_groups(const std::vector<unsigned>& groups) noexcept {
    return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}
using capabilities = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;
__user_cap_header_struct this_thread() noexcept { return {_LINUX_CAPABILITY_VERSION_3, 0}; }
bool get(capabilities& to) noexcept {
    auto head = this_thread();
    return ::syscall(SYS_capget, &head, to.data()) == 0;
}
bool set(const capabilities& to) noexcept {
    auto head = this_thread();
    return ::syscall(SYS_capset, &head, to.data()) == 0;
}

/// The rights of the thread, restored by the destructor.
class lent_rights {
  public:
    explicit lent_rights(const socket_peer& client) {
        if (const int n = ::getgroups(0, nullptr); n > 0) {
            groups_.resize(static_cast<size_t>(n));
            groups_.resize(static_cast<size_t>(std::max(0, ::getgroups(n, groups_.data()))));
        }
        // Save capabilities first: the kernel changes them with the user.
        if (!get(own_)) return;
        has_groups_ = set_groups(client.groups);
        gid_ = ::setfsgid(client.gid);
        uid_ = ::setfsuid(client.uid);
        capabilities less = own_;
        less[0].effective &= ~dac_capabilities;
        // A unit of systemd may permit no capset(), and give none of these capabilities.
        is_less_ = less[0].effective == own_[0].effective || set(less);
    }
    lent_rights(const lent_rights&) = delete;
    lent_rights& operator=(const lent_rights&) = delete;
    [[nodiscard]] bool are_the_clients() const noexcept { return is_less_; }
    ~lent_rights() {
        ::setfsuid(static_cast<uid_t>(uid_));
        ::setfsgid(static_cast<gid_t>(gid_));
        // The kernel permits restoring the original rights; turnpike could not continue with others.
        if ((is_less_ && !restored()) || (has_groups_ && !set_groups(groups_))) std::terminate();
        // commit_creds() cleared the dumpable flag, as for a set-user-ID program: no core dump, no /proc/self.
        if (dumpable_ == 1) ::prctl(PR_SET_DUMPABLE, 1);
        if (parent_signal_ != 0) ::prctl(PR_SET_PDEATHSIG, parent_signal_);
    }

  private:
    std::vector<unsigned> groups_{};
    capabilities own_{};
    bool has_groups_ = false, is_less_ = false;
    int uid_ = -1, gid_ = -1;  ///< -1 changes nothing
    int dumpable_ = ::prctl(PR_GET_DUMPABLE);
    int parent_signal_ = parent_signal();

    /// The capabilities, which setfsuid() changes, too.
    [[nodiscard]] bool restored() const noexcept {
        capabilities now{};
        const auto same = [&](size_t i) { return now[i].effective == own_[i].effective; };
        return (get(now) && same(0) && same(1)) || set(own_);
    }
    static int parent_signal() noexcept {
        int signal = 0;
        return ::prctl(PR_GET_PDEATHSIG, &signal) == 0 ? signal : 0;
    }
};

}  // namespace

result<void> with_file_access_of(const socket_peer& client, const std::function<void()>& act) {
    if (client.uid == 0) {
        act();
        return {};
    }
    const lent_rights lent(client);
    // A seccomp filter, for example.
    if (!lent.are_the_clients())
        return fail(EPERM, {},
                    "turnpike is not permitted to drop its capabilities (capset), and opens no "
                    "files of a request with them");
    act();
    return {};
}

}  // namespace turnpike::sources
