// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/mapped_window.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>

#include <sys/mman.h>

#include "fluvial/base/page.hpp"

namespace fluvial::store {

/// What the handler knows of a window.
struct MappedWindow::Slot {
    std::atomic<bool> taken{false}, broken{false};
    std::atomic<std::uintptr_t> begin{0}, end{0};
};

/// The handler of bus errors, and all windows of the process. Everything the handler touches is
/// here, lock-free and never freed.
class BusErrors {
  public:
    /// None when there are too many.
    static MappedWindow::Slot* take_slot() {
        for (MappedWindow::Slot& slot : slots_) {
            if (!slot.taken.exchange(true)) {
                slot.broken = false;
                return &slot;
            }
        }
        return nullptr;
    }

    /// Whether bus errors come to us. A handler that was put over ours later stays.
    static bool are_handled() {
        static std::once_flag once;
        std::call_once(once, [] {
            page_ = page_bytes();
            struct sigaction ours{};
            ours.sa_sigaction = handle;
            ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
            sigemptyset(&ours.sa_mask);
            ::sigaction(SIGBUS, &ours, &before_);
        });
        struct sigaction now{};
        return ::sigaction(SIGBUS, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
               now.sa_sigaction == handle;
    }

    /// None is installed, or ours is.
    static bool has_no_other_handler() {
        struct sigaction now{};
        if (::sigaction(SIGBUS, nullptr, &now) != 0) {
            return false;
        }
        if ((now.sa_flags & SA_SIGINFO) != 0) {
            return now.sa_sigaction == handle;
        }
        return now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN;
    }

    static std::uintptr_t page() { return page_; }

  private:
    static void handle(int signal, siginfo_t* info, void* context) {
        const int error = errno;
        const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
        for (MappedWindow::Slot& slot : slots_) {
            const std::uintptr_t begin = slot.begin, end = slot.end;
            // Another thread's window may move meanwhile: only what it was all the time counts.
            if (at < begin || at >= end || slot.begin != begin) {
                continue;
            }
            const std::uintptr_t from = at & ~(page_ - 1);
            void* const zeros =
                ::mmap(reinterpret_cast<void*>(from), end - from, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
            if (zeros != MAP_FAILED) {
                slot.broken = true;
                errno = error;
                return;
            }
        }
        if ((before_.sa_flags & SA_SIGINFO) != 0) {
            before_.sa_sigaction(signal, info, context);
        } else if (before_.sa_handler == SIG_DFL || before_.sa_handler == SIG_IGN) {
            struct sigaction fatal{};
            fatal.sa_handler = SIG_DFL;
            ::sigaction(SIGBUS, &fatal, nullptr);  // what failed is tried again, and ends it
        } else {
            before_.sa_handler(signal);
        }
        errno = error;
    }

    static inline std::array<MappedWindow::Slot, 512> slots_;
    static inline struct sigaction before_{};
    static inline std::uintptr_t page_ = 0;
};

MappedWindow::MappedWindow(std::uint64_t bytes) : bytes_(bytes), slot_(BusErrors::take_slot()) {}

MappedWindow::~MappedWindow() {
    unmap();
    if (slot_ != nullptr) {
        slot_->taken = false;
    }
}

void MappedWindow::unmap() {
    if (memory_ == nullptr) {
        return;
    }
    slot_->end = 0;  // first: no thread must see a range that never was
    slot_->begin = 0;
    ::munmap(memory_, end_ - begin_);
    memory_ = nullptr;
}

const std::byte* MappedWindow::map(const InputFile& file, std::uint64_t offset,
                                   std::uint64_t bytes) {
    if (slot_ == nullptr || file.size() < bytes || offset > file.size() - bytes ||
        !file.in_memory(offset) || !file.in_memory(offset + bytes - 1)) {
        return nullptr;
    }
    const bool same = memory_ != nullptr && device_ == file.device() && inode_ == file.inode();
    if (same && offset >= begin_ && offset + bytes <= end_) {
        return memory_ + (offset - begin_);
    }
    unmap();
    if (!BusErrors::are_handled()) {
        return nullptr;
    }
    const std::uint64_t begin = offset - offset % BusErrors::page();
    const std::uint64_t end = std::min(file.size(), std::max(begin + bytes_, offset + bytes));
    // Private and writable: a user's function should not write into what it is given, and if it
    // does, it writes into a copy.
    void* const memory =
        ::mmap(nullptr, end - begin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
               file.descriptor(), static_cast<off_t>(begin));
    if (memory == MAP_FAILED) {
        return nullptr;
    }
    memory_ = static_cast<std::byte*>(memory);
    begin_ = begin;
    end_ = end;
    device_ = file.device();
    inode_ = file.inode();
    slot_->begin = reinterpret_cast<std::uintptr_t>(memory_);
    slot_->end = reinterpret_cast<std::uintptr_t>(memory_) + (end - begin);
    return memory_ + (offset - begin);
}

bool MappedWindow::disturbs_no_handler() {
    return BusErrors::has_no_other_handler();
}

bool MappedWindow::broken() const {
    return slot_ != nullptr && slot_->broken;
}

}  // namespace fluvial::store
