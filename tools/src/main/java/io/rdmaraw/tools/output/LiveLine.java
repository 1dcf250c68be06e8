package io.rdmaraw.tools.output;

import java.io.PrintWriter;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/** Prints the throughput of a running operation once per second. */
public final class LiveLine {
    private static final long TICK_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final PrintWriter out;
    private final String what;
    private final LongSupplier frames;
    private final LongSupplier bytes;
    private final String lostName;
    private final LongSupplier lost;
    private final long createdNanos = System.nanoTime();

    /**
     * Creates the line without printing it.
     *
     * @param out      stderr if stdout is for the result
     * @param frames   returns the total number of frames; this and the other suppliers are called by the thread in
     *                 {@link #watch}
     * @param bytes    returns the total number of bytes
     * @param lostName name of the count of lost frames
     * @param lost     returns the total number of lost frames
     */
    public LiveLine(PrintWriter out, String what, LongSupplier frames, LongSupplier bytes, String lostName,
            LongSupplier lost) {
        this.out = out;
        this.lostName = lostName;
        this.what = what;
        this.frames = frames;
        this.bytes = bytes;
        this.lost = lost;
    }

    /**
     * Prints until the time is over, the latch opens or the condition is false.
     *
     * @param durationNanos maximum duration, or 0 for no limit
     * @return the elapsed nanoseconds
     */
    public long watch(long durationNanos, CountDownLatch done, BooleanSupplier whileTrue) throws InterruptedException {
        long start = System.nanoTime();
        long lastNanos = start;
        long lastFrames = frames.getAsLong();
        long lastBytes = bytes.getAsLong();
        while (whileTrue.getAsBoolean()) {
            long now = System.nanoTime();
            long leftNanos = durationNanos == 0 ? Long.MAX_VALUE : start + durationNanos - now;
            if (leftNanos <= 0 || done.await(Math.min(leftNanos, lastNanos + TICK_NANOS - now), TimeUnit.NANOSECONDS)) {
                break;
            }
            now = System.nanoTime();
            if (now - lastNanos >= TICK_NANOS) {
                long nowFrames = frames.getAsLong();
                long nowBytes = bytes.getAsLong();
                print((now - createdNanos) / 1e9, (now - lastNanos) / 1e9, nowFrames - lastFrames,
                        nowBytes - lastBytes);
                lastNanos = now;
                lastFrames = nowFrames;
                lastBytes = nowBytes;
            }
        }
        return System.nanoTime() - start;
    }

    private void print(double sinceStart, double seconds, long newFrames, long newBytes) {
        out.println(String.format(Locale.ROOT, "%4.0f s  %s %.3f Mframe/s  %.3f Gbit/s  total %,d  %s %,d",
                sinceStart, what, newFrames / seconds / 1e6, newBytes * 8 / seconds / 1e9, frames.getAsLong(),
                lostName, lost.getAsLong()));
        out.flush();
    }
}
