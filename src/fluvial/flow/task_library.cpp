// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/task_library.hpp"

#include <functional>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <dlfcn.h>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/nearest_name.hpp"

namespace fluvial::flow {

namespace {

constexpr int layout_version = 1;

/// Finds text by its view, without a copy.
struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
        return std::hash<std::string_view>{}(text);
    }
};

const fluvial_exported_task& find(const std::string& path, const std::string& name) {
    const auto tasks = exported_by(path);
    std::vector<std::string> known;
    if (tasks) {
        for (const fluvial_exported_task& task : *tasks) {
            if (task.name == name) {
                return task;
            }
            known.emplace_back(task.name);
        }
    }
    throw UnknownName(Problem{text("no function for tasks has this name in ", path), name, "",
                              did_you_mean(name, known)});
}

/// Functions that have been called, by exported_name().
const fluvial_exported_task& known_task(std::string_view name) {
    static std::mutex mutex;
    static std::unordered_map<std::string, const fluvial_exported_task*, Hash, std::equal_to<>>
        known;
    const std::scoped_lock lock(mutex);
    const auto found = known.find(name);
    if (found != known.end()) {
        return *found->second;
    }
    const std::size_t border = name.find('\0');
    const fluvial_exported_task& task =
        find(std::string(name.substr(0, border)), std::string(name.substr(border + 1)));
    known.emplace(name, &task);
    return task;
}

/// Every number has 8 bytes, and what is longer its length before it.
bool whole(const char* codes, std::span<const std::byte> message) {
    for (; *codes != '\0'; ++codes) {
        std::int64_t number = 0;
        if (message.size() < sizeof number) {
            return false;
        }
        std::memcpy(&number, message.data(), sizeof number);
        message = message.subspan(sizeof number);
        if (*codes == 's' || *codes == 'x') {
            if (number < 0 || static_cast<std::uint64_t>(number) > message.size()) {
                return false;
            }
            message = message.subspan(static_cast<std::size_t>(number));
        }
    }
    return message.empty();
}

void append(void* where, const void* bytes, std::size_t count) {
    const auto* begin = static_cast<const std::byte*>(bytes);
    auto& all = *static_cast<Bytes*>(where);
    all.insert(all.end(), begin, begin + count);
}

}  // namespace

std::optional<std::span<const fluvial_exported_task>> exported_by(const std::string& path) {
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        throw NoSuchFile(Problem{"cannot load a library of tasks", path, "a shared library",
                                 ::dlerror()});  // NOLINT(concurrency-mt-unsafe)
    }
    using Tasks = const fluvial_task_table* (*)();
    const auto tasks = reinterpret_cast<Tasks>(::dlsym(library, "fluvial_exported_tasks"));
    if (tasks == nullptr) {
        return std::nullopt;
    }
    const fluvial_task_table& table = *tasks();
    if (table.version != layout_version) {
        throw InvalidArgument(Problem{text("a library of tasks, ", path), text(table.version),
                                      text("version ", layout_version),
                                      "Compile it with the headers of this version of Fluvial"});
    }
    return std::span(table.tasks, static_cast<std::size_t>(table.count));
}

Bytes exported_name(const std::string& path, const std::string& name) {
    Bytes bytes;
    append(&bytes, path.c_str(), path.size() + 1);
    append(&bytes, name.data(), name.size());
    return bytes;
}

Bytes call_exported(const mpi::Comm& team, std::span<const std::byte> name,
                    std::span<const std::byte> inputs) {
    const fluvial_exported_task& task =
        known_task({reinterpret_cast<const char*>(name.data()), name.size()});
    if (!whole(task.inputs, inputs)) {
        throw InvalidArgument(Problem{text("the inputs of ", task.name),
                                      text(inputs.size(), " bytes"),
                                      text("a message of '", task.inputs, "'"),
                                      "Compile the library again if its functions have changed"});
    }
    if (team.size() > 1 && task.parallel == 0) {
        throw InvalidArgument(Problem{text("ranks of the serial function ", task.name),
                                      text(team.size()), "1", "Export it by exported_parallel"});
    }
    const MPI_Comm handle = team.serial() ? MPI_COMM_SELF : team.handle();
    Bytes said;
    if (task.call(&handle, inputs.data(), inputs.size(), &said, &append) != 0) {
        throw Error(std::string(reinterpret_cast<const char*>(said.data()), said.size()));
    }
    return said;
}

}  // namespace fluvial::flow
