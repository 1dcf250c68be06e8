package io.rdmaraw.host.userspace;

import io.rdmaraw.net.IpAddress;

import java.util.List;

/**
 * Configuration of a userspace host. It is attached to a link in addition to the kernel's host, and the kernel does not
 * have its MAC and IP addresses.
 *
 * @param mac its MAC address, 48 bits
 * @param addresses its IP addresses
 * @param gateways next hops for destinations that are not on the link; IPv6 routers are also learned from
 *     advertisements
 * @param detectDuplicates whether to check that no other host has an address before it is used
 */
public record UserspaceHostConfig(long mac, List<UserspaceAddress> addresses, List<IpAddress> gateways,
        boolean detectDuplicates) {
    /** Checks the consistency of the configuration. */
    public UserspaceHostConfig {
        addresses = List.copyOf(addresses);
        gateways = List.copyOf(gateways);
        if ((mac >>> 40 & 1) != 0 || mac == 0) {
            throw new IllegalArgumentException("a host cannot have a multicast MAC address: the first octet must be"
                    + " even");
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
