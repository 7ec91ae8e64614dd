// SPDX-License-Identifier: Apache-2.0
/// C++ functions that a shared library exports for tasks: of programs in Python, and of scripts.
///
///     #include <fluvial/flow/exported_task.hpp>
///
///     double energy(double temperature, std::int64_t atoms) { … }
///     double mean(MPI_Comm team, double mine) { … }
///
///     FLUVIAL_EXPORT_TASKS(fluvial::flow::exported<energy>("energy"),
///                          fluvial::flow::exported_parallel<mean>("mean"))
///
/// in a file that is compiled to libphysics.so (`c++ -std=c++20 -shared -fPIC`); it needs this
/// header alone. Inputs and outputs are
///
/// | type | code | in a message |
/// |---|---|---|
/// | std::int64_t | i | 8 bytes |
/// | double | f | 8 bytes |
/// | bool | b | 8 bytes, 0 or 1 |
/// | std::string_view as an input; std::string | s | a length, text in UTF-8 |
/// | std::span<const std::byte> as an input; std::vector<std::byte> | x | a length, bytes |
///
/// in the order of the parameters, without gaps, as this machine writes numbers; lengths have 8
/// bytes. A function returns
/// one of them, nothing, or several as a std::tuple. What it throws is the task's failure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

extern "C" {

/// Takes a piece of the result, or of what is wrong.
typedef void (*fluvial_put)(void* where, const void* bytes, std::size_t count);

/// A function as it lies in a library. `call` returns 0 after it has put the result, and 1 after it
/// has put what is wrong; `comm` points to the team's
/// MPI_Comm.
struct fluvial_exported_task {
    const char* name;
    const char* inputs;   ///< codes of the table above
    const char* outputs;  ///< the same
    int parallel;
    int (*call)(const void* comm, const void* inputs, std::size_t bytes, void* where,
                fluvial_put put);
};

/// What fluvial_exported_tasks() of a library returns.
struct fluvial_task_table {
    int version;  ///< of this layout: 1
    int count;
    const fluvial_exported_task* tasks;
};
}

namespace fluvial::flow {

/// @cond
namespace exporting {

template <class Type>
constexpr char code() {
    using Plain = std::remove_cvref_t<Type>;
    if constexpr (std::is_same_v<Plain, std::int64_t>) {
        return 'i';
    } else if constexpr (std::is_same_v<Plain, double>) {
        return 'f';
    } else if constexpr (std::is_same_v<Plain, bool>) {
        return 'b';
    } else if constexpr (std::is_same_v<Plain, std::string> ||
                         std::is_same_v<Plain, std::string_view>) {
        return 's';
    } else {
        static_assert(std::is_same_v<Plain, std::span<const std::byte>> ||
                          std::is_same_v<Plain, std::vector<std::byte>>,
                      "a task takes and returns std::int64_t, double, bool, strings and bytes");
        return 'x';
    }
}

template <class... Types>
inline constexpr std::array<char, sizeof...(Types) + 1> codes{code<Types>()..., '\0'};

/// Reads inputs one after the other; the caller has checked that the message is whole.
class Inputs {
  public:
    explicit Inputs(const void* bytes) : next_(static_cast<const std::byte*>(bytes)) {}

    template <class Type>
    Type take() {
        using Plain = std::remove_cvref_t<Type>;
        if constexpr (code<Type>() == 'b') {
            return number<std::int64_t>() != 0;
        } else if constexpr (std::is_arithmetic_v<Plain>) {
            return number<Plain>();
        } else {
            const auto length = static_cast<std::size_t>(number<std::int64_t>());
            const std::byte* begin = next_;
            next_ += length;
            if constexpr (code<Type>() == 's') {
                return Plain(reinterpret_cast<const char*>(begin), length);
            } else {
                return Plain(begin, begin + length);
            }
        }
    }

  private:
    template <class Number>
    Number number() {
        Number value{};
        std::memcpy(&value, next_, sizeof value);
        next_ += sizeof value;
        return value;
    }

    const std::byte* next_;
};

template <class Type>
void put_value(const Type& value, void* where, fluvial_put put) {
    if constexpr (code<Type>() == 'b') {
        const std::int64_t wide = value ? 1 : 0;
        put(where, &wide, sizeof wide);
    } else if constexpr (std::is_arithmetic_v<Type>) {
        put(where, &value, sizeof value);
    } else {
        const auto length = static_cast<std::int64_t>(value.size());
        put(where, &length, sizeof length);
        put(where, value.data(), value.size());
    }
}

/// What a function returns, as a list of types.
template <class Result>
struct Outputs {
    static constexpr const char* list = codes<Result>.data();
    static void put(const Result& result, void* where, fluvial_put put) {
        put_value(result, where, put);
    }
};
template <class... Types>
struct Outputs<std::tuple<Types...>> {
    static constexpr const char* list = codes<Types...>.data();
    static void put(const std::tuple<Types...>& result, void* where, fluvial_put put) {
        std::apply([&](const Types&... each) { (put_value(each, where, put), ...); }, result);
    }
};

template <class Result, class Compute>
int guarded(const Compute& compute, void* where, fluvial_put put) {
    const auto said = [&](const char* what) {
        put(where, what, std::strlen(what));
        return 1;
    };
    try {
        if constexpr (std::is_void_v<Result>) {
            compute();
        } else {
            Outputs<Result>::put(compute(), where, put);
        }
        return 0;
    } catch (const std::exception& error) {
        return said(error.what());
    } catch (...) {
        return said("it has thrown what is no std::exception");
    }
}

template <class Result>
constexpr const char* outputs_of() {
    if constexpr (std::is_void_v<Result>) {
        return "";
    } else {
        return Outputs<Result>::list;
    }
}

template <auto function, class Result, class... Types>
constexpr fluvial_exported_task serial(const char* name, Result (*)(Types...)) {
    return {name, codes<Types...>.data(), outputs_of<Result>(), 0,
            [](const void*, const void* bytes, std::size_t, void* where, fluvial_put put) {
                const auto compute = [&] {
                    [[maybe_unused]] Inputs in(bytes);
                    // Braces: the inputs are read from left to right.
                    const std::tuple<std::remove_cvref_t<Types>...> inputs{
                        in.take<std::remove_cvref_t<Types>>()...};
                    return std::apply(function, inputs);
                };
                return guarded<Result>(compute, where, put);
            }};
}

template <auto function, class Result, class Communicator, class... Types>
constexpr fluvial_exported_task together(const char* name, Result (*)(Communicator, Types...)) {
    return {name, codes<Types...>.data(), outputs_of<Result>(), 1,
            [](const void* comm, const void* bytes, std::size_t, void* where, fluvial_put put) {
                const auto compute = [&] {
                    Communicator team;
                    std::memcpy(&team, comm, sizeof team);
                    [[maybe_unused]] Inputs in(bytes);
                    const std::tuple<Communicator, std::remove_cvref_t<Types>...> inputs{
                        team, in.take<std::remove_cvref_t<Types>>()...};
                    return std::apply(function, inputs);
                };
                return guarded<Result>(compute, where, put);
            }};
}

}  // namespace exporting
/// @endcond

/// A function for tasks on one rank.
template <auto function>
constexpr fluvial_exported_task exported(const char* name) {
    return exporting::serial<function>(name, function);
}

/// A function for tasks on one or several ranks: its first parameter is their MPI_Comm. The result
/// is what the team's rank 0 returns.
template <auto function>
constexpr fluvial_exported_task exported_parallel(const char* name) {
    return exporting::together<function>(name, function);
}

}  // namespace fluvial::flow

/// Once in a library, outside of namespaces.
#define FLUVIAL_EXPORT_TASKS(...)                                                        \
    extern "C" __attribute__((visibility("default"))) const fluvial_task_table*          \
    fluvial_exported_tasks() {                                                           \
        static const fluvial_exported_task tasks[] = {__VA_ARGS__};                      \
        static const fluvial_task_table table{1, sizeof tasks / sizeof tasks[0], tasks}; \
        return &table;                                                                   \
    }
