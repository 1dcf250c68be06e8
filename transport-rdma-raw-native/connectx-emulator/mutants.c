/* SPDX-License-Identifier: Apache-2.0 */
#include "base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum cx_mutant cx_mutant_chosen;

static const char *const names[CX_MUTANT_COUNT] = {
    [CX_MUTANT_NONE] = "none",
    [CX_MUTANT_OWNER_NEVER_FLIPS] = "owner-never-flips",
    [CX_MUTANT_STALE_CQE] = "stale-cqe",
    [CX_MUTANT_BLUEFLAME_HALF_IGNORED] = "blueflame-half-ignored",
    [CX_MUTANT_RECORD_IGNORED] = "record-ignored",
    [CX_MUTANT_RECEIVE_RECORD_SWAPPED] = "receive-record-swapped",
    [CX_MUTANT_BYTE_COUNT_SWAPPED] = "byte-count-swapped",
    [CX_MUTANT_LOST_EVENT] = "lost-event",
    [CX_MUTANT_WRONG_COUNTER] = "wrong-counter",
    [CX_MUTANT_LENGTH_OFF] = "length-off",
    [CX_MUTANT_FLUSH_FORGOTTEN] = "flush-forgotten",
    [CX_MUTANT_CHECKSUM_ALWAYS_OK] = "checksum-always-ok",
    [CX_MUTANT_CONSUMER_IGNORED] = "consumer-ignored",
    [CX_MUTANT_MINI_ENTRIES_MISPLACED] = "mini-entries-misplaced",
    [CX_MUTANT_STRIDE_COUNT_OFF] = "stride-count-off",
    [CX_MUTANT_STRIDE_INDEX_STALE] = "stride-index-stale",
    [CX_MUTANT_FILLER_UNMARKED] = "filler-unmarked",
    [CX_MUTANT_STRIDES_OVERLAP] = "strides-overlap",
    [CX_MUTANT_OVERRUN_STOPS_NOTHING] = "overrun-stops-nothing",
    [CX_MUTANT_FIRST_OF_SEVERAL_ALONE] = "first-of-several-alone",
    [CX_MUTANT_SEGMENTS_ALIKE] = "segments-alike",
    [CX_MUTANT_ONE_QUEUE_OF_SEVERAL] = "one-queue-of-several",
};

void cx_mutant_choose(void)
{
    const char *wanted = getenv("CONNECTX_EMULATOR_MUTANT");
    if (wanted == NULL || *wanted == '\0')
        return;
    for (int i = 0; i < CX_MUTANT_COUNT; i++) {
        if (strcmp(names[i], wanted) == 0) {
            cx_mutant_chosen = (enum cx_mutant)i;
            return;
        }
    }
    fprintf(stderr, "connectx-emulator: CONNECTX_EMULATOR_MUTANT=%s is none of:", wanted);
    for (int i = 0; i < CX_MUTANT_COUNT; i++)
        fprintf(stderr, " %s", names[i]);
    fprintf(stderr, "\n");
    _exit(2);
}
