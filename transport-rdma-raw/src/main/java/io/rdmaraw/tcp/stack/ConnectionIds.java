package io.rdmaraw.tcp.stack;

import io.netty.channel.ChannelId;
import io.rdmaraw.device.ChannelIds;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;

/**
 * Finds the channels of captured segments by their addresses and ports. Reads only the headers that it needs, because
 * the checksums and lengths of a sent frame may be filled in by the device. Used on the loop's thread.
 */
final class ConnectionIds implements ChannelIds {
    private static final int PORTS_BYTES = 4;
    private static final int PROTOCOL_OFFSET = 9;
    private static final int VLAN_TAG_BYTES = 4;
    private static final long IPV4_MAPPED = 0xffff_0000_0000L;

    private final TcpEngine engine;
    private final ForwardingTable forwardingTable;
    private final Segment segment = new Segment();

    ConnectionIds(TcpEngine engine, ForwardingTable forwardingTable) {
        this.engine = engine;
        this.forwardingTable = forwardingTable;
    }

    @Override
    public String find(long address, int lengthBytes, boolean sent) {
        if (!readEthernet(address, lengthBytes)) {
            return null;
        }
        if (sent) {
            swapEnds();
        }
        TcpConnection connection = engine.find(segment);
        Object transport = connection != null ? connection.attachment()
                : forwardingTable.isEmpty() ? null : forwardingTable.find(segment);
        ChannelId id = transport instanceof TcpTransport ofChannel ? ofChannel.channelIdOrNull() : null;
        return id == null ? null : id.asShortText();
    }

    private boolean readEthernet(long address, int lengthBytes) {
        if (lengthBytes < EthernetHeader.LENGTH_BYTES + VLAN_TAG_BYTES) {
            return false;
        }
        int headerBytes = EtherType.isVlan(EthernetHeader.etherType(address))
                ? EthernetHeader.LENGTH_BYTES + VLAN_TAG_BYTES : EthernetHeader.LENGTH_BYTES;
        long ip = address + headerBytes;
        int ipBytes = lengthBytes - headerBytes;
        return switch (NetworkOrder.getU16(ip - Short.BYTES)) {
            case EtherType.IPV4 -> readIpv4(ip, ipBytes);
            case EtherType.IPV6 -> readIpv6(ip, ipBytes);
            default -> false;
        };
    }

    private boolean readIpv4(long ip, int lengthBytes) {
        if (lengthBytes < Ipv4Header.MIN_LENGTH_BYTES || NetworkOrder.getU8(ip + PROTOCOL_OFFSET) != IpProtocol.TCP) {
            return false;
        }
        segment.sourceHigh = 0;
        segment.destinationHigh = 0;
        segment.sourceLow = IPV4_MAPPED | Integer.toUnsignedLong(Ipv4Header.source(ip));
        segment.destinationLow = IPV4_MAPPED | Integer.toUnsignedLong(Ipv4Header.destination(ip));
        return readPorts(ip, Ipv4Header.headerLengthBytes(ip), lengthBytes);
    }

    private boolean readIpv6(long ip, int lengthBytes) {
        if (lengthBytes < Ipv6Header.LENGTH_BYTES || Ipv6Header.nextHeader(ip) != IpProtocol.TCP) {
            return false;
        }
        segment.sourceHigh = Ipv6Header.sourceHigh(ip);
        segment.sourceLow = Ipv6Header.sourceLow(ip);
        segment.destinationHigh = Ipv6Header.destinationHigh(ip);
        segment.destinationLow = Ipv6Header.destinationLow(ip);
        return readPorts(ip, Ipv6Header.LENGTH_BYTES, lengthBytes);
    }

    private boolean readPorts(long ip, int ipHeaderBytes, int lengthBytes) {
        if (lengthBytes < ipHeaderBytes + PORTS_BYTES) {
            return false;
        }
        segment.sourcePort = NetworkOrder.getU16(ip + ipHeaderBytes);
        segment.destinationPort = NetworkOrder.getU16(ip + ipHeaderBytes + Short.BYTES);
        return true;
    }

    private void swapEnds() {
        long high = segment.sourceHigh;
        long low = segment.sourceLow;
        int port = segment.sourcePort;
        segment.sourceHigh = segment.destinationHigh;
        segment.sourceLow = segment.destinationLow;
        segment.sourcePort = segment.destinationPort;
        segment.destinationHigh = high;
        segment.destinationLow = low;
        segment.destinationPort = port;
    }
}
