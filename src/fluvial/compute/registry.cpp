// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/registry.hpp"

#include <span>
#include <utility>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/nearest_name.hpp"
#include "fluvial/base/terms.hpp"

namespace fluvial::compute {

// One line an operator; its file beside its siblings in operators/ defines the function.
// clang-format off
#define FLUVIAL_OPERATORS(add)  \
    add(sum)                    \
    add(product)                \
    add(count)                  \
    add(min)                    \
    add(max)                    \
    add(argmin)                 \
    add(argmax)                 \
    add(mean)                   \
    add(variance)               \
    add(std)                    \
    add(norm)                   \
    add(histogram)              \
    add(histogram2d)            \
    add(quantile)               \
    add(top_k)
// clang-format on

#define FLUVIAL_DECLARE(name) Registration register_##name();
FLUVIAL_OPERATORS(FLUVIAL_DECLARE)
#undef FLUVIAL_DECLARE

const std::vector<Registration>& registrations() {
#define FLUVIAL_CALL(name) register_##name(),
    static const std::vector<Registration> all = {FLUVIAL_OPERATORS(FLUVIAL_CALL)};
#undef FLUVIAL_CALL
    return all;
}

namespace {

/// What readers of options on this thread take, as long as it lives.
class Notes {
  public:
    Notes() : before_(std::exchange(current, this)) {}
    Notes(const Notes&) = delete;
    ~Notes() { current = before_; }

    static thread_local Notes* current;
    Options options;

  private:
    Notes* before_;
};
thread_local Notes* Notes::current = nullptr;

std::string words_of(const Option& option) {
    return std::visit(
        []<class T>(const T& value) {
            if constexpr (std::is_same_v<T, std::vector<double>>) {
                return exact(std::span<const double>(value));
            } else {
                return exact(value);
            }
        },
        option);
}

/// As NumPy calls them.
constexpr std::pair<std::string_view, std::string_view> other_names[] = {{"var", "variance"},
                                                                         {"prod", "product"}};

/// An operator of the registry, with what it was made of.
class Registered final : public Operator {
  public:
    Registered(OperatorPtr op, Options options)
        : op_(std::move(op)), options_(std::move(options)) {}
    std::string name() const override { return op_->name(); }
    int inputs() const override { return op_->inputs(); }
    bool any_order() const override { return op_->any_order(); }
    std::unique_ptr<Partial> identity(const Domain& domain) const override {
        return op_->identity(domain);
    }
    std::string describe() const override {
        std::string words = op_->describe() + "(";
        for (const auto& [key, value] : options_) {
            words += (words.back() == '(' ? "" : ", ") + key + "=" + words_of(value);
        }
        return words + ")";
    }

  private:
    OperatorPtr op_;
    Options options_;
};

}  // namespace

OperatorPtr make_operator(std::string_view name, const Options& options) {
    if (name == "median") {
        Options with_median = options;
        if (!with_median.try_emplace("q", 0.5).second) {
            throw InvalidArgument(Problem{"median has no q", "one", "none", "Take quantile"});
        }
        return make_operator("quantile", with_median);
    }
    for (const auto& [other, meant] : other_names) {
        if (name == other) {
            return make_operator(meant, options);
        }
    }
    std::string names;
    std::vector<std::string> known;
    for (const Registration& entry : registrations()) {
        if (entry.name == name) {
            Notes notes;
            OperatorPtr op = entry.make(options);
            return std::make_shared<Registered>(std::move(op), std::move(notes.options));
        }
        known.emplace_back(entry.name);
        names += (names.empty() ? "" : ", ") + known.back();
    }
    const std::string meant = did_you_mean(name, known);
    throw UnknownName(
        Problem{"no operator of this name", text("'", name, "'"), names,
                meant.empty() ? "Write your own as a class, or correct the name" : meant});
}

const Option* OptionReader::take(const std::string& key) {
    known_.push_back(key);
    const auto found = left_.find(key);
    if (found == left_.end()) {
        return nullptr;
    }
    taken_ = found->second;
    left_.erase(found);
    return &taken_;
}

template <class T>
T OptionReader::note(const std::string& key, T value) const {
    if (Notes::current != nullptr) {
        Notes::current->options[key] = value;
    }
    return value;
}

void OptionReader::wrong_type(const std::string& key, const Option& got,
                              const char* allowed) const {
    throw WrongType(Problem{text(name_, ": option '", key, "' has the wrong type"), words_of(got),
                            allowed, ""});
}

bool OptionReader::boolean(const std::string& key, bool fallback) {
    const Option* option = take(key);
    if (option == nullptr) {
        return note(key, fallback);
    }
    if (const auto* value = std::get_if<bool>(option)) {
        return note(key, *value);
    }
    wrong_type(key, *option, "true or false");
}

std::int64_t OptionReader::integer(const std::string& key, std::int64_t fallback) {
    const Option* option = take(key);
    if (option == nullptr) {
        return note(key, fallback);
    }
    if (const auto* value = std::get_if<std::int64_t>(option)) {
        return note(key, *value);
    }
    wrong_type(key, *option, "an integer");
}

double OptionReader::number(const std::string& key, double fallback) {
    const Option* option = take(key);
    if (option == nullptr) {
        return note(key, fallback);
    }
    if (const auto* value = std::get_if<double>(option)) {
        return note(key, *value);
    }
    if (const auto* value = std::get_if<std::int64_t>(option)) {
        return note(key, static_cast<double>(*value));
    }
    wrong_type(key, *option, "a number");
}

std::vector<double> OptionReader::numbers(const std::string& key) {
    const Option* option = take(key);
    if (option == nullptr) {
        throw InvalidArgument(Problem{text(name_, ": option '", key, "' is missing"), "nothing",
                                      "a list of numbers", ""});
    }
    if (const auto* value = std::get_if<std::vector<double>>(option)) {
        return note(key, *value);
    }
    if (const auto* value = std::get_if<double>(option)) {
        return note(key, std::vector<double>{*value});
    }
    if (const auto* value = std::get_if<std::int64_t>(option)) {
        return note(key, std::vector<double>{static_cast<double>(*value)});
    }
    wrong_type(key, *option, "a list of numbers");
}

void OptionReader::done() const {
    if (left_.empty()) {
        return;
    }
    std::string allowed;
    for (const std::string& key : known_) {
        allowed += (allowed.empty() ? "" : ", ") + key;
    }
    throw UnknownName(Problem{name_ + ": unknown option", "'" + left_.begin()->first + "'",
                              allowed.empty() ? "none" : allowed,
                              did_you_mean(left_.begin()->first, known_)});
}

}  // namespace fluvial::compute
