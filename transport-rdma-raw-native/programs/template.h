/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAMS_TEMPLATE_H
#define PROGRAMS_TEMPLATE_H

#include <stdint.h>

/*
 * Ethernet, IPv4, UDP without a checksum, from and to one port: an echoer may swap the ports or leave them. Addresses in
 * network order.
 */
void fill_template(uint8_t *frame, unsigned length, const uint8_t to_mac[6], const uint8_t from_mac[6], uint32_t to,
                   uint32_t from, uint16_t port);

#endif
