// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <linux/fs.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/stage/contact.hpp"

namespace fluvial::stage {
namespace {

constexpr const char* another_folder = "Choose another folder as the option directory";

ContactFolder folder_of(const std::string& path) {
    auto folder = ContactFolder::of(path);
    if (!folder) {
        throw_errno(
            "cannot create the contact file " + path, ENOENT,
            "Choose a folder that exists and that you may write to as the option directory");
    }
    return std::move(*folder);
}

/// A file of our own under a name that no other process has, locked; removed unless it is
/// published.
class Draft {
  public:
    Draft(const ContactFolder& folder, const std::string& content) : folder_(folder) {
        create();
        try {
            check_ours();
            write(content);
        } catch (...) {
            remove();
            throw;
        }
    }
    ~Draft() {
        if (!published_) {
            remove();
        }
    }
    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;

    /// False when the name is taken.
    bool publish() {
        if (::renameat2(folder_.descriptor(), name_.c_str(), folder_.descriptor(),
                        folder_.name().c_str(), RENAME_NOREPLACE) == 0) {
            published_ = true;
            return true;
        }
        if (errno == EINVAL || errno == ENOSYS) {  // not on NFS
            return publish_by_link();
        }
        if (errno != EEXIST) {
            fail("cannot create the contact file", errno);
        }
        return false;
    }

    /// Publishes in the place of a file of ours whose lock we hold.
    void publish_over() {
        if (::renameat(folder_.descriptor(), name_.c_str(), folder_.descriptor(),
                       folder_.name().c_str()) != 0) {
            fail("cannot replace the contact file", errno);
        }
        published_ = true;
    }

    host::Descriptor take_lock() { return std::move(file_); }

  private:
    void create() {
        unsigned char random[8];
        char hex[2 * sizeof random + 1];
        randombytes_buf(random, sizeof random);
        name_ =
            text(".", folder_.name(), ".", sodium_bin2hex(hex, sizeof hex, random, sizeof random));
        const ForkPause pause;  // a child must not keep the lock
        file_ = host::Descriptor(::openat(folder_.descriptor(), name_.c_str(),
                                          O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                          S_IRUSR | S_IWUSR));
        file_.close_in_children(pause);
        if (!file_.valid()) {
            fail("cannot create the contact file", errno,
                 "Choose a folder that exists and that you may write to as the option directory");
        }
    }

    /// Some file systems give all files to one user, or have no permissions.
    void check_ours() const {
        struct stat status{};
        if (::fchmod(file_.get(), S_IRUSR | S_IWUSR) != 0 || ::fstat(file_.get(), &status) != 0) {
            fail("cannot create the contact file", errno);
        }
        if (status.st_uid != ::geteuid() || (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
            throw Refused(
                Problem{"the file system of the contact file does not keep it from other users",
                        folder_.path(), "one that knows owners and permissions", another_folder});
        }
    }

    void write(const std::string& content) const {
        const ssize_t written = ::pwrite(file_.get(), content.data(), content.size(), 0);
        if (written != static_cast<ssize_t>(content.size())) {
            fail("cannot write the contact file", written < 0 ? errno : ENOSPC,
                 "Make room there, or choose another folder as the option directory");
        }
        if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
            fail("cannot lock the contact file", errno,
                 "Choose a folder on another file system as the option directory");
        }
    }

    bool publish_by_link() {
        struct stat status{};
        if (::linkat(folder_.descriptor(), name_.c_str(), folder_.descriptor(),
                     folder_.name().c_str(), 0) == 0 ||
            // The reply to a request that succeeded may get lost, and the repeated one fails.
            (::fstat(file_.get(), &status) == 0 && status.st_nlink == 2)) {
            remove();
            published_ = true;
            return true;
        }
        if (errno != EEXIST) {
            fail("cannot create the contact file", errno);
        }
        return false;
    }

    void remove() { ::unlinkat(folder_.descriptor(), name_.c_str(), 0); }

    [[noreturn]] void fail(const std::string& what, int error,
                           const char* remedy = another_folder) const {
        throw_errno(what + " " + folder_.path(), error, remedy);
    }

    const ContactFolder& folder_;
    std::string name_;
    host::Descriptor file_;
    bool published_ = false;
};

/// Takes the lock of what has the name; false when another file has it by now. Readers hold it for
/// an instant, and so does a writer that is about to replace the file.
bool lock_stale(const ContactFolder& folder, const host::Descriptor& file) {
    constexpr double patience_s = 0.2;
    const Deadline deadline(patience_s);
    while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) {
            throw_errno("cannot lock the contact file " + folder.path(), errno, another_folder);
        }
        if (deadline.passed() && folder.names(file)) {
            const auto owner = parse_contact(folder.path(), file);
            throw InvalidArgument(
                Problem{"this stream is already being written", folder.path(),
                        text("one writer a name; process ", owner ? owner->pid : 0, " has it"),
                        "Choose another name or directory, or end the other writer"});
        }
        if (!folder.names(file)) {
            return false;
        }
        sleep_ns(4'000'000);
    }
    return folder.names(file);
}

}  // namespace

// Of several writers at one time, one gets the name:
// - where there is no file, the kernel gives the name to one (RENAME_NOREPLACE);
// - a stale file is replaced by the one that holds its lock while it has the name. The next to get
//   that lock finds another file under the name, which is locked.
PublishedContact::PublishedContact(const std::string& path, const Contact& contact)
    : folder_(folder_of(path)) {
    Draft draft(folder_, format_contact(contact));
    while (!draft.publish()) {
        const auto stale = folder_.open_file(OwnedBy::ThisUser, O_RDWR);
        if (stale && lock_stale(folder_, *stale)) {
            draft.publish_over();
            break;
        }
    }
    lock_ = draft.take_lock();
}

PublishedContact::~PublishedContact() {
    if (folder_.names(lock_)) {
        ::unlinkat(folder_.descriptor(), folder_.name().c_str(), 0);
    }
}

}  // namespace fluvial::stage
