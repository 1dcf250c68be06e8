package io.rdmaraw.testsuite.goodput;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tcp.congestion.Bbr;
import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.congestion.Cubic;
import io.rdmaraw.tcp.congestion.NewReno;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Checks the simulated part of the table in docs/lab/notebook.md, so that a change of the core that costs goodput is
 * noticed. The figures come from virtual time and are the same on every machine. If a figure rises for a good
 * reason, update it.
 */
class GoodputTest {
    private static final int SECONDS = 5;
    private static final double TOLERANCE = 0.05;

    /** The goodput in Mbit/s on a path. */
    private record Pinned(int rttMillis, double lossPercent, int bufferPercent, double cubic, double newReno,
            double bbr) {
    }

    private static final List<Pinned> TABLE = List.of(
            new Pinned(2, 0, 100, 95.6, 95.6, 95.6),
            new Pinned(2, 1, 100, 70.1, 69.4, 91.7),
            new Pinned(2, 5, 25, 30.5, 29.6, 49.2),
            new Pinned(20, 0, 25, 85.6, 79.4, 92.8),
            new Pinned(20, 0.1, 100, 38.6, 33.3, 90.7),
            new Pinned(20, 1, 25, 7.3, 7.4, 87.7),
            new Pinned(100, 0, 25, 78.7, 55.0, 80.8),
            new Pinned(100, 0.1, 25, 27.1, 17.8, 76.8));

    @Test
    void goodputMatchesTheTable() {
        for (Pinned row : TABLE) {
            PathCase path = PathCase.of(row.rttMillis, row.lossPercent, row.bufferPercent, SECONDS);
            assertPinned(path, "CUBIC", Cubic::new, row.cubic);
            assertPinned(path, "NewReno", NewReno::new, row.newReno);
            assertPinned(path, "BBR", Bbr::new, row.bbr);
        }
    }

    private static void assertPinned(PathCase path, String name, CongestionControl.Factory algorithm, double pinned) {
        double measured = SimulatedTransfer.megabitsPerSecond(path, algorithm, 1);
        assertEquals(pinned, measured, pinned * TOLERANCE, path.name() + " with " + name);
    }

    /**
     * A quarter of the frames overtakes the others by 5 ms, in both directions. The reordering window must become that
     * wide: with steps of min_RTT / 4, CUBIC moved 11 Mbit/s and BBR 9.
     */
    @Test
    void heavyReorderingDoesNotReduceGoodputForLong() {
        PathCase path = PathCase.lan(2).stream().filter(lan -> lan.name().endsWith("overtake25")).findFirst()
                .orElseThrow();
        assertPinned(path, "CUBIC", Cubic::new, 567.6);
        assertPinned(path, "NewReno", NewReno::new, 613.7);
        assertPinned(path, "BBR", Bbr::new, 369.7);
    }

    @Test
    void sameSeedGivesSameGoodput() {
        PathCase path = PathCase.of(20, 1, 100, 2);
        double first = SimulatedTransfer.megabitsPerSecond(path, Cubic::new, 7);
        assertEquals(first, SimulatedTransfer.megabitsPerSecond(path, Cubic::new, 7));
        assertTrue(first != SimulatedTransfer.megabitsPerSecond(path, Cubic::new, 8), "another seed, other losses");
    }

    /** A sender that polls late by half a round trip or a quarter of the buffer must still fill a clean line. */
    @Test
    void latePollingKeepsTheLineFull() {
        assertLate(PathCase.of(2, 0, 25, SECONDS), 1_000_000, 95.1);
        assertLate(PathCase.of(20, 0, 100, SECONDS), 2_000_000, 92.8);
        assertLate(PathCase.of(20, 0, 25, SECONDS), 1_000_000, 79.7);
    }

    private static void assertLate(PathCase path, long turnNanos, double pinned) {
        double measured = SimulatedTransfer.megabitsPerSecond(path, Cubic::new, 1, turnNanos);
        assertEquals(pinned, measured, pinned * TOLERANCE, path.name() + " late by up to " + turnNanos + " ns");
    }
}
