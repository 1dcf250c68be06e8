/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_BOND_H
#define SV_BOND_H

#include "bpf_layout.h"

#include <errno.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The legs of a bond: the interfaces below it. A bond has no network card. In the modes that need its driver the port
 * opens AF_XDP on the legs. The kernel copies an XDP program of the bond to each leg, also to one that joins later. But
 * a socket sends through its own leg only, so the library chooses the leg of each frame.
 */
struct sv_bond_leg {
    int ifindex;
    char netdev[IFNAMSIZ];
    bool sends;                     /* the kernel sends by this leg, if it chooses it for a frame's flow */
    bool receives;                  /* the kernel receives frames of the bond by this leg */
    uint32_t pause_millis;          /* pause before the next attempt to open it, 0: no attempt has failed */
    uint64_t open_at_millis;        /* time of that attempt */
};

enum { SV_BOND_MAX_LEGS = 32, SV_BOND_OTHER_MODE = ESTALE };

struct sv_bond {
    int ifindex;                    /* index of the bond; 0: the port is not that of a bond */
    uint32_t mode;                  /* BOND_MODE_* of linux/if_bonding.h */
    bool has_active_leg;            /* mode active-backup: at most one leg sends */
    bool all_legs_receive;          /* option all_slaves_active */
    uint32_t hash_policy;           /* option xmit_hash_policy: BOND_XMIT_POLICY_* of linux/if_bonding.h */
    uint32_t leg_count;
    struct sv_bond_leg leg[SV_BOND_MAX_LEGS];
};

/*
 * Finds the bond and the legs of an interface. Stores its ifindex 0 if the interface is no bond. Returns 0 or an errno
 * with an explanation: the bond is in a mode without XDP, or has no legs or too many.
 */
int sv_bond_find(const char *netdev, int ifindex, struct sv_bond *bond);
/*
 * Reads the options, the legs and their states again. Returns 0 or an errno; then the bond is unchanged. If its mode
 * has changed, it returns SV_BOND_OTHER_MODE.
 */
int sv_bond_read_again(struct sv_bond *bond);
/*
 * Records a failed attempt to open the leg. The pause before the next one doubles each time, up to a minute. A leg
 * that never opens costs the receive thread little time. The pause is reset when the leg rejoins the bond.
 */
void sv_bond_leg_has_failed(struct sv_bond_leg *leg, uint64_t now_millis);
/* Returns the leg, or NULL. */
const struct sv_bond_leg *sv_bond_find_leg(const struct sv_bond *bond, int ifindex);

/*
 * Returns a number that is the same for all frames of a flow. The policy is the bond's and decides which headers make a
 * flow. The kernel may choose another leg for the same flow. For encapsulated frames, it hashes the outer headers.
 */
uint32_t sv_bond_hash_flow(uint32_t policy, const uint8_t *frame, uint32_t length);

/* Chooses one of the legs in a set of bits, which is not empty. Returns its number. */
static inline uint32_t sv_bond_choose_leg(uint32_t legs, uint32_t hash)
{
    for (uint32_t skipped = hash % (uint32_t)__builtin_popcount(legs); skipped > 0; skipped--)
        legs &= legs - 1;
    return (uint32_t)__builtin_ctz(legs);
}

#endif
