/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_TEST_DESCRIBED_BOND_H
#define SV_TEST_DESCRIBED_BOND_H

/*
 * A bond in the answers of netlink only, for kernels without bonding: a veth stands for the bond, others for its legs.
 * The kernel does not copy the program of the bond to the legs, so they send but receive nothing.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { DESCRIBED_LEGS = 10 };

struct described_leg {
    char netdev[16];
    unsigned ifindex;
    _Atomic bool is_active;
    _Atomic uint8_t actor_state;    /* IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE, 0: not described */
};

struct described_bond {
    unsigned ifindex;               /* 0: nothing is described */
    _Atomic uint8_t mode;
    _Atomic uint8_t all_legs_receive;
    _Atomic uint8_t hash_policy;
    _Atomic unsigned leg_count;
    struct described_leg leg[DESCRIBED_LEGS];
    _Atomic int broken;             /* the next list of legs ends early with this error, or 0 */
};

extern struct described_bond described;

/* Describes the interface as a bond without legs and with policy layer3+4 from now on, until nothing_described(). */
void describe(const char *netdev, uint8_t mode);
void describe_leg(const char *netdev, bool is_active);
void nothing_described(void);

#endif
