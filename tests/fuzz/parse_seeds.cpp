// SPDX-License-Identifier: BSD-3-Clause
// fuzz-parse-seeds FOLDER: the parser's fixtures as inputs of fuzz-parse, one file each.
#include <cstdio>
#include <fstream>

#include "unit/packet/frames.hpp"

int main(int argc, char** argv) {
    if (argc != 2) return std::fprintf(stderr, "fuzz-parse-seeds: name a folder\n"), 1;
    int number = 0;
    for (const auto& fixture : turnpike::test::frame_fixtures()) {
        if (fixture.bytes.size() > 600) continue;
        // First segment: the whole frame; room: 1500 bytes.
        auto input = turnpike::test::be(static_cast<uint16_t>(fixture.bytes.size()));
        input.insert(input.end(), {0x05, 0xdc});
        input.insert(input.end(), fixture.bytes.begin(), fixture.bytes.end());
        std::ofstream file(std::string(argv[1]) + "/" + std::to_string(number++), std::ios::binary);
        file.write(reinterpret_cast<const char*>(input.data()),
                   static_cast<std::streamsize>(input.size()));
        if (!file) return std::perror(argv[1]), 1;
    }
    return 0;
}
