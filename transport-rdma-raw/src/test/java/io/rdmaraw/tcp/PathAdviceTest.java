package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpHeaderCodec;
import io.rdmaraw.wire.EthernetHeader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/**
 * Path changes if the peer does not answer: IPv6 flow labels for routers, and the pathSuspect event for next-hop
 * selection.
 */
class PathAdviceTest {
    private static final long HIGH = 0x2001_0db8_0000_0000L;
    private static final int MAX_LABEL = (1 << 20) - 1;

    private final Suspicious events = new Suspicious();
    private final Segment out = new Segment();
    private TcpConnection opened;
    private long now = TimeUnit.SECONDS.toNanos(5);

    private static final class Suspicious extends Recorder {
        private final List<TcpConnection> suspects = new ArrayList<>();

        @Override
        public void pathSuspect(TcpConnection connection) {
            suspects.add(connection);
        }
    }

    private TcpEngine engine(TcpConfig.Builder config) {
        return new TcpEngine(config.build(), events, new SplittableRandom(3), now);
    }

    /** Advances to the next deadlines until a segment is sent. */
    private void expire(TcpEngine engine) {
        for (int i = 0; i < 100; i++) {
            now = Math.max(now, engine.nextDeadlineNanos());
            engine.advance(now);
            if (poll(engine)) {
                return;
            }
        }
        throw new AssertionError("nothing is sent any more");
    }

    private boolean poll(TcpEngine engine) {
        boolean said = engine.pollSegment(now, out);
        if (said) {
            out.releasePayload();
        }
        return said;
    }

    private int labelOfSyn(TcpEngine engine, long high, long low, int port) {
        opened = engine.connect(now, high, low, port, high, low + 1, 80, null, 0, null);
        assertTrue(poll(engine));
        return out.flowLabel;
    }

    /** RFC 6437 section 3: labels are uniformly distributed, one per flow, and the same on all loops of a host. */
    @Test
    void eachFlowHasOwnLabel() {
        TcpSecrets secrets = new TcpSecrets(new SplittableRandom(9));
        TcpEngine one = engine(TcpConfig.builder().secrets(secrets));
        TcpEngine other = engine(TcpConfig.builder().secrets(secrets));
        TcpEngine elsewhere = engine(TcpConfig.builder().secrets(new TcpSecrets(new SplittableRandom(10))));
        Set<Integer> labels = new HashSet<>();
        int alike = 0;
        for (int port = 10_000; port < 10_200; port++) {
            int label = labelOfSyn(one, HIGH, 7, port);
            opened.abort();
            assertTrue(label > 0 && label <= MAX_LABEL);
            assertEquals(label, labelOfSyn(other, HIGH, 7, port));
            opened.abort();
            alike += label == labelOfSyn(elsewhere, HIGH, 7, port) ? 1 : 0;
            opened.abort();
            labels.add(label);
        }
        assertTrue(labels.size() > 195, () -> labels.size() + " labels for 200 flows");
        assertTrue(alike < 5, "without the key nobody knows them");
    }

    @Test
    void labelIsInHeader() {
        TcpEngine engine = engine(TcpConfig.builder());
        int label = labelOfSyn(engine, HIGH, 7, 4000);
        long memory = Libc.allocateZeroed(256);
        try {
            engine.connect(now, HIGH, 7, 4000, HIGH, 9, 80, null, 0, null);
            assertTrue(engine.pollSegment(now, out));
            TcpHeaderCodec.write(out, memory + EthernetHeader.LENGTH_BYTES, 0);
            assertEquals(out.flowLabel, NetworkOrder.getInt(memory + EthernetHeader.LENGTH_BYTES) & 0xf_ffff);
            assertNotEquals(label, out.flowLabel);
        } finally {
            Libc.free(memory);
        }
    }

    /** A path that loses everything may be one of several. Each timeout tries another, as on Linux. */
    @Test
    void timeoutChangesLabel() {
        TcpEngine engine = engine(TcpConfig.builder());
        Set<Integer> labels = new HashSet<>();
        labels.add(labelOfSyn(engine, HIGH, 7, 4000));
        for (int i = 0; i < 4; i++) {
            expire(engine);
            labels.add(out.flowLabel);
        }
        assertEquals(5, labels.size());
    }

    @Test
    void ipv4HasNoLabel() {
        assertEquals(0, labelOfSyn(engine(TcpConfig.builder()), 0, 0xFFFF_0A00_0001L, 4000));
    }

    /** RFC 9293 section 3.8.3, MUST-20: at R1, the layer below is notified, once per series of timeouts. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3, 5})
    void missingAnswersMakePathSuspect(int retries) {
        TcpEngine engine = engine(TcpConfig.builder().pathSuspectTimeouts(retries));
        labelOfSyn(engine, HIGH, 7, 4000);
        for (int i = 1; i <= 6; i++) {
            expire(engine);
            assertEquals(i < retries ? 0 : 1, events.suspects.size());
        }
        assertEquals(1, engine.counters().suspectPaths);
    }
}
