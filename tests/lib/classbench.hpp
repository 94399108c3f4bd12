// SPDX-License-Identifier: BSD-3-Clause
// ClassBench's rule sets, if ../shared/data/classbench exists. Needs TURNPIKE_SOURCE_ROOT.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace turnpike::test {

/// The sets, unpacked; removed after the process's last test.
class classbench_sets {
  public:
    classbench_sets() {
        const std::filesystem::path archive = std::filesystem::path(TURNPIKE_SOURCE_ROOT) /
                                              "../shared/data/classbench" /
                                              "classbench-1k-10k.tar.xz";
        if (!std::filesystem::exists(archive)) return;
        std::string folder = std::filesystem::temp_directory_path() / "turnpike-classbench-XXXXXX";
        if (mkdtemp(folder.data()) == nullptr) return;
        folder_ = folder;
        const std::string command =
            "tar -C '" + folder_.string() + "' -xf '" + archive.string() + "'";
        if (std::system(command.c_str()) != 0) return;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
            if (entry.is_regular_file()) files.push_back(entry.path());
        std::sort(files.begin(), files.end());
    }
    ~classbench_sets() {
        if (!folder_.empty()) std::filesystem::remove_all(folder_);
    }
    std::vector<std::filesystem::path> files;

  private:
    std::filesystem::path folder_;
};

}  // namespace turnpike::test
