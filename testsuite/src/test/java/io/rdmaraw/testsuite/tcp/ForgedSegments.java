package io.rdmaraw.testsuite.tcp;

import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpHeaderCodec;
import io.rdmaraw.testsuite.net.PacketPort;
import io.rdmaraw.testsuite.net.VethEnd;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.MacAddress;

/** Sends segments with arbitrary addresses to a link. */
final class ForgedSegments implements AutoCloseable {
    private static final int FRAME_BYTES = 256;

    private final PacketPort port;
    private final long targetMac;
    private final long sourceMac;
    private final long frames = Libc.allocateZeroed((long) PacketPort.BURST * FRAME_BYTES);
    private final int[] lengthsBytes = new int[PacketPort.BURST];
    private int waiting;

    /** Sends frames from one end to the other. */
    ForgedSegments(VethEnd from, VethEnd to) {
        this(from, to.mac());
    }

    /** Sends frames from an end to a MAC address. */
    ForgedSegments(VethEnd from, String mac) {
        port = PacketPort.open(from);
        sourceMac = MacAddress.parse(from.mac());
        targetMac = MacAddress.parse(mac);
    }

    /** Returns an IPv4 address in the form used by segments. */
    static long mapped(String ipv4) {
        long address = 0xFFFF;
        for (String part : ipv4.split("\\.")) {
            address = address << 8 | Integer.parseInt(part);
        }
        return address;
    }

    /**
     * Sends a segment, at the latest with the next {@link #flush()}. Its payload, if any, consists of one direct
     * buffer.
     */
    void send(Segment segment) {
        long frame = frame(waiting);
        EthernetHeader.write(frame, targetMac, sourceMac, EtherType.IPV4);
        long headers = frame + EthernetHeader.LENGTH_BYTES;
        int payloadBytes = segment.payloadLength();
        long sum = 0;
        if (payloadBytes > 0) {
            long payload = segment.sliceBuffer(0).memoryAddress() + segment.sliceIndex(0);
            sum = InternetChecksum.sum(payload, payloadBytes);
            NativeMemory.copy(payload, headers + TcpHeaderCodec.headersLengthBytes(segment), payloadBytes);
        }
        lengthsBytes[waiting] = EthernetHeader.LENGTH_BYTES + TcpHeaderCodec.write(segment, headers, sum)
                + payloadBytes;
        waiting++;
        if (waiting == PacketPort.BURST) {
            flush();
        }
    }

    /** Returns a segment as an IP packet. Its payload, if any, consists of one direct buffer. */
    static byte[] packet(Segment segment) {
        long memory = Libc.allocateZeroed(FRAME_BYTES);
        try {
            int payloadBytes = segment.payloadLength();
            long sum = 0;
            if (payloadBytes > 0) {
                long payload = segment.sliceBuffer(0).memoryAddress() + segment.sliceIndex(0);
                sum = InternetChecksum.sum(payload, payloadBytes);
                NativeMemory.copy(payload, memory + TcpHeaderCodec.headersLengthBytes(segment), payloadBytes);
            }
            byte[] packet = new byte[TcpHeaderCodec.write(segment, memory, sum) + payloadBytes];
            for (int i = 0; i < packet.length; i++) {
                packet[i] = NativeMemory.getByte(memory + i);
            }
            return packet;
        } finally {
            Libc.free(memory);
        }
    }

    /** Sends an IP packet unchanged. */
    void send(byte[] packet) {
        flush();
        boolean ipv4 = packet[0] >> 4 == 4;
        EthernetHeader.write(frame(0), targetMac, sourceMac, ipv4 ? EtherType.IPV4 : EtherType.IPV6);
        NativeMemory.putBytes(frame(0) + EthernetHeader.LENGTH_BYTES, packet, 0, packet.length);
        lengthsBytes[0] = EthernetHeader.LENGTH_BYTES + packet.length;
        waiting = 1;
        flush();
    }

    private long frame(int i) {
        return frames + (long) i * FRAME_BYTES;
    }

    /** Sends all pending frames. */
    void flush() {
        int sent = 0;
        while (sent < waiting) {
            for (int i = sent; i < waiting; i++) {
                port.sendFrom(i - sent, frame(i), lengthsBytes[i]);
            }
            sent += port.send(waiting - sent);
        }
        waiting = 0;
    }

    @Override
    public void close() {
        port.close();
        Libc.free(frames);
    }
}
