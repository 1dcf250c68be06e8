/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's policy: the grants of a line, and invalid lines. */
#include "broker.h"
#include "harness.h"
#include "policy.h"

#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

static struct policy policy;
static char error_text[256];

static bool lookup(bool is_group, const char *name, uint32_t *id)
{
    *id = is_group ? 200 : 100;
    return strcmp(name, is_group ? "staff" : "www") == 0;
}

static bool parse(const char *text)
{
    return policy_parse(&policy, text, strlen(text), lookup, error_text, sizeof error_text);
}

static void must_parse(const char *text)
{
    if (!parse(text))
        test_failed(__FILE__, __LINE__, "%s: %s", text, error_text);
}

static bool has_port(const struct policy_user *user, const char *netdev, uint8_t protocol, uint16_t port)
{
    const struct policy_scope scope = {.netdev = netdev, .modes = POLICY_ANY_MODE};
    return policy_has_port(&policy, user, &scope, protocol, port);
}

static bool has_any_port(const struct policy_user *user, const char *netdev)
{
    const struct policy_scope scope = {.netdev = netdev, .modes = POLICY_ANY_MODE};
    return policy_has_any_port(&policy, user, &scope);
}

static void check_refused(const char *text, const char *reason)
{
    if (parse(text) || strstr(error_text, reason) == NULL)
        test_failed(__FILE__, __LINE__, "%s: %s", text, error_text);
    CHECK_EQ(0, policy.line_count);
}

static void test_lines_of_a_policy_add_up(void)
{
    const struct policy_user www = {.uid = 100, .group_count = 1, .group = {7}};
    const struct policy_user member = {.uid = 5, .group_count = 2, .group = {7, 200}};
    const struct policy_user other = {.uid = 200, .group_count = 1, .group = {100}};
    must_parse("# a comment\n\n"
               "user=www interface=eth1 modes=generic ports=tcp:80,udp:5000-5999\n"
               "  user=100\tinterface=eth1 modes=native,generic ports=tcp:443 devices=3 \n"
               "group=staff interface=eth2 modes=generic ports=any\n"
               "user=www interface=eth3 modes=zerocopy ports=any");
    CHECK_EQ(4, policy.line_count);
    CHECK_EQ(3, policy_max_devices(&policy, &www, "eth1", SV_BROKER_MODE_GENERIC));
    CHECK_EQ(3, policy_max_devices(&policy, &www, "eth1", SV_BROKER_MODE_NATIVE));
    CHECK_EQ(0, policy_max_devices(&policy, &www, "eth2", SV_BROKER_MODE_GENERIC));
    CHECK_EQ(0, policy_max_devices(&policy, &www, "eth", SV_BROKER_MODE_GENERIC));
    CHECK_EQ(0, policy_max_devices(&policy, &www, "eth1", SV_BROKER_MODE_ZERO_COPY));
    CHECK_EQ(1, policy_max_devices(&policy, &www, "eth3", SV_BROKER_MODE_ZERO_COPY));
    CHECK_EQ(0, policy_max_devices(&policy, &www, "eth3", SV_BROKER_MODE_NATIVE));
    CHECK(has_port(&www, "eth1", IPPROTO_TCP, 80));
    CHECK(has_port(&www, "eth1", IPPROTO_TCP, 443));
    CHECK(has_port(&www, NULL, IPPROTO_UDP, 5999));
    CHECK(!has_port(&www, "eth1", IPPROTO_UDP, 80));
    CHECK(!has_port(&www, "eth1", IPPROTO_UDP, 6000));
    CHECK(!has_port(&www, "eth1", IPPROTO_UDP, 4999));
    CHECK(!has_port(&www, "eth2", IPPROTO_TCP, 80));
    CHECK(!has_any_port(&www, "eth1"));
    CHECK_EQ(1, policy_max_devices(&policy, &member, "eth2", SV_BROKER_MODE_GENERIC));
    CHECK_EQ(0, policy_max_devices(&policy, &member, "eth2", SV_BROKER_MODE_NATIVE));
    CHECK(has_any_port(&member, "eth2"));
    CHECK(has_port(&member, "eth2", IPPROTO_TCP, 22));
    CHECK(!policy_has_interface(&policy, &member, "eth1"));
    CHECK(!policy_has_interface(&policy, &other, "eth1"));      /* a user is not a group, nor a group a user */
    CHECK(!policy_has_interface(&policy, &other, "eth2"));
}

/* The ports granted by one line do not apply to another line's mode. */
static void test_ports_of_a_mode(void)
{
    const struct policy_user www = {.uid = 100, .group_count = 1, .group = {7}};
    const struct policy_scope generic = {.netdev = "eth1", .modes = 1u << SV_BROKER_MODE_GENERIC};
    const struct policy_scope native = {.netdev = "eth1", .modes = 1u << SV_BROKER_MODE_NATIVE};
    must_parse("user=www interface=eth1 modes=generic ports=tcp:80\n"
               "user=www interface=eth1 modes=native ports=any");
    CHECK(policy_has_port(&policy, &www, &generic, IPPROTO_TCP, 80));
    CHECK(!policy_has_port(&policy, &www, &generic, IPPROTO_TCP, 22));
    CHECK(!policy_has_any_port(&policy, &www, &generic));
    CHECK(policy_has_port(&policy, &www, &native, IPPROTO_TCP, 22));
    CHECK(policy_has_any_port(&policy, &www, &native));
}

static void test_filters_on_tcp_sockets_need_a_granted_port(void)
{
    const struct policy_user www = {.uid = 100, .group_count = 1, .group = {7}};
    const struct policy_user other = {.uid = 101, .group_count = 1, .group = {7}};
    must_parse("user=www interface=eth1 modes=generic ports=udp:80");
    CHECK(!policy_has_tcp_port(&policy, &www));
    must_parse("user=www interface=eth1 modes=generic ports=udp:80,tcp:80");
    CHECK(policy_has_tcp_port(&policy, &www));
    CHECK(!policy_has_tcp_port(&policy, &other));
    must_parse("user=www interface=eth1 modes=generic ports=any");
    CHECK(policy_has_tcp_port(&policy, &www));
}

static void test_invalid_lines_of_a_policy_are_refused(void)
{
    static const char good[] = "user=1 interface=e modes=generic ports=any";
    must_parse(good);
    check_refused("\n\nuser=1 interface=e modes=generic", "line 3: one of");
    check_refused("user=1 interface=e ports=any", "line 1: one of");
    check_refused("interface=e modes=generic ports=any", "one of");
    check_refused("user=1 modes=generic ports=any", "one of");
    check_refused("user=1 interface=e modes=generic ports=any user=2", "'user' appears twice");
    check_refused("user=1 group=2 interface=e modes=generic ports=any", "'group' appears twice");
    check_refused("user=bob interface=e modes=generic ports=any", "there is no user 'bob'");
    check_refused("group=www interface=e modes=generic ports=any", "there is no group 'www'");
    check_refused("user= interface=e modes=generic ports=any", "there is no user ''");
    check_refused("user=-1 interface=e modes=generic ports=any", "there is no user");
    check_refused("user=4294967295 interface=e modes=generic ports=any", "there is no user");
    check_refused("user=1 interface=* modes=generic ports=any", "not a valid interface name");
    check_refused("user=1 interface=../e modes=generic ports=any", "not a valid interface name");
    check_refused("user=1 interface=a234567890123456 modes=generic ports=any", "not a valid interface name");
    check_refused("user=1 interface= modes=generic ports=any", "not a valid interface name");
    check_refused("user=1 interface=e modes= ports=any", "is not a mode");
    check_refused("user=1 interface=e modes=generic,tap ports=any", "'tap' is not a mode");
    check_refused("user=1 interface=e modes=generic ports=80", "ports= is any");
    check_refused("user=1 interface=e modes=generic ports=", "ports= is any");
    check_refused("user=1 interface=e modes=generic ports=tcp:0", "ports= is any");
    check_refused("user=1 interface=e modes=generic ports=tcp:65536", "ports= is any");
    check_refused("user=1 interface=e modes=generic ports=tcp:90-80", "ports= is any");
    check_refused("user=1 interface=e modes=generic ports=tcp:80-", "ports= is any");
    check_refused("user=1 interface=e modes=generic ports=tcp:80,any", "ports= is any");
    check_refused("user=1 interface=e modes=generic ports=tcp:80,", "ports= is any");
    check_refused("user=1 interface=e modes=generic ports=tcp:+80", "ports= is any");
    check_refused("user=1 interface=e modes=generic ports=any devices=0", "devices= is");
    check_refused("user=1 interface=e modes=generic ports=any devices=17", "devices= is");
    check_refused("user=1 interface=e modes=generic ports=any color=red", "'color' is unknown");
    check_refused("user=1 interface=e modes=generic ports=any # rest", "'#' is unknown");
    check_refused("user=1 interface=e modes=generic ports=any\r", "printable");
    check_refused("user=1 interface=e modes=generic ports=any\nuser=1 \xc3\xa9", "line 2: it has a character");
    CHECK(!policy_parse(&policy, "user=1\0x", 8, lookup, error_text, sizeof error_text));
    CHECK(strstr(error_text, "printable") != NULL);
}

/* Parses a policy with many lines or items, up to one too many. */
static bool parse_many(const char *line, const char *item, unsigned count)
{
    static char text[POLICY_MAX_BYTES];
    size_t length = (size_t)snprintf(text, sizeof text, "%s", line);
    for (unsigned i = 0; i < count; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s", item);
    return parse(text);
}

static void test_the_size_of_a_policy_is_limited(void)
{
    static const char line[] = "user=1 interface=e modes=generic ports=any\n";
    static const char ports[] = "user=1 interface=e modes=generic ports=tcp:1";
    CHECK(parse_many("", line, POLICY_MAX_LINES));
    CHECK_EQ(POLICY_MAX_LINES, policy.line_count);
    CHECK(!parse_many("", line, POLICY_MAX_LINES + 1));
    CHECK(parse_many(ports, ",udp:2", POLICY_MAX_RANGES - 1));
    CHECK(!parse_many(ports, ",udp:2", POLICY_MAX_RANGES));
    CHECK(parse_many("#", "x", 1000));
    CHECK(!parse_many("#", "x", 1100));
}

static void test_a_policy_file_that_others_may_write_is_refused(void)
{
    static const char text[] = "user=1 interface=e modes=generic ports=any\n";
    char path[] = "/tmp/broker-policy-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_EQ(sizeof text - 1, write(fd, text, sizeof text - 1));
    CHECK(policy_read(&policy, path, error_text, sizeof error_text));
    CHECK_EQ(1, policy.line_count);
    CHECK_EQ(0, fchmod(fd, 0620));
    CHECK(!policy_read(&policy, path, error_text, sizeof error_text));
    CHECK(strstr(error_text, "others can write") != NULL);
    CHECK_EQ(0, policy.line_count);
    CHECK_EQ(0, fchmod(fd, 0602));
    CHECK(!policy_read(&policy, path, error_text, sizeof error_text));
    CHECK_EQ(0, fchmod(fd, 0600));
    CHECK_EQ(6, write(fd, "wrong\n", 6));
    CHECK(!policy_read(&policy, path, error_text, sizeof error_text));
    CHECK(strstr(error_text, "line 2") != NULL);
    close(fd);
    unlink(path);
    CHECK(!policy_read(&policy, path, error_text, sizeof error_text));
    CHECK(!policy_read(&policy, "/dev/null", error_text, sizeof error_text));
}

/* A policy with arbitrary bytes from another process does not cause accesses outside of it. */
static void test_arbitrary_bytes_in_a_policy_cause_no_invalid_access(void)
{
    must_parse("user=1 interface=e modes=generic ports=tcp:80");
    CHECK(policy_is_valid(&policy));
    policy.line[0].range_count = POLICY_MAX_RANGES + 1;
    CHECK(!policy_is_valid(&policy));
    must_parse("user=1 interface=e modes=generic ports=tcp:80");
    memset(policy.line[0].netdev, 'e', sizeof policy.line[0].netdev);
    CHECK(!policy_is_valid(&policy));
    must_parse("user=1 interface=e modes=generic ports=tcp:80");
    policy.line_count = POLICY_MAX_LINES + 1;
    CHECK(!policy_is_valid(&policy));
    policy.line_count = 0;
}

const struct test broker_policy_tests[] = {
    {"broker: lines of a policy add up", test_lines_of_a_policy_add_up},
    {"broker: ports are granted in the modes of their line", test_ports_of_a_mode},
    {"broker: filters on TCP sockets need a granted port", test_filters_on_tcp_sockets_need_a_granted_port},
    {"broker: invalid lines of a policy are refused", test_invalid_lines_of_a_policy_are_refused},
    {"broker: the size of a policy is limited", test_the_size_of_a_policy_is_limited},
    {"broker: a policy file that others may write is refused", test_a_policy_file_that_others_may_write_is_refused},
    {"broker: arbitrary bytes in a policy cause no invalid access",
     test_arbitrary_bytes_in_a_policy_cause_no_invalid_access},
    {NULL, NULL},
};
