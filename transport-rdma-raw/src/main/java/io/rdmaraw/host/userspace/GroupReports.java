package io.rdmaraw.host.userspace;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.GroupMessage;
import io.rdmaraw.wire.IcmpHeader;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;
import io.rdmaraw.ffi.NetworkOrder;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.function.Function;

/** Creates and sends IGMP and MLD reports. */
final class GroupReports {
    /**
     * A record of a report about one group.
     *
     * @param type record type, a constant of {@link GroupMessage}
     */
    record Entry(IpAddress group, int type, Collection<IpAddress> sources) {
    }

    /** RFC 3376 section 4: internetwork control. */
    private static final int TYPE_OF_SERVICE = 0xc0;
    /** RFC 2113: the router alert option of four bytes, which makes routers examine the packet. */
    private static final int ROUTER_ALERT = 0x9404_0000;
    private static final int IPV4_HEADER_BYTES = Ipv4Header.MIN_LENGTH_BYTES + Integer.BYTES;
    /** RFC 2711: next header, length, the router alert option with value 0, and two bytes of padding. */
    private static final long HOP_BY_HOP_ROUTER_ALERT = (long) IpProtocol.ICMPV6 << 56 | 0x0502_0000_0100L;
    private static final int HOP_BY_HOP_BYTES = 8;
    private static final IpAddress V3_ROUTERS = IpAddress.parse("224.0.0.22");
    private static final IpAddress MLD_V2_ROUTERS = IpAddress.parse("ff02::16");
    private static final IpAddress ALL_ROUTERS_IPV4 = IpAddress.parse("224.0.0.2");
    private static final IpAddress ALL_ROUTERS_IPV6 = IpAddress.parse("ff02::2");

    private final long mac;
    private final int mtuBytes;
    private final ControlOutput output;
    private final Function<Boolean, IpAddress> source;

    /**
     * @param source returns the source address of reports for IPv4 (true) or IPv6 (false); may return the unspecified
     *     address
     */
    GroupReports(long mac, int mtuBytes, ControlOutput output, Function<Boolean, IpAddress> source) {
        this.mac = mac;
        this.mtuBytes = mtuBytes;
        this.output = output;
        this.source = source;
    }

    /** Sends records in reports of the newest version, in several packets if necessary. */
    void send(List<Entry> entries, boolean ipv4) {
        int headers = (ipv4 ? IPV4_HEADER_BYTES : Ipv6Header.LENGTH_BYTES + HOP_BY_HOP_BYTES)
                + GroupMessage.REPORT_HEADER_BYTES;
        int roomBytes = mtuBytes - headers;
        List<Entry> batch = new ArrayList<>();
        int bytes = 0;
        for (Entry entry : split(entries, ipv4, roomBytes)) {
            int more = GroupMessage.recordBytes(entry.sources().size(), ipv4);
            if (bytes + more > roomBytes) {
                sendOne(batch, ipv4);
                batch.clear();
                bytes = 0;
            }
            batch.add(entry);
            bytes += more;
        }
        if (!batch.isEmpty()) {
            sendOne(batch, ipv4);
        }
    }

    /**
     * Splits records that are longer than a packet. Records of excluded sources are truncated instead (RFC 3376 section
     * 4.2.16).
     */
    private static List<Entry> split(List<Entry> entries, boolean ipv4, int roomBytes) {
        int perEntry = 0;
        while (GroupMessage.recordBytes(perEntry + 1, ipv4) <= roomBytes) {
            perEntry++;
        }
        List<Entry> parts = new ArrayList<>();
        for (Entry entry : entries) {
            List<IpAddress> rest = List.copyOf(entry.sources());
            boolean truncated = entry.type() == GroupMessage.MODE_IS_EXCLUDE
                    || entry.type() == GroupMessage.CHANGE_TO_EXCLUDE;
            parts.add(new Entry(entry.group(), entry.type(), rest.subList(0, Math.min(perEntry, rest.size()))));
            for (int from = perEntry; !truncated && from < rest.size(); from += perEntry) {
                parts.add(new Entry(entry.group(), entry.type(),
                        rest.subList(from, Math.min(from + perEntry, rest.size()))));
            }
        }
        return parts;
    }

    private void sendOne(List<Entry> entries, boolean ipv4) {
        long frame = output.allocate();
        if (frame == 0) {
            return;
        }
        long message = messageOf(frame, ipv4);
        GroupMessage.writeReport(message, entries.size(), ipv4);
        long at = message + GroupMessage.REPORT_HEADER_BYTES;
        for (Entry entry : entries) {
            at = put(GroupMessage.writeRecord(at, entry.type(), entry.sources().size()), entry.group());
            for (Iterator<IpAddress> sources = entry.sources().iterator(); sources.hasNext();) {
                at = put(at, sources.next());
            }
        }
        finishAndSend(frame, message, (int) (at - message), ipv4 ? V3_ROUTERS : MLD_V2_ROUTERS);
    }

    /** Sends a report of the older version for a group that is joined. */
    void sendOlderReport(IpAddress group) {
        sendOlder(group.isIpv4() ? GroupMessage.IGMP_V2_REPORT : GroupMessage.MLD_V1_REPORT, group, group);
    }

    /** Sends a message of the older version for a group that was left. */
    void sendOlderLeave(IpAddress group) {
        boolean ipv4 = group.isIpv4();
        sendOlder(ipv4 ? GroupMessage.IGMP_V2_LEAVE : GroupMessage.MLD_V1_DONE, group,
                ipv4 ? ALL_ROUTERS_IPV4 : ALL_ROUTERS_IPV6);
    }

    private void sendOlder(int type, IpAddress group, IpAddress destination) {
        long frame = output.allocate();
        if (frame == 0) {
            return;
        }
        boolean ipv4 = group.isIpv4();
        long message = messageOf(frame, ipv4);
        int lengthBytes = GroupMessage.writeLegacy(message, type, ipv4);
        put(GroupMessage.groupFieldAddress(message, ipv4), group);
        finishAndSend(frame, message, lengthBytes, destination);
    }

    private static long messageOf(long frame, boolean ipv4) {
        return frame + EthernetHeader.LENGTH_BYTES
                + (ipv4 ? IPV4_HEADER_BYTES : Ipv6Header.LENGTH_BYTES + HOP_BY_HOP_BYTES);
    }

    private static long put(long at, IpAddress address) {
        if (address.isIpv4()) {
            NetworkOrder.putInt(at, address.ipv4());
            return at + Integer.BYTES;
        }
        NetworkOrder.putLong(at, address.high());
        NetworkOrder.putLong(at + Long.BYTES, address.low());
        return at + 2 * Long.BYTES;
    }

    private void finishAndSend(long frame, long message, int lengthBytes, IpAddress destination) {
        boolean ipv4 = destination.isIpv4();
        IpAddress from = source.apply(ipv4);
        long ip = frame + EthernetHeader.LENGTH_BYTES;
        EthernetHeader.write(frame, ipv4 ? EthernetHeader.multicastOfIpv4(destination.ipv4())
                : EthernetHeader.multicastOfIpv6(destination.low()), mac, ipv4 ? EtherType.IPV4 : EtherType.IPV6);
        if (ipv4) {
            IcmpHeader.updateChecksum(message, lengthBytes);
            Ipv4Header.write(ip, TYPE_OF_SERVICE, IPV4_HEADER_BYTES + lengthBytes, 0, Ipv4Header.DONT_FRAGMENT, 1,
                    IpProtocol.IGMP, from.ipv4(), destination.ipv4());
            NativeMemory.putByte(ip, (byte) (0x40 | IPV4_HEADER_BYTES / Integer.BYTES));
            NetworkOrder.putInt(ip + Ipv4Header.MIN_LENGTH_BYTES, ROUTER_ALERT);
            Ipv4Header.updateChecksum(ip, IPV4_HEADER_BYTES);
        } else {
            IcmpHeader.updateChecksum(message, lengthBytes, InternetChecksum.pseudoHeaderIpv6(from.high(), from.low(),
                    destination.high(), destination.low(), IpProtocol.ICMPV6, lengthBytes));
            Ipv6Header.writeFixed(ip, 0, 0, HOP_BY_HOP_BYTES + lengthBytes, IpProtocol.HOP_BY_HOP, 1);
            Ipv6Header.setSource(ip, from.high(), from.low());
            Ipv6Header.setDestination(ip, destination.high(), destination.low());
            NetworkOrder.putLong(ip + Ipv6Header.LENGTH_BYTES, HOP_BY_HOP_ROUTER_ALERT);
        }
        output.send((int) (message - frame) + lengthBytes);
    }
}
