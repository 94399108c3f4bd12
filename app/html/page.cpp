// SPDX-License-Identifier: BSD-3-Clause
#include "html/page.hpp"

#include <fmt/format.h>

#include "html/figures.hpp"

namespace turnpike::html {
namespace {

constexpr std::string_view page_style = R"css(
:root{color-scheme:light dark;--back:#fff;--text:#1c2024;--soft:#555e68;--line:#d8dde3;--card:#f6f8fa;--warn:#b3261e;
--c0:#2f6fb0;--c1:#b4661a;--c2:#3d7f4c;--c3:#8a4f9e;--c4:#1f7f87;--c5:#a3405f;--c6:#6b6f1d;--c7:#5b6472}
@media(prefers-color-scheme:dark){:root{--back:#14181c;--text:#e6e9ec;--soft:#a9b3bd;--line:#37414b;--card:#1d2329;
--warn:#ff9a8f;--c0:#6fb1f0;--c1:#eba35a;--c2:#79c48a;--c3:#c79bdc;--c4:#63c3cc;--c5:#ee92ad;--c6:#c5c95f;--c7:#a2adb9}}
*{box-sizing:border-box}body{margin:0 auto;max-width:70rem;padding:1rem;background:var(--back);color:var(--text);
font:1rem/1.45 system-ui,sans-serif}h1{font-size:1.4rem;margin:0}h2{font-size:1.1rem;margin:0 0 .6rem}
h3{font-size:1rem;margin:.8rem 0 .3rem}section{background:var(--card);border:1px solid var(--line);border-radius:.5rem;
padding:1rem;margin:1rem 0}p{margin:.3rem 0}.soft{color:var(--soft)}.verdict{font-size:1.15rem}.full{color:var(--warn)}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%}th,td{padding:.25rem .6rem .25rem 0;text-align:left;
vertical-align:top;overflow-wrap:break-word}thead th{color:var(--soft);font-weight:600;border-bottom:1px solid var(--line)}
td.n{white-space:nowrap}.n{text-align:right;font-variant-numeric:tabular-nums}caption{text-align:left;color:var(--soft)}
svg{display:block}.bar{width:100%;height:1.5rem}.level{width:100%;min-width:5rem;height:.5rem;margin-top:.45rem}
.chart{width:100%;min-width:30rem;font-size:12px}.chart text{fill:var(--soft)}.spark{width:7.5rem;height:1.75rem;stroke-width:1.5}.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1rem;
padding:0;margin:.4rem 0}.legend i{display:inline-block;width:.8rem;height:.8rem;margin-right:.35rem}
.bars th{width:11rem;font-weight:400}.one{display:flex;align-items:center;gap:.4rem;height:1.1rem}
.one b{height:.8rem;min-width:2px}.one em{font-style:normal;color:var(--soft);font-size:.85rem;white-space:nowrap}
@media(max-width:40rem){body{padding:.5rem}section{padding:.7rem;margin:.6rem 0}.bars th{width:7rem;font-size:.85rem}
.scroll thead{display:none}.scroll table,.scroll tbody,.scroll tr,.scroll th,.scroll td{display:block}
.scroll tr{padding:.4rem 0;border-top:1px solid var(--line)}.scroll td{padding:.1rem 0;text-align:left;white-space:normal}
.scroll td::before{content:attr(data-of) ": ";color:var(--soft)}.scroll td:empty{display:none}}
)css";

}  // namespace

std::string begin_page(const page_head& head) {
    std::string out =
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "style-src 'unsafe-inline'; img-src data:\">"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
        "<link rel=\"icon\" href=\"data:,\">";
    if (head.refresh_s != 0)
        out += fmt::format("<meta http-equiv=\"refresh\" content=\"{}\">", head.refresh_s);
    return out + fmt::format("<title>{}</title><style>{}</style></head>\n<body>",
                             html_text(head.title), page_style);
}

std::string end_page() { return "</body></html>\n"; }

std::string section(std::string_view id, std::string_view title, const std::string& body) {
    return fmt::format("<section aria-labelledby=\"{0}\"><h2 id=\"{0}\">{1}</h2>{2}</section>\n",
                       id, title, body.empty() ? "<p class=\"soft\">Nothing yet.</p>" : body);
}
std::string table(std::string_view name, const std::vector<std::string_view>& headings,
                  const std::vector<table_row>& rows) {
    if (rows.empty()) return {};
    const auto is_number = [&](size_t i) { return headings[i].starts_with('#'); };
    const auto text = [&](size_t i) { return headings[i].substr(is_number(i) ? 1 : 0); };
    std::string out = fmt::format(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}, "
        "table\"><table><thead><tr>",
        name);
    for (size_t i = 0; i < headings.size(); ++i)
        out +=
            fmt::format("<th scope=\"col\"{}>{}</th>", is_number(i) ? " class=\"n\"" : "", text(i));
    out += "</tr></thead><tbody>";
    for (const table_row& row : rows) {
        out += fmt::format("<tr><th scope=\"row\">{}</th>", row[0]);
        for (size_t i = 1; i < row.size(); ++i)
            out += fmt::format("<td data-of=\"{}\"{}>{}</td>", text(i),
                               is_number(i) ? " class=\"n\"" : "", row[i]);
        out += "</tr>";
    }
    return out + "</tbody></table></div>";
}

}  // namespace turnpike::html
