package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.segment.SackRanges;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.send.Scoreboard;
import io.rdmaraw.tcp.send.SendQueue;
import io.rdmaraw.wire.SipHash;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Data structures compared with simple models, with sequence numbers on both sides of zero. */
class StructuresTest {
    private static final int BASE = -5_000;

    private static TcpEngine engine() {
        return new TcpEngine(TcpConfig.DEFAULT, new Recorder(), new SplittableRandom(1), 0);
    }

    private static TcpConnection connection(TcpEngine engine, int i) {
        return new TcpConnection(engine, 0, 0xFFFF_0000_0001L, 80, 0, 0xFFFF_0A00_0000L + (i >>> 16), i & 0xFFFF);
    }

    @Test
    void sequenceComparisonsWorkAcrossZero() {
        assertTrue(Sequence.before(-1, 0));
        assertTrue(Sequence.after(0, -1));
        assertTrue(Sequence.before(Integer.MAX_VALUE, Integer.MIN_VALUE));
        assertTrue(Sequence.inside(-2, 1, 3));
        assertFalse(Sequence.inside(-2, 3, 3));
        assertTrue(Sequence.between(-2, 3, 3));
        assertFalse(Sequence.inside(7, 7, 7));
        assertTrue(Sequence.between(7, 7, 7));
        assertEquals(2, Sequence.max(-3, 2));
        assertEquals(-3, Sequence.min(-3, 2));
    }

    @Test
    void sipHashMatchesTheReference() {
        // Key 00..0f, message 00..2f; computed by another implementation that reproduces the authors' vectors.
        SipHash hash = new SipHash(0x0706050403020100L, 0x0f0e0d0c0b0a0908L);
        assertEquals(0xe612a3cb9ecba951L, hash.hash(0x0706050403020100L, 0x0f0e0d0c0b0a0908L, 0x1716151413121110L,
                0x1f1e1d1c1b1a1918L, 0x2726252423222120L, 0x2f2e2d2c2b2a2928L));
    }

    @Test
    void reassemblyDeliversEachByteOnceAndReportsItsRanges() {
        for (int seed = 0; seed < 300; seed++) {
            Random random = new Random(seed);
            Reassembly held = new Reassembly();
            byte[] stream = new byte[2000];
            random.nextBytes(stream);
            TreeSet<Integer> model = new TreeSet<>();
            List<ByteBuf> buffers = new ArrayList<>();
            int next = 0;
            for (int step = 0; step < 60; step++) {
                int start = next + 1 + random.nextInt(Math.max(1, Math.min(800, stream.length - next - 2)));
                int end = Math.min(stream.length, start + 1 + random.nextInt(200));
                if (start >= end) {
                    break;
                }
                ByteBuf buffer = Unpooled.wrappedBuffer(stream.clone());
                buffers.add(buffer);
                int before = model.size();
                for (int i = start; i < end; i++) {
                    model.add(i);
                }
                assertEquals(model.size() - before, held.insert(BASE + start, BASE + end, buffer, start,
                        random.nextBoolean(), 1 << 20));
                held.ranges().add(BASE + start, BASE + end);
                buffer.release();
                assertEquals(model.size(), held.payloadBytes());
                assertRanges(model, held.ranges());
                if (random.nextInt(4) == 0) {
                    // The missing data arrives, and the adjacent pieces are delivered.
                    next += 1 + random.nextInt(300);
                    next = drain(held, model, stream, next);
                    held.ranges().removeBefore(BASE + next);
                    assertRanges(model, held.ranges());
                }
            }
            held.release();
            assertTrue(held.isEmpty());
            for (ByteBuf buffer : buffers) {
                assertEquals(0, buffer.refCnt());
            }
        }
    }

    private static int drain(Reassembly held, TreeSet<Integer> model, byte[] stream, int from) {
        int next = from;
        while (held.startsAtOrBefore(BASE + next)) {
            int end = held.firstEnd() - BASE;
            ByteBuf buffer = held.firstBuffer();
            int index = held.firstIndexOf(BASE + next);
            for (int i = next; i < end; i++) {
                assertEquals(stream[i], buffer.getByte(index + i - next));
            }
            next = Math.max(next, end);
            held.removeFirst();
            buffer.release();
        }
        model.headSet(next).clear();
        assertFalse(model.contains(next));
        return next;
    }

    private static void assertRanges(TreeSet<Integer> model, SackRanges ranges) {
        List<String> expected = new ArrayList<>();
        int start = -1;
        int last = -2;
        for (int i : model) {
            if (i != last + 1) {
                if (start >= 0) {
                    expected.add(start + "-" + (last + 1));
                }
                start = i;
            }
            last = i;
        }
        if (start >= 0) {
            expected.add(start + "-" + (last + 1));
        }
        List<String> actual = new ArrayList<>();
        for (int i = 0; i < ranges.count(); i++) {
            actual.add(ranges.start(i) - BASE + "-" + (ranges.end(i) - BASE));
        }
        assertEquals(expected, actual);
        Segment report = new Segment();
        ranges.writeBlocks(report, 3);
        assertEquals(Math.min(3, expected.size()), report.sackCount);
        for (int i = 0; i < report.sackCount; i++) {
            assertTrue(expected.contains(report.sackStart(i) - BASE + "-" + (report.sackEnd(i) - BASE)));
        }
    }

    @Test
    void scoreboardCountsMatchItsEntries() {
        for (int seed = 0; seed < 300; seed++) {
            Random random = new Random(seed);
            Scoreboard sb = new Scoreboard();
            sb.reset(BASE);
            long now = 0;
            for (int step = 0; step < 400; step++) {
                now += random.nextInt(3);
                int size = sb.tail() - sb.head();
                int entry = size == 0 ? 0 : sb.head() + random.nextInt(size);
                switch (size == 0 ? 0 : random.nextInt(9)) {
                    case 0, 1 -> sb.append(sb.endSeq() + 1 + random.nextInt(100), now);
                    case 2 -> sb.markLost(entry);
                    case 3 -> {
                        if (!sb.isSacked(entry)) {
                            sb.markSacked(entry);
                        }
                    }
                    case 4 -> {
                        if (!sb.isSacked(entry)) {
                            sb.markRetransmitted(entry, now);
                        }
                    }
                    case 5 -> sb.removeHead();
                    case 6 -> {
                        if (sb.lengthOf(entry) > 1) {
                            sb.split(entry, sb.startSeq(entry) + 1 + random.nextInt(sb.lengthOf(entry) - 1));
                        }
                    }
                    case 7 -> {
                        if (sb.lengthOf(sb.head()) > 1) {
                            sb.trimHead(sb.startSeq() + 1);
                        }
                    }
                    default -> {
                        if (random.nextInt(10) == 0) {
                            sb.clearLosses();
                        } else if (random.nextInt(10) == 0) {
                            sb.markSackedLost();
                        }
                    }
                }
                assertConsistent(sb);
            }
        }
    }

    private static void assertConsistent(Scoreboard sb) {
        int sacked = 0;
        int lost = 0;
        int inFlight = 0;
        int firstLost = Scoreboard.NONE;
        for (int e = sb.head(); e != sb.tail(); e++) {
            assertTrue(sb.lengthOf(e) > 0);
            assertEquals(e, sb.find(sb.startSeq(e)));
            assertEquals(e, sb.find(sb.endSeq(e) - 1));
            sacked += sb.isSacked(e) ? sb.lengthOf(e) : 0;
            lost += sb.isLost(e) ? sb.lengthOf(e) : 0;
            inFlight += sb.isSacked(e) || sb.isLost(e) ? 0 : 1;
            firstLost = firstLost == Scoreboard.NONE && sb.isLost(e) ? e : firstLost;
        }
        assertEquals(sacked, sb.sackedBytes());
        assertEquals(lost, sb.lostBytes());
        assertEquals(sb.endSeq() - sb.startSeq() - sacked - lost, sb.pipeBytes());
        assertEquals(firstLost, sb.firstLost());
        int linked = 0;
        for (int e = sb.oldestInFlight(); e != Scoreboard.NONE; e = sb.nextSent(e)) {
            assertFalse(sb.isSacked(e) || sb.isLost(e));
            linked++;
        }
        assertEquals(inFlight, linked);
    }

    @Test
    void sendQueueSlicesTheStream() {
        Random random = new Random(5);
        for (int round = 0; round < 200; round++) {
            SendQueue queue = new SendQueue();
            queue.reset(BASE);
            byte[] stream = new byte[3000];
            random.nextBytes(stream);
            List<ByteBuf> buffers = new ArrayList<>();
            int end = 0;
            int acked = 0;
            while (acked < stream.length) {
                if (end < stream.length && random.nextInt(3) > 0) {
                    int length = Math.min(stream.length - end, 1 + random.nextInt(60));
                    ByteBuf buffer = Unpooled.copiedBuffer(new byte[7], java.util.Arrays.copyOfRange(stream, end,
                            end + length));
                    buffer.readerIndex(7);
                    buffers.add(buffer);
                    queue.add(buffer, length);
                    end += length;
                }
                if (end > acked) {
                    int from = acked + random.nextInt(end - acked);
                    int length = 1 + random.nextInt(end - from);
                    Segment out = new Segment();
                    int got = queue.slice(BASE + from, length, 1 + random.nextInt(Segment.MAX_SLICES), out);
                    assertEquals(got, out.payloadLength());
                    assertTrue(got > 0);
                    int at = from;
                    for (int i = 0; i < out.sliceCount(); i++) {
                        for (int k = 0; k < out.sliceLength(i); k++) {
                            assertEquals(stream[at++], out.sliceBuffer(i).getByte(out.sliceIndex(i) + k));
                        }
                    }
                    out.releasePayload();
                    if (random.nextInt(4) == 0) {
                        int to = acked + random.nextInt(end - acked + 1);
                        assertEquals(to - acked, queue.acknowledge(BASE + to));
                        acked = to;
                    }
                }
            }
            assertTrue(queue.isEmpty());
            for (ByteBuf buffer : buffers) {
                assertEquals(0, buffer.refCnt());
            }
        }
    }

    @Test
    void timerWheelFiresOnceWithinOneTick() {
        for (int seed = 0; seed < 60; seed++) {
            Random random = new Random(seed);
            TcpEngine engine = engine();
            long now = random.nextLong(1L << 55);
            TimerWheel wheel = new TimerWheel(now);
            TcpConnection[] all = new TcpConnection[50];
            for (int i = 0; i < all.length; i++) {
                all[i] = connection(engine, i);
            }
            for (int step = 0; step < 2000; step++) {
                TcpConnection c = all[random.nextInt(all.length)];
                if (random.nextInt(3) > 0) {
                    c.deadlineNanos = now + (1L << random.nextInt(50)) + random.nextInt(1000);
                    wheel.schedule(c);
                } else if (random.nextInt(10) == 0) {
                    c.deadlineNanos = Tcb.NEVER;
                    wheel.cancel(c);
                }
                long earliest = Long.MAX_VALUE;
                for (TcpConnection each : all) {
                    earliest = Math.min(earliest, each.deadlineNanos);
                }
                long next = wheel.nextNanos();
                assertTrue(next <= (earliest == Tcb.NEVER ? Tcb.NEVER : earliest + (1L << TimerWheel.TICK_SHIFT)),
                        "sleeps past a deadline");
                now = Math.max(now, random.nextBoolean() && next != Tcb.NEVER ? next
                        : now + (1L << random.nextInt(34)));
                TcpConnection due;
                while ((due = wheel.advance(now)) != null) {
                    assertTrue(due.deadlineNanos <= now, "fired early");
                    due.deadlineNanos = Tcb.NEVER;
                }
                for (TcpConnection each : all) {
                    assertTrue(each.deadlineNanos > now - (1L << TimerWheel.TICK_SHIFT), "forgotten");
                }
            }
        }
    }

    @Test
    void connectionTableFindsExactlyTheAddedConnections() {
        TcpEngine engine = engine();
        ConnectionTable table = new ConnectionTable(1, 2);
        Map<Integer, TcpConnection> model = new HashMap<>();
        Random random = new Random(1);
        for (int step = 0; step < 40_000; step++) {
            int i = random.nextInt(step < 20_000 ? 3000 : 200);
            TcpConnection known = model.get(i);
            TcpConnection c = connection(engine, i);
            assertSame(known, lookup(table, engine, c));
            if (known == null) {
                table.add(c);
                model.put(i, c);
            } else if (random.nextBoolean()) {
                table.remove(known);
                model.remove(i);
            }
            assertEquals(model.size(), table.size());
        }
        for (TcpConnection c : new ArrayList<>(model.values())) {
            table.remove(c);
            assertNull(lookup(table, engine, c));
        }
        assertEquals(0, table.size());
    }

    private static TcpConnection lookup(ConnectionTable table, TcpEngine engine, TcpConnection like) {
        return table.find(like.hash, like.localHigh, like.localLow, like.localPort, like.remoteHigh, like.remoteLow,
                like.remotePort);
    }

    @Test
    void timeWaitTableKeepsRecordsUntilTheyExpire() {
        TcpEngine engine = engine();
        TcpCounters counters = new TcpCounters();
        TimeWaitTable table = new TimeWaitTable(500, 1000, counters);
        Map<Integer, Long> model = new HashMap<>();
        Random random = new Random(3);
        long now = 0;
        for (int step = 0; step < 60_000; step++) {
            int i = random.nextInt(800);
            TcpConnection c = connection(engine, i);
            c.sndNxt = i;
            c.rcvNxt = -i;
            int mark = i % 5 == 0 ? i + 1 : 0;
            c.soMark(mark);
            int record = table.find(c.hash, c.localHigh, c.localLow, c.localPort, c.remoteHigh, c.remoteLow,
                    c.remotePort);
            Long expiry = model.get(i);
            assertEquals(expiry != null, record != TimeWaitTable.NONE, "step " + step);
            if (expiry == null) {
                if (model.size() < 500) {
                    table.add(c, now);
                    model.put(i, now + 1000);
                }
            } else {
                assertEquals(i, table.sndNxt(record));
                assertEquals(-i, table.rcvNxt(record));
                assertEquals(mark, table.soMark(record), "step " + step);
                if (random.nextInt(3) == 0) {
                    table.restart(record, now);
                    model.put(i, now + 1000);
                } else if (random.nextInt(3) == 0) {
                    table.remove(record);
                    model.remove(i);
                }
            }
            now += random.nextInt(4);
            long at = now;
            table.expire(now);
            model.values().removeIf(t -> t <= at);
            assertEquals(model.size(), table.size(), "step " + step);
        }
        table.expire(now + 10_000);
        assertEquals(0, table.size());
        assertEquals(Tcb.NEVER, table.nextNanos());
        assertEquals(0, counters.timeWaitOverflows);
    }

    @Test
    void fullTimeWaitTableRemovesTheOldest() {
        TcpEngine engine = engine();
        TcpCounters counters = new TcpCounters();
        TimeWaitTable table = new TimeWaitTable(2, 1000, counters);
        for (int i = 0; i < 3; i++) {
            table.add(connection(engine, i), i);
        }
        assertEquals(2, table.size());
        assertEquals(1, counters.timeWaitOverflows);
        TcpConnection first = connection(engine, 0);
        assertEquals(TimeWaitTable.NONE, table.find(first.hash, first.localHigh, first.localLow, first.localPort,
                first.remoteHigh, first.remoteLow, first.remotePort));
    }

    /**
     * The records share clusters of the hash table, in which closing one gap moves other entries. A lost entry
     * would cause an endless search.
     */
    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void largeTimeWaitTableRemovesTheOldestInBatches() {
        int most = 2048;
        int together = 16;
        int added = 3 * most;
        TcpEngine engine = engine();
        TcpCounters counters = new TcpCounters();
        TimeWaitTable table = new TimeWaitTable(most, 1000, counters);
        for (int i = 0; i < added; i++) {
            table.add(connection(engine, i), i);
            int forgotten = i < most ? 0 : (i - most) / together * together + together;
            assertEquals(forgotten, counters.timeWaitOverflows);
            assertEquals(i + 1 - forgotten, table.size());
        }
        for (int i = 0; i < added; i++) {
            TcpConnection c = connection(engine, i);
            boolean kept = table.find(c.hash, c.localHigh, c.localLow, c.localPort, c.remoteHigh, c.remoteLow,
                    c.remotePort) != TimeWaitTable.NONE;
            assertEquals(i >= added - table.size(), kept, "connection " + i);
        }
        table.expire(added + 1000);
        assertEquals(0, table.size());
    }

    /** Cutting in one pass has the same result as cutting one by one. */
    @Test
    void lostEntriesAreCutInOnePass() {
        for (int seed = 0; seed < 300; seed++) {
            Scoreboard onePass = scoreboard(seed);
            Scoreboard oneByOne = scoreboard(seed);
            int most = 1 + seed % 90;
            onePass.splitLost(most);
            for (int entry = oneByOne.head(); entry != oneByOne.tail(); entry++) {
                if (oneByOne.isLost(entry) && oneByOne.lengthOf(entry) > most) {
                    oneByOne.split(entry, oneByOne.startSeq(entry) + most);
                }
            }
            assertEquals(describe(oneByOne), describe(onePass));
            // The scoreboard remains usable.
            assertEquals(describe(repaired(oneByOne)), describe(repaired(onePass)));
        }
    }

    private static Scoreboard scoreboard(int seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Scoreboard board = new Scoreboard();
        board.reset(-500);
        for (int step = 0; step < 400; step++) {
            int entry = board.isEmpty() ? 0 : board.head() + random.nextInt(board.tail() - board.head());
            switch (board.isEmpty() ? 0 : random.nextInt(6)) {
                case 0, 1 -> board.append(board.endSeq() + 1 + random.nextInt(300), step);
                case 2 -> board.markLost(entry);
                case 3 -> {
                    if (!board.isSacked(entry)) {
                        board.markSacked(entry);
                    }
                }
                case 4 -> {
                    if (board.isLost(entry)) {
                        board.markRetransmitted(entry, step);
                    }
                }
                default -> {
                    if (random.nextInt(4) == 0) {
                        board.removeHead();
                    }
                }
            }
        }
        return board;
    }

    private static Scoreboard repaired(Scoreboard board) {
        while (board.lostBytes() > 0) {
            board.markRetransmitted(board.firstLost(), 1000);
        }
        return board;
    }

    private static String describe(Scoreboard board) {
        StringBuilder text = new StringBuilder();
        for (int entry = board.head(); entry != board.tail(); entry++) {
            text.append(board.startSeq(entry)).append('+').append(board.lengthOf(entry)).append('@')
                    .append(board.sentNanos(entry)).append(board.isSacked(entry) ? "s" : "")
                    .append(board.isLost(entry) ? "l" : "").append(board.isRetransmitted(entry) ? "r" : "").append(' ');
        }
        for (int entry = board.oldestInFlight(); entry != Scoreboard.NONE; entry = board.nextSent(entry)) {
            text.append(board.startSeq(entry)).append(' ');
        }
        for (int entry = board.head(); entry != board.tail(); entry++) {
            text.append(board.isSacked(entry) ? board.firstUnsackedAfter(entry) - board.head() + " " : "");
        }
        return text.append(board.sackedBytes()).append(' ').append(board.sackedCount()).append(' ')
                .append(board.lostBytes()).append(' ').append(board.pipeBytes()).toString();
    }
}
