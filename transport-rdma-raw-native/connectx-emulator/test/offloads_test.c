/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
const struct test offload_tests[] = {{NULL, NULL}};
const struct test event_tests[] = {{NULL, NULL}};
const struct test error_tests[] = {{NULL, NULL}};
const struct test rss_tests[] = {{NULL, NULL}};
const struct test wire_tests[] = {{NULL, NULL}};
