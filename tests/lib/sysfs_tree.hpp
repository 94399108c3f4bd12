// SPDX-License-Identifier: BSD-3-Clause
// A recorded sysfs in one file: a line is `path: contents of the file`, or `path -> target of a link`;
// # begins a comment. Unpacked into a temporary folder, which is removed with the object.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "lib/require.hpp"

namespace turnpike::test {

class sysfs_tree {
  public:
    explicit sysfs_tree(const std::filesystem::path& file) {
        std::string name = testing::TempDir() + "sysfs-XXXXXX";
        REQUIRE(mkdtemp(name.data()) != nullptr);
        root_ = name;
        std::ifstream in(file);
        EXPECT_TRUE(in) << file;
        for (std::string line; std::getline(in, line);) put(line);
    }
    sysfs_tree(const sysfs_tree&) = delete;
    sysfs_tree& operator=(const sysfs_tree&) = delete;
    ~sysfs_tree() { std::filesystem::remove_all(root_); }

    /// Add one line; replaces an existing file.
    void put(const std::string& line) {
        if (line.empty() || line[0] == '#') return;
        const size_t arrow = line.find(" -> "), colon = line.find(": ");
        const auto path = root_ / line.substr(0, std::min(arrow, colon));
        if (path.parent_path() != made_)
            std::filesystem::create_directories(made_ = path.parent_path());
        if (arrow != std::string::npos)
            std::filesystem::create_symlink(line.substr(arrow + 4), path);
        else
            std::ofstream(path) << line.substr(colon + 2) << '\n';
    }
    [[nodiscard]] const std::filesystem::path& root() const noexcept { return root_; }

  private:
    std::filesystem::path root_, made_{};
};

}  // namespace turnpike::test
