// SPDX-License-Identifier: BSD-3-Clause
// Tables of configuration texts and their errors.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "sources/yaml.hpp"

namespace turnpike::sources {

inline std::string complaint_about(const std::string& text) {
    const auto loaded = load_text(text, "f.yaml");
    return loaded ? "none" : loaded.error().message();
}

/// `text` with the first `before` in it replaced.
inline std::string replaced(std::string text, const std::string& before, const std::string& after) {
    return text.replace(text.find(before), before.size(), after);
}

struct complaint_row {
    const char* what;
    std::string text;
    const char* begins_with;  ///< the message begins with this; "none": taken
};

inline void expect_complaint(const complaint_row& r) {
    const std::string begins_with = complaint_about(r.text);
    EXPECT_EQ(begins_with.substr(0, std::string(r.begins_with).size()), r.begins_with);
}

inline std::string as_test_name(std::string name) {
    for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    return name;
}
inline std::string test_name(const ::testing::TestParamInfo<complaint_row>& info) {
    return as_test_name(info.param.what);
}
/// The test name of a row with a `name`.
template <class Row>
std::string test_name_of(const ::testing::TestParamInfo<Row>& info) {
    return as_test_name(info.param.name);
}

}  // namespace turnpike::sources
