package io.rdmaraw.net;

/**
 * An address of an interface.
 *
 * @param linkIndex the interface
 * @param address the address
 * @param prefixLength bits of the subnet, of 32 or 128
 * @param scope {@code RT_SCOPE_}: 0 global, 253 link, 254 host
 * @param flags {@code IFA_F_} flags of {@code <linux/if_addr.h>}
 */
public record LocalAddress(int linkIndex, IpAddress address, int prefixLength, int scope, int flags) {
    private static final int IFA_F_DEPRECATED = 0x20;
    private static final int IFA_F_TENTATIVE = 0x40;
    private static final int IFA_F_DADFAILED = 0x08;
    private static final int RT_SCOPE_LINK = 253;

    /** Returns whether it may be sent from: duplicate address detection is over and found none (RFC 4862, 5.4). */
    public boolean isUsable() {
        return (flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) == 0;
    }

    /** Returns whether new connections should use another (RFC 6724 rule 3). */
    public boolean isDeprecated() {
        return (flags & IFA_F_DEPRECATED) != 0;
    }

    /** Returns whether it is for its link only. */
    public boolean isLinkLocal() {
        return scope == RT_SCOPE_LINK;
    }
}
