// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/memory_file.hpp"

#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/page.hpp"

namespace fluvial::host {
Descriptor::~Descriptor() {
    if (!hook_) {
        if (fd_ >= 0) {
            ::close(fd_);
        }
        return;
    }
    // Together: else a child would close what was opened in between under the same number.
    const ForkPause pause;
    if (valid()) {
        ::close(fd_);
    }
    hook_.reset();
}

void Descriptor::close_in_children(const ForkPause&) {
    if (valid()) {
        hook_ = std::make_unique<ForkHook>([fd = fd_] { ::close(fd); });
    }
}

Mapping::~Mapping() {
    if (!memory_.empty()) {
        ::munmap(memory_.data(), memory_.size());
    }
}

bool populate(std::span<std::byte> memory) {
#ifndef MADV_POPULATE_WRITE
    constexpr int MADV_POPULATE_WRITE = 23;  // Linux 5.14; glibc 2.35 names it
#endif
    const std::size_t before = reinterpret_cast<std::uintptr_t>(memory.data()) % page_bytes();
    int result = 0;
    do {
        result = ::madvise(memory.data() - before, before + memory.size(), MADV_POPULATE_WRITE);
    } while (result != 0 && errno == EINTR);
    return result == 0 || errno == EINVAL;  // an older kernel: the pages come with the first touch
}

bool Mapping::populate(std::size_t offset, std::size_t bytes) const {
    return host::populate(memory_.subspan(offset, bytes));
}

MemoryFile MemoryFile::create(const std::string& label, std::size_t bytes) {
    MemoryFile file;
    file.descriptor_ =
        Descriptor(::memfd_create(("fluvial-" + label).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file.descriptor_.valid()) {
        throw_errno("cannot create shared memory", errno,
                    "Raise the limit on open files (ulimit -n)");
    }
    if (::ftruncate(file.descriptor_.get(), static_cast<off_t>(bytes)) != 0) {
        throw_errno(text("cannot size shared memory to ", bytes, " bytes"), errno,
                    "Choose a smaller queue_bytes");
    }
    if (::fcntl(file.descriptor_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) !=
        0) {
        throw_errno("cannot seal shared memory", errno);
    }
    file.bytes_ = bytes;
    return file;
}

MemoryFile MemoryFile::adopt(Descriptor descriptor) {
    struct stat status{};
    if (::fstat(descriptor.get(), &status) != 0) {
        throw_errno("cannot inspect the shared memory that a peer sent", errno);
    }
    const int seals = ::fcntl(descriptor.get(), F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
        throw Error(
            "the shared memory that a peer sent could shrink under us; is the peer Fluvial?");
    }
    MemoryFile file;
    file.bytes_ = static_cast<std::size_t>(status.st_size);
    file.descriptor_ = std::move(descriptor);
    return file;
}

Mapping MemoryFile::map(Access access) const {
    const int protection = access == Access::ReadOnly ? PROT_READ : PROT_READ | PROT_WRITE;
    void* address =
        ::mmap(nullptr, bytes_, protection, MAP_SHARED | MAP_NORESERVE, descriptor_.get(), 0);
    if (address == MAP_FAILED) {
        throw_errno(
            text("cannot map ", bytes_, " bytes of shared memory"), errno,
            "Choose a smaller queue_bytes, or raise the limit on address space (ulimit -v)");
    }
    ::madvise(address, bytes_, MADV_HUGEPAGE);  // where the system allows it for shared memory:
                                                // fewer faults, faster copies
    ::madvise(address, bytes_,
              MADV_DONTDUMP);  // a core dump of a simulation should not contain its queue
    return Mapping({static_cast<std::byte*>(address), bytes_});
}

void MemoryFile::release(std::size_t offset, std::size_t bytes) const {
    const std::size_t begin = whole_pages(offset);
    const std::size_t end = (offset + bytes) / page_bytes() * page_bytes();
    if (begin < end) {
        ::fallocate(descriptor_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(begin), static_cast<off_t>(end - begin));
    }
}

}  // namespace fluvial::host
