/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_JOURNAL_H
#define BROKER_JOURNAL_H

/*
 * Writes one line to standard error for each decision, at most JOURNAL_MAX_LINES_PER_SECOND, and none while standard
 * error has no room for a line. The next line reports the number of omitted lines. Text from clients must be printable
 * before it is passed here.
 */
enum { JOURNAL_MAX_LINES_PER_SECOND = 20 };

void journal(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
