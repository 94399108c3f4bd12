// SPDX-License-Identifier: BSD-3-Clause
// A picture of panels with curves, as data and as gnuplot commands.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace turnpike::bench::dma {

struct curve_point {
    double x = 0, y = 0, low = 0, high = 0;
};

struct curve {
    enum class look { line, dashed, points, line_points, line_errors };
    std::string title;
    look looks = look::line_points;
    std::vector<curve_point> points;
};

struct panel {
    enum class axis { bytes, windows };
    std::string title, y_label;
    axis x = axis::bytes;
    std::vector<curve> curves;
    bool from_zero = true;  ///< the y axis
};

struct picture {
    std::string name;  ///< base name of its files: "figure5"
    std::string title;
    std::vector<panel> panels;
    std::string commands{};  ///< raw gnuplot commands, in place of panels
};

/// name.dat: a block per curve, in order, two empty lines between blocks; columns x, y, low, high.
[[nodiscard]] std::string data_of(const picture& p);
/// name.gnuplot: draws name.svg and name.png from name.dat, all in the current folder.
[[nodiscard]] std::string script_of(const picture& p);

/// Write both files and draw. True: drawn; false: gnuplot is not installed, only data and script
/// are written.
///
/// Errors  of the folder; EIO: gnuplot failed
[[nodiscard]] result<bool> write_picture(const picture& p, const std::filesystem::path& folder);

}  // namespace turnpike::bench::dma
