package io.rdmaraw.testsuite.goodput;

import io.rdmaraw.testsuite.sim.Impairment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * One path of the table. Data and acknowledgements share rate, delay and buffer; only data is lost.
 *
 * @param rttMillis     round trip without queueing
 * @param lossPercent   of frames with data
 * @param bufferPercent of the bandwidth-delay product, at least 20 full frames
 * @param seconds       length of the transfer
 */
public record PathCase(int rttMillis, double lossPercent, int bufferPercent, int seconds) {
    /** Rate of the line. */
    public static final long BITS_PER_SECOND = 100_000_000;
    private static final int LEAST_BUFFER_BYTES = 20 * 1514;
    private static final int[] RTT_MILLIS = {2, 20, 100};
    private static final double[] LOSS_PERCENT = {0, 0.1, 1, 5};
    private static final int[] BUFFER_PERCENT = {25, 100};

    /** The whole table. */
    public static List<PathCase> all(int seconds) {
        List<PathCase> cases = new ArrayList<>();
        for (int rtt : RTT_MILLIS) {
            for (double loss : LOSS_PERCENT) {
                for (int buffer : BUFFER_PERCENT) {
                    cases.add(new PathCase(rtt, loss, buffer, seconds));
                }
            }
        }
        return cases;
    }

    /** Stable: scripts read it. */
    public String name() {
        return String.format(Locale.ROOT, "goodput.rtt%dms.loss%s.buffer%d", rttMillis,
                lossPercent == Math.rint(lossPercent) ? Integer.toString((int) lossPercent) : "" + lossPercent,
                bufferPercent);
    }

    long bufferBytes() {
        long product = BITS_PER_SECOND / 8 * rttMillis / 1000;
        return Math.max(LEAST_BUFFER_BYTES, product * bufferPercent / 100);
    }

    /** What happens to data. */
    public Impairment forward() {
        return backward().loss(lossPercent / 100);
    }

    /** What happens to acknowledgements. */
    public Impairment backward() {
        return Impairment.NONE.rate(BITS_PER_SECOND, bufferBytes()).delay(Duration.ofNanos(rttMillis * 500_000L));
    }
}
