/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_JOURNAL_H
#define BROKER_JOURNAL_H

/*
 * One line to standard error for each decision, and no more than JOURNAL_LINES in a second: what was left out is
 * counted, and said with the next line. Text of clients must be printable before it gets here.
 */
enum { JOURNAL_LINES = 20 };

void journal(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
