/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CX_MUTANTS_H
#define CX_MUTANTS_H

/*
 * Deliberate errors of the device. CONNECTX_EMULATOR_MUTANT selects one, and a test must detect it: an error that no
 * test detects is not tested for.
 */

#include <stdbool.h>

enum cx_mutant {
    CX_MUTANT_NONE,
    CX_MUTANT_OWNER_NEVER_FLIPS,        /* the owner bit is that of the first lap for ever */
    CX_MUTANT_STALE_CQE,                /* the owner bit is written before the rest of the entry */
    CX_MUTANT_BLUEFLAME_HALF_IGNORED,   /* doorbells in the second half of a register are not seen */
    CX_MUTANT_RECORD_IGNORED,           /* a doorbell sends one request, whatever the record says */
    CX_MUTANT_RECEIVE_RECORD_SWAPPED,   /* the receive record is read in the wrong byte order */
    CX_MUTANT_BYTE_COUNT_SWAPPED,       /* the byte count of a CQE is written in the wrong byte order */
    CX_MUTANT_LOST_EVENT,               /* arming after a completion was added raises no event */
    CX_MUTANT_WRONG_COUNTER,            /* the CQE names the request after the one it completes */
    CX_MUTANT_LENGTH_OFF,               /* the byte count is one short */
    CX_MUTANT_FLUSH_FORGOTTEN,          /* a queue in error does not flush */
    CX_MUTANT_CHECKSUM_ALWAYS_OK,       /* received checksums are reported right, unseen */
    CX_MUTANT_CONSUMER_IGNORED,         /* completions overwrite unread entries */
    CX_MUTANT_MINI_ENTRIES_MISPLACED,   /* the second miniature entries of a session are one place too far */
    CX_MUTANT_STRIDE_COUNT_OFF,         /* a CQE says that one stride more was consumed than was */
    CX_MUTANT_STRIDE_INDEX_STALE,       /* every CQE of a request names its first stride */
    CX_MUTANT_FILLER_UNMARKED,          /* the rest of a request looks like a frame */
    CX_MUTANT_STRIDES_OVERLAP,          /* a frame begins one stride too early */
    CX_MUTANT_OVERRUN_STOPS_NOTHING,    /* queues go on whose completion queue has overrun */
    CX_MUTANT_FIRST_OF_SEVERAL_ALONE,   /* of a multi-packet request only the first frame is sent */
    CX_MUTANT_COUNT,
};

extern enum cx_mutant cx_mutant_chosen;

static inline bool cx_mutant(enum cx_mutant mutant)
{
    return __builtin_expect(cx_mutant_chosen == mutant, 0);
}

/* Reads the environment; says what it does not know, and exits. */
void cx_mutant_choose(void);

#endif
