// SPDX-License-Identifier: BSD-3-Clause
#include "yaml/write_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/owned_fd.hpp"
#include "base/write_all.hpp"

namespace turnpike::yaml {
namespace {

/// Give a file to an owner and group, or to the group only. A user who may do neither keeps it.
bool change_owner(int fd, uid_t owner, gid_t group) noexcept {
    constexpr uid_t as_it_is = static_cast<uid_t>(-1);
    return ::fchown(fd, owner, group) == 0 ||
           (errno == EPERM && (::fchown(fd, as_it_is, group) == 0 || errno == EPERM));
}

/// umask() would change it to return it, and other threads may create files meanwhile.
mode_t umask_of_process() {
    constexpr std::string_view key = "Umask:";
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(key))
            return static_cast<mode_t>(std::strtoul(line.c_str() + key.size(), nullptr, 8));
    return 022;
}

/// Copy mode and owner from a file, if it exists.
bool copy_mode(int fd, const std::string& like) noexcept {
    struct stat there {};
    if (::stat(like.c_str(), &there) == 0)
        return change_owner(fd, there.st_uid, there.st_gid) &&
               ::fchmod(fd, there.st_mode & 0777) == 0;
    return ::fchmod(fd, 0666 & ~umask_of_process()) == 0;
}

/// The mode of an existing file that is written as it is: a device, FIFO...; 0: a regular file, or none.
mode_t special_mode(const std::string& path) noexcept {
    struct stat there {};
    return ::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) ? there.st_mode : 0;
}

/// The file to replace: a symbolic link's target. The kernel follows the link, since realpath() would also follow a link that
/// another user made in /tmp (fs.protected_symlinks).
result<std::string> target_of(const std::string& path) {
    const owned_fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (fd.get() < 0 && errno != ENOENT) return fail(errno, path, "cannot be written");
    if (fd.get() < 0) {
        struct stat there {};
        if (::lstat(path.c_str(), &there) == 0)
            return fail(ENOENT, path, "is a symbolic link to no file");
        return path;
    }
    std::array<char, PATH_MAX> name{};
    const auto bytes =
        ::readlink(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), name.data(), name.size());
    if (bytes < 0 || static_cast<size_t>(bytes) == name.size())
        return fail(bytes < 0 ? errno : ENAMETOOLONG, path,
                    "cannot be written: its name is read by /proc, which must be mounted");
    return std::string(name.data(), static_cast<size_t>(bytes));
}

std::string folder_of(const std::string& file) {
    const size_t slash = file.rfind('/');
    return slash == std::string::npos ? "." : file.substr(0, slash + 1);
}

bool is_mount_point(const std::string& path) noexcept {
    struct statx there {};
    return ::statx(AT_FDCWD, path.c_str(), 0, 0, &there) == 0 &&
           (there.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

tl::unexpected<error> cannot_replace(int why, const std::string& path) {
    return fail(why, path,
                why == EBUSY ? "is a mount point, which cannot be replaced: mount its folder"
                             : "cannot be written");
}

/// In a folder with the sticky bit, as /tmp, another user's file cannot be replaced.
bool is_stuck(const std::string& file) noexcept {
    struct stat there {
    }, folder{};
    const uid_t us = ::geteuid();
    return us != 0 && ::stat(file.c_str(), &there) == 0 && there.st_uid != us &&
           ::stat(folder_of(file).c_str(), &folder) == 0 && (folder.st_mode & S_ISVTX) != 0 &&
           folder.st_uid != us;
}

/// The error that write_file() would end with, found by its temporary file; 0: none.
int why_not_replaced(const std::string& file) {
    if (is_mount_point(file)) return EBUSY;
    if (is_stuck(file)) return EPERM;
    std::string beside = file + ".XXXXXX";
    const owned_fd fd(::mkostemp(beside.data(), O_CLOEXEC));
    if (fd.get() < 0) return errno;
    ::unlink(beside.c_str());
    return 0;
}

/// Whether an existing file that cannot be replaced can be written.
bool can_write_in_place(int why, const std::string& path) noexcept {
    const bool is_kept = why == EACCES || why == EPERM || why == EROFS || why == EBUSY;
    return is_kept && ::access(path.c_str(), W_OK) == 0;
}

}  // namespace

result<void> write_file(const std::string& path, std::string_view text, const std::string& like) {
    if (special_mode(path) != 0) {
        const owned_fd as_it_is(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
        if (as_it_is.get() < 0 || !write_all(as_it_is.get(), text))
            return fail(errno, path, "cannot be written");
        return {};
    }
    const auto target = target_of(path);
    if (!target) return tl::unexpected<error>(target.error());
    const std::string& to = *target;
    std::string beside = to + ".XXXXXX";
    const owned_fd fd(::mkostemp(beside.data(), O_CLOEXEC));
    const auto undo = [&](int why) {
        if (fd.get() >= 0) ::unlink(beside.c_str());
        return cannot_replace(why, path);
    };
    if (fd.get() < 0 || !copy_mode(fd.get(), like.empty() ? to : like) ||
        !write_all(fd.get(), text) || ::fsync(fd.get()) != 0 ||
        ::rename(beside.c_str(), to.c_str()) != 0)
        return undo(errno);
    // Flush the folder too, which stores the new name; a folder that cannot be flushed is no error.
    const owned_fd in(::open(folder_of(to).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (in.get() >= 0) (void)::fsync(in.get());
    return {};
}

result<void> write_output(const std::string& path, std::string_view text) {
    auto done = write_file(path, text);
    if (done || !can_write_in_place(done.error().code, path)) return done;
    const owned_fd fd(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    if (fd.get() < 0 || !write_all(fd.get(), text)) return cannot_replace(errno, path);
    return {};
}

result<void> check_output(const std::string& path) {
    if (const mode_t mode = special_mode(path); mode != 0) {
        // Opening a FIFO waits for its reader, and closing it ends the reader's input.
        const bool waits = S_ISFIFO(mode);
        const owned_fd fd(
            waits ? -1 : ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
        if (waits ? ::access(path.c_str(), W_OK) != 0 : fd.get() < 0)
            return fail(errno, path, "cannot be written");
        return {};
    }
    const auto to = target_of(path);
    if (!to) return tl::unexpected<error>(to.error());
    const int why = why_not_replaced(*to);
    if (why == 0 || can_write_in_place(why, path)) return {};
    return cannot_replace(why, path);
}

}  // namespace turnpike::yaml
