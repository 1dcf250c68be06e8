package io.rdmaraw.tools.perf;

import picocli.CommandLine.Option;

/** The options for the send rate. */
final class RateOptions {
    /** The units, with the letters of perftest. */
    enum Unit {
        M, G, P
    }

    /** Whether this program (SW) or the device (HW) limits the rate. */
    enum Limiter {
        SW, HW
    }

    @Option(names = {"--rate_limit", "--rate-limit"}, paramLabel = "RATE", defaultValue = "0",
            description = "in --rate-units; 0: no limit")
    private double rate;

    @Option(names = {"--rate_units", "--rate-units"}, paramLabel = "M|g|p", defaultValue = "g",
            description = "MiB/s, Gbit/s or frames/s")
    private Unit unit;

    @Option(names = {"--rate_limit_type", "--rate-limit-type"}, paramLabel = "SW|HW", defaultValue = "SW",
            description = "limited by this program or by the device (ibv_modify_qp_rate_limit)")
    private Limiter limiter;

    @Option(names = {"--burst_size", "--burst-size"}, paramLabel = "N", defaultValue = "0",
            description = "frames per burst under a limit; 0: the default of the command")
    private int burst;

    void check() {
        if (rate < 0 || burst < 0 || burst > 16_384) {
            throw new IllegalArgumentException("--rate-limit must not be negative, --burst-size 0 to 16384");
        }
        if (limiter == Limiter.HW && unit == Unit.P) {
            throw new IllegalArgumentException("a device limits bits, not frames: --rate-limit-type SW, or other"
                    + " units");
        }
    }

    int burst(int defaultBurst) {
        return burst == 0 ? defaultBurst : burst;
    }

    boolean isLimited() {
        return rate > 0;
    }

    double framesPerSecond(int frameBytes) {
        return switch (unit) {
            case M -> rate * (1 << 20) / frameBytes;
            case G -> rate * 1e9 / (frameBytes * 8.0);
            case P -> rate;
        };
    }

    SendSchedule schedule(int frameBytes, int defaultBurst) {
        return limiter == Limiter.HW ? SendSchedule.unlimited()
                : SendSchedule.ofRate(framesPerSecond(frameBytes), burst(defaultBurst));
    }

    /** Sets the rate limit in the device, with an equal share for each queue pair. */
    void applyTo(PerfEndpoint endpoint, int frameBytes) {
        if (limiter == Limiter.HW && isLimited()) {
            double kilobits = framesPerSecond(frameBytes) * frameBytes * 8 / 1e3 / endpoint.senders().size();
            endpoint.limitRate((int) Math.clamp(kilobits, 1, Integer.MAX_VALUE));
        }
    }
}
