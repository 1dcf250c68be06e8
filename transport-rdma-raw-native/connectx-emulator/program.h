/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CX_PROGRAM_H
#define CX_PROGRAM_H

/* The functions that programs call: those of the C library, and those of include/connectx_emulator.h. */

#include "kernel.h"

#endif
