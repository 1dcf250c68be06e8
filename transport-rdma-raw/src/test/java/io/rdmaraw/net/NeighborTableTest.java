package io.rdmaraw.net;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

class NeighborTableTest {
    private static final int LINK = 3;
    private static final long MAC = 0x0200_0000_0042L;
    private static final IpAddress HOP = IpAddress.ipv4(0x0a000001);
    private static final int MAX_WAITING = 20;

    private final List<String> log = new ArrayList<>();
    private final NeighborTable<String> table = new NeighborTable<>(
            this::solicit,
            new NeighborTable.PacketSink<>() {
                @Override
                public void send(String packet, long mac) {
                    log.add("send " + packet + " to " + Long.toHexString(mac));
                }

                @Override
                public void discard(String packet) {
                    log.add("discard " + packet);
                }
            }, MAX_WAITING);
    private long nowNanos = Long.MAX_VALUE - TimeUnit.SECONDS.toNanos(10);

    /** The host's entry of the hop. */
    private Neighbor entryOrNull;

    private Neighbor solicit(int link, IpAddress hop) {
        log.add("who has " + hop + " on " + link);
        return entryOrNull;
    }

    private static Neighbor failure() {
        return new Neighbor(LINK, HOP, Neighbor.NO_MAC, Neighbor.FAILED);
    }

    private void after(long seconds) {
        nowNanos += TimeUnit.SECONDS.toNanos(seconds);
        table.poll(nowNanos);
    }

    private void assertLog(String... lines) {
        assertEquals(List.of(lines), log);
        log.clear();
    }

    @Test
    void packetsWaitUntilTheAddressIsKnown() {
        assertEquals(Neighbor.NO_MAC, table.macOf(LINK, HOP, nowNanos));
        table.sendWhenResolved(LINK, HOP, "a", nowNanos);
        table.sendWhenResolved(LINK, HOP, "b", nowNanos);
        assertLog("who has 10.0.0.1 on 3");
        table.learned(LINK, HOP, MAC, nowNanos);
        assertLog("send a to 20000000042", "send b to 20000000042");
        assertEquals(MAC, table.macOf(LINK, HOP, nowNanos));
    }

    /** The first burst of a server must not be lost, even if its gateway is not resolved yet. */
    @Test
    void oneHopQueuesItsLatestPacketsInHalfOfTheTable() {
        int most = MAX_WAITING / 2;
        for (int i = 0; i < most + 2; i++) {
            table.sendWhenResolved(LINK, HOP, Integer.toString(i), nowNanos);
        }
        assertLog("who has 10.0.0.1 on 3", "discard 0", "discard 1");
        assertEquals(0, table.displacedCount(), "they are of its own");
        for (int i = 0; i < most; i++) {
            table.sendWhenResolved(LINK, hop(1), "other", nowNanos);
        }
        assertLog("who has 10.1.0.1 on 3");
        table.learned(LINK, HOP, MAC, nowNanos);
        assertEquals(IntStream.range(2, most + 2).mapToObj(i -> "send " + i + " to 20000000042").toList(), log);
    }

    /** Unresolvable hops with much traffic must not displace the first packets of another hop. */
    @Test
    void deadHopsWithMuchTrafficDoNotDisplaceOthers() {
        for (int i = 0; i < MAX_WAITING; i++) {
            table.sendWhenResolved(LINK, hop(i % 2), "dead", nowNanos);
        }
        table.sendWhenResolved(LINK, HOP, "a", nowNanos);
        for (int i = 0; i < 10 * MAX_WAITING; i++) {
            table.sendWhenResolved(LINK, hop(i % 2), "dead", nowNanos);
        }
        assertEquals(MAX_WAITING, table.waitingCount());
        log.clear();
        table.learned(LINK, HOP, MAC, nowNanos);
        assertLog("send a to 20000000042");
    }

    private static IpAddress hop(int number) {
        return IpAddress.ipv4(0x0a010000 + number);
    }

    /** A sender can cause packets to many non-existent hops. The number of waiting packets is limited. */
    @Test
    void oldestPacketIsDiscardedWhenTheTableIsFull() {
        for (int i = 0; i < 5 * MAX_WAITING; i++) {
            table.sendWhenResolved(LINK, hop(i / 2), Integer.toString(i), nowNanos);
            assertTrue(table.waitingCount() <= MAX_WAITING);
        }
        assertEquals(MAX_WAITING, table.waitingCount());
        assertEquals(4 * MAX_WAITING, table.displacedCount());
        assertEquals(IntStream.range(0, 4 * MAX_WAITING).mapToObj(i -> "discard " + i).toList(),
                log.stream().filter(line -> line.startsWith("discard")).toList());
        log.clear();
        table.learned(LINK, hop(0), MAC, nowNanos);
        assertLog();
        table.learned(LINK, hop(5 * MAX_WAITING / 2 - 1), MAC, nowNanos);
        assertLog("send 98 to 20000000042", "send 99 to 20000000042");
        assertEquals(MAX_WAITING - 2, table.waitingCount());
        table.close();
        assertEquals(MAX_WAITING - 2, log.size());
        assertEquals(0, table.waitingCount());
    }

    /** A full table must not affect a resolved hop. */
    @Test
    void resolvedHopIsNotAffectedByUnresolvedOnes() {
        table.addKnown(LINK, HOP, MAC, nowNanos);
        for (int i = 0; i < 3 * NeighborTable.MAX_UNRESOLVED; i++) {
            table.request(LINK, hop(i), nowNanos);
            assertTrue(table.size() <= NeighborTable.MAX_UNRESOLVED + 1);
        }
        assertEquals(3 * NeighborTable.MAX_UNRESOLVED, log.size());
        assertEquals(MAC, table.macOf(LINK, HOP, nowNanos));
        log.clear();
        table.learned(LINK, hop(0), MAC, nowNanos);
        assertEquals(Neighbor.NO_MAC, table.macOf(LINK, hop(0), nowNanos), "given up long ago");
        table.learned(LINK, hop(3 * NeighborTable.MAX_UNRESOLVED - 1), MAC, nowNanos);
        assertEquals(MAC, table.macOf(LINK, hop(3 * NeighborTable.MAX_UNRESOLVED - 1), nowNanos));
    }

    @Test
    void hopIsRequestedOnceForUnqueuedPackets() {
        table.request(LINK, HOP, nowNanos);
        table.request(LINK, HOP, nowNanos);
        assertLog("who has 10.0.0.1 on 3");
        table.sendWhenResolved(LINK, HOP, "a", nowNanos);
        assertLog();
        table.learned(LINK, HOP, MAC, nowNanos);
        assertLog("send a to 20000000042");
    }

    /** Many connections through one hop may report a failure at the same time. */
    @Test
    void suspectHopIsRequestedAgainAtOnce() {
        table.addKnown(LINK, HOP, MAC, nowNanos);
        table.suspect(LINK, HOP, nowNanos);
        assertLog();
        after(2);
        table.suspect(LINK, HOP, nowNanos);
        table.suspect(LINK, HOP, nowNanos);
        assertLog("who has 10.0.0.1 on 3");
        assertEquals(MAC, table.macOf(LINK, HOP, nowNanos), "it may be that only the peer is gone");
        table.learned(LINK, HOP, MAC + 1, nowNanos);
        table.suspect(LINK, HOP, nowNanos);
        assertLog();
        table.suspect(LINK, hop(1), nowNanos);
        assertLog();
    }

    @Test
    void hopWithoutAnswerIsRemoved() {
        table.sendWhenResolved(LINK, HOP, "a", nowNanos);
        after(1);
        after(1);
        assertLog("who has 10.0.0.1 on 3", "who has 10.0.0.1 on 3", "who has 10.0.0.1 on 3");
        after(1);
        assertLog("discard a");
        assertEquals(0, table.size());
        table.sendWhenResolved(LINK, HOP, "b", nowNanos);
        assertLog("who has 10.0.0.1 on 3");
    }

    /** The kernel does not report that it solicits a failed neighbour again, so its entry stays as it was. */
    @Test
    void failureBeforeTheRequestIsNoAnswer() {
        entryOrNull = failure();
        table.sendWhenResolved(LINK, HOP, "a", nowNanos);
        assertLog("who has 10.0.0.1 on 3");
        table.failed(failure());
        assertLog();
        table.learned(LINK, HOP, MAC, nowNanos);
        assertLog("send a to 20000000042");
        table.failed(failure());
        assertEquals(0, table.size(), "a failure after an answer is a new one");
    }

    @Test
    void failureBeforeTheRequestDoesNotKeepTheHop() {
        entryOrNull = failure();
        table.sendWhenResolved(LINK, HOP, "a", nowNanos);
        for (int i = 0; i < NeighborTable.MAX_ATTEMPTS; i++) {
            table.failed(failure());
            after(1);
        }
        assertLog("who has 10.0.0.1 on 3", "who has 10.0.0.1 on 3", "who has 10.0.0.1 on 3", "discard a");
        assertEquals(0, table.size());
    }

    /** A link without an address cannot solicit. When it gets one, the kernel can send at once. */
    @Test
    void unresolvedHopIsRequestedAtOnceWhenItsLinkChanges() {
        table.sendWhenResolved(LINK, HOP, "a", nowNanos);
        after(1);
        log.clear();
        table.linkChanged(LINK + 1, nowNanos);
        assertLog();
        table.linkChanged(LINK, nowNanos);
        assertLog("who has 10.0.0.1 on 3");
        after(1);
        after(1);
        assertLog("who has 10.0.0.1 on 3", "who has 10.0.0.1 on 3");
        after(1);
        assertLog("discard a");
        table.addKnown(LINK, HOP, MAC, nowNanos);
        table.linkChanged(LINK, nowNanos);
        assertLog();
    }

    @Test
    void hopsInUseAreConfirmedAndOthersRemoved() {
        table.sendWhenResolved(LINK, HOP, "a", nowNanos);
        table.learned(LINK, HOP, MAC, nowNanos);
        log.clear();
        for (int i = 0; i < 3; i++) {
            after(10);
            table.macOf(LINK, HOP, nowNanos);
        }
        after(0);
        assertLog("who has 10.0.0.1 on 3");
        table.learned(LINK, HOP, MAC, nowNanos);
        after(200);
        assertLog();
        assertEquals(1, table.size());
        after(100);
        assertLog();
        assertEquals(0, table.size(), "five minutes without use");
    }

    @Test
    void hopInUseIsRequestedUntilItFails() {
        table.sendWhenResolved(LINK, HOP, "a", nowNanos);
        table.learned(LINK, HOP, MAC, nowNanos);
        log.clear();
        after(29);
        table.macOf(LINK, HOP, nowNanos);
        after(1);
        assertEquals(MAC, table.macOf(LINK, HOP, nowNanos), "good until the opposite is known");
        after(1);
        after(1);
        assertLog("who has 10.0.0.1 on 3", "who has 10.0.0.1 on 3", "who has 10.0.0.1 on 3");
        after(1);
        assertLog("who has 10.0.0.1 on 3");
        assertEquals(MAC, table.macOf(LINK, HOP, nowNanos), "nobody has said that it is wrong");
        table.failed(failure());
        assertEquals(Neighbor.NO_MAC, table.macOf(LINK, HOP, nowNanos));
    }

    @Test
    void unusedHopIsRemoved() {
        table.addKnown(LINK, HOP, MAC, nowNanos);
        table.forgotten(LINK, HOP, nowNanos);
        table.forgotten(LINK, HOP, nowNanos);
        assertLog("who has 10.0.0.1 on 3");
        for (int second = 0; second < 300; second++) {
            after(1);
        }
        assertEquals(0, table.size(), "five minutes without use");
    }

    @Test
    void deadlineIsTheNextActionOfPoll() {
        assertEquals(Long.MAX_VALUE, table.nextDeadlineNanos());
        nowNanos = 0;
        table.sendWhenResolved(LINK, HOP, "a", nowNanos);
        assertEquals(NeighborTable.RETRY_NANOS, table.nextDeadlineNanos());
        table.learned(LINK, HOP, MAC, 5);
        assertEquals(NeighborTable.IDLE_NANOS, table.nextDeadlineNanos());
        table.macOf(LINK, HOP, 7);
        assertEquals(NeighborTable.REFRESH_NANOS + 5, table.nextDeadlineNanos());
    }

    @Test
    void closeDiscardsWaitingPackets() {
        table.sendWhenResolved(LINK, HOP, "a", nowNanos);
        table.failed(failure());
        table.sendWhenResolved(LINK, HOP, "b", nowNanos);
        table.close();
        assertLog("who has 10.0.0.1 on 3", "discard a", "who has 10.0.0.1 on 3", "discard b");
    }
}
