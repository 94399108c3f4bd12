// SPDX-License-Identifier: BSD-3-Clause
// The replacement of a file that belongs to another user, as where root writes a configuration and the service saves it;
// and on a full disk. The check before work whose result will be written.
#include "yaml/write_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace turnpike::yaml {
namespace {

constexpr uid_t service = 65534;

std::string first_line(const std::string& file) {
    std::string out;
    std::getline(std::ifstream(file), out);
    return out;
}

TEST(write_file, replaces_a_file_of_another_user_and_keeps_its_mode) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
    std::string folder = std::filesystem::temp_directory_path() / "turnpike-write-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    ASSERT_EQ(::chown(folder.c_str(), service, service), 0);
    const std::string file = folder + "/turnpike.yaml";
    std::ofstream(file) << "old\n";
    ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const bool left = ::setgid(service) == 0 && ::setuid(service) == 0;
        _exit(left && write_file(file, "new\n") ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    std::string content;
    std::getline(std::ifstream(file), content);
    EXPECT_EQ(content, "new");
    struct stat now {};
    ASSERT_EQ(::stat(file.c_str(), &now), 0);
    EXPECT_EQ(now.st_uid, service);
    EXPECT_EQ(now.st_mode & 07777, 0640u);
    ASSERT_TRUE(write_file(file, "root's\n"));
    ASSERT_EQ(::stat(file.c_str(), &now), 0);
    EXPECT_EQ(now.st_uid, service) << "root keeps the owner";
    std::filesystem::remove_all(folder);
}

/// In a child, whose mount namespace has the full disk.
TEST(write_file, a_full_disk_keeps_the_old_file) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to mount a disk";
    std::string folder = std::filesystem::temp_directory_path() / "turnpike-full-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        if (::unshare(CLONE_NEWNS) != 0 ||
            ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("none", folder.c_str(), "tmpfs", 0, "size=64k") != 0)
            _exit(1);
        const std::string file = folder + "/turnpike.yaml", old = "old\n";
        std::ofstream(file) << old;
        const auto full = write_file(file, std::string(1 << 20, 'x'));
        if (full || full.error().code != ENOSPC || full.error().object != file) _exit(2);
        std::ifstream in(file);
        if (std::string(std::istreambuf_iterator<char>(in), {}) != old) _exit(3);
        if (std::distance(std::filesystem::directory_iterator(folder), {}) != 1) _exit(4);
        _exit(write_file(file, "new\n") ? 0 : 5);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    std::filesystem::remove_all(folder);
}

/// In a child, whose mount namespace has the file as a mount point.
TEST(write_file, what_is_no_regular_file_stays_what_it_is) {
    std::string folder = std::filesystem::temp_directory_path() / "turnpike-special-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    const std::string link = folder + "/link", fifo = folder + "/fifo", file = folder + "/file";
    ASSERT_EQ(::symlink("nowhere", link.c_str()), 0);
    const auto refused = write_file(link, "text\n");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ENOENT);
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader, 0);
    ASSERT_TRUE(write_file(fifo, "text\n"));
    char got[8] = {};
    EXPECT_EQ(::read(reader, got, sizeof got), 5);
    EXPECT_STREQ(got, "text\n");
    EXPECT_TRUE(std::filesystem::is_fifo(fifo));
    ::close(reader);
    int ends[2] = {};
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ASSERT_TRUE(write_file("/dev/fd/" + std::to_string(ends[1]), "pipe\n"));  // a shell's >(cat)
    EXPECT_EQ(::read(ends[0], got, sizeof got), 5);
    EXPECT_STREQ(got, "pipe\n");
    for (const int end : ends) ::close(end);
    EXPECT_EQ(write_file(folder, "text\n").error().code, EISDIR);
    std::ofstream(file) << "old\n";
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        if (::unshare(CLONE_NEWNS) != 0 ||
            ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount(file.c_str(), file.c_str(), nullptr, MS_BIND, nullptr) != 0)
            _exit(errno == EPERM ? 0 : 1);
        const auto bound = write_file(file, "new\n");
        if (bound || bound.error().code != EBUSY) _exit(2);
        _exit(check_output(file) && write_output(file, "new\n") && first_line(file) == "new" ? 0
                                                                                             : 3);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 3);
    std::filesystem::remove_all(folder);
}

/// check_output()'s error number; 0: none.
int check_code(const std::string& path) {
    const auto checked = check_output(path);
    return checked ? 0 : checked.error().code;
}

TEST(write_file, a_check_leaves_the_folder_as_it_is) {
    std::string folder = std::filesystem::temp_directory_path() / "turnpike-check-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    const std::string file = folder + "/file", link = folder + "/link", fifo = folder + "/fifo";
    EXPECT_EQ(check_code(file), 0);
    EXPECT_FALSE(std::filesystem::exists(file)) << "a file that was not there stays away";
    std::ofstream(file) << "old\n";
    ASSERT_EQ(::symlink("nowhere", link.c_str()), 0);
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    EXPECT_EQ(check_code(file), 0);
    EXPECT_EQ(check_code(link), ENOENT);
    EXPECT_EQ(check_code(fifo), 0) << "without waiting for a reader";
    EXPECT_EQ(check_code("/dev/null"), 0);
    EXPECT_EQ(check_code(folder), EISDIR);
    EXPECT_EQ(check_code(folder + "/none/file"), ENOENT);
    EXPECT_EQ(check_code(file + "/file"), ENOTDIR);
    std::string content;
    std::getline(std::ifstream(file), content);
    EXPECT_EQ(content, "old");
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 3);
    std::filesystem::remove_all(folder);
}

/// The file may be replaced by another user's, but the folder takes no file.
TEST(write_file, a_check_finds_a_folder_of_another_user) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
    std::string folder = std::filesystem::temp_directory_path() / "turnpike-check-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    const std::string file = folder + "/file";
    std::ofstream(file) << "old\n";
    ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
    ASSERT_EQ(::chown(file.c_str(), service, service), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const bool left = ::setgid(service) == 0 && ::setuid(service) == 0;
        const bool refused = write_file(file, "new\n").error().code == EACCES &&
                             check_code(folder + "/new") == EACCES;
        _exit(left && refused && check_code(file) == 0 && write_output(file, "new\n") ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(first_line(file), "new");
    std::filesystem::remove_all(folder);
}

/// Another user's file in /tmp: found before the work, not when it is written.
TEST(write_file, a_check_finds_a_file_that_cannot_be_replaced) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
    std::string folder = std::filesystem::temp_directory_path() / "turnpike-sticky-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    ASSERT_EQ(::chmod(folder.c_str(), 01777), 0);
    const std::string file = folder + "/file";
    std::ofstream(file) << "old\n";
    ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const bool left = ::setgid(service) == 0 && ::setuid(service) == 0;
        const auto written = write_output(file, "new\n");
        const bool refused = !written && check_code(file) == written.error().code;
        _exit(left && refused && check_code(folder + "/new") == 0 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(first_line(file), "old");
    std::filesystem::remove_all(folder);
}

/// fs.protected_symlinks while it lives, as Debian boots with it; a container may have it off.
class protected_links {
  public:
    protected_links() {
        was_ = first_line(file);
        std::ofstream(file) << "1\n";
    }
    ~protected_links() { std::ofstream(file) << was_ << "\n"; }
    [[nodiscard]] bool are_on() const { return first_line(file) == "1"; }

  private:
    static constexpr const char* file = "/proc/sys/fs/protected_symlinks";
    std::string was_;
};

/// Root writes a report into /tmp, where another user has made a link to a file of root's.
TEST(write_file, another_users_link_in_a_sticky_folder_is_not_followed) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to make a link of another user";
    std::string folder = std::filesystem::temp_directory_path() / "turnpike-link-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    const std::string precious = folder + "/precious", sticky = folder + "/tmp",
                      link = sticky + "/report";
    std::ofstream(precious) << "old\n";
    ASSERT_EQ(::mkdir(sticky.c_str(), 0755), 0);
    ASSERT_EQ(::chmod(sticky.c_str(), 01777), 0);
    ASSERT_EQ(::symlink(precious.c_str(), link.c_str()), 0);
    const protected_links guard;
    ASSERT_TRUE(guard.are_on()) << "/proc/sys cannot be written";
    ASSERT_TRUE(write_file(link, "mine\n")) << "a link of one's own is followed";
    EXPECT_EQ(first_line(precious), "mine");
    ASSERT_EQ(::lchown(link.c_str(), service, service), 0);
    EXPECT_EQ(check_code(link), EACCES);
    for (const auto& written : {write_file(link, "new\n"), write_output(link, "new\n")}) {
        ASSERT_FALSE(written);
        EXPECT_EQ(written.error().code, EACCES);
    }
    EXPECT_EQ(first_line(precious), "mine");
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace turnpike::yaml
