// SPDX-License-Identifier: BSD-3-Clause
// The files of sysfs and procfs that describe a machine: of this one, or of a recording of another one.
//
// A recording is a text with a line for each file, link and folder that was read, so that a user can send it with a
// report and a test can replay it:
//
//   = /proc/sys/kernel/osrelease	6.1.0-28-amd64\n
//   > /sys/bus/pci/devices/0000:3b:00.0/driver	../../../bus/pci/drivers/ixgbe
//   / /sys/devices/system/node	node0 node1
//
// A tab separates the path from its content, in which a backslash begins \n, \t, \\ or \xHH.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace turnpike::doctor {

class machine {
  public:
    /// In the place of a path: the interfaces of the kernel's default routes in all tables that rules look up, as netlink has
    /// them (procfs has those of table main, and of several paths only one).
    static constexpr const char* default_routes = "netlink:default_routes";

    /// In the place of a path: the hugepages of running processes named turnpike, a line "node0 2048 512" for a node, a page
    /// size in KB and a number of pages; "unread" for a process whose numa_maps cannot be read.
    static constexpr const char* turnpike_hugepages = "procfs:turnpike_hugepages";

    /// root  "/" or another folder with proc and sys below it
    explicit machine(std::filesystem::path root) : root_(std::move(root)) {}
    /// Errors: ENOENT and the like, or EINVAL with "file:line".
    [[nodiscard]] static result<machine> replay(const std::filesystem::path& file);

    /// A file's content without blanks at its end; nullopt if it cannot be read.
    [[nodiscard]] std::optional<std::string> read(const std::string& path) const;
    /// The same with all bytes, as of a device's config space.
    [[nodiscard]] std::optional<std::string> bytes(const std::string& path) const;
    [[nodiscard]] std::string text(const std::string& path) const {
        return read(path).value_or("");
    }
    [[nodiscard]] std::optional<uint64_t> number(const std::string& path) const;
    /// A symbolic link's target; empty if it is none.
    [[nodiscard]] std::string link(const std::string& path) const;
    /// The last component of a link's target.
    [[nodiscard]] std::string link_name(const std::string& path) const;
    /// Names in a folder, sorted; empty if it cannot be read.
    [[nodiscard]] std::vector<std::string> names(const std::string& folder) const;

    /// Everything that was read so far.
    [[nodiscard]] std::string recording() const;
    [[nodiscard]] bool is_replay() const noexcept { return replayed_; }
    [[nodiscard]] const std::filesystem::path& root() const noexcept { return root_; }

  private:
    std::filesystem::path root_;
    bool replayed_ = false;
    mutable std::map<std::string, std::optional<std::string>> files_{};
    mutable std::map<std::string, std::string> links_{};
    mutable std::map<std::string, std::vector<std::string>> folders_{};
};

/// "0-3,8" as a set; other text gives an empty one.
[[nodiscard]] std::set<unsigned> parse_list(std::string_view text);
/// The inverse.
[[nodiscard]] std::string list_text(const std::set<unsigned>& numbers);
/// The parts of a text between separators; empty ones are left out.
[[nodiscard]] std::vector<std::string> split(std::string_view text, std::string_view separators);

}  // namespace turnpike::doctor
