package io.rdmaraw.tools.frame;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import java.util.Arrays;

/** One layer of a frame. It writes its own header; values that depend on the neighbouring layers are passed in. */
sealed interface Layer {
    /** Local experimental ethertype 1 of IEEE Std 802. Kernels ignore such frames. */
    int ETHERTYPE_EXPERIMENTAL = 0x88b5;
    /** The protocol number for experiments of RFC 3692. */
    int PROTOCOL_EXPERIMENTAL = 253;

    int headerBytes();

    /**
     * Appends the header to the frame.
     *
     * @param next         the layer inside this one, or null
     * @param payloadBytes number of bytes after this header
     */
    void writeHeader(ByteBuf frame, Layer next, int payloadBytes);

    /** Returns the ethertype for a layer, or {@code otherwise} if the layer has none. */
    static int etherTypeOf(Layer layer, int otherwise) {
        return switch (layer) {
            case Vlan vlan -> EtherType.VLAN;
            case Ipv4 ipv4 -> EtherType.IPV4;
            case Ipv6 ipv6 -> EtherType.IPV6;
            case null, default -> otherwise;
        };
    }

    private static int protocolOf(Layer layer) {
        return layer instanceof Transport transport ? transport.protocol() : PROTOCOL_EXPERIMENTAL;
    }

    record Ethernet(byte[] destination, byte[] source, int etherType) implements Layer {
        static Ethernet of(LayerText text) {
            text.allow("dst", "src", "type");
            return new Ethernet(text.mac("dst", "02:00:00:00:00:02"), text.mac("src", "02:00:00:00:00:01"),
                    text.number("type", ETHERTYPE_EXPERIMENTAL, 0, 0xffff));
        }

        @Override
        public int headerBytes() {
            return 14;
        }

        @Override
        public void writeHeader(ByteBuf frame, Layer next, int payloadBytes) {
            frame.writeBytes(destination).writeBytes(source).writeShort(etherTypeOf(next, etherType));
        }
    }

    record Vlan(int id, int priority, int etherType) implements Layer {
        static Vlan of(LayerText text) {
            text.allow("id", "prio", "type");
            return new Vlan(text.number("id", 1, 0, 4095), text.number("prio", 0, 0, 7),
                    text.number("type", ETHERTYPE_EXPERIMENTAL, 0, 0xffff));
        }

        @Override
        public int headerBytes() {
            return 4;
        }

        @Override
        public void writeHeader(ByteBuf frame, Layer next, int payloadBytes) {
            frame.writeShort(priority << 13 | id).writeShort(etherTypeOf(next, etherType));
        }
    }

    /** An IP layer, which provides the addresses for the pseudo header of UDP and TCP. */
    sealed interface Ip extends Layer {
        byte[] source();

        byte[] destination();
    }

    record Ipv4(byte[] source, byte[] destination, int ttl, int tos, int id) implements Ip {
        static Ipv4 of(LayerText text) {
            text.allow("src", "dst", "ttl", "tos", "id");
            // RFC 2544 reserves 198.18.0.0/15 for benchmarks.
            return new Ipv4(text.ip("src", "198.18.0.1", 4), text.ip("dst", "198.18.0.2", 4),
                    text.number("ttl", 64, 0, 255), text.number("tos", 0, 0, 255), text.number("id", 0, 0, 0xffff));
        }

        @Override
        public int headerBytes() {
            return 20;
        }

        @Override
        public void writeHeader(ByteBuf frame, Layer next, int payloadBytes) {
            int start = frame.writerIndex();
            frame.writeByte(0x45).writeByte(tos).writeShort(headerBytes() + payloadBytes);
            frame.writeShort(id).writeShort(Ipv4Header.DONT_FRAGMENT);
            frame.writeByte(ttl).writeByte(protocolOf(next)).writeShort(0).writeBytes(source).writeBytes(destination);
            frame.setShort(start + 10, InternetChecksum.finish(InternetChecksum.sum(frame, start, headerBytes())));
        }
    }

    record Ipv6(byte[] source, byte[] destination, int hopLimit, int trafficClass, int flowLabel) implements Ip {
        static Ipv6 of(LayerText text) {
            text.allow("src", "dst", "hlim", "tc", "fl");
            // RFC 5180 reserves 2001:2::/48 for benchmarks.
            return new Ipv6(text.ip("src", "2001:2::1", 16), text.ip("dst", "2001:2::2", 16),
                    text.number("hlim", 64, 0, 255), text.number("tc", 0, 0, 255), text.number("fl", 0, 0, 0xfffff));
        }

        @Override
        public int headerBytes() {
            return 40;
        }

        @Override
        public void writeHeader(ByteBuf frame, Layer next, int payloadBytes) {
            frame.writeInt(6 << 28 | trafficClass << 20 | flowLabel).writeShort(payloadBytes);
            frame.writeByte(protocolOf(next)).writeByte(hopLimit).writeBytes(source).writeBytes(destination);
        }
    }

    /** A layer with a checksum over its header, its payload and a pseudo header. */
    sealed interface Transport extends Layer {
        /** Returns the protocol number in the IP header. */
        int protocol();

        /** Returns the offset of the checksum in the header. */
        int checksumOffset();

        /**
         * Writes the checksum. Must be called after the payload has been written.
         *
         * @param offset offset of this layer's header in the frame
         */
        default void writeChecksum(ByteBuf frame, int offset, Ip ip) {
            int lengthBytes = frame.writerIndex() - offset;
            ByteBuf pseudoHeader = Unpooled.buffer(40).writeBytes(ip.source()).writeBytes(ip.destination())
                    .writeInt(lengthBytes).writeInt(protocol());
            int checksum = InternetChecksum.finish(
                    InternetChecksum.sum(pseudoHeader, 0, pseudoHeader.readableBytes())
                    + InternetChecksum.sum(frame, offset, lengthBytes));
            // RFC 768: a checksum of zero is sent as all ones, because zero means "no checksum". TCP has no such rule.
            boolean zeroMeansNone = protocol() == IpProtocol.UDP;
            frame.setShort(offset + checksumOffset(), checksum == 0 && zeroMeansNone ? 0xffff : checksum);
        }
    }

    record Udp(int sourcePort, int destinationPort) implements Transport {
        static Udp of(LayerText text) {
            text.allow("src", "dst");
            // Port 9 is the discard service, so a host that receives the frame by mistake ignores it.
            return new Udp(text.number("src", 49152, 0, 0xffff), text.number("dst", 9, 0, 0xffff));
        }

        @Override
        public int headerBytes() {
            return 8;
        }

        @Override
        public int protocol() {
            return IpProtocol.UDP;
        }

        @Override
        public int checksumOffset() {
            return 6;
        }

        @Override
        public void writeHeader(ByteBuf frame, Layer next, int payloadBytes) {
            frame.writeShort(sourcePort).writeShort(destinationPort);
            frame.writeShort(headerBytes() + payloadBytes).writeShort(0);
        }
    }

    /** A TCP header without options. It carries no connection state. */
    record Tcp(int sourcePort, int destinationPort, long sequence, long acknowledgement, int flags, int window)
            implements Transport {
        private static final int ACK = 0x10;

        static Tcp of(LayerText text) {
            text.allow("src", "dst", "seq", "ack", "flags", "window");
            return new Tcp(text.number("src", 49152, 0, 0xffff), text.number("dst", 9, 0, 0xffff),
                    text.unsignedInt("seq"), text.unsignedInt("ack"), text.number("flags", ACK, 0, 0xff),
                    text.number("window", 0xffff, 0, 0xffff));
        }

        @Override
        public int headerBytes() {
            return 20;
        }

        @Override
        public int protocol() {
            return IpProtocol.TCP;
        }

        @Override
        public int checksumOffset() {
            return 16;
        }

        @Override
        public void writeHeader(ByteBuf frame, Layer next, int payloadBytes) {
            frame.writeShort(sourcePort).writeShort(destinationPort);
            frame.writeInt((int) sequence).writeInt((int) acknowledgement);
            // The data offset is in words of 32 bits (RFC 9293 section 3.1).
            frame.writeByte(headerBytes() / 4 << 4).writeByte(flags).writeShort(window).writeInt(0);
        }
    }

    /** The bytes after the headers. A payload that is given by its length alone counts up from 0. */
    record Payload(byte[] bytes) implements Layer {
        static Payload of(LayerText text) {
            text.allow("length", "hex");
            if (text.has("hex")) {
                if (text.has("length")) {
                    throw new IllegalArgumentException("payload takes length or hex, not both");
                }
                return new Payload(text.hex("hex"));
            }
            return new Payload(counting(new byte[0], text.number("length", 0, 0, 0xffff)));
        }

        /** Returns the given bytes, cut or extended to a length. */
        static byte[] counting(byte[] given, int lengthBytes) {
            byte[] bytes = Arrays.copyOf(given, lengthBytes);
            for (int i = given.length; i < lengthBytes; i++) {
                bytes[i] = (byte) i;
            }
            return bytes;
        }

        @Override
        public int headerBytes() {
            return 0;
        }

        @Override
        public void writeHeader(ByteBuf frame, Layer next, int payloadBytes) {
            // A payload has no header.
        }
    }
}
