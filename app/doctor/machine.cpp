// SPDX-License-Identifier: BSD-3-Clause
#include "machine.hpp"

#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <fstream>

#include "base/arguments.hpp"
#include "sources/default_routes.hpp"

namespace turnpike::doctor {
namespace {

namespace fs = std::filesystem;

/// More than any file of sysfs that is read here; a damaged tree does not fill memory.
constexpr size_t longest_file = 1u << 20;

std::string escaped(std::string_view content) {
    std::string out;
    for (const char c : content) switch (c) {
            case '\n':
                out += "\\n";
                break;
            case '\t':
                out += "\\t";
                break;
            case '\\':
                out += "\\\\";
                break;
            default:
                if (c >= ' ' && c <= '~')
                    out += c;
                else
                    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
    return out;
}

/// nullopt: a backslash begins something else.
std::optional<std::string> unescaped(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') {
            out += text[i];
            continue;
        }
        const char kind = i + 1 < text.size() ? text[i + 1] : ' ';
        if (kind == 'n' || kind == 't' || kind == '\\') {
            out += kind == 'n' ? '\n' : kind == 't' ? '\t' : '\\';
            ++i;
            continue;
        }
        uint8_t byte = 0;
        if (kind != 'x' || i + 3 >= text.size()) return std::nullopt;
        const char* digits = text.data() + i + 2;
        if (std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) return std::nullopt;
        out += static_cast<char>(byte);
        i += 3;
    }
    return out;
}

std::optional<std::string> read_file(const fs::path& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return std::nullopt;
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    std::string content(longest_file, '\0');
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    if (file.bad()) return std::nullopt;
    content.resize(static_cast<size_t>(file.gcount()));
    return content;
}

uint64_t number_after(std::string_view text, std::string_view prefix) {
    uint64_t value = 0;
    if (text.starts_with(prefix))
        std::from_chars(text.data() + prefix.size(), text.data() + text.size(), value);
    return value;
}

/// Adds a process's pages to `pages`, by node and size in KB.
/// Source  proc(5), numa_maps: "7f.. default file=.. huge dirty=2 N0=2 kernelpagesize_kB=2048"
bool add_hugepages(const fs::path& numa_maps,
                   std::map<std::pair<std::string, uint64_t>, uint64_t>& pages) {
    std::ifstream file(numa_maps);
    std::string line;
    while (std::getline(file, line)) {
        const auto words = split(line, " ");
        if (std::find(words.begin(), words.end(), "huge") == words.end()) continue;
        const uint64_t kb = number_after(words.back(), "kernelpagesize_kB=");
        for (const std::string& word : words) {
            const size_t equal = word.find('=');
            if (equal < 2 || equal == std::string::npos || word[0] != 'N') continue;
            pages[{"node" + word.substr(1, equal - 1), kb}] +=
                number_after(word, word.substr(0, equal + 1));
        }
    }
    return file.eof();
}

/// Empty: no turnpike runs, or none with hugepages; nullopt: the processes cannot be seen.
std::optional<std::string> hugepages_of_turnpike(const fs::path& proc) {
    std::map<std::pair<std::string, uint64_t>, uint64_t> pages;
    std::string out;
    std::error_code error;
    for (fs::directory_iterator at(proc, error), end; !error && at != end; at.increment(error)) {
        if (std::isdigit(static_cast<unsigned char>(at->path().filename().string()[0])) == 0)
            continue;
        std::string name;
        std::getline(std::ifstream(at->path() / "comm") >> std::ws, name);
        if (name != "turnpike") continue;
        if (!add_hugepages(at->path() / "numa_maps", pages)) out = "unread\n";
    }
    for (const auto& [where, n] : pages)
        out += fmt::format("{} {} {}\n", where.first, where.second, n);
    return error ? std::nullopt : std::optional(out);
}

std::optional<std::string> default_route_names() {
    const auto routes = sources::read_default_routes();
    if (!routes) return std::nullopt;
    std::string out;
    for (const auto& [index, table] : *routes) {
        std::array<char, IF_NAMESIZE> name{};
        if (::if_indextoname(index, name.data()) != nullptr)
            out += (out.empty() ? "" : " ") + std::string(name.data());
    }
    return out;
}

}  // namespace

result<machine> machine::replay(const fs::path& file) {
    std::ifstream in(file);
    if (!in) return fail(errno, file.string(), "the recording cannot be opened");
    machine out("/");
    out.replayed_ = true;
    std::string line;
    for (unsigned number = 1; std::getline(in, line); ++number) {
        if (line.ends_with('\r')) line.pop_back();  // not of the recording, which escapes it
        if (line.empty() || line[0] == '#') continue;
        const size_t tab = line.find('\t');
        const bool known = line.size() > 2 && line[1] == ' ' &&
                           std::string_view("=>/").find(line[0]) != std::string_view::npos;
        const auto content =
            tab == std::string::npos ? std::nullopt : unescaped(line.substr(tab + 1));
        if (!known || !content)
            return fail(EINVAL, fmt::format("{}:{}", file.string(), number),
                        "a line of a recording is '= PATH<tab>CONTENT', '> PATH<tab>TARGET' or '/ "
                        "FOLDER<tab>NAMES'");
        const std::string path = line.substr(2, tab - 2);
        if (line[0] == '=') out.files_[path] = *content;
        if (line[0] == '>') out.links_[path] = *content;
        if (line[0] == '/') out.folders_[path] = split(*content, " ");
    }
    return out;
}

std::optional<std::string> machine::bytes(const std::string& path) const {
    const auto known = files_.find(path);
    if (known != files_.end()) return known->second;
    if (replayed_) return std::nullopt;
    if (path == default_routes)
        return files_[path] = root_ == "/" ? default_route_names() : std::nullopt;
    if (path == turnpike_hugepages) return files_[path] = hugepages_of_turnpike(root_ / "proc");
    return files_[path] = read_file(root_ / path.substr(1));
}

std::optional<std::string> machine::read(const std::string& path) const {
    auto content = bytes(path);
    if (content) content->erase(content->find_last_not_of(" \n\t\0") + 1);
    return content;
}

std::optional<uint64_t> machine::number(const std::string& path) const {
    uint64_t value = 0;
    if (!read_number<uint64_t>(text(path), 0, UINT64_MAX, value)) return std::nullopt;
    return value;
}

std::string machine::link(const std::string& path) const {
    const auto known = links_.find(path);
    if (known != links_.end()) return known->second;
    if (replayed_) return {};
    std::error_code error;
    const fs::path target = fs::read_symlink(root_ / path.substr(1), error);
    return links_[path] = error ? std::string() : target.string();
}

std::string machine::link_name(const std::string& path) const {
    return fs::path(link(path)).filename();
}

std::vector<std::string> machine::names(const std::string& folder) const {
    const auto known = folders_.find(folder);
    if (known != folders_.end()) return known->second;
    std::vector<std::string> out;
    if (replayed_) return out;
    std::error_code error;
    for (fs::directory_iterator at(root_ / folder.substr(1), error), end; !error && at != end;
         at.increment(error))
        out.push_back(at->path().filename());
    std::sort(out.begin(), out.end());
    return folders_[folder] = out;
}

std::string machine::recording() const {
    std::string out;
    for (const auto& [path, content] : files_)
        if (content) out += fmt::format("= {}\t{}\n", path, escaped(*content));
    for (const auto& [path, target] : links_)
        if (!target.empty()) out += fmt::format("> {}\t{}\n", path, escaped(target));
    for (const auto& [folder, entries] : folders_)
        if (!entries.empty())
            out += fmt::format("/ {}\t{}\n", folder,
                               escaped(fmt::format("{}", fmt::join(entries, " "))));
    return out;
}

std::vector<std::string> split(std::string_view text, std::string_view separators) {
    std::vector<std::string> out;
    while (!text.empty()) {
        const size_t end = std::min(text.find_first_of(separators), text.size());
        if (end > 0) out.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

std::set<unsigned> parse_list(std::string_view text) {
    constexpr unsigned highest = 1u << 16;
    std::set<unsigned> out;
    for (const std::string& part : split(text, ",")) {
        unsigned first = 0, last = 0;
        const char *at = part.data(), *end = at + part.size();
        auto parsed = std::from_chars(at, end, first);
        if (parsed.ec != std::errc()) return {};
        last = first;
        if (parsed.ptr != end && *parsed.ptr == '-')
            parsed = std::from_chars(parsed.ptr + 1, end, last);
        if (parsed.ec != std::errc() || parsed.ptr != end || last > highest || last < first)
            return {};
        for (unsigned n = first; n <= last; ++n) out.insert(n);
    }
    return out;
}

std::string list_text(const std::set<unsigned>& numbers) {
    std::string out;
    for (auto at = numbers.begin(); at != numbers.end();) {
        const unsigned first = *at;
        unsigned last = first;
        while (++at != numbers.end() && *at == last + 1) ++last;
        out += fmt::format("{}{}", out.empty() ? "" : ",", first);
        if (last != first) out += fmt::format("-{}", last);
    }
    return out;
}

}  // namespace turnpike::doctor
