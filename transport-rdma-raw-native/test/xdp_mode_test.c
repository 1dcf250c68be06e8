/* SPDX-License-Identifier: Apache-2.0 */
/* The mode of AF_XDP by driver and kernel. */
#include "harness.h"
#include "xdp_mode.h"

static struct sv_xdp_choice choice_of(const char *env_value, const char *driver, const char *release)
{
    struct sv_xdp_choice choice;
    CHECK_EQ(0, sv_xdp_mode_choose(env_value, driver, release, &choice));
    CHECK(choice.reason[0] != '\0');
    return choice;
}

static void check_chosen(const char *driver, const char *release, const char *mode)
{
    struct sv_xdp_choice choice = choice_of(NULL, driver, release);
    CHECK(!choice.forced);
    if (strcmp(mode, sv_xdp_mode_name(choice.mode)) != 0)
        test_failed(__FILE__, __LINE__, "%s on %s has %s", driver, release, sv_xdp_mode_name(choice.mode));
}

static void test_known_drivers_use_their_own_mode(void)
{
    check_chosen("i40e", "5.18.0-4-amd64", "generic");
    check_chosen("i40e", "5.19.0", "zerocopy");
    check_chosen("i40e", "6.12.117+deb13-amd64", "zerocopy");
    check_chosen("mlx5_core", "5.15.0", "native");
    check_chosen("mlx5_core", "5.18.19", "native");
    check_chosen("mlx5_core", "6.0.19", "native");
    check_chosen("mlx5_core", "6.1.0-50-amd64", "zerocopy");
    check_chosen("mlx5_core", "6.3.13", "zerocopy");
    check_chosen("mlx5_core", "6.4.0", "generic");
    check_chosen("mlx5_core", "6.5.0", "zerocopy");
    check_chosen("mlx5_core", "7.0", "zerocopy");
    check_chosen("mlx5_core", "10.1", "zerocopy");
}

/* Includes drivers with every mode. */
static void test_other_drivers_use_generic_mode_with_a_reason(void)
{
    static const char *const drivers[] = {"ice", "ena", "virtio_net", "bnxt_en", "veth", "igb", "gve", "mlx5", "i40",
                                          "mlx5_core2", ""};
    for (size_t i = 0; i < sizeof drivers / sizeof drivers[0]; i++)
        check_chosen(drivers[i], "7.3.4", "generic");
    CHECK(strstr(choice_of("auto", "ice", "7.3.4").reason, "corrupted memory with ice") != NULL);
    CHECK(strstr(choice_of("auto", "igb", "7.3.4").reason, "igb") != NULL);
}

static void test_an_unknown_release_counts_as_old(void)
{
    check_chosen("i40e", "", "generic");
    check_chosen("i40e", "next", "generic");
    check_chosen("i40e", "99999999999999999999.1", "generic");
    check_chosen("i40e", "-1.0", "generic");
    check_chosen("i40e", "6", "zerocopy");
}

static void test_a_named_mode_is_used(void)
{
    static const char *const names[] = {"generic", "native", "zerocopy", "tap"};
    struct sv_xdp_choice choice;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        choice = choice_of(names[i], "mlx5_core", "6.8.0");
        CHECK(choice.forced);
        CHECK_EQ(0, strcmp(names[i], sv_xdp_mode_name(choice.mode)));
    }
    CHECK(!choice_of("", "mlx5_core", "6.8.0").forced);
    CHECK(!choice_of("auto", "mlx5_core", "6.8.0").forced);
    CHECK_EQ(SV_XDP_MODE_ZERO_COPY, choice_of("auto", "mlx5_core", "6.8.0").mode);
    CHECK_EQ(EINVAL, sv_xdp_mode_choose("Auto", "mlx5_core", "6.8.0", &choice));
}

static void test_only_a_named_mode_causes_advice(void)
{
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    CHECK(!sv_xdp_mode_is_forced(SV_XDP_MODE_NATIVE));
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "auto", 1));
    CHECK(!sv_xdp_mode_is_forced(SV_XDP_MODE_NATIVE));
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "native", 1));
    CHECK(sv_xdp_mode_is_forced(SV_XDP_MODE_NATIVE));
    CHECK(!sv_xdp_mode_is_forced(SV_XDP_MODE_ZERO_COPY));
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
}

const struct test xdp_mode_tests[] = {
    {"xdp mode: known drivers use their own mode", test_known_drivers_use_their_own_mode},
    {"xdp mode: other drivers use generic mode, with a reason", test_other_drivers_use_generic_mode_with_a_reason},
    {"xdp mode: an unknown release counts as old", test_an_unknown_release_counts_as_old},
    {"xdp mode: a named mode is used", test_a_named_mode_is_used},
    {"xdp mode: only a named mode causes advice", test_only_a_named_mode_causes_advice},
    {NULL, NULL},
};
