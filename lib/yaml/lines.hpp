// SPDX-License-Identifier: BSD-3-Clause
// Reads an untrusted text file line by line, plain or compressed by gzip (RFC 1952): sizes are
// bounded, every error has file:line.
//
//   auto file = yaml::lines::open("table.gz");
//   while (true) {
//       auto line = file->next();
//       if (!line) return tl::unexpected(line.error());
//       if (!*line) break;                       // that was the last one
//       use(**line, file->where());
//   }
#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace turnpike::yaml {

class lines {
  public:
    struct limits {
        uint64_t file_bytes = uint64_t{1} << 30;  ///< of text, after decompression
        uint32_t line_bytes = 64 << 10;           ///< a route with 256 next hops
    };

    /// Errors  ENOENT, EACCES...: of open(); EINVAL: not a regular file; ENOMEM
    [[nodiscard]] static result<lines> open(const std::filesystem::path& path, limits most);
    [[nodiscard]] static result<lines> open(const std::filesystem::path& path) {
        return open(path, limits{});
    }

    /// The next line without its end (LF or CR LF), valid until the next call; nullopt after the
    /// last. The first one is without a byte order mark of UTF-8.
    ///
    /// Errors  EINVAL with file:line: a line or the file too long, a control character other than a
    ///         tab (not a text file), UTF-16, a broken gzip file; EIO...: of read(). Errors repeat on later
    ///         calls.
    [[nodiscard]] result<std::optional<std::string_view>> next();

    /// file:line of the last line of next(), for errors.
    [[nodiscard]] std::string where() const;

  private:
    struct closed {
        void operator()(gzFile_s* file) const noexcept { gzclose_r(file); }
    };
    lines(std::filesystem::path path, limits most, gzFile_s* file);
    [[nodiscard]] result<std::optional<std::string_view>> read_line();
    [[nodiscard]] result<bool> read_more();

    std::filesystem::path path_;
    limits most_;
    std::unique_ptr<gzFile_s, closed> file_;
    std::string text_{};  // text read and not returned yet, from at_ on
    size_t at_ = 0;
    uint64_t line_ = 0, bytes_ = 0;
    bool ended_ = false;
    error wrong_{};  // the error that next() repeats; code 0: none
};

}  // namespace turnpike::yaml
