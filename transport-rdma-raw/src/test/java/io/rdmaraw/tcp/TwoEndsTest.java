package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tcp.congestion.NewReno;

import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TwoEndsTest {
    private static final long SECOND = 1_000_000_000L;

    @Test
    void opensSendsAndClosesWithoutLoss() {
        TwoEnds ends = new TwoEnds(TcpConfig.DEFAULT, TcpConfig.DEFAULT, 1);
        TcpConnection c = ends.connect();
        ends.run(SECOND);
        assertEquals(List.of("connected"), ends.clientEvents.events);
        assertEquals(List.of("accepted"), ends.serverEvents.events);
        c.send(ends.buffer("hello".getBytes()));
        c.close();
        ends.run(SECOND);
        assertEquals("hello", ends.serverEvents.received.toString());
        assertEquals(List.of("accepted", "peerFinished"), ends.serverEvents.events);
        assertEquals(TcpState.FIN_WAIT_2, c.state());
        ends.serverEvents.accepted.close();
        ends.run(SECOND);
        assertEquals(List.of("connected", "peerFinished", "closed FINISHED"), ends.clientEvents.events);
        assertEquals(List.of("accepted", "peerFinished", "closed FINISHED"), ends.serverEvents.events);
        assertEquals(1, ends.client.timeWaitCount());
        assertEquals(0, ends.client.connectionCount() + ends.server.connectionCount());
        ends.run(61 * SECOND);
        assertEquals(0, ends.client.timeWaitCount());
        assertEquals(0, ends.client.counters().retransmittedSegments + ends.server.counters().retransmittedSegments);
        ends.assertNothingHeld();
    }

    @ParameterizedTest
    @CsvSource({"0, 0, 0, true", "0.01, 0, 0, true", "0.05, 0.01, 2000000, true", "0.2, 0.05, 5000000, true",
            "0.05, 0.01, 2000000, false", "0, 0.02, 30000000, true", "0, 0.02, 30000000, false"})
    void bulkDataArrivesCompletely(double loss, double duplication, long jitterNanos, boolean modern) {
        TcpConfig config = modern ? TcpConfig.DEFAULT
                : TcpConfig.builder().sack(false).timestamps(false).congestionControl(NewReno::new).build();
        for (long seed = 0; seed < 40; seed++) {
            TwoEnds ends = new TwoEnds(config, config, seed);
            ends.loss = loss;
            ends.duplication = duplication;
            ends.jitterNanos = jitterNanos;
            byte[] upload = new byte[300_000];
            byte[] download = new byte[200_000];
            new Random(seed).nextBytes(upload);
            new Random(seed + 1).nextBytes(download);
            TcpConnection c = ends.connect();
            c.send(ends.buffer(upload));
            c.shutdownOutput();
            for (int i = 0; i < 600 && ends.serverEvents.accepted == null; i++) {
                ends.run(SECOND / 10);
            }
            assertTrue(ends.serverEvents.accepted != null, "accepted, seed " + seed);
            ends.serverEvents.accepted.send(ends.buffer(download));
            ends.serverEvents.accepted.shutdownOutput();
            ends.run(600 * SECOND);
            assertArrayEquals(upload, ends.serverEvents.received.toByteArray(), "upload, seed " + seed);
            assertArrayEquals(download, ends.clientEvents.received.toByteArray(), "download, seed " + seed);
            assertEquals(List.of("connected", "peerFinished", "closed FINISHED"), ends.clientEvents.events,
                    "seed " + seed);
            assertEquals("closed FINISHED", ends.serverEvents.events.getLast(), "seed " + seed);
            assertEquals(0, ends.client.connectionCount() + ends.server.connectionCount());
            ends.assertNothingHeld();
        }
    }
}
