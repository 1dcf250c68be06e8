package io.rdmaraw.microbench.tcp;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.tcp.segment.TcpHeaderCodec;
import io.rdmaraw.wire.ArpPacket;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.wire.UdpHeader;
import java.util.Locale;
import java.util.random.RandomGenerator;

/** The kinds of frames in a flood. The frames belong to no connection, and each has a random source address. */
enum FloodKind {
    SYN {
        @Override
        int write(long frame, Target to, RandomGenerator random) {
            return writeSegment(frame, to, random, TcpFlags.SYN);
        }
    },
    /** ACKs without a connection. */
    ACK {
        @Override
        int write(long frame, Target to, RandomGenerator random) {
            return writeSegment(frame, to, random, TcpFlags.ACK);
        }
    },
    RST {
        @Override
        int write(long frame, Target to, RandomGenerator random) {
            return writeSegment(frame, to, random, TcpFlags.RST);
        }
    },
    FIN {
        @Override
        int write(long frame, Target to, RandomGenerator random) {
            return writeSegment(frame, to, random, TcpFlags.FIN | TcpFlags.ACK);
        }
    },
    /** SYNs in packets with IP options. */
    SYN_OPTIONS {
        @Override
        int write(long frame, Target to, RandomGenerator random) {
            int bytes = writeSegment(frame, to, random, TcpFlags.SYN);
            long ip = frame + EthernetHeader.LENGTH_BYTES;
            long tcp = ip + Ipv4Header.MIN_LENGTH_BYTES;
            int tcpBytes = bytes - EthernetHeader.LENGTH_BYTES - Ipv4Header.MIN_LENGTH_BYTES;
            for (int i = tcpBytes - 1; i >= 0; i--) {
                NativeMemory.putByte(tcp + OPTION_BYTES + i, NativeMemory.getByte(tcp + i));
            }
            int length = Ipv4Header.totalLengthBytes(ip) + OPTION_BYTES;
            NativeMemory.putByte(ip, (byte) (4 << 4 | (Ipv4Header.MIN_LENGTH_BYTES + OPTION_BYTES) / 4));
            NetworkOrder.putU16(ip + 2, length);
            for (int i = 0; i < OPTION_BYTES; i++) {
                NativeMemory.putByte(tcp + i, (byte) Ipv4Header.OPTION_NOP);
            }
            Ipv4Header.updateChecksum(ip, Ipv4Header.MIN_LENGTH_BYTES + OPTION_BYTES);
            return bytes + OPTION_BYTES;
        }
    },
    /** First fragments of packets that are never completed. */
    FRAGMENT {
        @Override
        int write(long frame, Target to, RandomGenerator random) {
            return writeDatagram(frame, to, random, Ipv4Header.MORE_FRAGMENTS);
        }
    },
    /** Datagrams to a closed port. */
    UDP {
        @Override
        int write(long frame, Target to, RandomGenerator random) {
            return writeDatagram(frame, to, random, 0);
        }
    },
    /** ARP requests for the address of the server. */
    ARP {
        @Override
        int write(long frame, Target to, RandomGenerator random) {
            EthernetHeader.write(frame, EthernetHeader.BROADCAST, to.ownMac, EtherType.ARP);
            ArpPacket.write(frame + EthernetHeader.LENGTH_BYTES, ArpPacket.REQUEST, to.ownMac, randomSource(random), 0,
                    (int) to.address);
            return EthernetHeader.LENGTH_BYTES + ArpPacket.LENGTH_BYTES;
        }
    };

    private static final int OPTION_BYTES = 4;
    private static final int PAYLOAD_BYTES = 32;
    private static final int TIME_TO_LIVE = 64;
    /** Network of the source addresses, 10.0.0.0/8. */
    private static final int TEN_NET = 0x0A00_0000;
    private static final long MAPPED = 0xFFFF_0000_0000L;

    /**
     * The destination of the frames.
     *
     * @param mac     MAC address of the server
     * @param ownMac  MAC address of the sending interface
     * @param address IPv4 address of the server, in the low 32 bits
     * @param port    port of the server
     */
    record Target(long mac, long ownMac, long address, int port) {
    }

    /** Writes a frame into zeroed memory and returns its length. */
    abstract int write(long frame, Target to, RandomGenerator random);

    private static int randomSource(RandomGenerator random) {
        return TEN_NET + random.nextInt(1, 1 << 24);
    }

    private static int writeSegment(long frame, Target to, RandomGenerator random, int flags) {
        EthernetHeader.write(frame, to.mac, to.ownMac, EtherType.IPV4);
        Segment segment = new Segment();
        segment.clear().source(0, MAPPED + randomSource(random), random.nextInt(1024, 65536))
                .destination(0, MAPPED + to.address, to.port).seq(random.nextInt()).flags(flags).window(65535);
        if (flags == TcpFlags.SYN) {
            segment.mss(1460).windowScale(7).sackPermitted(true).timestamps(random.nextInt(), 0);
        } else if ((flags & TcpFlags.ACK) != 0) {
            segment.ack(random.nextInt());
        }
        return EthernetHeader.LENGTH_BYTES + TcpHeaderCodec.write(segment, frame + EthernetHeader.LENGTH_BYTES, 0);
    }

    private static int writeDatagram(long frame, Target to, RandomGenerator random, int flagsAndOffset) {
        EthernetHeader.write(frame, to.mac, to.ownMac, EtherType.IPV4);
        long ip = frame + EthernetHeader.LENGTH_BYTES;
        int udpBytes = UdpHeader.LENGTH_BYTES + PAYLOAD_BYTES;
        Ipv4Header.write(ip, 0, Ipv4Header.MIN_LENGTH_BYTES + udpBytes, random.nextInt(1 << 16), flagsAndOffset,
                TIME_TO_LIVE, IpProtocol.UDP, randomSource(random), (int) to.address);
        // The checksum stays 0 (none), as IPv4 permits.
        UdpHeader.write(ip + Ipv4Header.MIN_LENGTH_BYTES, random.nextInt(1024, 65536), to.port, udpBytes);
        return EthernetHeader.LENGTH_BYTES + Ipv4Header.MIN_LENGTH_BYTES + udpBytes;
    }

    /** Returns the name in options and in case names. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
