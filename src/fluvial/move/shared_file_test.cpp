// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/shared_file.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::move;

TEST_CASE("a file that is not there is made, or is an error that says what to do") {
    const std::string path = std::filesystem::temp_directory_path() /
                             ("fluvial-shared-file-" + std::to_string(::getpid()));
    SharedFile file;
    CHECK_THROWS_WITH_AS(file.open(path, SharedFile::Missing::Refuse),
                         doctest::Contains("Put it where every host sees it"), SystemError);
    CHECK_FALSE(std::filesystem::exists(path));
    file.open(path, SharedFile::Missing::Make);
    const std::string said = "abc";
    file.write(2, std::as_bytes(std::span(said)));
    file.close();
    SharedFile again;
    again.open(path, SharedFile::Missing::Refuse);
    again.write(0, std::as_bytes(std::span(said)).first(1));
    again.close();
    std::ifstream in(path, std::ios::binary);
    CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == std::string("a\0abc", 5));
    std::filesystem::remove(path);
}

TEST_CASE("what is no regular file is refused, and a pipe is not waited for") {
    const std::string pipe = std::filesystem::temp_directory_path() /
                             ("fluvial-shared-pipe-" + std::to_string(::getpid()));
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    const std::string folder = std::filesystem::temp_directory_path();
    for (const std::string& path : {pipe, folder, std::string("/dev/null")}) {
        for (const auto missing : {SharedFile::Missing::Make, SharedFile::Missing::Refuse}) {
            CAPTURE(path);
            SharedFile file;
            CHECK_THROWS_WITH_AS(file.open(path, missing),
                                 doctest::Contains("is no regular file: got '"), SystemError);
        }
    }
    std::filesystem::remove(pipe);
}
