package io.rdmaraw.wire;

/** Protocol numbers of IPv4, also used as next-header values of IPv6. */
public final class IpProtocol {
    /** IPv6 hop-by-hop options. */
    public static final int HOP_BY_HOP = 0;
    public static final int ICMP = 1;
    public static final int IGMP = 2;
    public static final int TCP = 6;
    public static final int UDP = 17;
    /** IPv6 routing header. */
    public static final int ROUTING = 43;
    /** IPv6 fragment header. */
    public static final int FRAGMENT = 44;
    public static final int ICMPV6 = 58;
    /** Nothing follows this header. */
    public static final int NO_NEXT_HEADER = 59;
    /** IPv6 destination options. */
    public static final int DESTINATION_OPTIONS = 60;

    private IpProtocol() {
    }
}
