package io.rdmaraw.net.rtnetlink;

import io.rdmaraw.ffi.NativeSocket;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.LocalAddress;
import io.rdmaraw.net.Neighbor;
import io.rdmaraw.net.Route;
import io.rdmaraw.netlink.NetlinkReader;
import io.rdmaraw.netlink.NetlinkWriter;

import java.util.ArrayList;
import java.util.List;

/**
 * Decodes rtnetlink messages ({@code <linux/rtnetlink.h>}, {@code <linux/if_link.h>},
 * {@code <linux/if_addr.h>}, {@code
 * <linux/neighbour.h>}). Each method decodes the current message of a reader. It returns null if the message
 * does not concern IP or is incomplete.
 */
final class RtnetlinkDecoder {
    static final int IFINFOMSG_BYTES = 16;
    static final int IFADDRMSG_BYTES = 8;
    static final int RTMSG_BYTES = 12;
    static final int NDMSG_BYTES = 12;
    /** {@code struct fib_rule_hdr}. */
    static final int RULE_BYTES = 12;
    static final int NDA_DST = 1;
    static final int RTA_DST = 1;
    static final int RTA_SRC = 2;
    private static final int IFLA_ADDRESS = 1;
    private static final int IFLA_IFNAME = 3;
    private static final int IFLA_MTU = 4;
    private static final int IFA_ADDRESS = 1;
    private static final int IFA_LOCAL = 2;
    private static final int IFA_FLAGS = 8;
    static final int RTA_OIF = 4;
    private static final int RTA_GATEWAY = 5;
    private static final int RTA_PRIORITY = 6;
    private static final int RTA_PREFSRC = 7;
    private static final int RTA_METRICS = 8;
    private static final int RTA_MULTIPATH = 9;
    private static final int RTA_TABLE = 15;
    static final int RTA_MARK = 16;
    private static final int RTA_VIA = 18;
    private static final int RTA_PREF = 20;
    private static final int RTM_F_CLONED = 0x200;
    static final int NETCONFMSG_BYTES = 4;
    private static final int NETCONFA_IFINDEX = 1;
    private static final int NETCONFA_RP_FILTER = 3;
    private static final int RTAX_MTU = 2;
    private static final int RTAX_ADVMSS = 8;
    private static final int RTNEXTHOP_BYTES = 8;
    private static final int NDA_LLADDR = 2;
    private static final int FIB_RULE_INVERT = 2;
    private static final int FRA_PRIORITY = 6;
    private static final int FRA_SUPPRESS_PREFIXLEN = 14;
    private static final int FRA_TABLE = 15;
    private static final int FRA_PROTOCOL = 21;

    private RtnetlinkDecoder() {
    }

    private static boolean isIp(int family) {
        return family == NativeSocket.AF_INET || family == NativeSocket.AF_INET6;
    }

    /** Returns the IP address in an attribute, or null if it contains none. */
    private static IpAddress address(NetlinkReader attribute) {
        return address(attribute, 0);
    }

    /** Returns the address in a {@code struct rtvia}, which consists of a family and the address. */
    private static IpAddress via(NetlinkReader attribute) {
        return address(attribute, Short.BYTES);
    }

    private static IpAddress address(NetlinkReader attribute, int offset) {
        return switch (attribute.valueBytes() - offset) {
            case Integer.BYTES -> IpAddress.ipv4(attribute.networkIntAt(offset));
            case 2 * Long.BYTES -> new IpAddress(attribute.networkLongAt(offset),
                    attribute.networkLongAt(offset + Long.BYTES));
            default -> null;
        };
    }

    /** Adds an IP address to a message. */
    static NetlinkWriter addAddress(NetlinkWriter message, int type, IpAddress address) {
        return address.isIpv4() ? message.ipv4(type, address.ipv4())
                : message.ipv6(type, address.high(), address.low());
    }

    /**
     * Returns the link of a message. Messages of a family other than AF_UNSPEC describe the link's role in a
     * protocol, for example as a bridge port, and are ignored.
     */
    static Link link(NetlinkReader message) {
        if (!message.startAttributes(IFINFOMSG_BYTES) || message.fixedByte(0) != NativeSocket.AF_UNSPEC) {
            return null;
        }
        int index = message.fixedInt(4);
        int flags = message.fixedInt(8);
        String name = "";
        long mac = 0;
        int mtuBytes = 0;
        while (message.nextAttribute()) {
            switch (message.attributeType()) {
                case IFLA_ADDRESS -> mac = message.macOr(0);
                case IFLA_IFNAME -> name = message.textValue();
                case IFLA_MTU -> mtuBytes = message.intValue();
                default -> {
                    // Other attributes are not needed.
                }
            }
        }
        return new Link(index, name, mac, mtuBytes, flags);
    }

    static LocalAddress localAddress(NetlinkReader message) {
        if (!message.startAttributes(IFADDRMSG_BYTES) || !isIp(message.fixedByte(0))) {
            return null;
        }
        int flags = message.fixedByte(2);
        IpAddress address = null;
        IpAddress local = null;
        while (message.nextAttribute()) {
            switch (message.attributeType()) {
                case IFA_ADDRESS -> address = address(message);
                case IFA_LOCAL -> local = address(message);
                case IFA_FLAGS -> flags = message.intValue();
                default -> {
                    // Other attributes are not needed.
                }
            }
        }
        // On a point-to-point link, IFA_ADDRESS is the peer's address. On other links, IPv6 messages have no
        // IFA_LOCAL.
        IpAddress own = local != null ? local : address;
        return own == null ? null
                : new LocalAddress(message.fixedInt(4), own, message.fixedByte(1), message.fixedByte(3), flags);
    }

    static Route route(NetlinkReader message) {
        if (!message.startAttributes(RTMSG_BYTES) || !isIp(message.fixedByte(0))) {
            return null;
        }
        int preference = 0;
        IpAddress destination = message.fixedByte(0) == NativeSocket.AF_INET ? IpAddress.ANY_IPV4 : IpAddress.ANY_IPV6;
        IpAddress source = null;
        IpAddress gateway = null;
        int linkIndex = 0;
        long metric = 0;
        int mtuBytes = 0;
        int advertisedMssBytes = 0;
        int table = message.fixedByte(4);
        List<Route.NextHop> nextHops = new ArrayList<>();
        while (message.nextAttribute()) {
            switch (message.attributeType()) {
                case RTA_DST -> destination = address(message);
                case RTA_PREFSRC -> source = address(message);
                case RTA_GATEWAY -> gateway = address(message);
                case RTA_VIA -> gateway = via(message);
                case RTA_OIF -> linkIndex = message.intValue();
                case RTA_PRIORITY -> metric = Integer.toUnsignedLong(message.intValue());
                case RTA_TABLE -> table = message.intValue();
                case RTA_METRICS -> {
                    mtuBytes = routeMetric(message.nested(0, message.valueBytes()), RTAX_MTU);
                    advertisedMssBytes = routeMetric(message.nested(0, message.valueBytes()), RTAX_ADVMSS);
                }
                case RTA_PREF -> preference = message.byteValue();
                case RTA_MULTIPATH -> addNextHops(message, nextHops);
                default -> {
                    // Other attributes are not needed.
                }
            }
        }
        if (linkIndex != 0) {
            nextHops.add(new Route.NextHop(linkIndex, gateway));
        }
        return destination == null ? null : new Route(destination, message.fixedByte(1), table, message.fixedByte(7),
                metric, source, mtuBytes, advertisedMssBytes, List.copyOf(nextHops),
                new Route.Origin(message.fixedByte(3), message.fixedByte(2), message.fixedByte(5),
                        message.fixedByte(6), preference));
    }

    /** Returns whether a route is a cached exception, which is not part of any table. */
    static boolean isCached(NetlinkReader message) {
        return (message.fixedInt(8) & RTM_F_CLONED) != 0;
    }

    /** The {@code rp_filter} setting of a link or of all links. */
    record ReversePathFilter(int linkIndex, int mode) {
    }

    /** Returns the setting in a message, or null if the message is about another setting or IP version. */
    static ReversePathFilter reversePathFilter(NetlinkReader message) {
        if (!message.startAttributes(NETCONFMSG_BYTES) || message.fixedByte(0) != NativeSocket.AF_INET) {
            return null;
        }
        int linkIndex = 0;
        int mode = -1;
        while (message.nextAttribute()) {
            if (message.attributeType() == NETCONFA_IFINDEX) {
                linkIndex = message.intValue();
            } else if (message.attributeType() == NETCONFA_RP_FILTER) {
                mode = message.intValue();
            }
        }
        return mode < 0 ? null : new ReversePathFilter(linkIndex, mode);
    }

    private static int routeMetric(NetlinkReader metrics, int type) {
        while (metrics.nextAttribute()) {
            if (metrics.attributeType() == type) {
                return metrics.intValue();
            }
        }
        return 0;
    }

    /** Parses {@code struct rtnexthop}: length, flags, weight, interface, attributes. */
    private static void addNextHops(NetlinkReader message, List<Route.NextHop> nextHops) {
        int offset = 0;
        int lengthBytes = message.shortAt(offset);
        while (lengthBytes >= RTNEXTHOP_BYTES && offset + lengthBytes <= message.valueBytes()) {
            IpAddress gateway = null;
            NetlinkReader attributes = message.nested(offset + RTNEXTHOP_BYTES, lengthBytes - RTNEXTHOP_BYTES);
            while (attributes.nextAttribute()) {
                if (attributes.attributeType() == RTA_GATEWAY) {
                    gateway = address(attributes);
                } else if (attributes.attributeType() == RTA_VIA) {
                    gateway = via(attributes);
                }
            }
            nextHops.add(new Route.NextHop(message.intAt(offset + 4), gateway));
            offset += lengthBytes + 3 & ~3;
            lengthBytes = message.shortAt(offset);
        }
    }

    static PolicyRule rule(NetlinkReader message) {
        if (!message.startAttributes(RULE_BYTES) || !isIp(message.fixedByte(0))) {
            return null;
        }
        int priority = 0;
        int table = message.fixedByte(4);
        boolean matchesAllPackets = message.fixedByte(1) == 0 && message.fixedByte(2) == 0 && message.fixedByte(3) == 0
                && (message.fixedInt(8) & FIB_RULE_INVERT) == 0;
        int attributes = message.fixedInt(0);
        while (message.nextAttribute()) {
            attributes = attributes * 31 + message.valueHash();
            switch (message.attributeType()) {
                case FRA_PRIORITY -> priority = message.intValue();
                case FRA_TABLE -> table = message.intValue();
                case FRA_SUPPRESS_PREFIXLEN -> matchesAllPackets &= message.intValue() == -1;
                case FRA_PROTOCOL -> {
                    // Identifies the creator of the rule, which does not matter.
                }
                default -> matchesAllPackets = false;
            }
        }
        return new PolicyRule(message.fixedByte(0), priority, table, message.fixedByte(7), matchesAllPackets,
                attributes);
    }

    static Neighbor neighbor(NetlinkReader message) {
        if (!message.startAttributes(NDMSG_BYTES) || !isIp(message.fixedByte(0))) {
            return null;
        }
        IpAddress address = null;
        long mac = Neighbor.NO_MAC;
        while (message.nextAttribute()) {
            if (message.attributeType() == NDA_DST) {
                address = address(message);
            } else if (message.attributeType() == NDA_LLADDR) {
                mac = message.macOr(Neighbor.NO_MAC);
            }
        }
        return address == null ? null : new Neighbor(message.fixedInt(4), address, mac, message.fixedShort(8));
    }
}
