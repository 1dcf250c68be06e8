package io.rdmaraw.testsuite.goodput;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tcp.congestion.Bbr;
import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.congestion.Cubic;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How flows share a line, in virtual time: Jain's index of their goodput once they have converged. */
class FairnessTest {
    private static final int SECONDS = 40;
    private static final int CONVERGED_SECONDS = 20;
    private static final double LEAST_INDEX = 0.9;
    /** A slow line, for few packets. */
    private static final long BITS_PER_SECOND = 20_000_000;
    private static final double LEAST_USE_MEGABITS = 16;

    @Test
    void twoFlowsOfCubicShare() {
        assertShared(40, 100, Cubic::new, Cubic::new);
    }

    @Test
    void twoFlowsOfBbrShare() {
        assertShared(40, 100, Bbr::new, Bbr::new);
    }

    @Test
    void bbrSharesWithCubic() {
        assertShared(40, 150, Bbr::new, Cubic::new);
    }

    /** One of ours and one that is not: neither starves the other. */
    @Test
    void cubicSharesWithTheReference() {
        assertShared(40, 100, Cubic::new, ReferenceCubic::new);
        assertShared(40, 100, ReferenceCubic::new, Cubic::new);
    }

    @Test
    void bbrSharesWithTheReference() {
        assertShared(40, 150, Bbr::new, ReferenceCubic::new);
        assertShared(40, 150, ReferenceCubic::new, Bbr::new);
    }

    private static void assertShared(int rttMillis, int bufferPercent, CongestionControl.Factory... algorithms) {
        PathCase path = PathCase.clean(BITS_PER_SECOND, rttMillis, bufferPercent, SECONDS);
        double[] shares = SimulatedTransfer.shares(path, List.of(algorithms), 1, CONVERGED_SECONDS);
        String said = path.name() + ": " + Arrays.toString(shares);
        assertTrue(jainsIndex(shares) >= LEAST_INDEX, said);
        assertTrue(Arrays.stream(shares).sum() >= LEAST_USE_MEGABITS, said);
    }

    /** 1 when all have the same, 1 / n when one has everything. */
    private static double jainsIndex(double[] shares) {
        double sum = Arrays.stream(shares).sum();
        double squares = Arrays.stream(shares).map(x -> x * x).sum();
        return sum * sum / (shares.length * squares);
    }
}
