// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/description.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/route/conformance.hpp"

using namespace fluvial;
using namespace fluvial::route;

namespace {

TopologyPtr from_json(const std::string& text) {
    return make_topology(description_from_json(text), "net.json");
}

const std::string links = R"("hosts": ["a", "b", "c"], "switches": ["s", "t"], "links": [
    {"from": "a", "to": "s", "bandwidth": 5e9, "latency": 2e-6}, {"from": "s", "to": "b"},
    {"from": "b", "to": "t"}, {"from": "t", "to": "c"}, {"from": "s", "to": "t"}])";

}  // namespace

TEST_CASE("a graph in JSON has names, ranks and the bandwidths that are written there") {
    const TopologyPtr net = from_json("{" + links + R"(, "ranks": ["b", "b", "a"]})");
    check_topology(*net);
    CHECK(net->describe() == "net.json");
    CHECK(net->host_of_rank() == std::vector<Node>{1, 1, 0});
    CHECK(net->host_named("c") == 2);
    CHECK(net->name_of(3) == "s");
    CHECK(net->graph().links()[0] == Link{0, 3, 5e9, 2e-6});
    CHECK(net->graph().links()[1] == Link{3, 0, 5e9, 2e-6});
    CHECK(net->graph().links()[2] == Link{3, 1, 12.5e9, 1e-6});
    CHECK(net->route(0, 2).size() == 3);
    CHECK_THROWS_WITH_AS(net->host_named("s"), doctest::Contains("no host of this name"),
                         UnknownName);
}

TEST_CASE("upper and lower case are the same in names of hosts") {
    const TopologyPtr net = from_json(R"({"hosts": ["Node1", "node2.Cluster.org"], "links": [
{"from": "node1", "to": "NODE2.cluster.org"}], "ranks": ["NODE1"]})");
    CHECK(net->host_of_rank() == std::vector<Node>{0});
    CHECK(net->host_named("nODE1") == 0);
    CHECK(net->name_of(0) == "Node1");
    CHECK(net->is_called(0, "NODE1"));
    CHECK(net->is_called(0, "node1.cluster.org"));
    CHECK(net->is_called(1, "NODE2"));
    CHECK(!net->is_called(1, "NODE2.cluster.com"));
    const std::vector<std::string> machines{"NODE2", "node1"};
    CHECK(net->placed(machines)->host_of_rank() == std::vector<Node>{1, 0});
    CHECK_THROWS_WITH_AS(from_json(R"({"hosts": ["a", "b", "A"]})"),
                         doctest::Contains("same name: got 'A' beside 'a'; allowed: each host and "
                                           "each switch once, in upper or lower case"),
                         InvalidArgument);
}

TEST_CASE("a table says which way pairs take, others take the shortest") {
    const TopologyPtr net = from_json("{" + links + R"(, "routes": [["a", "s", "b", "t", "c"]]})");
    CHECK(net->routing().describe() == "table");
    CHECK(net->route(0, 2).size() == 4);
    CHECK(net->route(2, 0).size() == 3);
    for (const char* routes : {R"([["a"]])", R"([["a", "b"]])", R"([["a", "s"]])",
                               R"([["a", "s", "x"]])", R"([["a", "s", "b"], ["a", "s", "b"]])",
                               R"([["a", "s", "a", "s", "b"]])", R"([["a", "s", "a"]])"}) {
        CAPTURE(routes);
        CHECK_THROWS_AS(from_json("{" + links + R"(, "routes": )" + routes + "}"), InvalidArgument);
    }
    for (const auto& [routes, words] :
         {std::pair{R"([["a", "b"]])", "got 'a' to 'b'; allowed: neighbours"},
          std::pair{R"([["a", "s"]])", "got 's'; allowed: routes from host to host"},
          std::pair{R"([["a", "s", "a"]])", "got 'a'; allowed: routes from one host to another"},
          std::pair{R"([["a", "s", "b"], ["a", "s", "b"]])", "got 'a' to 'b'; allowed: one"}}) {
        CHECK_THROWS_WITH_AS(from_json("{" + links + R"(, "routes": )" + routes + "}"),
                             doctest::Contains(words), InvalidArgument);
    }
    CHECK_THROWS_WITH_AS(from_json("{" + links + R"(, "ranks": ["a", "s"]})"),
                         "a rank runs on a switch: got 's'; allowed: names in hosts",
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(
        from_json("{" + links + R"(, "routing": "shortest", "routes": [["a", "s", "b"]]})"),
        doctest::Contains("Set \"routing\": \"table\""), InvalidArgument);
}

TEST_CASE("up and down: a route never goes up again") {
    const TopologyPtr net = from_json(R"({"hosts": ["a", "b", "c"], "switches": ["s", "t", "r"],
        "routing": "up-down", "links": [{"from": "a", "to": "s"}, {"from": "b", "to": "s"},
        {"from": "c", "to": "t"}, {"from": "s", "to": "r"}, {"from": "t", "to": "r"}]})");
    check_topology(*net);
    CHECK(net->route(0, 2).size() == 4);
    CHECK(net->route(0, 1).size() == 2);
}

TEST_CASE("what is wrong in a file says what and where") {
    CHECK_THROWS_WITH_AS(from_json("{\"hosts\": [\"a\"],\n \"link\": []}"),
                         doctest::Contains("line 2 has another member: got 'link'"), UnknownName);
    CHECK_THROWS_WITH_AS(from_json(R"({"hosts": ["a", "b"], "links": [{"from": "a", "to": "c"}]})"),
                         doctest::Contains("'c'"), UnknownName);
    CHECK_THROWS_WITH_AS(from_json(R"({"hosts": ["a", "a"]})"),
                         doctest::Contains("same name: got 'a'"), InvalidArgument);
    const std::string two_links = R"({"hosts": ["a", "b", "c"], "links": [
{"from": "a", "to": "b"},
{"from": "b", "to": "c"},
{"from": "c", )";
    for (const auto& [members, words] :
         {std::pair{R"("to": "a", "bandwidth": 0)", "the bandwidth of a link in line 4"},
          std::pair{R"("to": "a", "bandwidth": 1e308)", "more than 0, up to 1e18"},
          std::pair{R"("to": "a", "latency": -1)", "the latency of a link in line 4"},
          std::pair{R"("to": "a", "latency": 1e308)", "seconds, 0 to 1e6"},
          std::pair{R"("to": "c")", "a link in line 4 goes from a node to itself: got 'c'"}}) {
        CHECK_THROWS_WITH_AS(from_json(two_links + members + "}]}"), doctest::Contains(words),
                             InvalidArgument);
    }
    CHECK_THROWS_WITH_AS(from_json(R"({"hosts": ["a", "b"], "routes": [["a"]]})"),
                         doctest::Contains("too short: got 1 node; allowed: two or more"),
                         InvalidArgument);
    for (const char* text :
         {"[]", "{}", R"({"hosts": [""]})", R"({"hosts": ["a\nb"]})", R"({"hosts": "a"})",
          R"({"hosts": [1]})", R"({"hosts": ["a", "b"], "links": [{"from": "a"}]})",
          R"({"hosts": ["a", "b"], "links": [{"from": "a", "to": "b", "bandwidth": 0}]})",
          R"({"hosts": ["a", "b"], "links": [{"from": "a", "to": "b", "latency": -1}]})",
          R"({"hosts": ["a", "b"], "links": [{"from": "a", "to": "b", "both": 1}]})",
          R"({"hosts": ["a", "b"], "links": [{"from": "a", "to": "b", "speed": 1}]})",
          R"({"hosts": ["a"], "ranks": ["b"]})", R"({"hosts": ["a"], "routing": "best"})"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(from_json(text), InvalidArgument);
    }
}

TEST_CASE("where a routing finds no way, another one may") {
    const TopologyPtr net = from_json(
        R"({"hosts": ["a", "b"], "links": [{"from": "a", "to": "b"}], "routing": "up-down"})");
    CHECK_THROWS_WITH_AS(net->route(0, 1),
                         doctest::Contains("or take another routing than up-down"),
                         InvalidArgument);
}

TEST_CASE("Slurm's topology.conf is a tree of switches") {
    const TopologyPtr net =
        make_topology(description_from_slurm("# two leaves\n"
                                             "SwitchName=s0 Nodes=n[1-2],login  LinkSpeed=100\n"
                                             "\n"
                                             "switchname=s1 nodes=n[09-10] # wide\n"
                                             "SwitchName=top Switches=s[0-1]\r\n"),
                      "topology.conf");
    check_topology(*net);
    CHECK(net->hosts() == 5);
    CHECK(net->graph().nodes() == 8);
    CHECK(net->name_of(3) == "n09");
    CHECK(net->route(net->host_named("n1"), net->host_named("n10")).size() == 4);
    CHECK(net->route(net->host_named("n1"), net->host_named("login")).size() == 2);
    CHECK_THROWS_WITH_AS(description_from_slurm("SwitchName=s Nodes=a\nBlockName=b Nodes=c\n"),
                         doctest::Contains("line 2"), InvalidArgument);
    CHECK_THROWS_AS(description_from_slurm("Nodes=a"), InvalidArgument);
    CHECK_THROWS_AS(make_topology(description_from_slurm("SwitchName=s Switches=x"), "it"),
                    UnknownName);
}

TEST_CASE("a line of Slurm's topology.conf goes on behind a backslash") {
    const TopologyPtr net =
        make_topology(description_from_slurm("SwitchName=s0 \\\n"
                                             "  Nodes=n1,\\ \r\n"
                                             "n2 # the rest\n"
                                             "SwitchName=s1 Nodes=n3 # no more \\\n"
                                             "SwitchName=top Switches=s[0-1] \\"),
                      "topology.conf");
    CHECK(net->hosts() == 3);
    CHECK(net->route(net->host_named("n1"), net->host_named("n2")).size() == 2);
    CHECK(net->route(net->host_named("n1"), net->host_named("n3")).size() == 4);
    CHECK_THROWS_WITH_AS(
        description_from_slurm("SwitchName=s \\\nNodes=a\nSwitchName=t \\\nNode=c\n"),
        doctest::Contains("line 3"), InvalidArgument);
}

TEST_CASE("what a line of Slurm's topology.conf cannot mean is refused") {
    CHECK_THROWS_WITH_AS(
        description_from_slurm("SwitchName=s0 Nodes=a\nSwitchName=s1 Nodes=n01 nodes=n02\n"),
        doctest::Contains("a word comes twice in line 2 of a topology.conf: got 'nodes=n02'"),
        InvalidArgument);
    CHECK_THROWS_AS(description_from_slurm("SwitchName=s0 SwitchName=s1 Nodes=a"), InvalidArgument);
    CHECK_THROWS_WITH_AS(
        description_from_slurm("SwitchName=s0 Nodes=a\n\nSwitchName=s1 Switches=s[0-1]\n"),
        "a switch is below itself in line 3 of a topology.conf: got 's1'; allowed: other switches, "
        "and hosts",
        InvalidArgument);
    CHECK_THROWS_WITH_AS(
        description_from_slurm("SwitchName=s0 Nodes=a Switches=s2\nSwitchName=s1 Switches=s0\n"
                               "SwitchName=s2 Switches=s1\nSwitchName=s3 Nodes=b\n"),
        "switches of a topology.conf are above each other: got 's0' and those below it; allowed: a "
        "tree of switches. Correct Switches=…",
        InvalidArgument);
}

TEST_CASE("a host that a line of Slurm's topology.conf names twice has one link") {
    const TopologyPtr net = make_topology(
        description_from_slurm("SwitchName=s0 Nodes=n[0-2,1],n2\nSwitchName=t Switches=s0,s0\n"),
        "topology.conf");
    CHECK(net->hosts() == 3);
    CHECK(net->graph().links().size() == 8);
}

TEST_CASE("lists of hosts keep their leading zeros") {
    using Names = std::vector<std::string>;
    CHECK(names_in("a") == Names{"a"});
    CHECK(names_in("n[08-10,3],b") == Names{"n08", "n09", "n10", "n3", "b"});
    CHECK(names_in("r[1-2]n[1-2]x") == Names{"r1n1x", "r1n2x", "r2n1x", "r2n2x"});
    for (const char* list :
         {"", "a,", "n[", "n[]", "n[1-]", "n[2-1]", "n]1[", "n[1-2", "n[[1]]", "n[a-b]",
          "n[1-99999999999999999999]", "n[1-2000000]", "a[1-1000000]b[1-1000000]"}) {
        CAPTURE(list);
        CHECK_THROWS_AS(names_in(list), InvalidArgument);
    }
}
