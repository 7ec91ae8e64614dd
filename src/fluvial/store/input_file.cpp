// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/input_file.hpp"

#include <cerrno>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

namespace fluvial::store {
namespace {

bool is_folder_of(const std::string& path, const char* mark) {
    std::error_code error;
    return std::filesystem::is_regular_file(std::filesystem::path(path) / mark, error);
}

[[noreturn]] void refuse_folder(const std::string& path) {
    if (!is_folder_of(path, "md.idx")) {
        throw InvalidArgument(Problem{"cannot read '" + path + "'", "a directory",
                                      "a regular file, or a folder of Zarr", ""});
    }
    throw InvalidArgument(
        Problem{"cannot read '" + path + "'", "a folder of BP (ADIOS2)",
                "files of HDF5, netCDF and raw numbers and folders of Zarr, as C++ reads",
                text("Python reads it: fluvial.open('", path, "'); and `fluvial pipe ", path,
                     " copy.h5` makes a file for C++")});
}

}  // namespace

InputFile::InputFile(std::string path) : path_(std::move(path)) {
    // A pipe would wait for its writer; it is refused below. Files do not mind.
    descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat facts{};
    if (descriptor_ < 0 || ::fstat(descriptor_, &facts) != 0) {
        const int error = errno;
        if (descriptor_ >= 0) {
            ::close(descriptor_);
        }
        throw_errno("cannot open the file '" + path_ + "'", error,
                    error == EMFILE
                        ? "Open fewer files at a time, or raise the limit by `ulimit -n`"
                        : "Check the path and its permissions");
    }
    if (!S_ISREG(facts.st_mode) && !S_ISBLK(facts.st_mode)) {
        ::close(descriptor_);
        if (S_ISDIR(facts.st_mode)) {
            refuse_folder(path_);
        }
        throw InvalidArgument(
            Problem{"cannot read '" + path_ + "'", "no regular file", "a regular file", ""});
    }
    size_ = static_cast<std::uint64_t>(facts.st_size);
    device_ = static_cast<std::uint64_t>(facts.st_dev);
    inode_ = static_cast<std::uint64_t>(facts.st_ino);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      device_(other.device_),
      inode_(other.inode_),
      grows_(other.grows_) {}

InputFile::~InputFile() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
}

std::uint64_t InputFile::size_now() const {
    struct stat facts{};
    if (::fstat(descriptor_, &facts) != 0) {
        throw_errno("cannot ask for the size of '" + path_ + "'", errno);
    }
    return static_cast<std::uint64_t>(facts.st_size);
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> to) const {
    std::size_t done = 0;
    while (done < to.size()) {
        const ssize_t got = ::pread(descriptor_, to.data() + done, to.size() - done,
                                    static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            throw_errno("cannot read '" + path_ + "'", errno);
        }
        if (got == 0) {
            throw DamagedFile(Problem{
                "'" + path_ + "' is truncated", text("its end at byte ", offset + done),
                text("data up to byte ", offset + to.size()), "Copy or write the file again"});
        }
        done += static_cast<std::size_t>(got);
    }
}

void InputFile::will_need(std::uint64_t offset, std::uint64_t bytes) const {
    // Advice only: what fails here shows when the bytes are read.
    static_cast<void>(::posix_fadvise(descriptor_, static_cast<off_t>(offset),
                                      static_cast<off_t>(bytes), POSIX_FADV_WILLNEED));
}

bool InputFile::in_memory([[maybe_unused]] std::uint64_t offset) const {
#ifdef RWF_NOWAIT
    std::byte byte;
    const iovec to{&byte, 1};
    return ::preadv2(descriptor_, &to, 1, static_cast<off_t>(offset), RWF_NOWAIT) == 1;
#else
    return false;
#endif
}

}  // namespace fluvial::store
