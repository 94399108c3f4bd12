// SPDX-License-Identifier: BSD-3-Clause
#include "sources/saved_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/fnv1a.hpp"
#include "sources/yaml_writer.hpp"
#include "yaml/write_file.hpp"
#include "yaml/yaml_file.hpp"

namespace turnpike::sources {

namespace {

/// Whether a text is as turnpike wrote it.
bool is_unedited(std::string_view text) {
    const std::string_view first = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(first.size() + 1, text.size()));
    constexpr std::string_view sum = ", FNV-1a ";  // none in the files of earlier releases
    return first.starts_with("# Written by turnpike ") &&
           (first.find(sum) == first.npos ||
            first.ends_with(fmt::format("{}{:016x}.", sum, fnv1a(text))));
}

}  // namespace

std::string saved_text(const state::configuration& in, std::string_view version) {
    const std::string text = to_yaml(in);
    return fmt::format("# Written by turnpike {}, FNV-1a {:016x}.\n", version, fnv1a(text)) + text;
}

result<bool> back_up_operators_file(const std::string& file, std::string_view remedy) {
    std::error_code none;
    if (!std::filesystem::is_regular_file(file, none) && !none) return false;
    const auto refused = [&](const error& why) {
        return fail(why.code, why.object,
                    fmt::format("{}; `save` would replace the operator's file {}: {}", why.text,
                                file, remedy));
    };
    const auto text = yaml::read_file(file);
    if (!text && text.error().code == ENOENT) return false;
    if (!text) return refused(text.error());
    if (is_unedited(*text)) return false;
    if (const auto kept = yaml::write_file(file + ".old", *text, file); !kept)
        return refused(kept.error());
    return true;
}

}  // namespace turnpike::sources
