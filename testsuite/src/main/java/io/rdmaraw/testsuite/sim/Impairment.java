package io.rdmaraw.testsuite.sim;

import java.time.Duration;
import java.util.Locale;

/**
 * What one direction of a path does to frames: a line of a rate with a drop-tail buffer before it, then a delay. The
 * same description serves the simulator, in virtual time, and the link emulator between namespaces, in real time.
 *
 * @param bitsPerSecond      rate of the line, counted with whole frames; 0: without limit
 * @param bufferBytes        what may wait for the line; what does not fit is dropped
 * @param delayNanos         time from leaving the line to arriving
 * @param jitterNanos        added to the delay, uniform from 0 to this; keeps the order
 * @param loss               probability of a frame to be lost, each by itself, 0 to 1
 * @param reorder            probability of a frame to be held back, 0 to 1
 * @param reorderDelayNanos  how long at most; uniform
 * @param police             what a policer before the line lets pass
 * @param largestFrameBytes  longer frames are lost without a word
 */
public record Impairment(long bitsPerSecond, long bufferBytes, long delayNanos, long jitterNanos, double loss,
        double reorder, long reorderDelayNanos, Police police, int largestFrameBytes) {
    /**
     * A token bucket: frames that find too few tokens are lost.
     *
     * @param bitsPerSecond rate at which it fills; 0: no policer
     * @param burstBytes    what it holds
     */
    public record Police(long bitsPerSecond, long burstBytes) {
        static final Police NONE = new Police(0, 0);
    }

    /** Frames pass as they come. */
    public static final Impairment NONE = new Impairment(0, Long.MAX_VALUE, 0, 0, 0, 0, 0, Police.NONE,
            Integer.MAX_VALUE);

    /** Checks the ranges. */
    public Impairment {
        if (bitsPerSecond < 0 || bufferBytes < 0 || delayNanos < 0 || jitterNanos < 0 || reorderDelayNanos < 0) {
            throw new IllegalArgumentException("rate, buffer and times must not be negative");
        }
        if (!(loss >= 0 && loss <= 1 && reorder >= 0 && reorder <= 1)) {
            throw new IllegalArgumentException("probabilities must lie in 0..1");
        }
    }

    /** Limits the rate; {@code bufferBytes} may wait for the line. */
    public Impairment rate(long newBitsPerSecond, long newBufferBytes) {
        return new Impairment(newBitsPerSecond, newBufferBytes, delayNanos, jitterNanos, loss, reorder,
                reorderDelayNanos, police, largestFrameBytes);
    }

    /** Delays every frame. */
    public Impairment delay(Duration delay) {
        return new Impairment(bitsPerSecond, bufferBytes, delay.toNanos(), jitterNanos, loss, reorder,
                reorderDelayNanos, police, largestFrameBytes);
    }

    /** Delays frames by as much again at most, each differently, without changing their order. */
    public Impairment jitter(Duration jitter) {
        return new Impairment(bitsPerSecond, bufferBytes, delayNanos, jitter.toNanos(), loss, reorder,
                reorderDelayNanos, police, largestFrameBytes);
    }

    /** Loses frames with this probability. */
    public Impairment loss(double probability) {
        return new Impairment(bitsPerSecond, bufferBytes, delayNanos, jitterNanos, probability, reorder,
                reorderDelayNanos, police, largestFrameBytes);
    }

    /** Holds frames back with this probability, by up to {@code by}, so that later ones overtake them. */
    public Impairment reorder(double probability, Duration by) {
        return new Impairment(bitsPerSecond, bufferBytes, delayNanos, jitterNanos, loss, probability, by.toNanos(),
                police, largestFrameBytes);
    }

    /** Loses what comes faster than a rate, beyond a burst. */
    public Impairment police(long policedBitsPerSecond, long burstBytes) {
        return new Impairment(bitsPerSecond, bufferBytes, delayNanos, jitterNanos, loss, reorder, reorderDelayNanos,
                new Police(policedBitsPerSecond, burstBytes), largestFrameBytes);
    }

    /** Loses longer frames: a black hole for those who don't search for the path's MTU. */
    public Impairment largestFrame(int bytes) {
        return new Impairment(bitsPerSecond, bufferBytes, delayNanos, jitterNanos, loss, reorder, reorderDelayNanos,
                police, bytes);
    }

    /**
     * Reads a text such as {@code rate=1G,buffer=256K,delay=10ms,jitter=1ms,loss=0.1%,reorder=1%/2ms}, also with
     * {@code police=10M/64K} and {@code largest=1214}; an empty one is {@link #NONE}. Rates are bits per second and
     * buffers bytes, with K, M, G as powers of 1000.
     *
     * @throws IllegalArgumentException naming what is wrong
     */
    public static Impairment parse(String text) {
        Impairment result = NONE;
        for (String part : text.isBlank() ? new String[0] : text.split(",")) {
            String[] pair = part.strip().split("=", 2);
            if (pair.length != 2) {
                throw new IllegalArgumentException("'" + part + "' is not NAME=VALUE");
            }
            result = result.with(pair[0], pair[1]);
        }
        return result;
    }

    private Impairment with(String name, String value) {
        return switch (name) {
            case "rate" -> rate(count(value), bufferBytes);
            case "buffer" -> rate(bitsPerSecond, count(value));
            case "delay" -> delay(time(value));
            case "jitter" -> jitter(time(value));
            case "loss" -> loss(probability(value));
            case "reorder" -> {
                String[] parts = value.split("/", 2);
                if (parts.length != 2) {
                    throw new IllegalArgumentException("reorder is PROBABILITY/TIME, for instance 1%/2ms");
                }
                yield reorder(probability(parts[0]), time(parts[1]));
            }
            case "police" -> {
                String[] parts = value.split("/", 2);
                if (parts.length != 2) {
                    throw new IllegalArgumentException("police is RATE/BURST, for instance 10M/64K");
                }
                yield police(count(parts[0]), count(parts[1]));
            }
            case "largest" -> largestFrame((int) count(value));
            default -> throw new IllegalArgumentException("unknown impairment '" + name
                    + "'; known are rate, buffer, delay, jitter, loss, reorder, police, largest");
        };
    }

    private static long count(String value) {
        String upper = value.toUpperCase(Locale.ROOT);
        int power = " KMG".indexOf(upper.charAt(upper.length() - 1));
        return power <= 0 ? Long.parseLong(upper)
                : Math.round(Double.parseDouble(upper.substring(0, upper.length() - 1)) * Math.pow(1000, power));
    }

    private static Duration time(String value) {
        int unit = 0;
        while (unit < value.length() && !Character.isLetter(value.charAt(unit))) {
            unit++;
        }
        double number = Double.parseDouble(value.substring(0, unit));
        double nanos = switch (value.substring(unit)) {
            case "ns" -> 1;
            case "us" -> 1e3;
            case "ms" -> 1e6;
            case "s" -> 1e9;
            default -> throw new IllegalArgumentException("'" + value + "' needs a unit: ns, us, ms or s");
        };
        return Duration.ofNanos(Math.round(number * nanos));
    }

    private static double probability(String value) {
        return value.endsWith("%") ? Double.parseDouble(value.substring(0, value.length() - 1)) / 100
                : Double.parseDouble(value);
    }
}
