/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAMS_TEMPLATE_H
#define PROGRAMS_TEMPLATE_H

#include <stdint.h>

/*
 * Fills in Ethernet, IPv4 and UDP without a checksum. Both ports are the same, so an echoer need not swap them.
 * Addresses are in network byte order.
 */
void fill_template(uint8_t *frame, unsigned length, const uint8_t to_mac[6], const uint8_t from_mac[6], uint32_t to,
                   uint32_t from, uint16_t port);

#endif
