package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What received data takes of an engine's memory, as peers and readers make the most of it. */
class ReceiveMemoryTest {
    /** A receive slot. */
    private static final int SLOT_BYTES = 2048;
    private static final int ISN = 1000;

    private final List<ByteBuf> slots = new ArrayList<>();
    private final List<TcpConnection> connections = new ArrayList<>();
    private boolean memoryLow;
    /** Bytes that are kept, and the buffers of them. */
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
            out.transmitted();
        }
    }

    private static Segment segment(int connection, int flags, int seq) {
        return new Segment().source(0, Dialogue.THERE, 5000 + connection).destination(0, Dialogue.HERE, 80)
                .flags(flags).seq(seq).ack(ISN + 1).window(1000);
    }

    /** A segment of {@code length} bytes from {@code seq} on, in a slot of its own. */
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
        assertEquals(List.of(), engine.brokenInvariants());
    }

    @AfterEach
    void nothingIsLeft() {
        engine.shutdown();
        assertEquals(0, slotsHeld());
        assertEquals(0, engine.receiveMemory.aheadBytes());
        assertEquals(0, engine.receiveMemory.unreadBytes());
    }

    // ---- slots ----

    @ParameterizedTest
    @CsvSource({"1, 2", "100, 200", "1000, 1000", "1023, 1100"})
    void smallPiecesOutOfOrderLeaveTheirSlots(int length, int distance) {
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
        assertTrue(engine.receiveMemory.aheadBytes() >= 150 * SLOT_BYTES);
        assertSound();
    }

    /** A frame beyond the MTU whose gaps alone are new: each would be charged all of the slot. */
    @Test
    void whatIsNewInManyPlacesOfALongSegmentLeavesItsSlot() {
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
    void aLongSegmentIsHeldInItsSlot() {
        start(TcpLimits.builder(), 1);
        receive(0, 3, 33_000, 65_600);
        assertEquals(1, slotsHeld());
        assertTrue(engine.receiveMemory.aheadBytes() >= 65_600);
        assertSound();
    }

    @Test
    void whenSlotsAreFewLargePiecesAreCopiedToo() {
        start(TcpLimits.builder(), 2);
        for (int i = 0; i < 100; i++) {
            receive(0, 3 + i * 1400, 1400);
        }
        memoryLow = true;
        receive(1, 3, 1400);
        assertEquals(100, slotsHeld());
        engine.giveBackBuffers(64);
        assertEquals(36, slotsHeld());
        engine.giveBackBuffers(64);
        assertEquals(0, slotsHeld());
        assertEquals(100, engine.counters().outOfOrderCopies);
        assertSound();
        // Nothing of it is lost.
        receive(0, 1, 2);
        assertEquals(2 + 100 * 1400, connections.get(0).unreadBytes());
    }

    // ---- number of pieces ----

    @Test
    void rangesHaveABound() {
        start(TcpLimits.builder().maxOutOfOrderRanges(100), 1);
        for (int i = 0; i < 3000; i++) {
            receive(0, 3 + i * 2, 1);
        }
        TcpConnection c = connections.get(0);
        assertEquals(100, c.reassembly.ranges().count());
        assertEquals(2900, engine.counters().receiveMemoryDrops);
        // What extends one, or joins two, is taken.
        receive(0, 4, 1);
        assertEquals(99, c.reassembly.ranges().count());
        receive(0, 3 + 99 * 2 + 1, 1);
        assertEquals(99, c.reassembly.ranges().count());
        receive(0, 5000, 1);
        assertEquals(100, c.reassembly.ranges().count());
        assertSound();
    }

    @Test
    void piecesThatFollowEachOtherShareBuffers() {
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

    // ---- all together ----

    @Test
    void atTheBoundTheLargestHolderLosesWhatCameAhead() {
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
        // It comes again, and so does what was missing.
        receive(0, 3, 1100);
        receive(0, 1, 2);
        assertEquals(1102, connections.get(0).unreadBytes());
        assertSound();
    }

    @Test
    void manyHoldersShareTheBound() {
        start(TcpLimits.builder().maxReceiveBytes(256 << 10), 100);
        for (int round = 0; round < 20; round++) {
            for (int i = 0; i < 100; i++) {
                receive(i, 3 + round * 1300, 1200);
            }
            assertSound();
        }
        assertTrue(engine.receiveMemory.aheadBytes() <= 256 << 10);
    }

    @Test
    void dataInOrderIsNeverTakenBackAndAReaderGoesOn() {
        start(TcpLimits.builder().maxReceiveBytes(256 << 10), 4);
        int[] taken = new int[4];
        for (int i = 0; i < 600; i++) {
            for (int k = 0; k < 3; k++) {
                int before = connections.get(k).unreadBytes();
                receive(k, 1 + taken[k], 1000);
                taken[k] += connections.get(k).unreadBytes() - before;
                assertTrue(connections.get(k).unreadBytes() >= before);
            }
            // The fourth one reads.
            receive(3, 1 + taken[3], 1000);
            taken[3] += connections.get(3).unreadBytes();
            connections.get(3).readWindowOpened(connections.get(3).unreadBytes());
        }
        assertEquals(600_000, taken[3]);
        assertTrue(taken[0] + taken[1] + taken[2] <= (256 << 10) + 3 * 1000);
        assertTrue(engine.counters().receiveMemoryDrops > 0);
        assertSound();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 256, 1460})
    void aReaderThatHasStoppedHoldsFourTimesHisBufferAtMost(int length) {
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
        c.readWindowOpened(c.unreadBytes());
        poll();
        assertEquals(0, engine.receiveMemory.unreadBytes());
        receive(0, seq, length);
        assertEquals(length, c.unreadBytes());
    }

    @Test
    void piecesThatTheUserJoinsCountAsOne() {
        start(TcpLimits.builder(), 1);
        TcpConnection c = connections.get(0);
        for (int i = 0; i < 20_000; i++) {
            receive(0, 1 + i, 1);
            c.unreadPieceJoined();
            assertEquals(i + 1, c.unreadBytes());
        }
        assertEquals(1, c.unreadPieces());
        assertSound();
        c.readWindowOpened(20_000);
        assertSound();
        assertEquals(0, c.unreadPieces());
    }

    @Test
    void whatIsReadInOtherPiecesIsCounted() {
        start(TcpLimits.builder(), 1);
        TcpConnection c = connections.get(0);
        for (int i = 0; i < 100; i++) {
            receive(0, 1 + i * 10, 10);
        }
        for (int i = 0; i < 333; i++) {
            c.readWindowOpened(3);
            assertSound();
        }
        assertEquals(1, c.unreadPieces());
        c.readWindowOpened(1);
        assertEquals(0, c.unreadPieces());
        assertEquals(0, engine.receiveMemory.unreadBytes());
    }

    /** Those looked at for the largest holder are others each time, so that none stays hidden behind small ones. */
    @Test
    void aLargeHolderIsFoundBehindManySmallOnes() {
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

    /** Segments may be longer than the share, where the kernel or the device has put them together. */
    @Test
    void aShareIsOfferedToAPeerOfLongSegments() {
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
            c.readWindowOpened(c.unreadBytes());
        }
        engine.onSegment(segment(0, TcpFlags.ACK, c.rcvNxt).payload(buffer, 0, c.rcvAdv - c.rcvNxt), now);
        poll();
        c.readWindowOpened(c.unreadBytes());
        poll();
        assertTrue(c.rcvAdv - c.rcvNxt >= 8 << 10, c.rcvAdv - c.rcvNxt + " bytes are offered");
    }

    /** A peer whose data is refused must learn that it is there to wait for, or it takes us for dead. */
    @Test
    void whoIsRefusedIsToldAClosedWindowUntilThereIsRoom() {
        Dialogue d = Dialogue.established(
                Dialogue.plain().receiveBufferBytes(16 << 10).maxReceiveBufferBytes(16 << 10));
        d.events.readAtOnce = false;
        int taken = 0;
        while (d.engine.counters().receiveMemoryDrops == 0) {
            d.after(1).hears("A " + (1 + taken) + " len 1 ack 1").after(0);
            taken = d.c.unreadBytes();
        }
        assertEquals(257, taken);
        assertEquals(1 + taken, d.edge);
        // What it has offered it takes all the same.
        int edge = d.c.rcvAdv;
        d.c.readWindowOpened(100);
        d.after(0);
        assertEquals(edge, d.c.rcvAdv);
        assertEquals(edge - Dialogue.IRS, d.edge);
        d.hears("A " + (1 + taken) + " len 1 ack 1").after(0);
        assertEquals(taken + 1 - 100, d.c.unreadBytes());
        start(TcpLimits.builder(), 1);
    }
}
