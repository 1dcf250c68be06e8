package io.rdmaraw.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetric;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

class DropLogTest {
    private static final long START = Long.MAX_VALUE - 5;
    private static final RdmaRawMetric BAD = new RdmaRawMetric("bad-checksum", RdmaRawMetric.Kind.DROP, "it is wrong");
    private static final RdmaRawMetric DUPLICATE = new RdmaRawMetric("duplicate", RdmaRawMetric.Kind.DROP, "old");
    private static final RdmaRawMetric RULES =
            new RdmaRawMetric("rules.kernel-visible", RdmaRawMetric.Kind.GAUGE, "rules");

    private final List<String> lines = new ArrayList<>();
    private final ConcurrentMap<String, Long> reported = new ConcurrentHashMap<>();
    private final Counts port = new Counts();
    private final List<RdmaRawMetered> channels = new ArrayList<>();
    private final DropLog log = newLog();
    private long nowNanos = START;

    private static final class Counts implements RdmaRawMetered {
        private long bad;
        private long duplicates;
        private long rules;

        @Override
        public List<RdmaRawMetric> metrics() {
            return List.of(BAD, DUPLICATE, RULES);
        }

        @Override
        public long value(RdmaRawMetric metric) {
            return metric == BAD ? bad : metric == DUPLICATE ? duplicates : rules;
        }
    }

    private DropLog newLog() {
        return new DropLog("soft:xdp:eth1", port, this::channels, reported, lines::add, START);
    }

    private Iterator<RdmaRawMetered> channels() {
        return channels.iterator();
    }

    private void poll() {
        nowNanos += DropLog.INTERVAL_NANOS;
        log.poll(nowNanos);
    }

    @Test
    void seriesIsLoggedOnce() {
        port.bad = DropLog.MIN_SERIES_DROPS - 1;
        poll();
        assertEquals(List.of(), lines);
        port.bad = DropLog.MIN_SERIES_DROPS;
        poll();
        port.bad = 1_000_000;
        poll();
        assertEquals(1, lines.size());
        assertTrue(lines.getFirst().startsWith("soft:xdp:eth1: bad-checksum, 3 times so far (it is wrong): ")
                && lines.getFirst().contains("ethtool"), lines.getFirst());
    }

    /** A server runs for months, and a later problem may have another cause. */
    @Test
    void laterSeriesIsLoggedAgain() {
        port.bad = DropLog.MIN_SERIES_DROPS;
        port.rules = 1;
        poll();
        assertEquals(2, lines.size());
        nowNanos += DropLog.QUIET_NANOS;
        for (int i = 0; i < 10; i++) {
            poll();
        }
        assertEquals(2, lines.size(), "nothing has been dropped since");
        port.bad += DropLog.MIN_SERIES_DROPS;
        poll();
        assertEquals(3, lines.size());
        port.bad += DropLog.MIN_SERIES_DROPS;
        nowNanos += DropLog.QUIET_NANOS / 2;
        poll();
        assertEquals(3, lines.size());
    }

    /** In a server that runs for months, single drops of each reason do occur. */
    @Test
    void rareDropsAreNotLogged() {
        for (port.bad = 1; port.bad < 100; port.bad++) {
            poll();
            nowNanos += DropLog.MAX_SERIES_NANOS;
        }
        assertEquals(List.of(), lines);
        port.bad += DropLog.MIN_SERIES_DROPS;
        poll();
        assertEquals(1, lines.size());
    }

    @Test
    void dropsWithinOneMinuteAreASeries() {
        for (port.bad = 1; port.bad < DropLog.MIN_SERIES_DROPS; port.bad++) {
            poll();
            nowNanos += DropLog.MAX_SERIES_NANOS / DropLog.MIN_SERIES_DROPS - DropLog.INTERVAL_NANOS;
        }
        assertEquals(List.of(), lines);
        poll();
        assertEquals(1, lines.size());
    }

    @Test
    void queuesOfADeviceLogAReasonOnce() {
        port.bad = DropLog.MIN_SERIES_DROPS;
        poll();
        newLog().poll(nowNanos);
        assertEquals(1, lines.size());
    }

    @Test
    void countersAreReadOncePerSecond() {
        port.bad = DropLog.MIN_SERIES_DROPS;
        log.poll(START + DropLog.INTERVAL_NANOS - 1);
        assertEquals(List.of(), lines);
    }

    @Test
    void dropsOfOneAmongManyChannelsAreLogged() {
        int count = 10 * DropLog.CHANNELS_PER_POLL;
        for (int i = 0; i < count; i++) {
            channels.add(new Counts());
        }
        ((Counts) channels.getLast()).bad = DropLog.MIN_SERIES_DROPS;
        for (int i = 0; i < 9; i++) {
            poll();
            assertEquals(List.of(), lines);
        }
        poll();
        assertEquals(1, lines.size());
    }

    @Test
    void protocolDropsAreNotLogged() {
        port.duplicates = 1_000_000;
        poll();
        assertEquals(List.of(), lines);
    }

    @Test
    void kernelVisibleRuleIsLogged() {
        port.rules = 1;
        poll();
        assertTrue(lines.getFirst().contains("soft:xdp:"), lines.getFirst());
    }
}
