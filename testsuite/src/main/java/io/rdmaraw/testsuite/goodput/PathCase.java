package io.rdmaraw.testsuite.goodput;

import io.rdmaraw.testsuite.sim.Impairment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * One path of the table.
 *
 * @param name     stable name, which scripts read
 * @param forward  impairments of the data
 * @param backward impairments of the acknowledgments
 * @param seconds  duration of the transfer
 */
public record PathCase(String name, Impairment forward, Impairment backward, int seconds) {
    /** Default rate of the line. */
    public static final long BITS_PER_SECOND = 100_000_000;
    private static final int MIN_BUFFER_BYTES = 20 * 1514;
    private static final int[] RTT_MILLIS = {2, 20, 100};
    private static final double[] LOSS_PERCENT = {0, 0.1, 1, 5};
    private static final int[] BUFFER_PERCENT = {25, 100};
    private static final int BLACK_HOLE_FRAME_BYTES = 1414;
    private static final int ODD_RTT_MILLIS = 20;
    private static final long LAN_BITS_PER_SECOND = 1_000_000_000;
    private static final long LAN_BUFFER_BYTES = 2_000_000;
    private static final int[] LAN_LOSS_PERCENT = {0, 1, 2, 5};

    /**
     * Returns a path on which data and acknowledgments share rate, delay and buffer size. Only data is lost.
     *
     * @param rttMillis     round-trip time without queueing
     * @param lossPercent   loss probability of frames with data
     * @param bufferPercent buffer size in percent of the bandwidth-delay product, at least 20 full frames
     */
    public static PathCase of(int rttMillis, double lossPercent, int bufferPercent, int seconds) {
        String name = String.format(Locale.ROOT, "goodput.rtt%dms.loss%s.buffer%d", rttMillis,
                lossPercent == Math.rint(lossPercent) ? Integer.toString((int) lossPercent) : "" + lossPercent,
                bufferPercent);
        Impairment line = line(BITS_PER_SECOND, rttMillis, bufferPercent);
        return new PathCase(name, line.loss(lossPercent / 100), line, seconds);
    }

    /** Returns a path that loses frames only if the buffer is full. */
    public static PathCase clean(long bitsPerSecond, int rttMillis, int bufferPercent, int seconds) {
        Impairment line = line(bitsPerSecond, rttMillis, bufferPercent);
        return new PathCase("goodput.rate" + bitsPerSecond + ".rtt" + rttMillis + "ms.buffer" + bufferPercent, line,
                line, seconds);
    }

    private static Impairment line(long bitsPerSecond, int rttMillis, int bufferPercent) {
        long product = bitsPerSecond / 8 * rttMillis / 1000;
        return Impairment.NONE.rate(bitsPerSecond, Math.max(MIN_BUFFER_BYTES, product * bufferPercent / 100))
                .delay(Duration.ofNanos(rttMillis * 500_000L));
    }

    /** Returns all paths of the table. */
    public static List<PathCase> all(int seconds) {
        List<PathCase> cases = new ArrayList<>();
        for (int rtt : RTT_MILLIS) {
            for (double loss : LOSS_PERCENT) {
                for (int buffer : BUFFER_PERCENT) {
                    cases.add(of(rtt, loss, buffer, seconds));
                }
            }
        }
        cases.addAll(odd(seconds));
        cases.addAll(lan(seconds));
        return cases;
    }

    /**
     * Returns paths like a relay between two interfaces of one host: fast, with a round trip of 0.1 ms, faults in both
     * directions and no effective buffer limit. On the paths with reordering, some frames overtake the others, which
     * are delayed by 5 ms. The minimum RTT is then far below the usual one.
     */
    static List<PathCase> lan(int seconds) {
        Impairment line = Impairment.NONE.rate(LAN_BITS_PER_SECOND, LAN_BUFFER_BYTES).delay(Duration.ofNanos(50_000));
        List<PathCase> cases = new ArrayList<>();
        for (int percent : LAN_LOSS_PERCENT) {
            cases.add(bothWays("goodput.lan.loss" + percent, line.loss(percent / 100.0), seconds));
        }
        cases.add(bothWays("goodput.lan.rtt20ms.loss1", line.delay(Duration.ofMillis(10)).loss(0.01), seconds));
        cases.add(bothWays("goodput.lan.reorder25", line.reorder(0.25, Duration.ofNanos(200_000)), seconds));
        cases.add(bothWays("goodput.lan.overtake25", line.delay(Duration.ofMillis(5)).overtake(0.25), seconds));
        return cases;
    }

    private static PathCase bothWays(String name, Impairment line, int seconds) {
        return new PathCase(name, line, line, seconds);
    }

    /** Returns paths with other rates and with faults other than random loss. */
    private static List<PathCase> odd(int seconds) {
        Impairment line = line(BITS_PER_SECOND, ODD_RTT_MILLIS, 100);
        Impairment slow = line(BITS_PER_SECOND / 10, ODD_RTT_MILLIS, 100);
        Impairment fast = line(10 * BITS_PER_SECOND, 2, 100);
        Impairment far = line(BITS_PER_SECOND, 50, 100).jitter(Duration.ofMillis(20));
        return List.of(
                new PathCase("goodput.rate10M", slow, slow, seconds),
                new PathCase("goodput.rate1G", fast, fast, seconds),
                new PathCase("goodput.jitter20ms", far, far, seconds),
                new PathCase("goodput.reorder25", line.reorder(0.25, Duration.ofMillis(2)), line, seconds),
                new PathCase("goodput.ackloss30", line, line.loss(0.3), seconds),
                new PathCase("goodput.police10M", line.police(BITS_PER_SECOND / 10, MIN_BUFFER_BYTES), line,
                        seconds),
                new PathCase("goodput.blackhole", line.largestFrame(BLACK_HOLE_FRAME_BYTES), line, seconds));
    }
}
