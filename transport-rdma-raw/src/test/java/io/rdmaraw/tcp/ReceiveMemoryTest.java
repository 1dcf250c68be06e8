package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Memory that received data occupies in an engine, with peers and readers that try to maximize it. */
class ReceiveMemoryTest {
    /** Size of a receive slot. */
    private static final int SLOT_BYTES = 2048;
    private static final int ISN = 1000;

    private final List<ByteBuf> slots = new ArrayList<>();
    private final List<TcpConnection> connections = new ArrayList<>();
    private boolean memoryLow;
    /** Keeps received bytes unread. */
    private final Recorder events = new Recorder() {
        @Override
        public void accepted(TcpListener listener, TcpConnection connection) {
            connections.add(connection);
        }

        @Override
        public boolean isReceiveMemoryLow() {
            return memoryLow;
        }
    };
    private TcpEngine engine;
    private long now = 1_000_000_000;

    private void start(TcpLimits.Builder limits, int count) {
        events.readAtOnce = false;
        TcpConfig config = TcpConfig.builder().timestamps(false).initialSequence(() -> ISN).limits(limits.build())
                .build();
        engine = new TcpEngine(config, events, new java.util.SplittableRandom(1), now);
        engine.listen(0, 0, 80, count, null);
        for (int i = 0; i < count; i++) {
            engine.onSegment(segment(i, TcpFlags.SYN, 0).mss(1460).windowScale(7).sackPermitted(true), now);
            poll();
            engine.onSegment(segment(i, TcpFlags.ACK, 1), now);
            poll();
        }
        assertEquals(count, connections.size());
    }

    private void poll() {
        Segment out = new Segment();
        while (engine.pollSegment(now, out)) {
            out.releasePayload();
        }
    }

    private static Segment segment(int connection, int flags, int seq) {
        return new Segment().source(0, Dialogue.THERE, 5000 + connection).destination(0, Dialogue.HERE, 80)
                .flags(flags).seq(seq).ack(ISN + 1).window(1000);
    }

    /** Receives a segment of {@code length} bytes at {@code seq}, in its own slot. */
    private void receive(int connection, int seq, int length) {
        receive(connection, seq, length, SLOT_BYTES);
    }

    private void receive(int connection, int seq, int length, int slotBytes) {
        ByteBuf slot = Unpooled.wrappedBuffer(new byte[slotBytes]);
        slots.add(slot);
        engine.onSegment(segment(connection, TcpFlags.ACK, seq).payload(slot, 60, length), now);
        slot.release();
        poll();
        now += 1000;
    }

    private long slotsHeld() {
        return slots.stream().filter(slot -> slot.refCnt() > 0).count();
    }

    private void assertSound() {
        assertEquals(List.of(), engine.invariantViolations());
    }

    @AfterEach
    void nothingIsLeft() {
        engine.shutdown();
        assertEquals(0, slotsHeld());
        assertEquals(0, engine.receiveMemory.outOfOrderBytes());
        assertEquals(0, engine.receiveMemory.unreadBytes());
    }

    // ---- slots ----

    /** Internet peers send segments of 1,448 bytes even to hosts with slots for jumbo frames. */
    @ParameterizedTest
    @ValueSource(ints = {2048, 16384})
    void wholeWindowIsHeldAfterLossForAnySlotSize(int slotBytes) {
        start(TcpLimits.builder(), 1);
        TcpConnection c = connections.getFirst();
        c.receiveBufferBytes(512 << 10);
        poll();
        int window = c.rcvAdv - c.rcvNxt;
        int sent = 0;
        for (int seq = 1 + 1448; seq + 1448 <= 1 + window; seq += 1448) {
            receive(0, seq, 1448, slotBytes);
            sent++;
        }
        assertTrue(sent > 300, sent + " segments");
        assertEquals(sent * 1448, c.outOfOrderBytes());
        assertEquals(0, engine.counters().receiveMemoryDrops);
        assertEquals(slotBytes == SLOT_BYTES ? sent : 0, slotsHeld());
        assertSound();
    }

    @ParameterizedTest
    @CsvSource({"1, 2", "100, 200", "1000, 1000", "1023, 1100"})
    void smallOutOfOrderPiecesReleaseTheirSlots(int length, int distance) {
        start(TcpLimits.builder(), 1);
        for (int i = 0; i < 3000; i++) {
            receive(0, 3 + i * distance, length);
        }
        assertEquals(0, slotsHeld());
        assertSound();
    }

    @Test
    void largePiecesAreChargedTheirSlots() {
        start(TcpLimits.builder(), 1);
        for (int i = 0; i < 150; i++) {
            receive(0, 3 + i * 1400, 1400);
        }
        assertEquals(150, slotsHeld());
        assertTrue(engine.receiveMemory.outOfOrderBytes() >= 150 * SLOT_BYTES);
        assertSound();
    }

    /**
     * A merged frame of which only the gaps between held pieces are new. By reference, each gap would be charged
     * the whole slot.
     */
    @Test
    void longSegmentWithManyGapsReleasesItsSlot() {
        start(TcpLimits.builder().maxReceiveBytes(256 << 10), 1);
        for (int i = 0; i < 60; i++) {
            receive(0, 1500 + i * 1025, 1);
        }
        receive(0, 3, 63_000, 65_600);
        assertSound();
        assertEquals(63_000, connections.get(0).outOfOrderBytes());
        assertEquals(0, slotsHeld());
        receive(0, 1, 2);
        assertEquals(63_002, connections.get(0).unreadBytes());
        assertSound();
    }

    @Test
    void longSegmentIsHeldInItsSlot() {
        start(TcpLimits.builder(), 1);
        receive(0, 3, 33_000, 65_600);
        assertEquals(1, slotsHeld());
        assertTrue(engine.receiveMemory.outOfOrderBytes() >= 65_600);
        assertSound();
    }

    @Test
    void largePiecesAreCopiedIfSlotsAreScarce() {
        start(TcpLimits.builder(), 2);
        for (int i = 0; i < 100; i++) {
            receive(0, 3 + i * 1400, 1400);
        }
        memoryLow = true;
        receive(1, 3, 1400);
        assertEquals(100, slotsHeld());
        engine.releaseReceiveBuffers(64);
        assertEquals(36, slotsHeld());
        engine.releaseReceiveBuffers(64);
        assertEquals(0, slotsHeld());
        assertEquals(100, engine.counters().outOfOrderCopies);
        assertSound();
        // No data is lost.
        receive(0, 1, 2);
        assertEquals(2 + 100 * 1400, connections.get(0).unreadBytes());
    }

    // ---- number of pieces ----

    @Test
    void rangesAreLimited() {
        start(TcpLimits.builder().maxOutOfOrderRanges(100), 1);
        for (int i = 0; i < 3000; i++) {
            receive(0, 3 + i * 2, 1);
        }
        TcpConnection c = connections.get(0);
        assertEquals(100, c.reassembly.ranges().count());
        assertEquals(2900, engine.counters().receiveMemoryDrops);
        // Data that extends a range or joins two is accepted.
        receive(0, 4, 1);
        assertEquals(99, c.reassembly.ranges().count());
        receive(0, 3 + 99 * 2 + 1, 1);
        assertEquals(99, c.reassembly.ranges().count());
        receive(0, 5000, 1);
        assertEquals(100, c.reassembly.ranges().count());
        assertSound();
    }

    @Test
    void adjacentPiecesShareBuffers() {
        start(TcpLimits.builder(), 1);
        for (int i = 0; i < 8000; i++) {
            receive(0, 3 + i, 1);
        }
        Reassembly held = connections.get(0).reassembly;
        assertEquals(8000, held.payloadBytes());
        assertTrue(held.pieceCount() <= 4, held.pieceCount() + " pieces");
        assertTrue(held.chargedBytes() <= 16 * 1024, held.chargedBytes() + " bytes");
        receive(0, 1, 2);
        assertEquals(8002, connections.get(0).unreadBytes());
        assertSound();
    }

    @Test
    void smallSegmentsInRandomOrderAreKept() {
        start(TcpLimits.builder(), 1);
        events.readAtOnce = true;
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < 3000; i++) {
            order.add(i % 1000);
        }
        Collections.shuffle(order, new Random(1));
        order.forEach(i -> receive(0, 1 + i * 60, 60));
        assertEquals(60_000, connections.get(0).bytesIn);
        assertEquals(0, engine.counters().receiveMemoryDrops);
        assertSound();
    }

    // ---- all together ----

    /** Each of the connections could hold 16 KiB beyond the bound. */
    @Test
    void readersThatHaveStoppedStayWithinTheBound() {
        start(TcpLimits.builder().maxReceiveBytes(1 << 20), 500);
        for (int round = 0; round < 20; round++) {
            for (int i = 0; i < 500; i++) {
                receive(i, 1 + connections.get(i).unreadBytes(), 1000);
            }
        }
        assertTrue(engine.receiveMemory.unreadBytes() <= (1 << 20) + 1000 + Reassembly.OVERHEAD_BYTES);
        assertSound();
    }

    @Test
    void largestHolderLosesOutOfOrderDataAtLimit() {
        start(TcpLimits.builder().maxReceiveBytes(256 << 10), 3);
        for (int i = 0; i < 200; i++) {
            receive(0, 3 + i * 1200, 1100);
            assertSound();
        }
        assertTrue(engine.counters().receiveMemoryDrops > 0);
        assertEquals(0, engine.counters().outOfOrderPrunes);
        receive(1, 3, 1100);
        receive(2, 3, 1100);
        assertEquals(1, engine.counters().outOfOrderPrunes);
        assertEquals(0, connections.get(0).outOfOrderBytes());
        assertEquals(1100, connections.get(1).outOfOrderBytes());
        assertEquals(1100, connections.get(2).outOfOrderBytes());
        // The dropped data is retransmitted, and the missing data arrives.
        receive(0, 3, 1100);
        receive(0, 1, 2);
        assertEquals(1102, connections.get(0).unreadBytes());
        assertSound();
    }

    @Test
    void manyHoldersShareTheLimit() {
        start(TcpLimits.builder().maxReceiveBytes(256 << 10), 100);
        for (int round = 0; round < 20; round++) {
            for (int i = 0; i < 100; i++) {
                receive(i, 3 + round * 1300, 1200);
            }
            assertSound();
        }
        assertTrue(engine.receiveMemory.outOfOrderBytes() <= 256 << 10);
    }

    @Test
    void inOrderDataIsKeptAndActiveReaderContinues() {
        start(TcpLimits.builder().maxReceiveBytes(256 << 10), 4);
        int[] taken = new int[4];
        for (int i = 0; i < 600; i++) {
            for (int k = 0; k < 3; k++) {
                int before = connections.get(k).unreadBytes();
                receive(k, 1 + taken[k], 1000);
                taken[k] += connections.get(k).unreadBytes() - before;
                assertTrue(connections.get(k).unreadBytes() >= before);
            }
            // The fourth connection is read.
            receive(3, 1 + taken[3], 1000);
            taken[3] += connections.get(3).unreadBytes();
            connections.get(3).reportRead(connections.get(3).unreadBytes());
        }
        assertEquals(600_000, taken[3]);
        assertTrue(taken[0] + taken[1] + taken[2] <= (256 << 10) + 3 * 1000);
        assertTrue(engine.counters().receiveMemoryDrops > 0);
        assertSound();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 256, 1460})
    void stoppedReaderHoldsAtMostFourTimesItsBuffer(int length) {
        start(TcpLimits.builder(), 1);
        TcpConnection c = connections.get(0);
        int seq = 1;
        for (int i = 0; i < 20_000; i++) {
            receive(0, seq, length);
            seq = 1 + c.unreadBytes();
        }
        long charged = ReceiveMemory.chargedUnread(c);
        assertTrue(charged <= 5L * c.receiveBufferBytes + SLOT_BYTES, charged + " bytes");
        assertEquals(engine.receiveMemory.unreadBytes(), charged);
        c.reportRead(c.unreadBytes());
        poll();
        assertEquals(0, engine.receiveMemory.unreadBytes());
        receive(0, seq, length);
        assertEquals(length, c.unreadBytes());
    }

    @Test
    void joinedPiecesCountAsOne() {
        start(TcpLimits.builder(), 1);
        TcpConnection c = connections.get(0);
        for (int i = 0; i < 20_000; i++) {
            receive(0, 1 + i, 1);
            c.reportPieceMerged();
            assertEquals(i + 1, c.unreadBytes());
        }
        assertEquals(1, c.unreadPieces());
        assertSound();
        c.reportRead(20_000);
        assertSound();
        assertEquals(0, c.unreadPieces());
    }

    @Test
    void readsOfOtherSizesAreAccounted() {
        start(TcpLimits.builder(), 1);
        TcpConnection c = connections.get(0);
        for (int i = 0; i < 100; i++) {
            receive(0, 1 + i * 10, 10);
        }
        for (int i = 0; i < 333; i++) {
            c.reportRead(3);
            assertSound();
        }
        assertEquals(1, c.unreadPieces());
        c.reportRead(1);
        assertEquals(0, c.unreadPieces());
        assertEquals(0, engine.receiveMemory.unreadBytes());
    }

    /** Each search examines other holders, so that a large one cannot hide behind small ones. */
    @Test
    void largeHolderIsFoundAmongManySmallOnes() {
        start(TcpLimits.builder().maxReceiveBytes(256 << 10), 40);
        for (int i = 0; i < 36; i++) {
            receive(i, 3, 10);
        }
        receive(37, 3, 1100);
        for (int i = 0; i < 200; i++) {
            receive(36, 3 + i * 1200, 1100);
        }
        for (int i = 0; i < 4; i++) {
            receive(37, 3 + 1200, 1100);
            assertSound();
        }
        assertEquals(2200, connections.get(37).outOfOrderBytes());
        assertEquals(0, connections.get(36).outOfOrderBytes());
    }

    /** Segments may exceed the share if the kernel or the device has merged them. */
    @Test
    void shareIsAdvertisedToPeerWithLongSegments() {
        start(TcpLimits.builder().maxReceiveBytes(64 << 10), 4);
        TcpConnection c = connections.get(0);
        for (int k = 1; k < 4; k++) {
            for (int i = 0; i < 14; i++) {
                receive(k, 1 + i * 1024, 1024);
            }
        }
        assertTrue(engine.receiveMemory.isUnderPressure());
        ByteBuf buffer = Unpooled.wrappedBuffer(new byte[20_000]);
        while (c.rcvAdv - c.rcvNxt >= 20_000) {
            engine.onSegment(segment(0, TcpFlags.ACK, c.rcvNxt).payload(buffer, 0, 20_000), now);
            poll();
            c.reportRead(c.unreadBytes());
        }
        engine.onSegment(segment(0, TcpFlags.ACK, c.rcvNxt).payload(buffer, 0, c.rcvAdv - c.rcvNxt), now);
        poll();
        c.reportRead(c.unreadBytes());
        poll();
        assertTrue(c.rcvAdv - c.rcvNxt >= 8 << 10, c.rcvAdv - c.rcvNxt + " bytes are offered");
    }

    /** If a peer's data is rejected, the peer must see a closed window. Otherwise it would time out. */
    @Test
    void refusedPeerSeesClosedWindow() {
        Dialogue d = Dialogue.established(
                Dialogue.plain().initialReceiveBufferBytes(16 << 10).maxReceiveBufferBytes(16 << 10));
        d.events.readAtOnce = false;
        int taken = 0;
        while (d.engine.counters().receiveMemoryDrops == 0) {
            d.after(1).hears("A " + (1 + taken) + " len 1 ack 1").after(0);
            taken = d.c.unreadBytes();
        }
        assertEquals(257, taken);
        assertEquals(1 + taken, d.edge);
        // Data within the advertised window is still accepted.
        int edge = d.c.rcvAdv;
        d.c.reportRead(100);
        d.after(0);
        assertEquals(edge, d.c.rcvAdv);
        assertEquals(edge - Dialogue.IRS, d.edge);
        d.hears("A " + (1 + taken) + " len 1 ack 1").after(0);
        assertEquals(taken + 1 - 100, d.c.unreadBytes());
        start(TcpLimits.builder(), 1);
    }
}
