package io.rdmaraw.host.userspace;

import io.rdmaraw.net.IpAddress;

import java.util.List;

/**
 * A userspace host on a link: beside the kernel's, with a MAC address and IP addresses that the kernel does not have.
 *
 * @param mac its MAC address, 48 bits
 * @param addresses its addresses
 * @param gateways where to send what is not on the link; IPv6 routers that advertise themselves are learned too
 * @param detectDuplicates whether an address is used only after no other host has claimed it
 */
public record UserspaceHostConfig(long mac, List<UserspaceAddress> addresses, List<IpAddress> gateways,
        boolean detectDuplicates) {
    /** Checks the parts against each other. */
    public UserspaceHostConfig {
        addresses = List.copyOf(addresses);
        gateways = List.copyOf(gateways);
        if ((mac >>> 40 & 1) != 0 || mac == 0) {
            throw new IllegalArgumentException("a host's MAC address is not a group's: the first octet must be even");
        }
        for (IpAddress gateway : gateways) {
            boolean reachable = false;
            for (UserspaceAddress own : addresses) {
                reachable |= own.contains(gateway);
            }
            if (!reachable) {
                throw new IllegalArgumentException("the gateway " + gateway + " is in none of the subnets of "
                        + addresses);
            }
        }
    }
}
