// SPDX-License-Identifier: Apache-2.0
/// The folder in which a contact file lies, opened once, so that no user can put another in its
/// place between a check and a use.
///
/// A user that can write to the folder can remove the file, or put another there. So the folder
/// must be one that only this user (or root) can write to, or a sticky one like /tmp; and the file
/// must be a regular one of this user (or of root) that no other user can write to. Links are not
/// followed, nothing but regular files is ever opened.
#pragma once

#include <optional>
#include <string>

#include "fluvial/host/memory_file.hpp"

namespace fluvial::stage {

enum class OwnedBy { ThisUser, ThisUserOrRoot };

class ContactFolder {
  public:
    /// The folder of the contact file `path`; none where there is no such folder. Throws Refused
    /// when others may write to it.
    static std::optional<ContactFolder> of(const std::string& path);

    /// The contact file; none where there is none. Throws Refused when it is not a regular file of
    /// the right owner, or may not be opened.
    std::optional<host::Descriptor> open_file(OwnedBy owner, int flags) const;
    /// True when `file` is what has the contact file's name at this moment.
    bool names(const host::Descriptor& file) const;

    const std::string& path() const { return path_; }
    const std::string& name() const { return name_; }
    int descriptor() const { return folder_.get(); }

  private:
    ContactFolder(std::string path, std::string folder, std::string name,
                  host::Descriptor descriptor);
    void check(const std::string& folder) const;

    std::string path_;  ///< of the contact file
    std::string name_;  ///< in the folder
    host::Descriptor folder_;
};

}  // namespace fluvial::stage
