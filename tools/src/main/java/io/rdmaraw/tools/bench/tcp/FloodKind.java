package io.rdmaraw.tools.bench.tcp;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.tcp.Segment;
import io.rdmaraw.tcp.SegmentHeaders;
import io.rdmaraw.tcp.TcpFlags;
import io.rdmaraw.wire.ArpPacket;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.NetworkOrder;
import io.rdmaraw.wire.UdpHeader;
import java.util.Locale;
import java.util.random.RandomGenerator;

/** What strangers send to a server. Sources are ever other ones. */
enum FloodKind {
    SYN {
        @Override
        int write(long frame, Target to, RandomGenerator random) {
            return writeSegment(frame, to, random, TcpFlags.SYN);
        }
    },
    /** Of no connection, as the three that follow. */
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
    /** SYNs behind IP options. */
    SYN_OPTIONS {
        @Override
        int write(long frame, Target to, RandomGenerator random) {
            int bytes = writeSegment(frame, to, random, TcpFlags.SYN);
            long ip = frame + EthernetHeader.LENGTH_BYTES;
            long tcp = ip + Ipv4Header.MINIMUM_LENGTH_BYTES;
            int tcpBytes = bytes - EthernetHeader.LENGTH_BYTES - Ipv4Header.MINIMUM_LENGTH_BYTES;
            for (int i = tcpBytes - 1; i >= 0; i--) {
                NativeMemory.putByte(tcp + OPTION_BYTES + i, NativeMemory.getByte(tcp + i));
            }
            int length = Ipv4Header.totalLengthBytes(ip) + OPTION_BYTES;
            NativeMemory.putByte(ip, (byte) (4 << 4 | (Ipv4Header.MINIMUM_LENGTH_BYTES + OPTION_BYTES) / 4));
            NetworkOrder.putU16(ip + 2, length);
            for (int i = 0; i < OPTION_BYTES; i++) {
                NativeMemory.putByte(tcp + i, (byte) Ipv4Header.OPTION_NOP);
            }
            Ipv4Header.updateChecksum(ip, Ipv4Header.MINIMUM_LENGTH_BYTES + OPTION_BYTES);
            return bytes + OPTION_BYTES;
        }
    },
    /** First parts of packets whose other parts never come. */
    FRAGMENT {
        @Override
        int write(long frame, Target to, RandomGenerator random) {
            return writeDatagram(frame, to, random, Ipv4Header.MORE_FRAGMENTS);
        }
    },
    /** To a port that nobody has. */
    UDP {
        @Override
        int write(long frame, Target to, RandomGenerator random) {
            return writeDatagram(frame, to, random, 0);
        }
    },
    /** Questions for the server's address. */
    ARP {
        @Override
        int write(long frame, Target to, RandomGenerator random) {
            EthernetHeader.write(frame, EthernetHeader.BROADCAST, to.ownMac, EtherType.ARP);
            ArpPacket.write(frame + EthernetHeader.LENGTH_BYTES, ArpPacket.REQUEST, to.ownMac, stranger(random), 0,
                    (int) to.address);
            return EthernetHeader.LENGTH_BYTES + ArpPacket.LENGTH_BYTES;
        }
    };

    private static final int OPTION_BYTES = 4;
    private static final int PAYLOAD_BYTES = 32;
    private static final int TIME_TO_LIVE = 64;
    /** In 10.0.0.0/8. */
    private static final int TEN_NET = 0x0A00_0000;
    private static final long MAPPED = 0xFFFF_0000_0000L;

    /** Whom frames are for. @param address the last four bytes of an IPv4-mapped one */
    record Target(long mac, long ownMac, long address, int port) {
    }

    /** Writes a frame into zeroed memory; returns its length. */
    abstract int write(long frame, Target to, RandomGenerator random);

    private static int stranger(RandomGenerator random) {
        return TEN_NET + random.nextInt(1, 1 << 24);
    }

    private static int writeSegment(long frame, Target to, RandomGenerator random, int flags) {
        EthernetHeader.write(frame, to.mac, to.ownMac, EtherType.IPV4);
        Segment segment = new Segment();
        segment.clear().source(0, MAPPED + stranger(random), random.nextInt(1024, 65536))
                .destination(0, MAPPED + to.address, to.port).seq(random.nextInt()).flags(flags).window(65535);
        if (flags == TcpFlags.SYN) {
            segment.mss(1460).windowScale(7).sackPermitted(true).timestamps(random.nextInt(), 0);
        } else if ((flags & TcpFlags.ACK) != 0) {
            segment.ack(random.nextInt());
        }
        return EthernetHeader.LENGTH_BYTES + SegmentHeaders.write(segment, frame + EthernetHeader.LENGTH_BYTES, 0);
    }

    private static int writeDatagram(long frame, Target to, RandomGenerator random, int flagsAndOffset) {
        EthernetHeader.write(frame, to.mac, to.ownMac, EtherType.IPV4);
        long ip = frame + EthernetHeader.LENGTH_BYTES;
        int udpBytes = UdpHeader.LENGTH_BYTES + PAYLOAD_BYTES;
        Ipv4Header.write(ip, 0, Ipv4Header.MINIMUM_LENGTH_BYTES + udpBytes, random.nextInt(1 << 16), flagsAndOffset,
                TIME_TO_LIVE, IpProtocol.UDP, stranger(random), (int) to.address);
        // No checksum, which IPv4 allows.
        UdpHeader.write(ip + Ipv4Header.MINIMUM_LENGTH_BYTES, random.nextInt(1024, 65536), to.port, udpBytes);
        return EthernetHeader.LENGTH_BYTES + Ipv4Header.MINIMUM_LENGTH_BYTES + udpBytes;
    }

    /** As options and the names of cases have it. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
