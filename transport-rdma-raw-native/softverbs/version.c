/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

/* The Makefile defines it for the shipped library. */
#ifndef SOFTVERBS_VERSION
#define SOFTVERBS_VERSION "unknown"
#endif

SV_EXPORT const char *softverbs_version(void)
{
    return SOFTVERBS_VERSION;
}
