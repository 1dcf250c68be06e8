package io.rdmaraw.testsuite.sim;

/**
 * Decides when each frame of one direction arrives, or that it is lost. The line is a virtual queue: a frame
 * starts when the previous one has left, even if the caller is late. The seed determines the fate of the first
 * frame, the second frame and so on. Each kind of fault has its own random source, so changing one fault does not
 * change the others.
 */
public final class ImpairedLine {
    /** The frame is lost. */
    public static final long LOST = -1;
    /** The frame is dropped because the buffer is full. */
    public static final long OVERFLOWED = -2;
    private static final double NANOS_PER_BYTE_AT_1_BIT = 8e9;

    private final Impairment impairment;
    private final double nanosPerByte;
    private final SplitMix lossRandom;
    private final SplitMix jitterRandom;
    private final SplitMix reorderRandom;
    private final SplitMix overtakeRandom;
    private double lineFreeNanos = Long.MIN_VALUE;
    private long lastArrivalNanos = Long.MIN_VALUE;
    /** Number of tokens in the policer's bucket at {@link #tokenNanos}. */
    private double tokenBytes;
    private long tokenNanos = Long.MIN_VALUE;

    /** Creates a line with random decisions that are derived from the seed. */
    public ImpairedLine(Impairment impairment, long seed) {
        this.impairment = impairment;
        nanosPerByte = impairment.bitsPerSecond() == 0 ? 0 : NANOS_PER_BYTE_AT_1_BIT / impairment.bitsPerSecond();
        SplitMix random = new SplitMix(seed);
        lossRandom = random.split(1);
        jitterRandom = random.split(2);
        reorderRandom = random.split(3);
        overtakeRandom = random.split(4);
    }

    /**
     * Enqueues a frame on the line.
     *
     * @param nowNanos must not decrease from call to call
     * @return the arrival time at the other end, {@link #LOST} or {@link #OVERFLOWED}
     */
    public long arrivalNanos(int frameBytes, long nowNanos) {
        if (lossRandom.chance(impairment.loss()) || frameBytes > impairment.largestFrameBytes()
                || !isConforming(frameBytes, nowNanos)) {
            return LOST;
        }
        double start = Math.max(lineFreeNanos, nowNanos);
        if (nanosPerByte > 0 && (start - nowNanos) / nanosPerByte + frameBytes > impairment.bufferBytes()) {
            return OVERFLOWED;
        }
        lineFreeNanos = start + frameBytes * nanosPerByte;
        if (overtakeRandom.chance(impairment.overtake())) {
            return (long) lineFreeNanos;
        }
        long arrival = (long) lineFreeNanos + impairment.delayNanos();
        if (impairment.jitterNanos() > 0) {
            arrival += (long) (jitterRandom.unit() * impairment.jitterNanos());
        }
        arrival = Math.max(arrival, lastArrivalNanos);
        lastArrivalNanos = arrival;
        if (reorderRandom.chance(impairment.reorder())) {
            arrival += (long) (reorderRandom.unit() * impairment.reorderDelayNanos());
        }
        return arrival;
    }

    private boolean isConforming(int frameBytes, long nowNanos) {
        Impairment.Police police = impairment.police();
        if (police.bitsPerSecond() == 0) {
            return true;
        }
        double filled = tokenNanos == Long.MIN_VALUE ? police.burstBytes()
                : tokenBytes + (nowNanos - tokenNanos) * police.bitsPerSecond() / NANOS_PER_BYTE_AT_1_BIT;
        tokenBytes = Math.min(filled, police.burstBytes());
        tokenNanos = nowNanos;
        boolean conforming = tokenBytes >= frameBytes;
        tokenBytes -= conforming ? frameBytes : 0;
        return conforming;
    }
}
