package io.rdmaraw.testsuite.goodput;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tcp.congestion.Bbr;
import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.congestion.Cubic;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Checks in virtual time that flows share a line fairly: Jain's index of their goodput after convergence. */
class FairnessTest {
    private static final int SECONDS = 40;
    private static final int CONVERGED_SECONDS = 20;
    private static final double MIN_INDEX = 0.9;
    /** A slow line, so that the runs need few packets. */
    private static final long BITS_PER_SECOND = 20_000_000;
    private static final double MIN_USE_MEGABITS = 16;

    @Test
    void twoCubicFlowsShareFairly() {
        assertShared(40, 100, Cubic::new, Cubic::new);
    }

    @Test
    void twoBbrFlowsShareFairly() {
        assertShared(40, 100, Bbr::new, Bbr::new);
    }

    @Test
    void bbrAndCubicShareFairly() {
        assertShared(40, 150, Bbr::new, Cubic::new);
    }

    /** A flow of the core and a flow of an independent implementation must not starve each other. */
    @Test
    void cubicAndReferenceCubicShareFairly() {
        assertShared(40, 100, Cubic::new, ReferenceCubic::new);
        assertShared(40, 100, ReferenceCubic::new, Cubic::new);
    }

    @Test
    void bbrAndReferenceCubicShareFairly() {
        assertShared(40, 150, Bbr::new, ReferenceCubic::new);
        assertShared(40, 150, ReferenceCubic::new, Bbr::new);
    }

    private static void assertShared(int rttMillis, int bufferPercent, CongestionControl.Factory... algorithms) {
        PathCase path = PathCase.clean(BITS_PER_SECOND, rttMillis, bufferPercent, SECONDS);
        double[] shares = SimulatedTransfer.shares(path, List.of(algorithms), 1, CONVERGED_SECONDS);
        String said = path.name() + ": " + Arrays.toString(shares);
        assertTrue(jainsIndex(shares) >= MIN_INDEX, said);
        assertTrue(Arrays.stream(shares).sum() >= MIN_USE_MEGABITS, said);
    }

    /** Returns 1 if all flows have the same share, and 1 / n if one flow has everything. */
    private static double jainsIndex(double[] shares) {
        double sum = Arrays.stream(shares).sum();
        double squares = Arrays.stream(shares).map(x -> x * x).sum();
        return sum * sum / (shares.length * squares);
    }
}
