/* SPDX-License-Identifier: Apache-2.0 */
/* See policy.h. */
#include "policy.h"

#include "broker.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_WORD = 1024, HAS_SUBJECT = 1, HAS_INTERFACE = 2, HAS_MODES = 4, HAS_PORTS = 8, HAS_DEVICES = 16 };

struct parser {
    struct policy *policy;
    policy_lookup *lookup;
    unsigned line;
    unsigned seen_keys;         /* keys of the current line: HAS_* */
    char *error_text;
    size_t error_text_bytes;
};

/* The message contains words of the file only after they are known to be printable. */
static bool __attribute__((format(printf, 2, 3))) fail(struct parser *parser, const char *format, ...)
{
    va_list arguments;
    int length = snprintf(parser->error_text, parser->error_text_bytes, "line %u: ", parser->line);
    va_start(arguments, format);
    if (length > 0 && (size_t)length < parser->error_text_bytes)
        vsnprintf(parser->error_text + length, parser->error_text_bytes - (size_t)length, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- values ---- */

/* Parses decimal digits only: no signs, spaces or hexadecimal numbers. */
static bool parse_number(const char *text, uint32_t max, uint32_t *number)
{
    uint64_t value = 0;
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (uint64_t)(*text - '0');
        if (value > max)
            return false;
    }
    *number = (uint32_t)value;
    return true;
}

/* Returns the next item of the list, which may be empty, and removes it; NULL after the last one. */
static char *next_item(char **list, char separator)
{
    char *item = *list;
    if (item == NULL)
        return NULL;
    char *end = strchr(item, separator);
    if (end != NULL)
        *end = '\0';
    *list = end == NULL ? NULL : end + 1;
    return item;
}

static bool parse_subject(struct parser *parser, struct policy_line *line, bool is_group, const char *name)
{
    line->is_group = is_group;
    if (parse_number(name, UINT32_MAX - 1, &line->id) || (*name != '\0' && parser->lookup(is_group, name, &line->id)))
        return true;
    return fail(parser, "there is no %s '%s'", is_group ? "group" : "user", name);
}

/* Applies the kernel's rule: dev_valid_name(). */
static bool parse_interface(struct parser *parser, struct policy_line *line, const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length >= sizeof line->netdev || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        strpbrk(name, "/:*") != NULL)
        return fail(parser, "'%s' is not a valid interface name", name);
    memcpy(line->netdev, name, length + 1);
    return true;
}

static bool parse_modes(struct parser *parser, struct policy_line *line, char *list)
{
    static const char *const names[SV_BROKER_MODE_COUNT] = {"generic", "native", "zerocopy"};
    for (char *item; (item = next_item(&list, ',')) != NULL;) {
        uint32_t mode = 0;
        while (mode < SV_BROKER_MODE_COUNT && strcmp(item, names[mode]) != 0)
            mode++;
        if (mode == SV_BROKER_MODE_COUNT)
            return fail(parser, "'%s' is not a mode: use generic, native or zerocopy", item);
        line->modes |= 1u << mode;
    }
    return true;
}

static bool parse_range(struct parser *parser, struct policy_line *line, char *item)
{
    char *numbers = item;
    const char *protocol = next_item(&numbers, ':');
    const char *first = numbers == NULL ? "" : next_item(&numbers, '-');
    const char *last = numbers == NULL ? first : numbers;
    uint32_t low, high;
    bool tcp = strcmp(protocol, "tcp") == 0;
    if ((!tcp && strcmp(protocol, "udp") != 0) || !parse_number(first, UINT16_MAX, &low) ||
        !parse_number(last, UINT16_MAX, &high) || low == 0 || low > high)
        return fail(parser, "ports= is any, or a list such as tcp:80,udp:5000-5999 of ports from 1 to 65535");
    if (line->range_count == POLICY_MAX_RANGES)
        return fail(parser, "a line has at most %d ranges of ports: use another one", POLICY_MAX_RANGES);
    line->range[line->range_count++] = (struct policy_range){tcp ? IPPROTO_TCP : IPPROTO_UDP, (uint16_t)low,
                                                             (uint16_t)high};
    return true;
}

static bool parse_ports(struct parser *parser, struct policy_line *line, char *list)
{
    line->any_port = strcmp(list, "any") == 0;
    if (line->any_port)
        return true;
    for (char *item; (item = next_item(&list, ',')) != NULL;)
        if (!parse_range(parser, line, item))
            return false;
    return true;
}

static bool parse_devices(struct parser *parser, struct policy_line *line, const char *number)
{
    if (parse_number(number, POLICY_MAX_DEVICES, &line->devices) && line->devices > 0)
        return true;
    return fail(parser, "devices= is a number from 1 to %d", POLICY_MAX_DEVICES);
}

/* ---- lines ---- */

static bool parse_word(struct parser *parser, struct policy_line *line, char *word)
{
    char *value = word;
    const char *key = next_item(&value, '=');
    unsigned what = strcmp(key, "user") == 0 || strcmp(key, "group") == 0 ? HAS_SUBJECT
                    : strcmp(key, "interface") == 0 ? HAS_INTERFACE : strcmp(key, "modes") == 0 ? HAS_MODES
                    : strcmp(key, "ports") == 0 ? HAS_PORTS : strcmp(key, "devices") == 0 ? HAS_DEVICES : 0;
    if (what == 0 || value == NULL)
        return fail(parser, "'%s' is unknown: a line has user= or group=, interface=, modes=, ports= and optionally "
                    "devices=", key);
    if (parser->seen_keys & what)
        return fail(parser, "'%s' appears twice", key);
    parser->seen_keys |= what;
    switch (what) {
    case HAS_SUBJECT:
        return parse_subject(parser, line, *key == 'g', value);
    case HAS_INTERFACE:
        return parse_interface(parser, line, value);
    case HAS_MODES:
        return parse_modes(parser, line, value);
    case HAS_PORTS:
        return parse_ports(parser, line, value);
    default:
        return parse_devices(parser, line, value);
    }
}

/* `text` is zero-terminated and is changed. */
static bool parse_line(struct parser *parser, char *text)
{
    static const char blanks[] = " \t";
    const unsigned wanted = HAS_SUBJECT | HAS_INTERFACE | HAS_MODES | HAS_PORTS;
    text += strspn(text, blanks);
    if (*text == '\0' || *text == '#')
        return true;
    if (parser->policy->line_count == POLICY_MAX_LINES)
        return fail(parser, "there are more than %d lines", POLICY_MAX_LINES);
    struct policy_line *line = &parser->policy->line[parser->policy->line_count];
    memset(line, 0, sizeof *line);
    line->devices = POLICY_DEFAULT_DEVICES;
    parser->seen_keys = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, blanks);
        char *next = text + length + strspn(text + length, blanks);
        text[length] = '\0';
        if (!parse_word(parser, line, text))
            return false;
        text = next;
    }
    if ((parser->seen_keys & wanted) != wanted)
        return fail(parser, "one of user= or group=, interface=, modes= and ports= is missing");
    parser->policy->line_count++;
    return true;
}

static bool parse_lines(struct parser *parser, const char *text, size_t bytes)
{
    char line[MAX_WORD];
    for (const char *at = text, *end = text + bytes; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop == NULL ? end : stop) - at);
        parser->line++;
        if (length >= sizeof line)
            return fail(parser, "it is longer than %zu bytes", sizeof line - 1);
        for (size_t i = 0; i < length; i++)
            if (at[i] != '\t' && (at[i] < ' ' || at[i] > '~'))
                return fail(parser, "it has a character that is not printable ASCII");
        memcpy(line, at, length);
        line[length] = '\0';
        if (!parse_line(parser, line))
            return false;
        at = stop == NULL ? end : stop + 1;
    }
    return true;
}

bool policy_parse(struct policy *policy, const char *text, size_t bytes, policy_lookup *lookup, char *error_text,
                  size_t error_text_bytes)
{
    struct parser parser = {.policy = policy, .lookup = lookup, .error_text = error_text,
                            .error_text_bytes = error_text_bytes};
    policy->line_count = 0;
    bool good = parse_lines(&parser, text, bytes);
    if (!good)
        policy->line_count = 0;
    return good;
}

/* ---- the file ---- */

bool policy_system_lookup(bool is_group, const char *name, uint32_t *id)
{
    const struct passwd *user = is_group ? NULL : getpwnam(name);
    const struct group *group = is_group ? getgrnam(name) : NULL;
    if (user != NULL)
        *id = user->pw_uid;
    if (group != NULL)
        *id = group->gr_gid;
    return user != NULL || group != NULL;
}

static bool is_only_writable_by_us(const struct stat *file_stat)
{
    return (file_stat->st_uid == 0 || file_stat->st_uid == geteuid()) && !(file_stat->st_mode & (S_IWGRP | S_IWOTH));
}

/* Returns the number of bytes read, at most `room`, or a negative errno. */
static ssize_t read_all(int fd, char *text, size_t room)
{
    size_t bytes = 0;
    while (bytes < room) {
        ssize_t more = read(fd, text + bytes, room - bytes);
        if (more == 0)
            break;
        if (more < 0 && errno != EINTR)
            return -errno;
        bytes += more > 0 ? (size_t)more : 0;
    }
    return (ssize_t)bytes;
}

bool policy_read(struct policy *policy, const char *path, char *error_text, size_t error_text_bytes)
{
    static char text[POLICY_MAX_BYTES + 1];
    struct stat file_stat;
    ssize_t bytes = 0;
    policy->line_count = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &file_stat) != 0 || !S_ISREG(file_stat.st_mode)) {
        snprintf(error_text, error_text_bytes, "'%s' can't be read: %s", path,
                 fd < 0 ? strerror(errno) : "it is no file");
    } else if (!is_only_writable_by_us(&file_stat)) {
        snprintf(error_text, error_text_bytes, "others can write '%s': chown root '%s' && chmod go-w '%s'", path, path,
                 path);
    } else if ((bytes = read_all(fd, text, sizeof text)) < 0 || bytes > POLICY_MAX_BYTES) {
        snprintf(error_text, error_text_bytes, "'%s' can't be read: %s", path,
                 bytes < 0 ? strerror((int)-bytes) : "it has more than 65536 bytes");
    } else {
        char reason[256];
        close(fd);
        if (policy_parse(policy, text, (size_t)bytes, policy_system_lookup, reason, sizeof reason))
            return true;
        snprintf(error_text, error_text_bytes, "%s, %s", path, reason);
        return false;
    }
    if (fd >= 0)
        close(fd);
    return false;
}

/* ---- queries ---- */

bool policy_is_valid(const struct policy *policy)
{
    if (policy->line_count > POLICY_MAX_LINES)
        return false;
    for (uint32_t i = 0; i < policy->line_count; i++) {
        const struct policy_line *line = &policy->line[i];
        if (line->range_count > POLICY_MAX_RANGES || memchr(line->netdev, '\0', sizeof line->netdev) == NULL)
            return false;
    }
    return true;
}

static bool applies_to(const struct policy_line *line, const struct policy_user *user, const char *netdev)
{
    if (netdev != NULL && strcmp(line->netdev, netdev) != 0)
        return false;
    if (!line->is_group)
        return line->id == user->uid;
    for (uint32_t i = 0; i < user->group_count; i++)
        if (line->id == user->group[i])
            return true;
    return false;
}

uint32_t policy_max_devices(const struct policy *policy, const struct policy_user *user, const char *netdev,
                            uint32_t mode)
{
    uint32_t max_devices = 0;
    for (uint32_t i = 0; i < policy->line_count; i++) {
        const struct policy_line *line = &policy->line[i];
        if (applies_to(line, user, netdev) && (line->modes & 1u << mode) && line->devices > max_devices)
            max_devices = line->devices;
    }
    return max_devices;
}

bool policy_has_interface(const struct policy *policy, const struct policy_user *user, const char *netdev)
{
    for (uint32_t i = 0; i < policy->line_count; i++)
        if (applies_to(&policy->line[i], user, netdev))
            return true;
    return false;
}

static bool has_tcp(const struct policy_line *line)
{
    for (uint32_t i = 0; i < line->range_count; i++)
        if (line->range[i].protocol == IPPROTO_TCP)
            return true;
    return line->any_port;
}

bool policy_has_tcp_port(const struct policy *policy, const struct policy_user *user)
{
    for (uint32_t i = 0; i < policy->line_count; i++)
        if (applies_to(&policy->line[i], user, NULL) && has_tcp(&policy->line[i]))
            return true;
    return false;
}

static bool covers(const struct policy_line *line, const struct policy_user *user, const struct policy_scope *scope)
{
    return (line->modes & scope->modes) != 0 && applies_to(line, user, scope->netdev);
}

bool policy_has_any_port(const struct policy *policy, const struct policy_user *user,
                         const struct policy_scope *scope)
{
    for (uint32_t i = 0; i < policy->line_count; i++)
        if (policy->line[i].any_port && covers(&policy->line[i], user, scope))
            return true;
    return false;
}

static bool has_range(const struct policy_line *line, uint8_t protocol, uint16_t port)
{
    for (uint32_t i = 0; i < line->range_count; i++)
        if (line->range[i].protocol == protocol && port >= line->range[i].first && port <= line->range[i].last)
            return true;
    return line->any_port;
}

bool policy_has_port(const struct policy *policy, const struct policy_user *user, const struct policy_scope *scope,
                     uint8_t protocol, uint16_t port)
{
    for (uint32_t i = 0; i < policy->line_count; i++)
        if (covers(&policy->line[i], user, scope) && has_range(&policy->line[i], protocol, port))
            return true;
    return false;
}
