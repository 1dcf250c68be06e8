package io.rdmaraw.verbs.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.verbs.abi.Sge;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.Flow;
import io.rdmaraw.verbs.objects.ReceiveWr;
import io.rdmaraw.verbs.objects.SendWr;
import io.rdmaraw.verbs.objects.Wc;
import java.util.HexFormat;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.lifecycle.AfterContainer;
import net.jqwik.api.lifecycle.BeforeContainer;

/**
 * Polls the same bytes in a completion queue with libmlx5 and with our reader, which must return the same
 * completion. The entries were written by the emulated device and then modified.
 */
@Tag("emulated")
class CompletionDifferenceTest {
    private static final String MAC = "02:00:00:00:77:01";
    private static final int SEND_ID = 1000;
    private static final int BUFFER_BYTES = 2048;

    private static EmulatedQueuePair theirs;
    private static Mlx5CompletionQueue ours;
    private static Flow flow;
    private static byte[] receiveTemplate;
    private static int written;
    /** Receives complete in the order of posting. Older versions of libmlx5 rely on it. */
    private static int received;

    @BeforeContainer
    static void open() {
        theirs = new EmulatedQueuePair();
        ours = new Mlx5CompletionQueue(theirs.completionRing, theirs.scratch() + 8192);
        flow = theirs.queuePair.createFlow(FlowSpec.builder().destinationMac(MAC).allowHostTraffic().build());
        for (int i = 0; i < EmulatedQueuePair.REQUESTS; i++) {
            postReceive(i);
        }
        // A signalled send and a receive. Their completions are the patterns of the generated entries.
        byte[] mac = HexFormat.ofDelimiter(":").parseHex(MAC);
        for (int i = 0; i < mac.length; i++) {
            NativeMemory.putByte(sendBuffer() + i, mac[i]);
        }
        for (int i = 0; i < EmulatedQueuePair.REQUESTS; i++) {
            NativeMemory.putByte(sendBuffer(), (byte) (i == 0 ? 2 : 4));
            postSend(i);
            if (i == 0) {
                takePattern();
                takePattern();
            }
        }
        theirs.queuePair.toError();
        drainFlushed();
        flow.close();
    }

    @AfterContainer
    static void close() {
        theirs.close();
    }

    private static long sendBuffer() {
        return theirs.memory.address() + (long) EmulatedQueuePair.REQUESTS * BUFFER_BYTES;
    }

    private static long receiveBuffer(int index) {
        return theirs.memory.address() + (long) index * BUFFER_BYTES;
    }

    private static void postReceive(int index) {
        long request = theirs.scratch();
        NativeMemory.fill(request, ReceiveWr.SIZE_BYTES, (byte) 0);
        element(request + 512, receiveBuffer(index), BUFFER_BYTES);
        ReceiveWr.wrId(request, index);
        ReceiveWr.sgList(request, request + 512);
        ReceiveWr.numSge(request, 1);
        assertEquals(0, theirs.queuePair.postReceive(request, request + 256));
    }

    /** Posts requests of one block, so that the number of the block is that of the request. */
    private static void postSend(int index) {
        long request = theirs.scratch();
        NativeMemory.fill(request, SendWr.SIZE_BYTES, (byte) 0);
        element(request + 512, sendBuffer(), 64);
        SendWr.wrId(request, SEND_ID + index);
        SendWr.sgList(request, request + 512);
        SendWr.numSge(request, 1);
        SendWr.opcode(request, SendWr.OPCODE_SEND);
        SendWr.sendFlags(request, index == 0 ? SendWr.FLAG_SIGNALED : 0);
        assertEquals(0, theirs.queuePair.postSend(request, request + 256));
    }

    private static void element(long element, long address, int lengthBytes) {
        Sge.addr(element, address);
        Sge.length(element, lengthBytes);
        Sge.lkey(element, theirs.region.lkey());
    }

    private static void takePattern() {
        long wc = theirs.scratch() + 4096;
        while (theirs.completions.poll(1, wc) == 0) {
            Thread.onSpinWait();
        }
        long cqe = ours.next();
        written++;
        if ((Wc.opcode(wc) & Wc.OPCODE_RECV) != 0) {
            receiveTemplate = new byte[Cqe.SIZE_BYTES];
            for (int i = 0; i < receiveTemplate.length; i++) {
                receiveTemplate[i] = NativeMemory.getByte(cqe + i);
            }
        }
        compare(cqe, wc);
    }

    /** Afterwards the device does not write to the queues any more. */
    private static void drainFlushed() {
        long wc = theirs.scratch() + 4096;
        for (int flushed = 0; flushed < EmulatedQueuePair.REQUESTS - 1;) {
            if (theirs.completions.poll(1, wc) == 0) {
                Thread.onSpinWait();
                continue;
            }
            long cqe = ours.next();
            written++;
            compare(cqe, wc);
            assertEquals(WcStatus.WR_FLUSH_ERR, Wc.status(wc));
            flushed += (Wc.wrId(wc) < SEND_ID) ? 1 : 0;
        }
    }

    @Property(tries = 5000)
    void receives(@ForAll byte hdsIpExt, @ForAll byte l4HeaderType, @ForAll int sopDropQpn,
            @ForAll @IntRange(max = BUFFER_BYTES) int byteCount, @ForAll boolean solicited) {
        long entry = template();
        NativeMemory.putByte(entry + Cqe.HDS_IP_EXT_OFFSET, hdsIpExt);
        NativeMemory.putByte(entry + Cqe.L4_HDR_TYPE_ETC_OFFSET, l4HeaderType);
        NetworkOrder.putInt(entry + Cqe.SOP_DROP_QPN_OFFSET, sopDropQpn);
        NetworkOrder.putInt(entry + Cqe.BYTE_CNT_OFFSET, byteCount);
        finish(entry, received, Cqe.OPCODE_RESP_SEND, 0, solicited);
    }

    @Property(tries = 1000)
    void receivesWhoseDataLiesInTheQueue(@ForAll @IntRange(max = 32) int byteCount, @ForAll long data) {
        long entry = template();
        long theirBuffer = receiveBuffer(received % EmulatedQueuePair.REQUESTS);
        NativeMemory.putLong(entry, data);
        NetworkOrder.putInt(entry + Cqe.BYTE_CNT_OFFSET, byteCount);
        finish(entry, received, Cqe.OPCODE_RESP_SEND, Cqe.FORMAT_INLINE_32, false);
        long buffer = theirs.scratch() + 16384;
        NativeMemory.fill(buffer, Cqe.SIZE_BYTES, (byte) 0);
        Cqe.copyInlineData(entry, buffer);
        for (int i = 0; i < byteCount; i++) {
            assertEquals(NativeMemory.getByte(theirBuffer + i), NativeMemory.getByte(buffer + i), "byte " + i);
        }
    }

    @Property(tries = 3000)
    void sends(@ForAll("sendCounters") int wqeCounter) {
        long entry = template();
        // As written by the device: the operation and the queue pair number.
        NetworkOrder.putInt(entry + Cqe.SOP_DROP_QPN_OFFSET,
                Wqe.OPCODE_SEND << 24 | theirs.queuePair.number());
        finish(entry, wqeCounter, Cqe.OPCODE_REQ, 0, false);
    }

    /** Compares only the number of flushed requests. For other errors libmlx5 prints a dump to standard error. */
    @Property(tries = 3000)
    void flushedRequests(@ForAll("sendCounters") int wqeCounter, @ForAll boolean send) {
        fail(send, Syndrome.WR_FLUSH_ERR, wqeCounter);
    }

    @Property
    void failedRequests(@ForAll("syndromes") int syndrome, @ForAll boolean send) {
        fail(send, syndrome, 0);
    }

    /** Indices of blocks with posted requests. */
    @Provide
    Arbitrary<Integer> sendCounters() {
        return Arbitraries.integers().between(0, 0xffff)
                .map(i -> i - i % theirs.rings.sendBlocks() + i % EmulatedQueuePair.REQUESTS);
    }

    @Provide
    Arbitrary<Integer> syndromes() {
        return Arbitraries.of(0x01, 0x02, 0x04, 0x05, 0x06, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x22, 0x00, 0x77);
    }

    @Property(tries = 200)
    void entriesOfTheRoundBeforeAreNone(@ForAll byte opOwn) {
        int owner = written / theirs.completionRing.entries() & 1;
        NativeMemory.putByte(entry() + Cqe.OP_OWN_OFFSET, (byte) (opOwn & ~1 | owner ^ 1));
        assertEquals(0, theirs.completions.poll(1, theirs.scratch() + 4096));
        assertEquals(0, ours.next());
    }

    private static void fail(boolean send, int syndrome, int sendCounter) {
        long entry = template();
        NativeMemory.putByte(entry + Cqe.ERROR_SYNDROME_OFFSET, (byte) syndrome);
        finish(entry, send ? sendCounter : received, send ? Cqe.OPCODE_REQ_ERR : Cqe.OPCODE_RESP_ERR, 0, false);
    }

    private static long entry() {
        CompletionRing ring = theirs.completionRing;
        return ring.buffer() + (long) (written % ring.entries() + 1) * ring.entryBytes() - Cqe.SIZE_BYTES;
    }

    private static long template() {
        long entry = entry();
        for (int i = 0; i < receiveTemplate.length - 1; i++) {
            NativeMemory.putByte(entry + i, receiveTemplate[i]);
        }
        return entry;
    }

    private static void finish(long entry, int wqeCounter, int opcode, int format, boolean solicited) {
        int owner = written / theirs.completionRing.entries() & 1;
        NetworkOrder.putU16(entry + Cqe.WQE_COUNTER_OFFSET, wqeCounter);
        NativeMemory.putByte(entry + Cqe.OP_OWN_OFFSET,
                (byte) (opcode << Cqe.OPCODE_SHIFT | format << Cqe.FORMAT_SHIFT | (solicited ? 2 : 0) | owner));
        written++;
        long wc = theirs.scratch() + 4096;
        NativeMemory.fill(wc, Wc.SIZE_BYTES, (byte) 0x5a);
        long cqe = ours.next();
        assertEquals(1, theirs.completions.poll(1, wc), "libmlx5 does not find it");
        compare(cqe, wc);
    }

    private static void compare(long cqe, long wc) {
        assertNotEquals(0, cqe, "ours does not find it");
        assertEquals(Wc.status(wc), Cqe.isError(cqe) ? Cqe.status(cqe) : WcStatus.SUCCESS, "status");
        boolean receive = Wc.wrId(wc) < SEND_ID;
        received += receive ? 1 : 0;
        int requests = receive ? theirs.rings.receive().entries() : theirs.rings.sendBlocks();
        assertEquals(Wc.wrId(wc) % SEND_ID, Cqe.wqeCounter(cqe) % requests, "request");
        if (Wc.status(wc) == WcStatus.SUCCESS && receive) {
            assertEquals(Wc.byteLen(wc), Cqe.byteCount(cqe), "length");
            assertEquals(Wc.qpNum(wc), Cqe.flowTag(cqe), "flow tag");
            // libmlx5 never reports it for IPv6.
            boolean ipv6 = (NativeMemory.getByte(cqe + Cqe.L4_HDR_TYPE_ETC_OFFSET) >> Cqe.L3_HDR_TYPE_SHIFT
                    & Cqe.L3_HDR_TYPE_MASK) == Cqe.L3_HDR_TYPE_IPV6;
            boolean right = ipv6 ? (NativeMemory.getByte(cqe + Cqe.HDS_IP_EXT_OFFSET) & Cqe.L4_OK) != 0
                    : (Wc.wcFlags(wc) & Wc.FLAG_IP_CSUM_OK) != 0;
            assertEquals(right, Cqe.checksumVerified(cqe), "checksum");
        }
    }
}
