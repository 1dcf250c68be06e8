package io.rdmaraw.net.netlink;

import io.rdmaraw.ffi.NativeSocket;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.LocalAddress;
import io.rdmaraw.net.Neighbor;
import io.rdmaraw.net.Route;

import java.util.ArrayList;
import java.util.List;

/**
 * What rtnetlink messages say ({@code <linux/rtnetlink.h>, <linux/if_link.h>, <linux/if_addr.h>,
 * <linux/neighbour.h>}). Each method reads the message that the reader stands on, and returns null for one that is not
 * about IP or not complete.
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
    private static final int RTA_OIF = 4;
    private static final int RTA_GATEWAY = 5;
    private static final int RTA_PRIORITY = 6;
    private static final int RTA_PREFSRC = 7;
    private static final int RTA_METRICS = 8;
    private static final int RTA_MULTIPATH = 9;
    private static final int RTA_TABLE = 15;
    static final int RTA_MARK = 16;
    private static final int RTA_VIA = 18;
    private static final int RTAX_MTU = 2;
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

    /** Another family than AF_UNSPEC tells what the interface is to a protocol, a bridge's port for instance. */
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
                case IFLA_ADDRESS -> mac = Math.max(0, message.macValue());
                case IFLA_IFNAME -> name = message.textValue();
                case IFLA_MTU -> mtuBytes = message.intValue();
                default -> {
                    // Of no use here.
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
                case IFA_ADDRESS -> address = message.addressValue();
                case IFA_LOCAL -> local = message.addressValue();
                case IFA_FLAGS -> flags = message.intValue();
                default -> {
                    // Of no use here.
                }
            }
        }
        // On a point-to-point link IFA_ADDRESS is the peer's; IPv6 has no IFA_LOCAL elsewhere.
        IpAddress own = local != null ? local : address;
        return own == null ? null
                : new LocalAddress(message.fixedInt(4), own, message.fixedByte(1), message.fixedByte(3), flags);
    }

    static Route route(NetlinkReader message) {
        if (!message.startAttributes(RTMSG_BYTES) || !isIp(message.fixedByte(0))) {
            return null;
        }
        IpAddress destination = message.fixedByte(0) == NativeSocket.AF_INET ? IpAddress.ANY_IPV4 : IpAddress.ANY_IPV6;
        IpAddress source = null;
        IpAddress gateway = null;
        int linkIndex = 0;
        long metric = 0;
        int mtuBytes = 0;
        int table = message.fixedByte(4);
        List<Route.NextHop> nextHops = new ArrayList<>();
        while (message.nextAttribute()) {
            switch (message.attributeType()) {
                case RTA_DST -> destination = message.addressValue();
                case RTA_PREFSRC -> source = message.addressValue();
                case RTA_GATEWAY -> gateway = message.addressValue();
                case RTA_VIA -> gateway = message.viaValue();
                case RTA_OIF -> linkIndex = message.intValue();
                case RTA_PRIORITY -> metric = Integer.toUnsignedLong(message.intValue());
                case RTA_TABLE -> table = message.intValue();
                case RTA_METRICS -> mtuBytes = mtu(message.nested(0, message.valueBytes()));
                case RTA_MULTIPATH -> addNextHops(message, nextHops);
                default -> {
                    // Of no use here.
                }
            }
        }
        if (linkIndex != 0) {
            nextHops.add(new Route.NextHop(linkIndex, gateway));
        }
        return destination == null ? null : new Route(destination, message.fixedByte(1), table, message.fixedByte(7),
                metric, source, mtuBytes, List.copyOf(nextHops));
    }

    private static int mtu(NetlinkReader metrics) {
        while (metrics.nextAttribute()) {
            if (metrics.attributeType() == RTAX_MTU) {
                return metrics.intValue();
            }
        }
        return 0;
    }

    /** {@code struct rtnexthop}: length, flags, weight, interface, attributes. */
    private static void addNextHops(NetlinkReader message, List<Route.NextHop> nextHops) {
        int offset = 0;
        int lengthBytes = message.shortAt(offset);
        while (lengthBytes >= RTNEXTHOP_BYTES && offset + lengthBytes <= message.valueBytes()) {
            IpAddress gateway = null;
            NetlinkReader attributes = message.nested(offset + RTNEXTHOP_BYTES, lengthBytes - RTNEXTHOP_BYTES);
            while (attributes.nextAttribute()) {
                if (attributes.attributeType() == RTA_GATEWAY) {
                    gateway = attributes.addressValue();
                } else if (attributes.attributeType() == RTA_VIA) {
                    gateway = attributes.viaValue();
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
        boolean plain = message.fixedByte(1) == 0 && message.fixedByte(2) == 0 && message.fixedByte(3) == 0
                && (message.fixedInt(8) & FIB_RULE_INVERT) == 0;
        int attributes = message.fixedInt(0);
        while (message.nextAttribute()) {
            attributes = attributes * 31 + message.valueHash();
            switch (message.attributeType()) {
                case FRA_PRIORITY -> priority = message.intValue();
                case FRA_TABLE -> table = message.intValue();
                case FRA_SUPPRESS_PREFIXLEN -> plain &= message.intValue() == -1;
                case FRA_PROTOCOL -> {
                    // Who has made the rule.
                }
                default -> plain = false;
            }
        }
        return new PolicyRule(message.fixedByte(0), priority, table, message.fixedByte(7), plain, attributes);
    }

    static Neighbor neighbor(NetlinkReader message) {
        if (!message.startAttributes(NDMSG_BYTES) || !isIp(message.fixedByte(0))) {
            return null;
        }
        IpAddress address = null;
        long mac = Neighbor.NO_MAC;
        while (message.nextAttribute()) {
            if (message.attributeType() == NDA_DST) {
                address = message.addressValue();
            } else if (message.attributeType() == NDA_LLADDR) {
                mac = message.macValue();
            }
        }
        return address == null ? null : new Neighbor(message.fixedInt(4), address, mac, message.fixedShort(8));
    }
}
