package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelInboundHandlerAdapter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;
import java.util.stream.IntStream;

/** A capture file contains the packets of one connection only and stays within its size limit. */
@Timeout(60)
class ConnectionCaptureTest {
    private static final int FILE_HEADER_BYTES = 24;
    private static final int RECORD_HEADER_BYTES = 16;
    private static final int IPV4_BYTES = 20;

    private final StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1);

    @AfterEach
    void close() {
        fixture.close();
    }

    private static void echo(RdmaRawSocketChannel channel, int bytes) throws InterruptedException {
        long before = channel.tcpInfo().sync().getNow().bytesReceived();
        channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[bytes])).sync();
        while (channel.tcpInfo().sync().getNow().bytesReceived() < before + bytes) {
            StreamFixture.settle(channel.eventLoop());
        }
    }

    /**
     * Payload of one direction in a file.
     *
     * @param bytes         number of bytes without retransmissions
     * @param repeatedBytes number of bytes that are in the file again
     */
    private record Payload(int bytes, int repeatedBytes) {
    }

    /** Returns the payload sent from a port and to it. Fails if the file has packets of other ports. */
    private static List<Payload> payloads(Path file, int port) throws Exception {
        ByteBuffer all = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
        BitSet[] fromAndTo = {new BitSet(), new BitSet()};
        int[] firstSequences = new int[2];
        int[] rawBytes = new int[2];
        for (int at = FILE_HEADER_BYTES; at < all.limit();) {
            int lengthBytes = all.getInt(at + 8);
            ByteBuffer packet = all.slice(at + RECORD_HEADER_BYTES, lengthBytes).order(ByteOrder.BIG_ENDIAN);
            assertEquals(lengthBytes, packet.getShort(2) & 0xFFFF, "the length of the IP packet");
            int source = packet.getShort(IPV4_BYTES) & 0xFFFF;
            int target = packet.getShort(IPV4_BYTES + 2) & 0xFFFF;
            assertTrue(source == port || target == port, source + " to " + target);
            int headerBytes = IPV4_BYTES + (packet.get(IPV4_BYTES + 12) >>> 4 & 15) * 4;
            int direction = source == port ? 0 : 1;
            if (lengthBytes > headerBytes) {
                int sequence = packet.getInt(IPV4_BYTES + 4);
                if (fromAndTo[direction].isEmpty()) {
                    firstSequences[direction] = sequence;
                }
                int offset = sequence - firstSequences[direction];
                fromAndTo[direction].set(offset, offset + lengthBytes - headerBytes);
                rawBytes[direction] += lengthBytes - headerBytes;
            }
            at += RECORD_HEADER_BYTES + lengthBytes;
        }
        return IntStream.range(0, 2).mapToObj(direction -> {
            int bytes = fromAndTo[direction].cardinality();
            return new Payload(bytes, rawBytes[direction] - bytes);
        }).toList();
    }

    /** The file has the bytes once, and again only those that the sender has retransmitted. */
    private static void check(Payload payload, int bytes, RdmaRawSocketChannel sender) throws InterruptedException {
        assertEquals(bytes, payload.bytes());
        long retransmittedBytes = sender.tcpInfo().sync().getNow().retransmittedBytes();
        assertTrue(payload.repeatedBytes() <= retransmittedBytes, payload + ", retransmitted " + retransmittedBytes);
    }

    @Test
    void fileHasPacketsOfOneConnectionOnly(@TempDir Path directory) throws Exception {
        var server = fixture.listen(new StreamFixture.Echo());
        RdmaRawSocketChannel captured = fixture.connect(server, new ChannelInboundHandlerAdapter());
        RdmaRawSocketChannel accepted = fixture.accepted();
        assertEquals(captured.localAddress(), accepted.remoteAddress());
        RdmaRawSocketChannel other = fixture.connect(server, new ChannelInboundHandlerAdapter());
        Path file = directory.resolve("one.pcap");
        captured.capture(file, 1 << 20).sync();
        assertInstanceOf(IllegalStateException.class,
                other.capture(directory.resolve("other.pcap"), 1 << 20).await().cause());
        echo(other, 500);
        echo(captured, 5_000);
        List<Payload> fromAndTo = payloads(file, captured.localAddress().getPort());
        check(fromAndTo.getFirst(), 5_000, captured);
        check(fromAndTo.getLast(), 5_000, accepted);
    }

    @Test
    void fileStaysWithinItsLimit(@TempDir Path directory) throws Exception {
        RdmaRawSocketChannel captured = fixture.connect(fixture.listen(new StreamFixture.Echo()),
                new ChannelInboundHandlerAdapter());
        Path file = directory.resolve("short.pcap");
        captured.capture(file, 4_000).sync();
        for (int i = 0; i < 20; i++) {
            echo(captured, 500);
        }
        assertTrue(Files.size(file) <= 4_000 && Files.size(file) > FILE_HEADER_BYTES, Files.size(file) + " bytes");
        captured.capture(directory.resolve("next.pcap"), 4_000).sync();
        assertThrows(IllegalArgumentException.class, () -> captured.capture(file, 10));
    }

    /** The loop shuts down right after the channel closes, so no later task can close the file. */
    @Test
    void fileIsClosedWhenLoopEnds(@TempDir Path directory) throws Exception {
        RdmaRawSocketChannel captured = fixture.connect(fixture.listen(new StreamFixture.Echo()),
                new ChannelInboundHandlerAdapter());
        Path file = directory.resolve("open.pcap");
        captured.capture(file, 4_000).sync();
        assertEquals(1, descriptorsOf(file));
        captured.close().sync();
        fixture.close();
        assertEquals(0, descriptorsOf(file));
    }

    private static long descriptorsOf(Path file) throws Exception {
        String name = file.toRealPath().toString();
        long count = 0;
        try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
            for (Path descriptor : descriptors) {
                try {
                    count += Files.readSymbolicLink(descriptor).toString().equals(name) ? 1 : 0;
                } catch (NoSuchFileException e) {
                    continue;       // the descriptor of the directory itself, or one closed by another thread
                }
            }
        }
        return count;
    }
}
