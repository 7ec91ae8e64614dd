// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/host_name.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>

#include <netdb.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/move/socket_address.hpp"

namespace fluvial::move {
namespace {

constexpr std::size_t name_max = 253;  // of DNS

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// What the system says of a name. It may take long, and cannot be told to stop: so a thread of its
/// own asks, and what it learns too late is nobody's.
struct Question {
    std::string name;
    std::vector<std::string> addresses{};
    int error = 0;
    std::atomic<bool> answered{false};

    void ask() {
        addrinfo wanted{};
        wanted.ai_family = AF_UNSPEC;
        wanted.ai_socktype = SOCK_STREAM;
        addrinfo* found = nullptr;
        error = ::getaddrinfo(name.c_str(), nullptr, &wanted, &found);
        for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
            Address address;
            std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
            address.bytes = one->ai_addrlen;
            addresses.push_back(endpoint_of(address).address);
        }
        if (found != nullptr) {
            ::freeaddrinfo(found);
        }
        answered = true;
    }
};

}  // namespace

bool is_host_name(const std::string& name) {
    const auto legal = [](char c) {
        return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.';
    };
    return !name.empty() && name.size() <= name_max && name.front() != '-' && name.front() != '.' &&
           std::all_of(name.begin(), name.end(), legal) &&
           std::any_of(name.begin(), name.end(), is_letter);
}

Endpoint endpoint_by_name(const std::string& given) {
    const auto colon = given.rfind(':');
    if (colon != std::string::npos && is_host_name(given.substr(0, colon))) {
        Endpoint endpoint{given.substr(0, colon), 0};
        const char* last = given.data() + given.size();
        const auto parsed = std::from_chars(given.data() + colon + 1, last, endpoint.port);
        if (parsed.ec == std::errc() && parsed.ptr == last && endpoint.port != 0) {
            return endpoint;
        }
    }
    try {
        return endpoint_of(given);
    } catch (const InvalidArgument&) {
        throw InvalidArgument(
            Problem{"this is no host with a port", text("'", given.substr(0, 80), "'"),
                    "\"node17:40123\", \"10.77.0.1:40123\" or \"[fd00::1]:40123\"", ""});
    }
}

std::vector<Endpoint> resolved(const Endpoint& endpoint, const Deadline& deadline,
                               std::string& why) {
    if (numeric(endpoint.address, endpoint.port)) {
        return {endpoint};
    }
    const auto question = std::make_shared<Question>(endpoint.address);
    try {
        std::thread([question] { question->ask(); }).detach();
    } catch (const std::system_error& error) {
        why = error.what();
        return {};
    }
    if (!came_in_time([&] { return question->answered.load(); }, deadline)) {
        why = "the system does not say in time which addresses that is";
        return {};
    }
    std::vector<Endpoint> all;
    for (const std::string& address : question->addresses) {
        all.push_back({address, endpoint.port});
    }
    if (all.empty()) {
        why = text("no address is known of that name (", ::gai_strerror(question->error), ")");
    }
    return all;
}

}  // namespace fluvial::move
