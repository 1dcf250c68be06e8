package io.rdmaraw.device;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;

/** Selects one of several channels of a loop that share a port. All frames of a flow select the same channel. */
final class FlowHash {
    private static final int ETHERTYPE_OFFSET = 12;
    private static final int IPV4_ADDRESSES_OFFSET = EthernetHeader.LENGTH_BYTES + 12;
    private static final int IPV6_ADDRESSES_OFFSET = EthernetHeader.LENGTH_BYTES + 8;
    private static final int PORTS_BYTES = 4;

    private FlowHash() {
    }

    /** Returns a number from 0 to {@code count} - 1; 0 if the frame has no IP header or is too short. */
    static int choose(ByteBuf frame, int count) {
        int from = frame.readerIndex();
        int length = frame.readableBytes();
        int end = 0;
        int begin = 0;
        int etherType = length < EthernetHeader.LENGTH_BYTES ? 0 : frame.getUnsignedShort(from + ETHERTYPE_OFFSET);
        if (etherType == EtherType.IPV4) {
            begin = IPV4_ADDRESSES_OFFSET;
            end = EthernetHeader.LENGTH_BYTES + Ipv4Header.MIN_LENGTH_BYTES + PORTS_BYTES;
        } else if (etherType == EtherType.IPV6) {
            begin = IPV6_ADDRESSES_OFFSET;
            end = EthernetHeader.LENGTH_BYTES + Ipv6Header.LENGTH_BYTES + PORTS_BYTES;
        }
        if (end > length) {
            return 0;
        }
        int hash = 0;
        for (int i = begin; i < end; i += Integer.BYTES) {
            hash = (hash ^ frame.getInt(from + i)) * 0x9e3779b1;
        }
        return (int) ((hash & 0xffffffffL) * count >>> Integer.SIZE);
    }
}
