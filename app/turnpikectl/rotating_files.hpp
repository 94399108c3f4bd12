// SPDX-License-Identifier: BSD-3-Clause
// A pcapng stream in several files: each begins with the section header and the interface descriptions, so that each can
// be read alone. A file ends with a whole block, also on a full disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/owned_fd.hpp"
#include "base/result.hpp"

namespace turnpike::ctl {

class rotating_files {
  public:
    using clock = std::chrono::steady_clock;
    struct limits {
        uint64_t bytes = 0;                 ///< of a file; 0: none
        std::chrono::milliseconds time{0};  ///< of a file; 0: none
        uint64_t files = 0;                 ///< newest ones that stay; 0: all
    };
    /// name  "west.pcapng": files are west_00001.pcapng, west_00002.pcapng...
    rotating_files(std::string name, const limits& l) : name_(std::move(name)), limits_(l) {}

    /// Takes the next bytes of the stream.
    /// Errors  a file cannot be created or written, or the stream is no pcapng
    [[nodiscard]] result<void> write(std::string_view bytes, clock::time_point now);
    [[nodiscard]] uint64_t files() const noexcept { return number_; }

  private:
    result<void> write_block(std::string_view block, uint32_t type, clock::time_point now);
    result<void> open_next(clock::time_point now);
    result<void> write(std::string_view bytes);

    const std::string name_;
    const limits limits_;
    std::string pending_{}, head_{};
    bool packets_begun_ = false;
    owned_fd file_{};
    std::string file_name_{};
    std::deque<std::string> names_{};
    uint64_t number_ = 0, written_ = 0;
    clock::time_point opened_{};
};

}  // namespace turnpike::ctl
