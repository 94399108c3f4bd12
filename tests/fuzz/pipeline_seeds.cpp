// SPDX-License-Identifier: BSD-3-Clause
// fuzz-pipeline-seeds FOLDER: the parser's fixtures as inputs of fuzz-pipeline, one file each: the frame
// whole, and twice more in short segments.
#include <cstdio>
#include <fstream>

#include "unit/packet/frames.hpp"

using turnpike::test::be;
using turnpike::test::byte_vector;

/// A record in the format that fuzz-pipeline reads.
static byte_vector framed(uint8_t flags, uint8_t first, uint8_t others, const byte_vector& frame) {
    byte_vector out{flags};
    for (const byte_vector& part :
         {be(static_cast<uint16_t>(frame.size())), byte_vector{first, others}, frame})
        out.insert(out.end(), part.begin(), part.end());
    return out;
}

int main(int argc, char** argv) {
    if (argc != 2) return std::fprintf(stderr, "fuzz-pipeline-seeds: name a folder\n"), 1;
    int number = 0;
    for (const auto& fixture : turnpike::test::frame_fixtures()) {
        if (fixture.bytes.size() > 600) continue;
        byte_vector input = framed(0, 0, 0, fixture.bytes);
        for (const byte_vector& more :
             {framed(2 | 8, 20, 16, fixture.bytes), framed(4, 40, 7, fixture.bytes)})
            input.insert(input.end(), more.begin(), more.end());
        std::ofstream file(std::string(argv[1]) + "/" + std::to_string(number++), std::ios::binary);
        file.write(reinterpret_cast<const char*>(input.data()),
                   static_cast<std::streamsize>(input.size()));
        if (!file) return std::perror(argv[1]), 1;
    }
    return 0;
}
