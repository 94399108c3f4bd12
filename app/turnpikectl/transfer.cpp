// SPDX-License-Identifier: BSD-3-Clause
#include "transfer.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "ask.hpp"
#include "base/printable.hpp"
#include "connection.hpp"
#include "print.hpp"
#include "sources/saved_file.hpp"
#include "text_file.hpp"
#include "yaml/byte_order_mark.hpp"
#include "yaml/write_file.hpp"
#include "yaml/yaml_file.hpp"

namespace turnpike::ctl {

using nlohmann::json;

std::optional<json> result_of(connection& c, const json& request, int& code, const given& g) {
    const auto answer = c.ask(request);
    if (!answer) {
        code = complain(answer.error(), exit_of_answer(answer.error()));
        return std::nullopt;
    }
    if (!answer->is_object() || !answer->contains("result")) {
        code = complain_of(*answer, g, request);
        return std::nullopt;
    }
    return (*answer)["result"];
}

std::optional<std::string> running_text(connection& c, int& code) {
    std::string text;
    json request = {{"request", "configuration"}};
    do {
        const auto page = result_of(c, request, code);
        if (!page) return std::nullopt;
        text += page->value("text", std::string());
        request["from"] = page->value("next", json());
    } while (!request["from"].is_null());
    return text;
}

result<json> file_request(const std::string& name, const std::string& file) {
    const bool is_stdin = file == "-";
    std::ifstream named;
    errno = 0;
    if (!is_stdin) named.open(file, std::ios::binary);
    if (!named) return fail(errno != 0 ? errno : EIO, file, "cannot be read");
    std::istream& in = is_stdin ? std::cin : named;
    std::string text;
    char part[65536];
    while (text.size() <= yaml::max_file_bytes && (in.read(part, sizeof part) || in.gcount() > 0))
        text.append(part, static_cast<size_t>(in.gcount()));
    if (auto read = check_read(in, file); !read) return tl::unexpected<error>(read.error());
    if (text.empty()) return fail(EINVAL, file, "is empty");
    if (text.size() > yaml::max_file_bytes)
        return fail(EFBIG, file,
                    fmt::format("is longer than {} bytes, which turnpike reads at most",
                                yaml::max_file_bytes));
    if (auto good = check_utf8(text, file); !good) return tl::unexpected<error>(good.error());
    std::error_code unknown;  // the working folder may be gone
    const std::string given = is_stdin ? "stdin" : file,
                      absolute = std::filesystem::absolute(given, unknown).lexically_normal(),
                      path = absolute.empty() ? given : absolute;
    return json{{"request", name}, {"text", std::move(text)}, {"name", printable(path)}};
}

namespace {

/// Splits a stream at line ends into parts that fit a request.
class line_parts {
  public:
    line_parts(std::istream& in, std::string file) : in_(in), file_(std::move(file)) {}
    /// Errors  a line that exceeds a request, or is not UTF-8; of reading
    result<std::string> next() {
        constexpr size_t most = 700'000;  // JSON escapes lengthen it
        std::string part;
        for (std::string line; part.size() < most && std::getline(in_, line);) {
            if (std::exchange(is_first_, false)) {
                const auto marked = yaml::without_byte_order_mark(line);
                if (!marked) return tl::unexpected<error>(marked.error());
                line = *marked;
            }
            ++number_;
            if (line.size() > 65536) return fail(EINVAL, {}, "a line is too long for a route");
            if (auto good = check_utf8(line, file_, number_); !good)
                return tl::unexpected<error>(good.error());
            part += line + "\n";
        }
        last_ = !in_ || in_.peek() == std::istream::traits_type::eof();
        if (auto read = check_read(in_, file_); !read) return tl::unexpected<error>(read.error());
        return part;
    }
    [[nodiscard]] bool last() const noexcept { return last_; }

  private:
    std::istream& in_;
    std::string file_;
    size_t number_ = 0;
    bool is_first_ = true, last_ = false;
};

}  // namespace

int send_routes(const given& g) {
    const std::string file = g.value("FILE");
    std::ifstream named;
    if (file != "-") {
        named.open(file);
        if (!named)
            return complain({errno != 0 ? errno : EIO, file, "cannot be read"}, exit_refused);
    }
    auto asked = connect(g);
    if (!asked) return complain(asked.error(), exit_no_connection);
    line_parts parts(file == "-" ? std::cin : named, file);
    int code = 0;
    while (true) {
        auto lines = parts.next();
        if (!lines) {
            error why = lines.error();
            if (why.object.empty()) why.object = file;
            return complain(why, exit_refused);
        }
        json request = {{"request", "routes"}, {"lines", std::move(*lines)}};
        if (g.has("VRF")) request["vrf"] = g.value("VRF");
        if (!parts.last()) request["more"] = true;
        if (g.options.contains("--comment")) request["comment"] = g.option("--comment");
        const auto result = result_of(*asked, request, code, g);
        if (!result) return code;
        if (!parts.last()) continue;
        std::fputs(g.as_json() ? (result->dump() + "\n").c_str()
                               : ("changed: " + changes_text(*result)).c_str(),
                   stdout);
        return 0;
    }
}

int save(const given& g) {
    auto asked = connect(g);
    if (!asked) return complain(asked.error(), exit_no_connection);
    int code = 0;
    std::string file = g.value("FILE"), old;
    if (file.empty()) {
        const auto saved = result_of(*asked, {{"request", "save"}}, code);
        if (!saved) return code;
        file = saved->value("saved", std::string());
        old = saved->value("old", std::string());
    } else {
        if (file != "-") {
            const auto history = result_of(*asked, {{"request", "history"}}, code);
            if (!history) return code;
            if (history->value("undone_in_s", json()).is_number())
                return complain({EBUSY, "save " + file,
                                 "a change awaits confirmation: confirm it first, or wait until it "
                                 "is undone (save - prints the configuration)"},
                                exit_refused);
        }
        const auto running = running_text(*asked, code);
        if (!running) return code;
        const std::string& text = *running;
        if (file == "-") {
            print_text(g.as_json() ? json_line({{"text", text}}) : text);
            return 0;
        }
        const auto kept =
            sources::back_up_operators_file(file, "move the file away, or name another");
        if (!kept) return complain(kept.error(), exit_refused);
        if (*kept) old = file + ".old";
        if (const auto written = yaml::write_file(file, text); !written)
            return complain(written.error(), exit_refused);
    }
    if (g.as_json()) {
        json out = {{"saved", file}};
        if (!old.empty()) out["old"] = old;
        std::printf("%s", json_line(out).c_str());
        return 0;
    }
    if (!old.empty()) std::printf("the file before, with its comments, is %s\n", old.c_str());
    std::printf("saved as %s\n", file.c_str());
    return 0;
}

int show_running(const given& g) {
    given printed = g;
    printed.words.emplace_back("FILE", "-");
    return save(printed);
}

}  // namespace turnpike::ctl
