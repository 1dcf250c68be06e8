package io.rdmaraw.verbs.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.verbs.abi.Sge;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.QueuePairOptions;
import io.rdmaraw.verbs.objects.ReceiveWr;
import io.rdmaraw.verbs.objects.SendWr;
import io.rdmaraw.verbs.objects.Wc;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.lifecycle.AfterContainer;
import net.jqwik.api.lifecycle.BeforeContainer;

/**
 * Receives the same frames twice: with entries that libmlx5 polls, and with compressed entries that our reader
 * polls in a queue created by libmlx5. libmlx5 cannot read the latter.
 */
@Tag("emulated")
class CompressionDifferenceTest {
    private static final byte[] PLAIN_MAC = HexFormat.of().parseHex("020000007702");
    private static final byte[] COMPRESSED_MAC = HexFormat.of().parseHex("020000007703");
    private static final int TAG = 0x123456;
    private static final int FRAME_ROOM_BYTES = 2048;
    private static final int MAX_BURST = 32;

    private static EmulatedQueuePair theirs;
    private static CompletionRing ring;
    private static Mlx5CompletionQueue ours;
    private static Mlx5ReceiveQueue receives;
    private static int received;
    private static int sessions;

    @BeforeContainer
    static void open() {
        theirs = new EmulatedQueuePair();
        assertTrue(Mlx5dv.canCompressCompletions(theirs.context, false));
        CompletionQueue compressed = Mlx5dv.createCompressedCompletionQueue(theirs.context,
                4 * EmulatedQueuePair.REQUESTS, null, 0, false);
        ring = Mlx5dv.ring(compressed);
        QueuePair receiver = theirs.domain.createQueuePair(QueuePairOptions.builder()
                .sendCompletionQueue(theirs.completions).receiveCompletionQueue(compressed)
                .maxSendWr(1).maxReceiveWr(EmulatedQueuePair.REQUESTS).build());
        ours = new Mlx5CompletionQueue(ring, theirs.scratch() + 8192);
        receiver.toInit(1);
        receiver.toReadyToReceive();
        receives = new Mlx5ReceiveQueue(Mlx5dv.rings(receiver).receive(), FRAME_ROOM_BYTES, theirs.region.lkey());
        theirs.queuePair.createFlow(rule(PLAIN_MAC));
        receiver.createFlow(rule(COMPRESSED_MAC));
    }

    private static FlowSpec rule(byte[] mac) {
        return FlowSpec.builder().destinationMac(mac).tag(TAG).allowHostTraffic().build();
    }

    @AfterContainer
    static void close() {
        theirs.close();
        assertTrue(sessions > 100, "only " + sessions + " sessions of compressed completions");
    }

    @Property(tries = 1000)
    void sameCompletions(@ForAll @IntRange(min = 1, max = MAX_BURST) int burst, @ForAll boolean mixed,
            @ForAll long seed) {
        List<String> expected = new ArrayList<>();
        send(PLAIN_MAC, burst, mixed, new Random(seed));
        pollTheirs(burst + 1, expected);
        send(COMPRESSED_MAC, burst, mixed, new Random(seed));
        pollTheirs(1, List.of());
        List<String> actual = new ArrayList<>();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (actual.size() < burst && System.nanoTime() < deadline) {
            long cqe = ours.next();
            if (cqe != 0) {
                assertEquals(received++ & 0xffff, Cqe.wqeCounter(cqe), "request");
                actual.add(text(Cqe.byteCount(cqe), Cqe.flowTag(cqe), Cqe.checksumVerified(cqe)));
                countSession(cqe);
            } else {
                ours.releaseEntries();
            }
        }
        ours.releaseEntries();
        assertEquals(expected, actual);
        assertEquals(0, ours.next());
    }

    /** Counts completions of sessions, which are not in the ring. */
    private static void countSession(long cqe) {
        long bytes = (long) ring.entries() * ring.entryBytes();
        sessions += cqe < ring.buffer() || cqe >= ring.buffer() + bytes ? 1 : 0;
    }

    private static String text(int lengthBytes, int tag, boolean checksum) {
        return lengthBytes + " bytes, tag " + tag + (checksum ? ", checksum right" : "");
    }

    /** Polls completions, one of which belongs to a send. */
    private static void pollTheirs(int count, List<String> frames) {
        long wc = theirs.scratch() + 4096;
        for (int i = 0; i < count; i++) {
            while (theirs.completions.poll(1, wc) == 0) {
                Thread.onSpinWait();
            }
            assertEquals(WcStatus.SUCCESS, Wc.status(wc), () -> WcStatus.name(Wc.status(wc)));
            if ((Wc.opcode(wc) & Wc.OPCODE_RECV) != 0) {
                frames.add(text(Wc.byteLen(wc), Wc.qpNum(wc), (Wc.wcFlags(wc) & Wc.FLAG_IP_CSUM_OK) != 0));
            }
        }
    }

    /** Posts one linked list, so that the device executes it at once. */
    private static void send(byte[] mac, int burst, boolean mixed, Random random) {
        long requests = theirs.scratch() + 16384;
        for (int i = 0; i < burst; i++) {
            postReceive(mac, i);
            long frame = theirs.memory.address() + (long) (i + MAX_BURST) * FRAME_ROOM_BYTES;
            int lengthBytes = writeFrame(frame, mac, mixed, random);
            long request = requests + (long) i * 256;
            NativeMemory.fill(request, SendWr.SIZE_BYTES, (byte) 0);
            element(request + 192, frame, lengthBytes);
            SendWr.sgList(request, request + 192);
            SendWr.numSge(request, 1);
            SendWr.opcode(request, SendWr.OPCODE_SEND);
            SendWr.next(request, i + 1 == burst ? 0 : request + 256);
            SendWr.sendFlags(request, i + 1 == burst ? SendWr.FLAG_SIGNALED : 0);
        }
        receives.ringDoorbell();
        assertEquals(0, theirs.queuePair.postSend(requests, theirs.scratch()));
    }

    private static void postReceive(byte[] mac, int slot) {
        long buffer = theirs.memory.address() + (long) slot * FRAME_ROOM_BYTES;
        if (mac == COMPRESSED_MAC) {
            receives.put(buffer);
            return;
        }
        long request = theirs.scratch() + 512;
        NativeMemory.fill(request, ReceiveWr.SIZE_BYTES, (byte) 0);
        element(request + 128, buffer, FRAME_ROOM_BYTES);
        ReceiveWr.sgList(request, request + 128);
        ReceiveWr.numSge(request, 1);
        assertEquals(0, theirs.queuePair.postReceive(request, request + 256));
    }

    private static void element(long element, long address, int lengthBytes) {
        Sge.addr(element, address);
        Sge.length(element, lengthBytes);
        Sge.lkey(element, theirs.region.lkey());
    }

    /** Writes a UDP datagram with a correct IPv4 checksum and no UDP checksum, sometimes another frame. */
    private static int writeFrame(long frame, byte[] mac, boolean mixed, Random random) {
        int lengthBytes = 60 + random.nextInt(1400);
        NativeMemory.fill(frame, 64, (byte) 0);
        for (int i = 0; i < mac.length; i++) {
            NativeMemory.putByte(frame + i, mac[i]);
        }
        boolean other = mixed && random.nextInt(8) == 0;
        NetworkOrder.putU16(frame + 12, other ? 0x88b5 : 0x0800);
        NetworkOrder.putInt(frame + 14, 0x4500_0000 | lengthBytes - 14);
        NetworkOrder.putInt(frame + 22, 0x4011_0000);
        NetworkOrder.putInt(frame + 34 + 4, lengthBytes - 34 << 16);
        int sum = 0x4500 + lengthBytes - 14 + 0x4011;
        NetworkOrder.putU16(frame + 24, ~((sum & 0xffff) + (sum >>> 16)) & 0xffff);
        return lengthBytes;
    }
}
