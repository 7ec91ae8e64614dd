// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/found_writer.hpp"

#include "fluvial/base/error.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/stage/retained_steps.hpp"
#include "fluvial/stage/served_contact.hpp"
#include "fluvial/stage/shared_key.hpp"

namespace fluvial::stage {
namespace {

/// For a contact file, of which the file system does not tell: looks 200 times a second. A writer
/// that serves its contact is asked ten times a second.
class ContactWait final : public progress::Waiting {
  public:
    ContactWait(const std::string& path, const std::string& name, const ReaderOptions& options,
                Found& found, const Deadline& deadline)
        : path_(path), name_(name), options_(options), found_(found), deadline_(deadline) {}
    Seen look() override {
        if (now_ns() - looked_ns_ < (is_served(options_) ? ask_every_ns : every_ns)) {
            return Seen::Nothing;
        }
        found_ = look_for(path_, name_, options_);
        looked_ns_ = now_ns();
        return found_.any() || deadline_.passed() ? Seen::End : Seen::Nothing;
    }
    void rest(progress::BackOff& back_off, bool serving) override {
        sleep_ns(serving ? brief_ns : every_ns);
        back_off.slept();
    }

  private:
    static constexpr long every_ns = 5'000'000;
    static constexpr long ask_every_ns = 100'000'000;
    static constexpr long brief_ns = 100'000;
    const std::string& path_;
    const std::string& name_;
    const ReaderOptions& options_;
    Found& found_;
    const Deadline& deadline_;
    std::int64_t looked_ns_ = 0;
};

}  // namespace

Found look_for(const std::string& path, const std::string& name, const ReaderOptions& options) {
    Found found;
    if (is_served(options)) {
        found.contact = ask_for_contact(name, options, found.why);
        return found;
    }
    if (!options.contact.empty()) {
        found.contact = contact_from_text(options.contact);
        return found;
    }
    try {
        found.contact = read_contact(path);
    } catch (const StaleContact&) {
        found.retained = open_retained(name, options);
        if (!found.retained && !is_retained(name, options)) {
            throw;
        }
    }
    if (!found.any()) {
        found.retained = open_retained(name, options);
    }
    return found;
}

Found wait_for_writer(const std::string& path, const std::string& name,
                      const ReaderOptions& options, const Deadline& deadline) {
    Found found;
    ContactWait waiting(path, name, options, found, deadline);
    progress::BackOff back_off;
    progress::wait(waiting, back_off);
    if (!found.any() && is_served(options)) {
        throw TimedOut(
            Problem{text("no writer gave the contact of '", name,
                         "' within rendezvous_timeout=", options.rendezvous_timeout_s, " s"),
                    text(options.contact, ": ", found.why), "",
                    text("Start the writer on that host, with the option ports (or FLUVIAL_PORTS) "
                         "as this port, and the same ",
                         shared_key_variable)});
    }
    if (const std::string other = found.any() ? "" : steps_of_another_host(name, options);
        !other.empty()) {
        throw Error(
            Problem{text("steps of the first host of the writer of '", name, "' are missing"),
                    "those of another host, in " + other, folder_of_steps(name, options),
                    "Copy it from that host, into the folder of the option retained"});
    }
    if (!found.any()) {
        const bool retained = !options.retained.empty();
        throw TimedOut(
            Problem{text("no writer opened '", name,
                         "' within rendezvous_timeout=", options.rendezvous_timeout_s, " s"),
                    text("no contact file ", path,
                         retained ? ", and no steps in " + folder_of_steps(name, options) : ""),
                    "",
                    text("Start the writer, ", retained ? "correct retained, " : "",
                         "or give both jobs the same directory")});
    }
    return found;
}

}  // namespace fluvial::stage
