// SPDX-License-Identifier: BSD-3-Clause
#include "pmu/formula.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace turnpike::pmu {
namespace {

constexpr unsigned max_depth = 64;

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_name(char c) { return begins_name(c) || (c >= '0' && c <= '9') || c == '.'; }

}  // namespace

/// Recursive descent parser; appends steps in postfix order.
class formula_parser {
  public:
    explicit formula_parser(std::string_view text) : text_(text) {}

    result<formula> all() {
        if (!sum(0)) return fail(EINVAL, "", std::move(wrong_));
        skip_spaces();
        if (at_ != text_.size()) {
            (void)refuse("nothing more");
            return fail(EINVAL, "", std::move(wrong_));
        }
        return std::move(made_);
    }

  private:
    using operation = formula::operation;

    void skip_spaces() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    }
    bool accept(char c) {
        skip_spaces();
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    bool refuse(std::string_view wanted) {
        if (wrong_.empty())
            wrong_ = fmt::format("in the formula, {} is expected at '{}'", wanted,
                                 printable(text_.substr(at_, 40)));
        return false;
    }
    void add(operation what) { made_.steps_.push_back({.what = what}); }

    bool sum(unsigned depth) {
        if (!product(depth)) return false;
        while (true) {
            const bool plus = accept('+');
            if (!plus && !accept('-')) return true;
            if (!product(depth)) return false;
            add(plus ? operation::add : operation::subtract);
        }
    }
    bool product(unsigned depth) {
        if (!part(depth)) return false;
        while (true) {
            const bool times = accept('*');
            if (!times && !accept('/')) return true;
            if (!part(depth)) return false;
            add(times ? operation::multiply : operation::divide);
        }
    }
    bool part(unsigned depth) {
        skip_spaces();
        if (depth > max_depth) return refuse("fewer parentheses");
        if (accept('(')) return sum(depth + 1) && (accept(')') || refuse("')'"));
        if (at_ == text_.size()) return refuse("a number, a name or '('");
        return begins_name(text_[at_]) ? name(depth) : number();
    }
    bool number() {
        double n = 0;
        const char* const from = text_.data() + at_;
        const auto [end, code] =
            std::from_chars(from, text_.data() + text_.size(), n, std::chars_format::general);
        if (code != std::errc() || *from == '-') return refuse("a number, a name or '('");
        at_ += static_cast<size_t>(end - from);
        made_.steps_.push_back({.what = operation::number, .number = n});
        return true;
    }
    bool name(unsigned depth) {
        const size_t begin = at_;
        while (at_ < text_.size() && in_name(text_[at_])) ++at_;
        const std::string_view word = text_.substr(begin, at_ - begin);
        if (accept('(')) return call(word, depth + 1);
        auto& names = made_.names_;
        auto known = std::find(names.begin(), names.end(), word);
        if (known == names.end()) known = names.insert(names.end(), std::string(word));
        made_.steps_.push_back(
            {.what = operation::name, .name = static_cast<uint32_t>(known - names.begin())});
        return true;
    }
    bool call(std::string_view word, unsigned depth) {
        struct row {
            std::string_view name;
            operation what;
            unsigned arguments;
        };
        constexpr row functions[] = {{"min", operation::min, 2},
                                     {"max", operation::max, 2},
                                     {"if_over", operation::if_over, 4}};
        for (const row& f : functions) {
            if (f.name != word) continue;
            for (unsigned i = 0; i < f.arguments; ++i) {
                if (i != 0 && !accept(',')) return refuse("','");
                if (!sum(depth)) return false;
            }
            if (!accept(')')) return refuse("')'");
            add(f.what);
            return true;
        }
        return refuse(fmt::format("min, max or if_over, which '{}' is not,", printable(word)));
    }

    std::string_view text_;
    size_t at_ = 0;
    formula made_{};
    std::string wrong_{};
};

result<formula> formula::parse(std::string_view text) { return formula_parser(text).all(); }

result<double> formula::value(
    const std::function<result<double>(const std::string&)>& value_of) const {
    std::vector<double> stack;
    const auto pop = [&stack] {
        const double top = stack.back();
        stack.pop_back();
        return top;
    };
    for (const step& s : steps_) {
        if (s.what == operation::number) {
            stack.push_back(s.number);
            continue;
        }
        if (s.what == operation::name) {
            const auto value = value_of(names_[s.name]);
            if (!value) return tl::unexpected<error>(value.error());
            stack.push_back(*value);
            continue;
        }
        const double b = pop(), a = pop();
        switch (s.what) {
            case operation::add:
                stack.push_back(a + b);
                break;
            case operation::subtract:
                stack.push_back(a - b);
                break;
            case operation::multiply:
                stack.push_back(a * b);
                break;
            case operation::divide:
                if (b == 0)
                    return fail(ERANGE, "", "division by zero: the denominator counted nothing");
                stack.push_back(a / b);
                break;
            case operation::min:
                stack.push_back(std::min(a, b));
                break;
            case operation::max:
                stack.push_back(std::max(a, b));
                break;
            default: {  // if_over(first, second, a, b)
                const double second = pop(), first = pop();
                stack.push_back(first > second ? a : b);
            }
        }
    }
    return pop();
}

}  // namespace turnpike::pmu
