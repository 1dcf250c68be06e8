/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

/* Checks of the C tests of softverbs and of the emulated ConnectX, each of which has its own test_failed(). */

void test_failed(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4), noreturn));

#define CHECK(condition) \
    do { \
        if (!(condition)) \
            test_failed(__FILE__, __LINE__, "%s", #condition); \
    } while (0)

#define CHECK_EQ(expected, actual) \
    do { \
        long long expected_ = (long long)(expected); \
        long long actual_ = (long long)(actual); \
        if (expected_ != actual_) \
            test_failed(__FILE__, __LINE__, "%s: expected %lld (%s), got %lld", #actual, expected_, #expected, \
                        actual_); \
    } while (0)

struct test {
    const char *name;
    void (*run)(void);
};

#endif
