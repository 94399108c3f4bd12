// SPDX-License-Identifier: BSD-3-Clause
#include "yaml/yaml_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#include <algorithm>
#include <new>

#include "base/owned_fd.hpp"
#include "yaml/reader.hpp"

namespace turnpike::yaml {
namespace {

std::string too_large() { return "is larger than " + std::to_string(max_file_bytes >> 20) + " MB"; }

std::string_view view(const yaml_char_t* text, size_t size) {
    return {reinterpret_cast<const char*>(text), size};
}

bool means_nothing(std::string_view plain) {
    return plain.empty() || plain == "~" || plain == "null" || plain == "Null" || plain == "NULL";
}

/// Builds the tree from parser events, and rejects documents that are not a tree with unique keys.
class builder {
  public:
    explicit builder(document& into) noexcept : into_(into) {}

    void add(const yaml_event_t& e) {
        switch (e.type) {
            case YAML_DOCUMENT_START_EVENT:
                if (!into_.entries.empty())
                    throw complaint{{EINVAL, into_.name, "holds more than one YAML document"}};
                break;
            case YAML_ALIAS_EVENT:  // an alias with an anchor was rejected at the anchor
                refuse(line(e),
                       "is not YAML: an alias (*name) without an anchor; write the value out");
            case YAML_SCALAR_EVENT:
                scalar(e);
                break;
            case YAML_SEQUENCE_START_EVENT:
                open(e, node_kind::list, e.data.sequence_start.anchor);
                break;
            case YAML_MAPPING_START_EVENT:
                open(e, node_kind::map, e.data.mapping_start.anchor);
                break;
            case YAML_SEQUENCE_END_EVENT:
            case YAML_MAPPING_END_EVENT:
                close();
                break;
            default:
                break;
        }
    }

  private:
    struct level {
        uint32_t at;
        bool map, key_next;
    };

    static uint32_t line(const yaml_event_t& e) {
        return static_cast<uint32_t>(e.start_mark.line + 1);
    }
    [[noreturn]] void refuse(uint32_t line, const std::string& text) const {
        throw complaint{{EINVAL, into_.name + ":" + std::to_string(line), text}};
    }

    void scalar(const yaml_event_t& e) {
        const auto& s = e.data.scalar;
        const std::string_view text = view(s.value, s.length);
        const bool is_key = depth_ > 0 && levels_[depth_ - 1].map && levels_[depth_ - 1].key_next;
        if (is_key && text == "<<" && s.style == YAML_PLAIN_SCALAR_STYLE)
            refuse(line(e), "merge keys (<<) are not supported; write the keys out");
        const bool nothing =
            s.style == YAML_PLAIN_SCALAR_STYLE && s.tag == nullptr && means_nothing(text);
        add(e, nothing ? node_kind::nothing : node_kind::scalar, s.anchor);
        into_.entries.back().begin = static_cast<uint32_t>(into_.texts.size());
        if (nothing) return;
        into_.entries.back().size = static_cast<uint32_t>(text.size());
        into_.texts += text;
    }

    void open(const yaml_event_t& e, node_kind kind, const yaml_char_t* anchor) {
        const auto at = static_cast<uint32_t>(into_.entries.size());
        if (depth_ > 0 && levels_[depth_ - 1].map && levels_[depth_ - 1].key_next)
            refuse(line(e), "a key must be plain text");
        if (depth_ == max_depth)
            refuse(line(e), "nested deeper than " + std::to_string(max_depth) + " levels");
        add(e, kind, anchor);
        levels_[depth_++] = {at, kind == node_kind::map, true};
    }

    void add(const yaml_event_t& e, node_kind kind, const yaml_char_t* anchor) {
        if (anchor != nullptr)
            refuse(line(e), "anchors (&name) are not supported; write the value out");
        uint32_t parent = 0;
        if (depth_ > 0) {
            parent = levels_[depth_ - 1].at;
            levels_[depth_ - 1].key_next = !levels_[depth_ - 1].key_next;
        }
        tree_entry& added = into_.entries.emplace_back();
        added.line = line(e) & 0x3fff'ffffU;
        added.kind = kind;
        added.parent = parent;
    }

    void close() {
        const level& l = levels_[--depth_];
        into_.entries[l.at].size = static_cast<uint32_t>(into_.entries.size()) - l.at - 1;
        if (l.map) check_keys(node(into_, l.at));
    }

    void check_keys(const node& map) {
        keys_.clear();
        for (const node key : map.children()) keys_.push_back(key);
        std::sort(keys_.begin(), keys_.end(), [](const node& a, const node& b) {
            return std::pair(a.text(), a.line()) < std::pair(b.text(), b.line());
        });
        const node* first = nullptr;  // first of the duplicate keys
        for (size_t i = 1; i < keys_.size(); ++i)
            if (keys_[i].text() == keys_[i - 1].text() &&
                (first == nullptr || keys_[i].line() < first->line()))
                first = &keys_[i];
        if (first != nullptr)
            refuse(first->line(),
                   "key '" + std::string(first->text().substr(0, 80)) + "' is given twice");
    }

    document& into_;
    level levels_[max_depth]{};
    unsigned depth_ = 0;
    std::vector<node> keys_;  // scratch buffer; kept to avoid allocations
};

/// libyaml's parser over a string.
class event_parser {
  public:
    event_parser(std::string_view text, const std::string& name) : text_(text), name_(name) {
        if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
        yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                     text.size());
    }
    event_parser(const event_parser&) = delete;
    event_parser& operator=(const event_parser&) = delete;
    ~event_parser() { yaml_parser_delete(&parser_); }

    /// Parse to the end of the text. Throws `complaint`, as the builder does.
    void each(builder& into) {
        for (bool more = true; more;) {
            yaml_event_t event;
            if (yaml_parser_parse(&parser_, &event) == 0) complain();
            const owned_event owned{event};
            into.add(event);
            more = event.type != YAML_STREAM_END_EVENT;
        }
    }

  private:
    struct owned_event {
        yaml_event_t& event;
        ~owned_event() { yaml_event_delete(&event); }
    };

    [[noreturn]] void complain() const {
        if (parser_.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
        // libyaml counts a last line without a newline as two.
        const auto ends = static_cast<size_t>(std::count(text_.begin(), text_.end(), '\n'));
        size_t line = 1 + std::min(parser_.problem_mark.line, ends);
        if (parser_.error == YAML_READER_ERROR) {  // reader errors have a byte offset, no line
            const auto read = text_.substr(0, std::min(parser_.problem_offset, text_.size()));
            line = 1 + static_cast<size_t>(std::count(read.begin(), read.end(), '\n'));
        }
        const std::string_view problem = parser_.problem;
        const std::string_view context = parser_.context == nullptr ? "" : parser_.context;
        std::string why = "is not YAML: " + std::string(problem);
        if (!context.empty())
            why += " (" + std::string(context) + " from line " +
                   std::to_string(parser_.context_mark.line + 1) + ")";
        // Unlike YAML 1.2, libyaml rejects plain scalars such as ::/0 or fe80:: in flow
        // collections.
        const size_t at = parser_.problem_mark.index;
        if ((context == "while parsing a flow node" || problem == "found unexpected ':'") &&
            at < text_.size() && text_[at] == ':')
            why += "; in {} and [] a value that begins or ends with ':' needs quotes";
        throw complaint{{EINVAL, name_ + ":" + std::to_string(line), why}};
    }

    std::string_view text_;
    const std::string& name_;
    yaml_parser_t parser_{};
};

}  // namespace

result<std::string> read_file(const std::filesystem::path& path) {
    // O_NONBLOCK: opening a FIFO without a writer must not block.
    const owned_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd.get() < 0) return fail(errno, path, "cannot open the file");
    return read_file(fd.get(), path);
}

result<std::string> read_file(int fd, const std::string& name) {
    struct stat status {};
    if (fstat(fd, &status) != 0) return fail(errno, name, "cannot stat the file");
    if (!S_ISREG(status.st_mode)) return fail(EINVAL, name, "is not a regular file");
    if (static_cast<uint64_t>(status.st_size) > max_file_bytes)
        return fail(EINVAL, name, too_large());
    std::string text;
    char chunk[65536];
    while (true) {
        const ssize_t got = ::pread(fd, chunk, sizeof chunk, static_cast<off_t>(text.size()));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(errno, name, "cannot read the file");
        if (got == 0) break;
        text.append(chunk, static_cast<size_t>(got));
        if (text.size() > max_file_bytes)  // the file grew meanwhile
            return fail(EINVAL, name, too_large());
    }
    return text;
}

result<document> parse_yaml(std::string_view text, const std::string& name, std::string top) {
    if (text.size() > max_file_bytes) return fail(EINVAL, name, too_large());
    if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
        const auto line =
            1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(nul), '\n');
        return fail(EINVAL, name + ":" + std::to_string(line), "holds a NUL byte");
    }
    try {
        document out{.name = name, .top = std::move(top)};
        builder tree(out);
        event_parser(text, name).each(tree);
        if (out.entries.empty()) return fail(EINVAL, name, "is empty");
        return out;
    } catch (const complaint& c) {
        return tl::unexpected<error>(c.what);
    }
}

}  // namespace turnpike::yaml
