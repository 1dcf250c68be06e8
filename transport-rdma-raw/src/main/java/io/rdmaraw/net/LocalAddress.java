package io.rdmaraw.net;

/**
 * An address of a network interface.
 *
 * @param linkIndex    index of the interface
 * @param address      the address
 * @param prefixLength prefix length of the subnet, up to 32 or 128
 * @param scope        {@code RT_SCOPE_} value: 0 global, 253 link, 254 host
 * @param flags        {@code IFA_F_} flags of {@code <linux/if_addr.h>}
 */
public record LocalAddress(int linkIndex, IpAddress address, int prefixLength, int scope, int flags) {
    /** For IPv6 addresses, the same bit is {@code IFA_F_TEMPORARY}. */
    private static final int IFA_F_SECONDARY = 0x01;
    private static final int IFA_F_DEPRECATED = 0x20;
    private static final int IFA_F_TENTATIVE = 0x40;
    private static final int IFA_F_DADFAILED = 0x08;
    private static final int RT_SCOPE_LINK = 253;

    /**
     * Returns whether the address may be used: duplicate address detection has finished and found no duplicate
     * (RFC 4862 section 5.4).
     */
    public boolean isUsable() {
        return (flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) == 0;
    }

    /** Returns whether new connections should use another address (RFC 6724 rule 3). */
    public boolean isDeprecated() {
        return (flags & IFA_F_DEPRECATED) != 0;
    }

    /**
     * Returns whether this is a secondary IPv4 address of its subnet, which the kernel does not select as a
     * source.
     */
    boolean isSecondary() {
        return (flags & IFA_F_SECONDARY) != 0;
    }

    /** Returns whether this is a temporary IPv6 address (RFC 8981). */
    boolean isTemporary() {
        return (flags & IFA_F_SECONDARY) != 0;
    }

    /** Returns whether the address has link scope. */
    public boolean isLinkLocal() {
        return scope == RT_SCOPE_LINK;
    }
}
