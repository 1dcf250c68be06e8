package io.rdmaraw.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.CompletionChannel;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;
import io.rdmaraw.wire.MacAddress;
import io.rdmaraw.wire.TcpHeader;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.lifecycle.AfterContainer;
import net.jqwik.api.lifecycle.BeforeContainer;

/** Tests checksum and segmentation offloads: a queue sends frames to itself. */
class OffloadTest {
    private static final String DEVICE = System.getProperty("io.rdmaraw.test.device", "soft:loop:offload");
    private static final long MAC = MacAddress.parse("02:00:00:00:0f:f1");
    private static final int MAX_SEND_SGE = 8;
    private static final int MTU_FRAME_BYTES = 1514;
    private static final int SEQUENCE = 0xffff_f000;
    private static final int IDENTIFICATION = 0xfffe;
    private static final int PART_BYTES = 1500;

    private static SharedDevice device;
    private static CompletionChannel channel;
    private static FrameQueue queue;
    private static final ReceiveBurst BURST = new ReceiveBurst();

    @BeforeContainer
    static void open() {
        device = SharedDevice.acquire(DEVICE);
        channel = device.context().createCompletionChannel();
        queue = FrameQueue.open(device, device.context().ownPort(), channel,
                new FrameQueueOptions(512, 256, MAX_SEND_SGE, 1024, 2048, DirectAccess.ofProperty(), false,
                        StridingReceive.ofProperty()));
        queue.steer(FlowSpec.builder().destinationMac(mac()).build());
    }

    private static byte[] mac() {
        byte[] bytes = new byte[6];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (MAC >>> 8 * (5 - i));
        }
        return bytes;
    }

    @AfterContainer
    static void close() {
        queue.close();
        channel.close();
        device.release();
    }

    /**
     * libmlx5 encodes TSO requests incorrectly if the headers wrap around the end of the ring, so it is not
     * used for TSO.
     */
    @Example
    void segmentationIsOfferedWhereItWorks() {
        boolean offered = new DeviceName(DEVICE).isSoftware() || QueueFixture.isDirect(queue);
        assertEquals(offered, queue.maxTsoBytes() >= 65536, queue.maxTsoBytes() + " bytes");
        assertTrue(queue.offloadsChecksums());
    }

    /** Tries headers of all lengths, so that the ring ends at every possible place of a request. */
    @Property(tries = 1000)
    void payloadIsSegmentedWithUpdatedHeaders(@ForAll boolean ipv4,
            @ForAll @IntRange(max = 10) int optionWords, @ForAll @IntRange(min = 200, max = 1460) int wantedMss,
            @ForAll("parts") List<Integer> parts, @ForAll @IntRange(max = 255) int flags, @ForAll long seed) {
        if (queue.maxTsoBytes() == 0) {
            return;
        }
        Packet packet = new Packet(ipv4, optionWords, flags);
        int mss = Math.min(wantedMss, MTU_FRAME_BYTES - packet.headerBytes());
        ByteBuf expected = Unpooled.buffer();
        FrameBuf headers = packet.headers();
        Parts payload = new Parts(parts, expected, seed);
        assertEquals(FrameQueue.ACCEPTED, queue.offerTso(headers, payload.buffers, payload.indices,
                payload.lengthsBytes, parts.size(), mss));
        assertEquals(0, queue.post());
        int total = expected.readableBytes();
        int count = (total + mss - 1) / mss;
        List<ByteBuf> segments = receive(count);
        for (int i = 0; i < count; i++) {
            ByteBuf segment = segments.get(i);
            int bytes = Math.min(mss, total - i * mss);
            packet.check(segment, i, i * mss, bytes, i == count - 1);
            assertTrue(ByteBufUtil.equals(expected, i * mss, segment, packet.headerBytes(), bytes), "payload of " + i);
            segment.release();
        }
        awaitSent();
        payload.checkReleased();
    }

    @Property(tries = 500)
    void checksumsOfAFrameInPartsAreFilledIn(@ForAll boolean ipv4, @ForAll @IntRange(max = 10) int optionWords,
            @ForAll @IntRange(min = 6, max = 700) int firstBytes, @ForAll @IntRange(min = 1, max = 700) int restBytes,
            @ForAll long seed) {
        Packet packet = new Packet(ipv4, optionWords, TcpFlags.ACK | TcpFlags.PSH);
        ByteBuf expected = Unpooled.buffer();
        FrameBuf headers = packet.headers();
        Parts payload = new Parts(List.of(firstBytes, restBytes), expected, seed);
        packet.setLength(headers, expected.readableBytes());
        assertEquals(FrameQueue.ACCEPTED, queue.offer(headers, payload.buffers, payload.indices, payload.lengthsBytes,
                2, true));
        assertEquals(0, queue.post());
        ByteBuf frame = receive(1).getFirst();
        packet.check(frame, 0, 0, expected.readableBytes(), true);
        assertTrue(ByteBufUtil.equals(expected, 0, frame, packet.headerBytes(), expected.readableBytes()));
        frame.release();
        awaitSent();
        payload.checkReleased();
    }

    @Provide
    Arbitrary<List<Integer>> parts() {
        return Arbitraries.integers().between(1, PART_BYTES).list().ofMinSize(1).ofMaxSize(MAX_SEND_SGE - 2);
    }

    private static List<ByteBuf> receive(int count) {
        List<ByteBuf> frames = new ArrayList<>();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (frames.size() < count) {
            int received = queue.receive(BURST);
            for (int i = 0; i < received; i++) {
                frames.add(BURST.takeFrame(i));
            }
            queue.reclaim();
            assertTrue(!queue.failed() && System.nanoTime() < deadline, frames.size() + " of " + count
                    + " frames; failed: "
                    + queue.failed());
        }
        assertEquals(count, frames.size());
        return frames;
    }

    private static void awaitSent() {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (queue.inFlight() > 0) {
            queue.reclaim();
            assertTrue(System.nanoTime() < deadline, queue.inFlight() + " frames in flight");
        }
    }

    /** Parts of registered memory. */
    private static final class Parts {
        final ByteBuf[] buffers;
        final int[] indices;
        final int[] lengthsBytes;

        Parts(List<Integer> lengths, ByteBuf expected, long seed) {
            Random random = new Random(seed);
            buffers = new ByteBuf[lengths.size()];
            indices = new int[buffers.length];
            lengthsBytes = new int[buffers.length];
            for (int i = 0; i < buffers.length; i++) {
                byte[] bytes = new byte[lengths.get(i)];
                random.nextBytes(bytes);
                expected.writeBytes(bytes);
                buffers[i] = queue.slots().acquire();
                indices[i] = random.nextInt(32);
                lengthsBytes[i] = bytes.length;
                buffers[i].setBytes(indices[i], bytes);
                assertTrue(queue.isRegistered(buffers[i], indices[i], bytes.length));
            }
        }

        void checkReleased() {
            for (ByteBuf buffer : buffers) {
                assertEquals(0, buffer.refCnt(), "references to a part that was sent");
            }
        }
    }

    /** The headers of a TCP segment: those passed to the device, and those expected. */
    private record Packet(boolean ipv4, int optionWords, int flags) {
        int ipBytes() {
            return ipv4 ? Ipv4Header.MIN_LENGTH_BYTES : Ipv6Header.LENGTH_BYTES;
        }

        int tcpBytes() {
            return TcpHeader.MIN_LENGTH_BYTES + 4 * optionWords;
        }

        int headerBytes() {
            return EthernetHeader.LENGTH_BYTES + ipBytes() + tcpBytes();
        }

        /** Without lengths and checksums, which the device computes. */
        FrameBuf headers() {
            FrameBuf frame = queue.slots().acquire();
            frame.setZero(0, headerBytes());
            frame.writeLong(MAC << 16 | 0x0200).writeInt(0x0000_0ff2).writeShort(ipv4 ? 0x0800 : 0x86dd);
            if (ipv4) {
                frame.writeInt(0x4500_0000).writeShort(IDENTIFICATION).writeShort(Ipv4Header.DONT_FRAGMENT)
                        .writeByte(64).writeByte(IpProtocol.TCP).writeShort(0).writeInt(0x0a000001)
                        .writeInt(0x0a000002);
            } else {
                frame.writeInt(6 << 28).writeShort(0).writeByte(IpProtocol.TCP).writeByte(64)
                        .writeLong(0xfd00_0000_0000_0000L).writeLong(1).writeLong(0xfd00_0000_0000_0000L).writeLong(2);
            }
            frame.writeShort(1000).writeShort(2000).writeInt(SEQUENCE).writeInt(77)
                    .writeByte(tcpBytes() / 4 << 4).writeByte(flags).writeShort(500).writeShort(0).writeShort(0);
            for (int i = 0; i < optionWords; i++) {
                frame.writeInt(0x01010101);
            }
            return frame;
        }

        void setLength(FrameBuf headers, int payloadBytes) {
            int bytes = tcpBytes() + payloadBytes;
            headers.setShort(EthernetHeader.LENGTH_BYTES + (ipv4 ? 2 : 4), ipv4 ? ipBytes() + bytes : bytes);
        }

        void check(ByteBuf frame, int number, int offset, int payloadBytes, boolean last) {
            assertEquals(headerBytes() + payloadBytes, frame.readableBytes(), "length of segment " + number);
            long ip = frame.memoryAddress() + frame.readerIndex() + EthernetHeader.LENGTH_BYTES;
            long tcp = ip + ipBytes();
            int segmentBytes = tcpBytes() + payloadBytes;
            assertEquals(SEQUENCE + offset, TcpHeader.sequence(tcp), "sequence number");
            int expectedFlags = last ? flags : flags & ~(TcpFlags.FIN | TcpFlags.PSH);
            assertEquals(number == 0 ? expectedFlags : expectedFlags & ~TcpFlags.CWR, NetworkOrder.getU8(tcp + 13),
                    "flags");
            assertEquals(tcpBytes(), TcpHeader.headerLengthBytes(tcp));
            long pseudo;
            if (ipv4) {
                assertEquals(ipBytes() + segmentBytes, Ipv4Header.totalLengthBytes(ip), "total length");
                assertEquals(IDENTIFICATION + number & 0xffff, NetworkOrder.getU16(ip + 4), "identification");
                assertTrue(InternetChecksum.isValid(InternetChecksum.sum(ip, ipBytes())), "IPv4 checksum");
                pseudo = InternetChecksum.pseudoHeaderIpv4(ip, IpProtocol.TCP, segmentBytes);
            } else {
                assertEquals(segmentBytes, NetworkOrder.getU16(ip + 4), "payload length");
                pseudo = InternetChecksum.pseudoHeaderIpv6(ip, IpProtocol.TCP, segmentBytes);
            }
            assertTrue(InternetChecksum.isValid(InternetChecksum.sum(tcp, segmentBytes, pseudo)), "TCP checksum");
        }
    }
}
