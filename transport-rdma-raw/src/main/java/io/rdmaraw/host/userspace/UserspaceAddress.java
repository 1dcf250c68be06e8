package io.rdmaraw.host.userspace;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.NetworkSnapshot;

/**
 * An address that a userspace host claims on its link.
 *
 * @param address the address
 * @param prefixLength prefix length of the subnet, out of 32 or 128 bits
 */
public record UserspaceAddress(IpAddress address, int prefixLength) {
    /** Checks that the address is a valid host address. */
    public UserspaceAddress {
        int bits = address.isIpv4() ? Integer.SIZE : 2 * Long.SIZE;
        if (prefixLength < 1 || prefixLength > bits) {
            throw new IllegalArgumentException("a prefix of " + address + " has 1 to " + bits + " bits, not "
                    + prefixLength);
        }
        if (address.isAny() || address.isLoopback() || address.isMulticast() || address.equals(IpAddress.BROADCAST)) {
            throw new IllegalArgumentException(address + " cannot be the address of a host on a link");
        }
    }

    /**
     * Parses an address with its prefix length, such as {@code 10.0.0.5/24}.
     *
     * @throws IllegalArgumentException if the text has another form
     */
    public static UserspaceAddress parse(String cidr) {
        int slash = cidr.indexOf('/');
        if (slash < 0) {
            throw new IllegalArgumentException("\"" + cidr + "\" lacks the prefix length, as in 10.0.0.5/24");
        }
        return new UserspaceAddress(IpAddress.parse(cidr.substring(0, slash)),
                Integer.parseInt(cidr.substring(slash + 1)));
    }

    /** Returns the link-local address derived from a MAC address (RFC 4291 appendix A, RFC 4862 section 5.3). */
    static UserspaceAddress linkLocal(long mac) {
        long upper = mac >>> 24 ^ 0x020000;
        return new UserspaceAddress(new IpAddress(0xfe80L << 48, upper << 40 | 0xfffeL << 24 | mac & 0xffffff), 64);
    }

    /** Returns whether another address is on the same subnet. Link-local IPv6 addresses always are. */
    boolean contains(IpAddress other) {
        return other.version() == address.version()
                && NetworkSnapshot.samePrefix(address, other, prefixLength)
                || other.isLinkLocal() && !address.isIpv4();
    }

    boolean isLinkLocal() {
        return address.isLinkLocal();
    }
}
