// SPDX-License-Identifier: BSD-3-Clause
#include "sources/socket_file.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/arguments.hpp"

namespace turnpike::sources {
namespace {

constexpr const char* not_given =
    "cannot be given to its owner and group: another owner needs CAP_CHOWN; the group must be one "
    "of turnpike's (SupplementaryGroups= of the service)";

constexpr mode_t file_mode = 0660;
constexpr int backlog = 64;

result<std::optional<gid_t>> group_of(const std::string& group) {
    if (group.empty()) return std::nullopt;
    gid_t number = 0;
    if (read_number<gid_t>(group, 0, UINT32_MAX - 1, number)) return number;
    errno = 0;
    if (const ::group* g = ::getgrnam(group.c_str())) return g->gr_gid;
    return fail(errno != 0 ? errno : ENOENT, "group '" + group + "'",
                "there is no group of that name");
}

result<std::optional<uid_t>> user_of(const std::string& user) {
    if (user.empty()) return std::nullopt;
    uid_t number = 0;
    if (read_number<uid_t>(user, 0, UINT32_MAX - 1, number)) return number;
    errno = 0;
    if (const ::passwd* p = ::getpwnam(user.c_str())) return p->pw_uid;
    return fail(errno != 0 ? errno : ENOENT, "owner '" + user + "'",
                "there is no user of that name");
}

result<sockaddr_un> address_of(const std::string& path) {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    if (path.size() >= sizeof a.sun_path)
        return fail(
            ENAMETOOLONG, path,
            "a socket's path has at most " + std::to_string(sizeof a.sun_path - 1) + " characters");
    std::memcpy(a.sun_path, path.c_str(), path.size() + 1);
    return a;
}

/// Serializes checking and binding of processes that start at the same time. Any user who can read the folder could hold
/// the lock forever, so continue without it after a timeout.
owned_fd lock_folder_of(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    owned_fd fd(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int tries = 0; tries < 50 && fd.get() >= 0; ++tries) {
        if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) break;
        ::usleep(10'000);
    }
    return fd;
}

/// Removes a stale socket from the path.
result<void> clear_the_place(const std::string& path, const sockaddr_un& at) {
    struct stat there {};
    if (::lstat(path.c_str(), &there) != 0) {
        if (errno == ENOENT) return {};
        return fail(errno, path, "cannot be looked at");
    }
    if (!S_ISSOCK(there.st_mode))
        return fail(EEXIST, path, "is there, and is no socket; name another path");
    const owned_fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (probe.get() < 0) return fail(errno, path, "no socket can be made");
    const bool answers =
        ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    if (!answers && errno == EACCES)
        return fail(
            EADDRINUSE, path,
            "belongs to user " + std::to_string(there.st_uid) +
                ", and may not be tried: if no turnpike of that user runs, remove the file");
    if (answers || errno != ECONNREFUSED)
        return fail(EADDRINUSE, path,
                    "another process answers there; give each its own in control: {socket: PATH}");
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
        return fail(errno, path, "was left by a process that is gone, and cannot be removed");
    return {};
}

/// The socket file, held by a descriptor: another user of the folder may replace the path's file.
struct socket_file {
    owned_fd fd;
    struct stat about;
};
std::optional<socket_file> file_at(const std::string& path) {
    socket_file out{owned_fd(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)), {}};
    if (out.fd.get() < 0 || ::fstat(out.fd.get(), &out.about) != 0 || !S_ISSOCK(out.about.st_mode))
        return std::nullopt;
    return out;
}

constexpr uid_t as_it_is = UINT32_MAX;

bool set_access(const socket_file& file, mode_t mode, uid_t owner, gid_t group) noexcept {
    // fchmod() takes no O_PATH descriptor.
    const std::string by_descriptor = "/proc/self/fd/" + std::to_string(file.fd.get());
    return ((file.about.st_mode & 0777) == mode || ::chmod(by_descriptor.c_str(), mode) == 0) &&
           ((owner == as_it_is && group == as_it_is) ||
            ::fchownat(file.fd.get(), "", owner, group, AT_EMPTY_PATH) == 0);
}

}  // namespace

result<void> remove_stale_socket(const std::string& path) {
    const auto at = address_of(path);
    if (!at) return tl::unexpected<error>(at.error());
    const owned_fd lock = lock_folder_of(path);
    auto done = clear_the_place(path, *at);
    if (!done && done.error().code == EADDRINUSE)
        return fail(EADDRINUSE, path, "another process listens there");
    return done;
}

result<listener> listener::at(const std::string& path, const std::string& group,
                              const std::string& owner) {
    const auto at = address_of(path);
    if (!at) return tl::unexpected<error>(at.error());
    const auto gid = group_of(group);
    if (!gid) return tl::unexpected<error>(gid.error());
    const auto uid = user_of(owner);
    if (!uid) return tl::unexpected<error>(uid.error());
    const owned_fd lock = lock_folder_of(path);
    if (auto clear = clear_the_place(path, *at); !clear)
        return tl::unexpected<error>(clear.error());
    owned_fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (fd.get() < 0) return fail(errno, path, "no socket can be made");
    // bind() gives the file the mode of the socket, less the process's umask.
    if (::fchmod(fd.get(), file_mode) != 0) return fail(errno, path, "no socket can be made");
    const int bound = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&*at), sizeof *at);
    const int why = errno;
    if (bound != 0) return fail(why, path, "the control socket cannot be made there");
    const auto undo = [&](const char* text) {
        const int code = errno;
        ::unlink(path.c_str());
        return fail(code, path, text);
    };
    const auto file = file_at(path);
    if (!file) return undo("was made, and is not there");
    // Set mode, owner and group before listen(): no client can connect earlier.
    if (!set_access(*file, file_mode, uid->value_or(as_it_is), gid->value_or(as_it_is)))
        return undo(not_given);
    if (::listen(fd.get(), backlog) != 0) return undo("cannot listen");
    listener out;
    out.fd_ = std::move(fd);
    out.path_ = path;
    out.device_ = file->about.st_dev;
    out.inode_ = file->about.st_ino;
    return out;
}

listener::listener(listener&& other) noexcept { *this = std::move(other); }

listener& listener::operator=(listener&& other) noexcept {
    std::swap(fd_, other.fd_);
    path_.swap(other.path_);
    std::swap(device_, other.device_);
    std::swap(inode_, other.inode_);
    std::swap(owns_folder_, other.owns_folder_);
    return *this;
}

listener::~listener() {
    if (has_its_file()) ::unlink(path_.c_str());
    if (owns_folder_) ::rmdir(path_.substr(0, path_.rfind('/')).c_str());
}

bool listener::has_its_file() const noexcept {
    struct stat there {};
    return !path_.empty() && ::lstat(path_.c_str(), &there) == 0 && there.st_dev == device_ &&
           there.st_ino == inode_;
}

result<void> listener::set_owner(const std::string& group, const std::string& owner) const {
    const auto gid = group_of(group);
    if (!gid) return tl::unexpected<error>(gid.error());
    const auto uid = user_of(owner);
    if (!uid) return tl::unexpected<error>(uid.error());
    const auto file = file_at(path_);
    if (!file || file->about.st_dev != device_ || file->about.st_ino != inode_)
        return fail(ENOENT, path_, "the control socket's file was removed or replaced");
    if (!set_access(*file, file_mode, uid->value_or(::geteuid()), gid->value_or(::getegid())))
        return fail(errno, path_, not_given);
    return {};
}

}  // namespace turnpike::sources
