/* SPDX-License-Identifier: Apache-2.0 */
#include "template.h"

#include <arpa/inet.h>
#include <string.h>

static uint16_t ip_checksum(const uint8_t *header)
{
    uint32_t sum = 0;
    for (int i = 0; i < 20; i += 2)
        sum += (uint32_t)header[i] << 8 | header[i + 1];
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~((sum & 0xffff) + (sum >> 16));
}

void fill_template(uint8_t *frame, unsigned length, const uint8_t to_mac[6], const uint8_t from_mac[6], uint32_t to,
                   uint32_t from, uint16_t port)
{
    uint8_t ip[20] = {0x45, 0, (uint8_t)((length - 14) >> 8), (uint8_t)(length - 14), 0, 0, 0x40, 0, 64, 17};
    uint16_t udp[4] = {htons(port), htons(port), htons((uint16_t)(length - 34)), 0};
    memset(frame, 0, length);
    memcpy(frame, to_mac, 6);
    memcpy(frame + 6, from_mac, 6);
    frame[12] = 8;
    memcpy(ip + 12, &from, 4);
    memcpy(ip + 16, &to, 4);
    uint16_t sum = ip_checksum(ip);
    ip[10] = (uint8_t)(sum >> 8);
    ip[11] = (uint8_t)sum;
    memcpy(frame + 14, ip, 20);
    memcpy(frame + 34, udp, 8);
}
