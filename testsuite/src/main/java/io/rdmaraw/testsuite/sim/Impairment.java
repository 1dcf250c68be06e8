package io.rdmaraw.testsuite.sim;

import java.time.Duration;
import java.util.Locale;

/**
 * The behaviour of one direction of a path: a line with a rate and a drop-tail buffer in front of it, followed by
 * a delay. The simulator uses it in virtual time, and the link emulator between namespaces in real time.
 *
 * @param bitsPerSecond      rate of the line, which counts whole frames; 0: unlimited
 * @param bufferBytes        number of bytes that can wait for the line; frames that do not fit are dropped
 * @param delayNanos         time between leaving the line and arriving
 * @param jitterNanos        maximum additional delay; uniformly distributed from 0 and order-preserving
 * @param loss               loss probability of each frame, independent of the others, 0 to 1
 * @param reorder            probability that a frame is held back, 0 to 1
 * @param reorderDelayNanos  maximum time for which a frame is held back; uniformly distributed
 * @param overtake           probability that a frame is not delayed at all and overtakes others, 0 to 1
 * @param police             the policer in front of the line
 * @param largestFrameBytes  longer frames are dropped silently
 */
public record Impairment(long bitsPerSecond, long bufferBytes, long delayNanos, long jitterNanos, double loss,
        double reorder, long reorderDelayNanos, double overtake, Police police, int largestFrameBytes) {
    /**
     * A token bucket. Frames that find too few tokens are dropped.
     *
     * @param bitsPerSecond rate at which the bucket fills; 0: no policer
     * @param burstBytes    capacity of the bucket
     */
    public record Police(long bitsPerSecond, long burstBytes) {
        static final Police NONE = new Police(0, 0);
    }

    /** Passes all frames without delay. */
    public static final Impairment NONE = new Impairment(0, Long.MAX_VALUE, 0, 0, 0, 0, 0, 0, Police.NONE,
            Integer.MAX_VALUE);

    /** Checks the ranges of the values. */
    public Impairment {
        if (bitsPerSecond < 0 || bufferBytes < 0 || delayNanos < 0 || jitterNanos < 0 || reorderDelayNanos < 0) {
            throw new IllegalArgumentException("rate, buffer and times must not be negative");
        }
        if (!(loss >= 0 && loss <= 1 && reorder >= 0 && reorder <= 1 && overtake >= 0 && overtake <= 1)) {
            throw new IllegalArgumentException("probabilities must lie in 0..1");
        }
    }

    /** Limits the rate; up to {@code bufferBytes} wait for the line. */
    public Impairment rate(long newBitsPerSecond, long newBufferBytes) {
        return new Impairment(newBitsPerSecond, newBufferBytes, delayNanos, jitterNanos, loss, reorder,
                reorderDelayNanos, overtake, police, largestFrameBytes);
    }

    /** Delays every frame by the same time. */
    public Impairment delay(Duration delay) {
        return new Impairment(bitsPerSecond, bufferBytes, delay.toNanos(), jitterNanos, loss, reorder,
                reorderDelayNanos, overtake, police, largestFrameBytes);
    }

    /** Adds a random delay of up to {@code jitter} to each frame without changing the order. */
    public Impairment jitter(Duration jitter) {
        return new Impairment(bitsPerSecond, bufferBytes, delayNanos, jitter.toNanos(), loss, reorder,
                reorderDelayNanos, overtake, police, largestFrameBytes);
    }

    /** Drops each frame with this probability. */
    public Impairment loss(double probability) {
        return new Impairment(bitsPerSecond, bufferBytes, delayNanos, jitterNanos, probability, reorder,
                reorderDelayNanos, overtake, police, largestFrameBytes);
    }

    /** Holds each frame back with this probability, for up to {@code by}, so that later frames overtake it. */
    public Impairment reorder(double probability, Duration by) {
        return new Impairment(bitsPerSecond, bufferBytes, delayNanos, jitterNanos, loss, probability, by.toNanos(),
                overtake, police, largestFrameBytes);
    }

    /**
     * Passes each frame without the delay with this probability, so that it overtakes the frames before it. Other
     * frames keep their order. "reorder" of netem(8) does the same.
     */
    public Impairment overtake(double probability) {
        return new Impairment(bitsPerSecond, bufferBytes, delayNanos, jitterNanos, loss, reorder, reorderDelayNanos,
                probability, police, largestFrameBytes);
    }

    /** Drops frames that exceed a rate and a burst size. */
    public Impairment police(long policedBitsPerSecond, long burstBytes) {
        return new Impairment(bitsPerSecond, bufferBytes, delayNanos, jitterNanos, loss, reorder, reorderDelayNanos,
                overtake, new Police(policedBitsPerSecond, burstBytes), largestFrameBytes);
    }

    /** Drops frames longer than {@code bytes} silently: a black hole for senders without path MTU discovery. */
    public Impairment largestFrame(int bytes) {
        return new Impairment(bitsPerSecond, bufferBytes, delayNanos, jitterNanos, loss, reorder, reorderDelayNanos,
                overtake, police, bytes);
    }

    /**
     * Parses a text such as {@code rate=1G,buffer=256K,delay=10ms,jitter=1ms,loss=0.1%,reorder=1%/2ms}, also with
     * {@code overtake=25%}, {@code police=10M/64K} and {@code largest=1214}. An empty text yields {@link #NONE}.
     * Rates are in bits per second and buffers in bytes, with K, M, G as powers of 1000.
     *
     * @throws IllegalArgumentException with the cause if the text is invalid
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
            case "overtake" -> overtake(probability(value));
            case "police" -> {
                String[] parts = value.split("/", 2);
                if (parts.length != 2) {
                    throw new IllegalArgumentException("police is RATE/BURST, for instance 10M/64K");
                }
                yield police(count(parts[0]), count(parts[1]));
            }
            case "largest" -> largestFrame((int) count(value));
            default -> throw new IllegalArgumentException("unknown impairment '" + name
                    + "'; known are rate, buffer, delay, jitter, loss, reorder, overtake, police, largest");
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
